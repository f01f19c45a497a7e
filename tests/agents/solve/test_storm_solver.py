"""The exact solver against the referee's values and plain minimax, however it is set up."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from places import DATA

from agents.search import alphabeta
from agents.search.board import Board, board_of
from agents.search.hash_table import new_table
from agents.search.position_key import HIGH_BITS, canonical_key, symmetry_table
from agents.solve.slides import CREDIT, MARGIN, OWN, ROWS, TARGET, slide_to, write_slides
from agents.solve.storm_solver import SearchProgress, Solver
from agents.solve.transposition import HIGHEST, LOWEST, Entry, find, store
from castle_env import AgentError, Game, OptionError, Position, Ruleset, load_ruleset
from castle_env.board import ENTRIES, PASS
from castle_env.compiled import kernel
from castle_env.kernels import (
    KINDS,
    Rules,
    is_over,
    legal_moves,
    move_of,
    mover_margin,
    play,
    play_pass,
    popcount,
)
from castle_env.position import unstack
from castle_env.symmetry import map_bits
from experiments.commands.solve import Solve, run
from experiments.options import memory_bytes

Keys = dict[str, Any]
STORM = Game(load_ruleset("storm"))
RECORDS = json.loads((DATA / "exact_values.json").read_text("utf-8"))
# Full but for one square: players run out of moves and pass.
CROWDED = ["######", "######", "##.###", "######", "######", "######"]


@kernel
def minimax(rules: Rules, position: Position) -> int:
    """Margin for the mover at the end of best play: every line is followed, nothing remembered."""
    if is_over(rules, position):
        return mover_margin(rules, position)
    moves = legal_moves(rules, position)
    best = -1_000_000
    for kind in range(KINDS):
        squares = moves[kind]
        while squares:
            best = max(best, -minimax(rules, play(rules, position, kind, squares & -squares)))
            squares &= squares - 1
    if best == -1_000_000:
        return -minimax(rules, play_pass(position))
    return best


def plain_value(game: Game, position: Position) -> int:
    return int(minimax(game.table[0], position))


def alphabeta_value(game: Game, position: Position) -> int:
    """The value by the search of the agent `alphabeta`, which has no table."""
    left = game.rules.max_plies - position.ply
    return int(alphabeta.search(game.table[0], None, position, left, -alphabeta.INFINITE,
                                alphabeta.INFINITE, alphabeta.workspace(left)))


def random_keys(rng: np.random.Generator) -> Keys:
    """A storm ruleset: any layout, often lopsided or crowded, any table of Victory Points."""
    density = rng.choice([0.05, 0.15, 0.5, 0.95])
    grid = rng.random((6, 6)) < density
    grid[rng.integers(6), rng.integers(6)] = True
    if rng.random() < 0.4:
        grid |= grid[::-1] | grid[:, ::-1] | grid.T
    most = int(rng.choice([2, 9, 100]))
    rows = ("captured", "besieging", "contact", "controlled", "survivor")
    points: Keys = {row: int(rng.integers(-most, most + 1)) for row in rows}
    if rng.random() < 0.3:
        points["squares"] = rng.integers(-most, most + 1, (6, 6)).tolist()
    return {
        "mode": "storm",
        "strongholds": ["".join(".#"[int(square)] for square in rank) for rank in grid],
        "factions_per_player": int(rng.integers(1, 9)),
        "capture_credit": str(rng.choice(["opponent", "enemy_only"])),
        "victory_points": points if rng.random() < 0.7 else {},
    }


def random_position(game: Game, rng: np.random.Generator, left: int) -> Position:
    """A position with so many plies left, or the start of a shorter game."""
    states = game.initial_states(1)
    for _ in range(game.rules.max_plies - left):
        states = game.apply_actions(states, game.random_actions(states, rng))
    return unstack(states)[0]


def solvers(game: Game) -> dict[str, Solver]:
    return {
        "plain": Solver(game, 1 << 22),
        "tiny table": Solver(game, 1),
        "small table": Solver(game, 1 << 10),
        "no symmetries": Solver(game, 1 << 22, use_symmetries=False),
        "two threads": Solver(game, 1 << 22, threads=2),
        "two threads, small table": Solver(game, 1 << 10, threads=2),
    }


# What is known

REFEREE = solvers(STORM)


@pytest.mark.parametrize("name", REFEREE)
def test_referees_values(name: str) -> None:
    solver = REFEREE[name]
    for record in np.random.default_rng(len(name)).permutation(RECORDS["positions"]):
        position = STORM.parse_position(record["position"])
        sign = -1 if position.ply % 2 else 1
        assert sign * solver.solve(position) == record["value"]
        values = {STORM.format_action(action): sign * value
                  for action, value in solver.move_values(position).items()}
        assert values == record["move_values"]


def test_equals_minimax_on_random_rulesets() -> None:
    rng = np.random.default_rng(1)
    passes = 0
    for _ in range(200):
        game = Game(Ruleset.from_dict(random_keys(rng)))
        solver = Solver(game, 1 << 12)
        for left in rng.integers(1, 5, 5).tolist():
            position = random_position(game, rng, left)
            value = plain_value(game, position)
            assert solver.solve(position) == value, (game.rules, game.format_position(position))
            assert solver.wdl(position) == np.sign(value)
            passes += game.legal_actions(position) == [PASS]
    assert passes


@pytest.mark.parametrize("credit", ["opponent", "enemy_only"])
def test_forced_passes(credit: str) -> None:
    game = Game(Ruleset.from_dict({"mode": "storm", "strongholds": CROWDED,
                                   "factions_per_player": 6, "capture_credit": credit}))
    solver = Solver(game)
    position = game.apply(game.initial_state(), game.parse_action("Nc"))
    assert [game.format_action(action) for action in game.legal_actions(position)] == ["pass"]
    assert solver.solve(game.initial_state()) == plain_value(game, game.initial_state())
    assert solver.solve(position) == plain_value(game, position)
    assert list(solver.move_values(position).values()) == [solver.solve(position)]


def test_whole_small_games_from_the_start() -> None:
    for keys in ({"factions_per_player": 2}, {"factions_per_player": 3},
                 {"factions_per_player": 2, "strongholds": ["#....."] * 2 + ["......"] * 4},
                 {"factions_per_player": 3, "capture_credit": "enemy_only"}):
        game = Game(Ruleset.from_dict({"mode": "storm", **keys}))
        assert Solver(game).solve(game.initial_state()) == plain_value(game, game.initial_state())


# However it is set up

@pytest.mark.parametrize("seed", range(8))
def test_setup_changes_no_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = STORM if seed < 2 else Game(Ruleset.from_dict(
        {**random_keys(rng), "factions_per_player": 8}))
    positions = [random_position(game, rng, left) for left in (7, 7, 7, 6, 6, 6, 5, 5)]
    expected = [alphabeta_value(game, position) for position in positions]
    for name, solver in solvers(game).items():
        for index in [*rng.permutation(len(positions)), *range(len(positions))]:
            assert solver.solve(positions[index]) == expected[index], name


@pytest.mark.parametrize("seed", range(8))
def test_bastions_are_kept_apart(seed: int) -> None:
    """Positions that differ in nothing but the bastion are kept apart."""
    rng = np.random.default_rng(seed)
    for _ in range(4):
        game = STORM if seed < 4 else Game(Ruleset.from_dict(
            {**random_keys(rng), "factions_per_player": 8}))
        solver = Solver(game, 1 << 20)
        position = random_position(game, rng, int(rng.integers(4, 6)))
        bastions = [0, *(1 << square for square in range(36) if position.opposing >> square & 1)]
        values = {bastion: alphabeta_value(game, position._replace(bastion=bastion))
                  for bastion in bastions}
        for bastion in rng.permutation(bastions * 6).tolist():
            margin = int(rng.choice([*values.values()]) + rng.integers(-1, 2))
            asked = position._replace(bastion=bastion)
            assert solver.at_least(asked, margin) == (values[bastion] >= margin)
        assert {bastion: solver.solve(position._replace(bastion=bastion))
                for bastion in bastions} == values


@pytest.mark.parametrize("seed", range(3))
def test_best_line_is_best_from_everywhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = STORM if seed == 0 else Game(Ruleset.from_dict(
        {**random_keys(rng), "factions_per_player": 8}))
    position = random_position(game, rng, 8)
    solver = Solver(game, 1 << 16)
    value = solver.solve(position)
    line = solver.principal_variation(position)
    assert len(line) == 8
    for action in line:
        assert Solver(game).solve(position) == value
        position, value = game.apply(position, action), -value
    assert game.is_terminal(position)
    assert solver.solve(position) == value == mover_margin(game.table[0], position)


def test_at_least_and_result_agree_with_the_value() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        position = random_position(STORM, rng, 7)
        value = Solver(STORM).solve(position)
        asked = Solver(STORM, 1 << 14)
        assert asked.wdl(position) == np.sign(value)
        margins = rng.permutation(np.arange(value - 3, value + 4)).tolist()
        assert [asked.at_least(position, margin) for margin in margins] == [
            value >= margin for margin in margins]


def test_interrupted_search_goes_on() -> None:
    game = Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": 7}))
    reports: list[SearchProgress] = []

    def interrupt(progress: SearchProgress) -> None:
        reports.append(progress)
        if len(reports) == 1:
            raise KeyboardInterrupt

    solver = Solver(game, 1 << 24, report=interrupt)
    start = game.initial_state()
    with pytest.raises(KeyboardInterrupt):
        solver.solve(start)
    progress = solver.progress()
    assert progress.plies_left == 14
    assert progress.nodes >= reports[0].nodes > 0
    assert solver.solve(start) == -4
    last = solver.progress()
    assert (last.low, last.high, last.depth) == (-4, -4, 14)
    assert last.nodes > progress.nodes


# Its parts

def expected_rows(game: Game, position: Position, lane: int) -> tuple[int, ...]:
    """TARGET, the boards and MARGIN of a slide by the core's rules; all 0 if it is illegal."""
    kind, bit = move_of(legal_moves(game.table[0], position), lane)
    if not bit:
        return (0, 0, 0, 0, 0)
    after = play(game.table[0], position, kind, bit)
    return bit, after.opposing, after.own, after.strongholds, -mover_margin(game.table[0], after)


