"""Exact values near the turn limit: what a slow search that cuts nothing off finds."""

from typing import Any

import numpy as np
import pytest
from minimax import GAMES, action_values, sample

from agents.search.alphabeta import workspace
from agents.search.endgame import ILLEGAL, exact_margin, plies_left, write_exact_margins
from castle_env import Game, Ruleset
from castle_env.position import PositionArray, unstack

PLIES = 3
SHORT: dict[str, dict[str, Any]] = {
    "storm": {"mode": "storm"},
    "enemy-only": {"mode": "storm", "capture_credit": "enemy_only", "factions_per_player": 5},
    "points": {"mode": "storm", "factions_per_player": 4, "victory_points": {
        "captured": -1, "contact": 2, "survivor": 1, "squares": [[0, 1, -2, 3, 0, 0]] * 6}},
    # The turn limit, and last entries before it.
    "sudden-death": {"mode": "sudden_death", "factions_per_player": 3, "max_plies": 7},
    "passes": {"mode": "sudden_death", "entry_lanes": "home_edge", "factions_per_player": 4,
               "max_plies": 8, "strongholds": ["......"] * 5 + [".####."]},
}


def near_the_limit(game: Game, count: int) -> PositionArray:
    states = sample(game, 40 * count, seed=3)
    return states[states["ply"] >= game.rules.max_plies - PLIES][:count]


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("slack", [0, 2, 100])
def test_margins_are_those_of_a_full_search(name: str, slack: int) -> None:
    game = Game(Ruleset.from_dict(SHORT[name]))
    states = near_the_limit(game, 24)
    assert len(states) == 24
    margins = np.empty((len(states), game.num_actions), dtype=np.int64)
    write_exact_margins(game.table, states, PLIES, slack, margins)
    for state, row in zip(unstack(states), margins, strict=True):
        truth = action_values(game, state, PLIES)
        best = max(truth.values())
        assert row.max() == best
        assert exact_margin(game.table[0], state, workspace(PLIES)) == best
        assert set(np.flatnonzero(row != ILLEGAL)) == set(truth)
        for action, value in truth.items():
            if value >= best - slack:
                assert row[action] == value
            else:
                assert value <= row[action] < best - slack


def test_plies_left_count_down_to_the_turn_limit() -> None:
    game = GAMES["storm"]
    assert plies_left(game.table[0], game.initial_state()) == 16
