"""Files of games that grow while the games are played: `--save-games`."""

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.runs import RunError
from castle_env import Game, load_ruleset, make_agent, register_agent
from castle_env.game_file import GameFileError, format_game, read_games
from castle_env.game_record import GameRecord, record_game
from experiments.commands.evaluate import Evaluate
from experiments.commands.evaluate import run as run_evaluate
from experiments.commands.tournament import Tournament
from experiments.commands.tournament import run as run_tournament
from experiments.measure.match import play_match
from experiments.play import games_file
from experiments.play.games_file import new_games_file, read_game

STORM = load_ruleset("storm")
GAMES = [record_game(STORM, [2], players=(name, "b")) for name in "pqr"]


def names(folder: Path) -> list[str]:
    """Of all files but locks."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_games_are_in_the_file_when_they_are_done(tmp_path: Path) -> None:
    path = tmp_path / "games.castle"
    with new_games_file(path) as save:
        save(GAMES[:1])
        assert names(tmp_path) == ["games.castle.part"]
        assert list(read_games(tmp_path / "games.castle.part")) == GAMES[:1]
        save(iter(GAMES[1:]))
        assert list(read_games(tmp_path / "games.castle.part")) == GAMES
    assert names(tmp_path) == ["games.castle"]
    assert path.read_text("utf-8") == "\n".join(map(format_game, GAMES))


def save_and_raise(path: Path, games: Iterable[GameRecord], error: type[BaseException]) -> None:
    with new_games_file(path) as save:
        save(games)
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_was_finished_outlives_the_end(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "games.castle"
    with pytest.raises(error):
        save_and_raise(path, GAMES[:2], error)
    assert names(tmp_path) == ["games.castle"]
    assert list(read_games(path)) == GAMES[:2]


def test_no_games_no_file(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        save_and_raise(tmp_path / "games.castle", [], KeyboardInterrupt)
    with new_games_file(None) as save:
        save(GAMES)
    assert names(tmp_path) == []


@pytest.mark.parametrize("taken", ["games.castle", "games.castle.part"])
def test_nothing_is_written_over(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    with pytest.raises(RunError, match=f"{taken}' exists already"):
        save_and_raise(tmp_path / "games.castle", GAMES, AssertionError)
    assert names(tmp_path) == [taken]
    with pytest.raises(RunError, match="cannot write"):
        save_and_raise(tmp_path / "none" / "games.castle", GAMES, AssertionError)


def test_a_file_that_came_to_exist_stays(tmp_path: Path) -> None:
    path = tmp_path / "games.castle"

    def games_and_a_rival() -> Iterator[GameRecord]:
        yield from GAMES
        path.write_text("mine")

    with pytest.raises(RunError, match=r"come to exist; the games are in .*\.part"):
        save_and_raise(path, games_and_a_rival(), KeyboardInterrupt)
    assert path.read_text() == "mine"
    assert list(read_games(tmp_path / "games.castle.part")) == GAMES


def test_a_game_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "games.castle"
    path.write_text("\n".join(map(format_game, GAMES)), encoding="utf-8")
    assert read_game(path, 2) == GAMES[1]
    for number in (0, 4):
        with pytest.raises(GameFileError, match=f"game {number} of .*; allowed: 1 to 3"):
            read_game(path, number)
    path.write_text("")
    with pytest.raises(GameFileError, match="holds no games"):
        read_game(path, 1)


@pytest.mark.parametrize("mode", ["storm", "sudden-death"])
def test_evaluate_saves_the_games_it_counts(tmp_path: Path, mode: Any) -> None:
    path = tmp_path / "games.castle"
    run_evaluate(Evaluate(agent="random", opponent="greedy", mode=mode, games=132, opening_plies=3,
                          seed=5, runs=tmp_path / "runs", save_games=path))
    game = Game(load_ruleset(mode))
    agents = make_agent("random", game), make_agent("greedy", game)
    records = play_match(game, agents, 132, 3, 5)
    saved = list(read_games(path))
    assert [one.players for one in saved] == [record.players for record in records]
    for one, record in zip(saved, records, strict=True):
        assert one.actions == record.actions
        assert one.outcome == record.outcome is not None
        assert one.opening_plies == record.opening_plies == 3
        assert (one.rules, one.seed) == (game.rules, 5)
        assert one.comment == "The first 3 plies were played at random."
        assert one.date


def test_tournament_keeps_finished_pairs_when_stopped(tmp_path: Path) -> None:
    class Stops:
        name = "stops"

        def select_actions(self, *_: object) -> Any:
            raise KeyboardInterrupt

    register_agent("stops", lambda arguments, game: Stops())
    path = tmp_path / "runs" / "t" / "games.castle"
    with pytest.raises(KeyboardInterrupt):
        run_tournament(Tournament(agents=("random", "greedy", "stops"), games=4, name="t",
                                  runs=tmp_path / "runs", save_games=path))
    assert [one.players for one in read_games(path)] == [("random", "greedy")] * 2 + [
        ("greedy", "random")] * 2


def test_a_run_that_cannot_save_its_games_plays_none(tmp_path: Path) -> None:
    path = tmp_path / "games.castle"
    path.write_text("mine")
    with pytest.raises(RunError, match="exists already"):
        run_evaluate(Evaluate(agent="random", opponent="greedy", games=2, runs=tmp_path / "runs",
                              save_games=path))
    assert path.read_text() == "mine"
    assert not list((tmp_path / "runs").iterdir())


def test_a_full_disk_leaves_whole_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a write that the disk cut short has left is cut off again."""
    def cut_short(file: Any, data: bytes) -> int:
        if b'"r"' in data:
            file.write(data[:-40])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(file.write(data))

    monkeypatch.setattr(games_file, "_write", cut_short)
    path = tmp_path / "games.castle"
    with pytest.raises(RunError, match=r"cannot write .*games\.castle\.part': No space"):
        save_and_raise(path, GAMES, AssertionError)
    assert names(tmp_path) == ["games.castle"]
    assert list(read_games(path)) == GAMES[:2]


def test_an_empty_part_that_nobody_writes_to_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "games.castle.part").touch()
    with new_games_file(tmp_path / "games.castle") as save:
        save(GAMES)
    assert names(tmp_path) == ["games.castle"]