@pytest.mark.parametrize("seed", range(40))
def test_slides_follow_the_core(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = Game(Ruleset.from_dict(random_keys(rng)))
    after = np.zeros((ROWS, ENTRIES), dtype=np.int64)
    captured = game.rules.victory_points.captured
    for left in range(1, game.rules.max_plies + 1):
        position = random_position(game, rng, left)
        write_slides(game.table[0], board_of(position), after)
        factions = game.rules.factions_per_player
        before = captured * (
            factions - position.opposing_hand - popcount(position.opposing)
            - position.opposing_forfeits
            - (factions - position.own_hand - popcount(position.own) - position.own_forfeits))
        for lane in range(ENTRIES):
            bit, own, opposing, strongholds, margin = expected_rows(game, position, lane)
            assert after[TARGET, lane] == bit
            if bit:
                assert slide_to(after, lane) == (opposing, own, strongholds, bit)
                assert after[MARGIN, lane] + before == margin
            else:
                assert (after[OWN, lane], after[CREDIT, lane]) == (position.own, 0)


def test_keys_join_what_symmetries_join_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    table = symmetry_table(STORM)[0]
    seen: dict[tuple[int, ...], tuple[int, ...]] = {}
    for left in [*range(1, 17)] * 20:
        board = board_of(random_position(STORM, rng, left))
        images = [tuple(map_bits(squares, bits) for bits in board)
                  for squares, _ in STORM.symmetries()]
        keys = {tuple(canonical_key(table, Board(*image), left)[0]) for image in images}
        assert len(keys) == 1
        assert seen.setdefault(keys.pop(), (left, *min(images))) == (left, *min(images))


def entries_of(table: npt.NDArray[np.int64], key: Any) -> tuple[int, ...]:
    return tuple(find(table, key))


def test_table_keeps_both_bounds_and_the_deeper_search() -> None:
    table = new_table(1 << 12)
    key = canonical_key(symmetry_table(STORM)[0], board_of(STORM.initial_state()), 16)[0]
    assert entries_of(table, key)[:3] == (0, LOWEST, HIGHEST)
    store(table, key, Entry(8, -5, HIGHEST, 3), 8)
    store(table, key, Entry(8, LOWEST, 7, 4), 8)
    assert entries_of(table, key) == (8, -5, 7, 3)
    store(table, key, Entry(8, 2, HIGHEST, 11), 8)
    assert entries_of(table, key) == (8, 2, 7, 11)
    store(table, key, Entry(6, 1, HIGHEST, 1), 10)
    assert entries_of(table, key) == (8, 2, 7, 11)
    store(table, key, Entry(16, LOWEST, -19_200, 5), 0)
    assert entries_of(table, key) == (16, LOWEST, -19_200, 5)
    assert all(entries_of(table, key._replace(high=key.high ^ 1 << bit))[0] == 0
               for bit in range(HIGH_BITS))
    # Half of an entry, as another thread may leave it, is no entry.
    table[np.flatnonzero(table)[1]] ^= 1
    assert entries_of(table, key)[0] == 0


# What it refuses, and the command

def test_refuses_what_it_cannot_do() -> None:
    with pytest.raises(AgentError, match="sudden_death"):
        Solver(Game(load_ruleset("sudden-death")))
    with pytest.raises(OptionError, match="threads is 0"):
        Solver(STORM, threads=0)
    with pytest.raises(OptionError, match="memory is 0"):
        Solver(STORM, 0)
    with pytest.raises(OptionError, match="as much as this machine"):
        Solver(STORM, 1 << 62)
    for text in ("4", "4gb", "0GiB", "-1GiB", "1.5GiB", "4 GiB", ""):
        with pytest.raises(OptionError, match="4GiB"):
            memory_bytes(text)
    assert memory_bytes("4GiB") == 1 << 32


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record = RECORDS["positions"][8]
    file = tmp_path / "solved.json"
    run(Solve("storm", position=record["position"], json=file, memory="1MiB", threads=2))
    output = capsys.readouterr().out
    assert f"A to move loses, margin {record['value']:+d} for A" in output
    solved = json.loads(file.read_text("utf-8"))
    assert solved["complete"]
    assert (solved["value"], solved["move_values"]) == (record["value"], record["move_values"])
    assert solved["line"][0] in solved["move_values"]
    run(Solve("storm", position=record["position"], memory="1MiB", wdl=True))
    assert "A to move loses\n" in capsys.readouterr().out


def test_command_tells_what_is_proven_when_interrupted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(solver: Solver, position: Position) -> list[int]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Solver, "principal_variation", interrupt)
    record, file = RECORDS["positions"][8], tmp_path / "solved.json"
    with pytest.raises(KeyboardInterrupt):
        run(Solve("storm", position=record["position"], json=file, memory="1MiB"))
    output = capsys.readouterr().out
    assert f"margin {record['value']:+d}" in output
    assert "stopped before everything was proven" in output
    solved = json.loads(file.read_text("utf-8"))
    assert (solved["complete"], solved["value"]) == (False, record["value"])
