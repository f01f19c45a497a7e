"""Alpha-beta against minimax: what it returns in every window, and at the root."""

import numpy as np
import pytest
from minimax import GAMES, action_values, best_actions, minimax, sample

from agents.search.alphabeta import INFINITE, search, search_root, workspace
from agents.search.moves import CODE_BITS, CODE_MASK, action_of_code
from castle_env.position import unstack


@pytest.mark.parametrize("name", GAMES)
def test_search_bounds_hold_in_every_window(name: str) -> None:
    game = GAMES[name]
    states = sample(game, 30, seed=9)
    values = minimax(game, states, 2) * np.where(states["ply"] % 2, -1, 1)
    work = workspace(2)
    for state, value in zip(unstack(states), values.tolist(), strict=True):
        assert search(game.table[0], None, state, 2, -INFINITE, INFINITE, work) == value
        for alpha in range(value - 2, value + 3):
            for beta in range(alpha + 1, alpha + 3):
                found = search(game.table[0], None, state, 2, alpha, beta, work)
                assert value <= found if found <= alpha else found <= value
                assert found == value or not alpha < found < beta


@pytest.mark.parametrize("name", GAMES)
def test_root_values_are_exact_for_the_best_and_bounds_for_the_rest(name: str) -> None:
    game = GAMES[name]
    work = workspace(3)
    for state in unstack(sample(game, 5, seed=4)):
        values = action_values(game, state, 3)
        entries = work.moves[3, :search_root(game.table[0], None, state, 3, work)].tolist()
        found = {action_of_code(entry & CODE_MASK): entry >> CODE_BITS for entry in entries}
        assert found.keys() == values.keys()
        assert best_actions(found) == best_actions(values)
        assert max(found.values()) == max(values.values())
        assert all(found[action] >= value for action, value in values.items())
