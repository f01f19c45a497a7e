"""Observations and actions of a position under the symmetries of its ruleset."""

from functools import cache

import numpy as np
import numpy.typing as npt

from castle_env.board import DIRECTIONS, SIZE, SQUARES
from castle_env.game import Game
from castle_env.observation import FIRST_ENTRY_PLANE, PLANES

Indices = npt.NDArray[np.int64]


@cache
def symmetry_maps(game: Game) -> tuple[Indices, Indices]:
    """Where the numbers of a mapped observation come from, and which actions its actions mean.

    Shapes (symmetries, PLANES * 36) and (symmetries, num_actions), int64, the identity first: the
    flat observation `planes.reshape(-1)[observations[s]]` shows the position under symmetry s, and
    action a there is `actions[s, a]` of the position itself.
    """
    observations, actions = [], []
    for square_map, action_map in game.symmetries():
        planes = np.arange(PLANES)
        # An entry plane of the image is the plane of the side that its lanes come from.
        planes[FIRST_ENTRY_PLANE + action_map[:DIRECTIONS * SIZE:SIZE] // SIZE] = (
            FIRST_ENTRY_PLANE + np.arange(DIRECTIONS))
        observations.append((planes[:, None] * SQUARES + np.argsort(square_map)).ravel())
        actions.append(np.argsort(action_map))
    return np.stack(observations), np.stack(actions)
