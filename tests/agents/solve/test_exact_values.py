"""Exact values of batches against the solver, position by position."""

import numpy as np
import pytest

from agents.solve.exact_values import ILLEGAL, LAST_PLIES
from agents.solve.perfect_play import PerfectPlay, exact_move_values
from agents.solve.storm_solver import Solver
from castle_env import AgentError, Game, Ruleset, load_ruleset
from castle_env.board import PASS
from castle_env.position import PositionArray, unstack

STORM = Game(load_ruleset("storm"))
CROWDED = Game(Ruleset.from_dict({
    "mode": "storm", "factions_per_player": 6,
    "strongholds": ["######", "######", "##.###", "######", "######", "######"]}))
LOPSIDED = Game(Ruleset.from_dict({
    "mode": "storm", "factions_per_player": 5, "capture_credit": "enemy_only",
    "strongholds": ["#.....", "..#...", "......", "......", ".##...", "......"],
    "victory_points": {"captured": 3, "contact": 2, "survivor": -1,
                       "squares": [[0, 1, 2, 3, 4, 5]] * 6}}))


def random_states(game: Game, plies: range, count: int) -> PositionArray:
    """`count` positions after each number of random plies."""
    rng = np.random.default_rng(7)
    played = [game.initial_states(count)]
    for _ in range(1, plies.stop):
        played.append(game.apply_actions(played[-1], game.random_actions(played[-1], rng)))
    return np.concatenate(played[plies.start:])


@pytest.mark.parametrize(("game", "plies"), [
    (STORM, range(16 - LAST_PLIES, 16)), (CROWDED, range(5, 12)), (LOPSIDED, range(3, 10))])
def test_values_are_those_of_the_solver(game: Game, plies: range) -> None:
    states = random_states(game, plies, 6)
    values = exact_move_values(game, states)
    assert values.shape == (len(states), game.num_actions)
    assert values.dtype == np.int16
    for position, row in zip(unstack(states), values, strict=True):
        # Each with an empty table of its own.
        expected = Solver(game, 1 << 20).move_values(position)
        assert {action: int(row[action]) for action in np.flatnonzero(row != ILLEGAL)} == expected
    if game is CROWDED:
        assert (values[:, PASS] != ILLEGAL).any()


def test_first_plies_come_from_the_book() -> None:
    play = PerfectPlay(STORM)
    states = random_states(STORM, range(2), 4)
    values = play.values_of_moves(states)
    assert play.solver.nodes == 0
    assert (values[:4].max(axis=1) == -4).all()
    assert (values[4:].max(axis=1) >= 4).all()


def test_values_do_not_depend_on_the_rest_of_the_batch() -> None:
    """Some positions are left to the solver, and the others to compiled code."""
    states = random_states(LOPSIDED, range(2, 10), 1)
    together = exact_move_values(LOPSIDED, states)
    alone = [exact_move_values(LOPSIDED, states[row:row + 1])[0] for row in range(len(states))]
    np.testing.assert_array_equal(together, alone)


def test_games_that_are_over_and_other_modes() -> None:
    over = random_states(STORM, range(16, 17), 2)
    assert (exact_move_values(STORM, over) == ILLEGAL).all()
    assert exact_move_values(STORM, over[:0]).shape == (0, STORM.num_actions)
    with pytest.raises(AgentError, match="sudden_death"):
        exact_move_values(Game(load_ruleset("sudden-death")), over)
