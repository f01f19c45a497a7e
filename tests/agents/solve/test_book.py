"""Books of exact values: proven, resumable, the same however made, and strictly read."""

import hashlib
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from small_runs import start_castle, wait_until

from agents.runs import RunError
from agents.solve import book as books
from agents.solve.book import (
    BOOK_DTYPE,
    SHIPPED,
    BookError,
    build,
    card_path,
    load_book,
    positions_by_ply,
    shipped_book,
)
from agents.solve.storm_solver import Solver, captured_margin
from castle_env import AgentError, Game, OptionError, Position, Ruleset, load_ruleset
from experiments.backend import LocalBackend
from experiments.commands.solve import Solve, run

STORM = Game(load_ruleset("storm"))
SMALL = Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": 3}))
MEMORY = 1 << 20


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A book of a small ruleset."""
    build(SMALL, 3, tmp_path / "small.npy", memory_bytes=MEMORY)
    return tmp_path / "small.npy"


def test_every_value_is_exact(small: Path) -> None:
    loaded, solver = load_book(small, SMALL), Solver(SMALL, MEMORY)
    layers = positions_by_ply(SMALL, 3)
    assert set(loaded.values) == {key for layer in layers for key in layer}
    for position in (position for layer in layers for position in layer.values()):
        assert loaded.value(position) == solver.solve(position)
        for action in SMALL.legal_actions(position) if position.ply < 3 else []:
            after = SMALL.apply(position, action)
            assert loaded.value(after) == solver.solve(after)
    beyond = SMALL.apply(position, SMALL.legal_actions(position)[0])
    assert loaded.value(beyond) is None


def test_shipped_book_by_sample() -> None:
    shipped, solver = shipped_book(STORM), Solver(STORM)
    assert shipped is not None
    assert shipped.plies >= 4
    assert shipped.value(STORM.initial_state()) == -4
    layers = positions_by_ply(STORM, shipped.plies)
    assert set(shipped.values) == {key for layer in layers for key in layer}
    last = list(layers[-1].values())
    for index in np.random.default_rng(0).choice(len(last), 1):
        value = shipped.value(last[index])
        assert value is not None
        assert solver.at_least(last[index], value)
        assert not solver.at_least(last[index], value + 1)


def test_shipped_book_agrees_with_itself() -> None:
    shipped = shipped_book(STORM)
    assert shipped is not None
    for layer in positions_by_ply(STORM, shipped.plies - 1):
        for position in layer.values():
            after = [shipped.value(STORM.apply(position, action))
                     for action in STORM.legal_actions(position)]
            assert shipped.value(position) == max(-value for value in after if value is not None)


def test_card_tells_how_the_shipped_book_was_made() -> None:
    card = json.loads(card_path(SHIPPED / "storm.npy").read_text("utf-8"))
    assert card["command"].startswith("castle solve storm --book-plies ")
    assert Ruleset.from_dict(card["ruleset"]) == STORM.rules
    assert card["versions"]["numba"]


def test_any_number_of_workers_makes_the_same_book(small: Path, tmp_path: Path) -> None:
    build(SMALL, 3, tmp_path / "two.npy", map_tasks=LocalBackend(2).map, memory_bytes=MEMORY)
    assert (tmp_path / "two.npy").read_bytes() == small.read_bytes()
    assert not list(tmp_path.glob("*.journal"))


def test_a_finished_book_is_not_made_again(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(books, "_solve_all", None)
    before = small.read_bytes()
    assert build(SMALL, 3, small).values == load_book(small, SMALL).values
    assert small.read_bytes() == before


@pytest.mark.parametrize(("rules", "plies"), [
    ({"factions_per_player": 2}, 3), ({"capture_credit": "enemy_only"}, 3), ({}, 2)])
def test_no_other_book_is_written_over(small: Path, rules: dict[str, object], plies: int) -> None:
    """One of another ruleset, or that reaches another ply."""
    before = {path: path.read_bytes() for path in small.parent.iterdir()}
    other = Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": 3} | rules))
    with pytest.raises(BookError, match=r"is of ruleset|is left as it is"):
        build(other, plies, small, memory_bytes=MEMORY)
    assert {path: path.read_bytes() for path in small.parent.iterdir()} == before


def test_a_file_that_is_no_book_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.npy").write_text("mine")
    with pytest.raises(BookError, match="is left as it is"):
        build(SMALL, 1, tmp_path / "mine.npy", memory_bytes=MEMORY)
    assert (tmp_path / "mine.npy").read_text() == "mine"


@pytest.mark.parametrize("torn", [b"", b"123 4", b"-77 12 3"])
def test_goes_on_after_a_kill(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torn: bytes
) -> None:
    out, journal = tmp_path / "again.npy", tmp_path / "again.journal"

    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(SMALL, 3, out, memory_bytes=MEMORY, advance=stop)
    assert not out.exists()
    journal.write_bytes(journal.read_bytes() + torn)
    solved: list[Position] = []
    solve = Solver.solve

    def counted(solver: Solver, position: Position) -> int:
        solved.append(position)
        return solve(solver, position)

    monkeypatch.setattr(Solver, "solve", counted)
    build(SMALL, 3, out, memory_bytes=MEMORY)
    assert len(solved) == len(positions_by_ply(SMALL, 3)[-1]) - 5
    assert out.read_bytes() == small.read_bytes()
    assert not journal.exists()


def children(pid: int) -> list[int]:
    """Processes that a process has started (Linux)."""
    return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def seconds_of_workers(pid: int) -> float:
    """CPU time that the workers of a process, copies of its child, have taken so far (Linux)."""
    ticks = 0
    for worker in (worker for child in children(pid) for worker in children(child)):
        fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="sees its workers in /proc")
def test_ctrl_c_ends_the_workers_in_the_middle_of_a_search(tmp_path: Path) -> None:
    out = tmp_path / "long.npy"  # default storm: no position of ply 1 is solved within seconds
    process = start_castle("solve", "storm", "--book-plies", 1, "--out", out, "--workers", 2)
    wait_until(lambda: seconds_of_workers(process.pid) > 2, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "castle: stopped" in errors  # Python may add how a worker fared that was just starting
    assert not out.exists()


def test_refuses_another_journal(tmp_path: Path) -> None:
    journal = tmp_path / "b.journal"
    for text, reason in ((b"book of ruleset 0\n", "begins with"),
                         (books._journal_head(SMALL) + b"1 2\n", "damaged")):
        journal.write_bytes(text)
        with pytest.raises(BookError, match=reason):
            build(SMALL, 2, tmp_path / "b.npy", memory_bytes=MEMORY)
        assert journal.read_bytes() == text


def test_a_whole_game_fits_into_a_book(tmp_path: Path) -> None:
    game = Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": 1}))
    book = build(game, 2, tmp_path / "all.npy", memory_bytes=MEMORY)
    assert book.value(game.initial_state()) == Solver(game, MEMORY).solve(game.initial_state())


def test_captures_made_before_are_not_forgotten(tmp_path: Path) -> None:
    game = Game(Ruleset.from_dict({
        "mode": "storm", "factions_per_player": 3, "capture_credit": "enemy_only",
        "strongholds": ["......", "..#...", "......", ".....#", "......", "......"]}))
    book, solver = build(game, 4, tmp_path / "b.npy", memory_bytes=MEMORY), Solver(game, MEMORY)
    captures = set()
    for position in positions_by_ply(game, 3)[3].values():
        for after in (game.apply(position, action) for action in game.legal_actions(position)):
            assert book.value(after) == solver.solve(after)
            captures.add(captured_margin(game.rules, after))
    assert len(captures) > 1


# What it refuses


def rewrite_card(file: Path, **changes: object) -> None:
    card = json.loads(card_path(file).read_text("utf-8"))
    card_path(file).write_text(json.dumps(card | changes), "utf-8")


def test_refuses_damage(small: Path) -> None:
    data, card = small.read_bytes(), card_path(small).read_bytes()
    small.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(BookError, match="SHA-256"):
        load_book(small, SMALL)
    small.write_bytes(data)
    for text in (b"", b"{", b"[]", b"{}", b"\xff", b"[" * 100_000):
        card_path(small).write_bytes(text)
        with pytest.raises(BookError, match="card"):
            load_book(small, SMALL)
    card_path(small).write_bytes(card)
    for change in ({"format": 2}, {"plies": "3"}, {"positions": True}, {"positions": 1}):
        rewrite_card(small, **change)
        with pytest.raises(BookError, match="allowed"):
            load_book(small, SMALL)
        card_path(small).write_bytes(card)
    rewrite_card(small, sha256=hashlib.sha256(b"abc").hexdigest())
    small.write_bytes(b"abc")
    with pytest.raises(BookError, match="no array"):
        load_book(small, SMALL)
    small.unlink()
    with pytest.raises(BookError, match="cannot read"):
        load_book(small, SMALL)


def test_refuses_another_ruleset(small: Path) -> None:
    with pytest.raises(BookError, match=STORM.rules.digest):
        load_book(small, STORM)
    assert shipped_book(SMALL) is None


def test_refuses_wrong_requests(tmp_path: Path) -> None:
    out = tmp_path / "b.npy"
    for plies in (-1, 7):
        with pytest.raises(OptionError, match="allowed"):
            build(SMALL, plies, out)
    with pytest.raises(BookError, match=r"\.npy"):
        build(SMALL, 1, tmp_path / "b.txt")
    with pytest.raises(RunError, match=r"cannot lock .* no folder"):
        build(SMALL, 1, tmp_path / "missing" / "b.npy", memory_bytes=MEMORY)
    with pytest.raises(AgentError, match="sudden_death"):
        build(Game(load_ruleset("sudden-death")), 1, out)
    assert list(tmp_path.iterdir()) == []


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ruleset, out = tmp_path / "small.toml", tmp_path / "b.npy"
    ruleset.write_text("mode = 'storm'\nfactions_per_player = 3\n")
    run(Solve(str(ruleset), book_plies=2, out=out, memory="1MiB"))
    assert f"book: {out} and {tmp_path / 'b.json'}, " in capsys.readouterr().out
    assert len(np.load(out)) == len(load_book(out, SMALL).values)
    assert np.load(out).dtype == BOOK_DTYPE
    for options in (Solve("storm", book_plies=2), Solve("storm", out=out),
                    Solve("storm", book_plies=2, out=out, wdl=True)):
        with pytest.raises(OptionError, match="--out"):
            run(options)
