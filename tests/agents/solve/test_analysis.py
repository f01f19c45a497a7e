"""Values of all moves: the referee's, those of the solvers, and what is known when stopped."""

import json
from threading import Event, Thread, active_count

import pytest
from places import DATA
from scripted import BLOCKED, game_of_source, positions_of

from agents.search.alphabeta import INFINITE, search, workspace
from agents.solve.analysis import AnalysisError, analyse_moves
from agents.solve.move_values import MoveValues
from agents.solve.storm_solver import Solver
from agents.solve.sudden_death_solver import SuddenDeathSolver
from castle_env import Game, Position, Ruleset, load_ruleset
from castle_env.board import PASS

STORM = Game(load_ruleset("storm"))
DEATH = Game(load_ruleset("sudden-death"))
LONG = 600.0
RECORDS = json.loads((DATA / "exact_values.json").read_text("utf-8"))


def plain_values(game: Game, state: Position, depth: int) -> dict[int, float]:
    """The mover's margin `depth` plies ahead after each move, by the search without a table."""
    values: dict[int, float] = {}
    for action in game.legal_actions(state):
        child = game.apply(state, action)
        margin = search(game.table[0], None, child, depth - 1, -INFINITE, INFINITE,
                        workspace(depth))
        values[action] = -margin
    return values


def test_storm_values_are_those_of_the_referee() -> None:
    checked = 0
    for record in RECORDS["positions"]:
        state = STORM.parse_position(record["position"])
        if STORM.rules.max_plies - state.ply <= 8:
            found = analyse_moves(STORM, state, seconds=LONG)
            assert (found.exact, found.depth) == (True, None)
            sign = 1 if state.ply % 2 == 0 else -1
            assert {STORM.format_action(action): sign * value
                    for action, value in found.values.items()} == record["move_values"]
            checked += 1
    assert checked > 10


@pytest.mark.parametrize("rules", [
    {"factions_per_player": 3, "capture_credit": "enemy_only"},
    {"factions_per_player": 2, "victory_points": {"captured": 2, "survivor": 1}}])
def test_storm_values_are_those_of_the_solver_in_any_ruleset(rules: dict[str, object]) -> None:
    game = Game(Ruleset.from_dict({"mode": "storm", **rules}))
    solver = Solver(game, memory_bytes=1 << 20)
    for state in positions_of(game, 12, 1, 0.3):
        found = analyse_moves(game, state, seconds=LONG)
        assert found == MoveValues(solver.move_values(state))


@pytest.mark.parametrize("rules", [
    {"factions_per_player": 2}, {"factions_per_player": 2, "entry_style": "step"},
    {"factions_per_player": 3, "max_plies": 7, "capture_credit": "enemy_only"}])
def test_sudden_death_is_exact_where_nobody_can_put_off_the_end(rules: dict[str, object]) -> None:
    game = Game(Ruleset.from_dict({"mode": "sudden_death", **rules}))
    solver = SuddenDeathSolver(game, memory_bytes=1 << 20)
    for state in positions_of(game, 12, 2, 0.3):
        found = analyse_moves(game, state, seconds=LONG)
        assert found == MoveValues(dict(solver.each_move_value(state)))


def test_first_moves_of_storm_come_from_the_book_at_once() -> None:
    found = analyse_moves(STORM, STORM.initial_state(), stopped=lambda: True)
    assert found == MoveValues(dict.fromkeys(STORM.legal_actions(STORM.initial_state()), -4))


@pytest.mark.parametrize("game", [STORM, DEATH])
def test_each_horizon_has_the_values_of_the_plain_search(game: Game) -> None:
    state = positions_of(game, 1, 4, 0.3)[0]
    while state.ply < 5:
        state = game.apply(state, game.legal_actions(state)[-1])
    seen: list[MoveValues] = []
    last = analyse_moves(game, state, seconds=LONG, report=seen.append,
                         stopped=lambda: bool(seen) and (seen[-1].depth or 9) >= 4)
    assert seen
    for found in [*seen, last]:
        if found.depth is not None and found.depth <= 4:
            assert found.values == plain_values(game, state, found.depth)
            assert not found.exact


def test_stopped_at_once_it_knows_the_margins_as_they_stand() -> None:
    state = DEATH.initial_state()
    stop, threads = Event(), active_count()
    stop.set()
    found = analyse_moves(DEATH, state, seconds=LONG, stopped=stop.is_set)
    assert list(found.values) == DEATH.legal_actions(state)
    assert not found.exact
    assert found.values == plain_values(DEATH, state, found.depth or 0)
    assert active_count() == threads


def test_another_thread_can_stop_it() -> None:
    stop, found = Event(), list[MoveValues]()
    thread = Thread(target=lambda: found.append(analyse_moves(
        DEATH, DEATH.initial_state(), seconds=LONG, stopped=stop.is_set)))
    thread.start()
    stop.set()
    thread.join(60)
    assert not thread.is_alive()
    assert not found[0].exact


def test_time_ends_it() -> None:
    found = analyse_moves(DEATH, DEATH.initial_state(), seconds=1e-9)
    assert not found.exact
    assert found.depth is not None


def test_interrupted_it_leaves_no_thread_behind() -> None:
    def interrupt() -> bool:
        raise KeyboardInterrupt

    threads = active_count()
    with pytest.raises(KeyboardInterrupt):
        analyse_moves(DEATH, DEATH.initial_state(), seconds=LONG, stopped=interrupt)
    assert active_count() == threads


def test_a_forced_pass_has_a_value() -> None:
    game = game_of_source(BLOCKED)
    assert analyse_moves(game, game.initial_state()) == MoveValues({PASS: 0})


def test_the_best_moves_are_worth_most_to_the_player_to_move() -> None:
    values = MoveValues({3: 2, 7: -1, 9: 2, 11: -5})
    assert values.best_value == 2
    assert values.best_actions == [3, 9]
    assert [values.regret(action) for action in values.values] == [0, 3, 0, 7]
    assert values.exact
    assert not MoveValues({3: 2}, depth=4).exact


def test_what_cannot_be_analysed_is_one_clear_error() -> None:
    state = STORM.initial_state()
    for seconds in (0, -1, float("nan")):
        with pytest.raises(AnalysisError, match=r"seconds is .*; allowed: "):
            analyse_moves(STORM, state, seconds=seconds)
    while not STORM.is_terminal(state):
        state = STORM.apply(state, STORM.legal_actions(state)[0])
    with pytest.raises(AnalysisError, match=r"game is over in .*; allowed: "):
        analyse_moves(STORM, state)
