"""Evaluators for tree searches that need no network, and what tests look at in the trees."""

from typing import Any

import numpy as np
import numpy.typing as npt
from minimax import rng, winning_now

from castle_env import Game, Position
from castle_env.position import PositionArray

MAX_DRAWS = 50


def know_nothing(states: PositionArray) -> tuple[Any, Any]:
    """An evaluator for which all moves and positions are alike: only ends of games tell."""
    return np.zeros((len(states), 169), np.float32), np.zeros(len(states), np.float32)


def guess(states: PositionArray) -> tuple[Any, Any]:
    """An evaluator whose opinions are as good as random, and depend on the position alone."""
    mixed = (states["own"] * 31 + states["opposing"] * 17 + states["ply"] * 7) % 1009 / 1009
    logits = np.sin(mixed[:, None] * 100 * np.arange(1, 170))
    return logits.astype(np.float32), (0.2 * np.cos(50 * mixed)).astype(np.float32)


def children(tree: npt.NDArray[np.void], node: int = 0) -> npt.NDArray[np.void]:
    first = tree["first"][node]
    return tree[first:first + max(0, tree["children"][node])]


def late_positions(game: Game, plies: int, most: int, seed: int = 0) -> list[Position]:
    """Positions that random play ends after at most so many plies more, with a choice to make."""
    source = rng(seed)
    found: list[Position] = []
    while len(found) < most:
        path = [game.initial_state()]
        while not game.is_terminal(path[-1]):
            path.append(game.apply(path[-1], int(source.choice(game.legal_actions(path[-1])))))
        found += [state for state in path[-1 - plies:-1] if len(game.legal_actions(state)) > 1]
    return found[:most]


def won_positions(game: Game, seats: set[int], after_pass: bool) -> list[Position]:
    """Positions of random games with a win in one: 100 or more, of each seat, and after a pass.

    So many games are drawn that there are such positions, whatever the seed.
    """
    found: list[Position] = []
    for seed in range(MAX_DRAWS):
        found += [state for state in late_positions(game, 2, 200, seed) if winning_now(game, state)]
        if len(found) >= 100 and {state.ply & 1 for state in found} >= seats and (
                not after_pass or any(state.bastion == 0 for state in found)):
            return found
    raise AssertionError(f"none of these in {MAX_DRAWS} draws")
