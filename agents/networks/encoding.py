"""What the networks of this package read: the planes of the environment and a short look ahead.

One row of float32 numbers for each position:

    planes    PLANES * 36    the environment's observation, see `castle_env.observation`
    gains     L * actions    what the mover gains by each action within 1 .. L plies
    totals    1 + L          the mover's margin, and the best gain within 1 .. L plies

L is `lookahead`, 0 to 3; with 0, rows are the planes alone. Gains are in VP / `VP_SCALE`, see
`agents.networks.lookahead`.
"""

from typing import Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from agents.networks.lookahead import MOST_LOOKAHEAD, write_lookahead
from castle_env.board import DIRECTIONS, SIZE, SQUARES
from castle_env.errors import OptionError
from castle_env.game import Game
from castle_env.observation import FIRST_ENTRY_PLANE, OBSERVATION_SHAPE, PLANES
from castle_env.position import PositionArray

Rows = npt.NDArray[np.float32]
Masks = npt.NDArray[np.int8]

PLANE_NUMBERS: Final = int(np.prod(OBSERVATION_SHAPE))


class Encoding:
    """Turns positions into rows of `size` numbers.

    gains, totals: how many numbers of each kind stand behind the planes. Raises `OptionError`
    for a lookahead that is not 0, 1, 2 or 3.
    """

    def __init__(self, game: Game, lookahead: int = MOST_LOOKAHEAD) -> None:
        if not 0 <= lookahead <= MOST_LOOKAHEAD:
            raise OptionError(f"lookahead is {lookahead}; allowed: 0 to {MOST_LOOKAHEAD}")
        self.game: Final = game
        self.lookahead: Final = lookahead
        self.gains: Final = lookahead * game.num_actions
        self.totals: Final = 1 + lookahead if lookahead else 0
        self.size: Final = PLANE_NUMBERS + self.gains + self.totals

    @property
    def space(self) -> gym.spaces.Box:
        """The Gymnasium space of a row."""
        return gym.spaces.Box(-np.inf, np.inf, (self.size,), np.float32)

    def encode(self, states: PositionArray) -> tuple[Rows, Masks]:
        """Rows (n, size) as the players to move see them, and masks (n, num_actions) int8."""
        planes, masks = self.game.encode(states)
        return self.extend(states, planes, states["ply"] & 1), masks

    def extend(self, states: PositionArray, planes: Rows, players: npt.NDArray[np.int64]) -> Rows:
        """Rows (n, size) from positions and observations (n, PLANES, 6, 6) as `players` see them.

        A player, 0 or 1 for each position, who is not to move has no gains, only a margin.
        """
        flat = planes.reshape(len(states), PLANE_NUMBERS)
        if not self.lookahead:
            return flat
        gains = np.empty((len(states), self.lookahead, self.game.num_actions), dtype=np.float32)
        totals = np.empty((len(states), self.totals), dtype=np.float32)
        write_lookahead(self.game.table, states, self.lookahead, gains, totals)
        waiting = players != states["ply"] & 1
        gains[waiting] = 0.0
        totals[waiting, 0] *= -1.0
        totals[waiting, 1:] = 0.0
        return np.concatenate((flat, gains.reshape(len(states), -1), totals), axis=1)

    def symmetry_maps(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Where rows and actions come from under each symmetry of the ruleset, identity first.

        Shapes (symmetries, size) and (symmetries, num_actions): `row[rows[s]]` shows the image of
        the position under symmetry s, and action a of the image is `actions[s, a]` of the position.
        """
        rows, actions = [], []
        for square_map, action_map in self.game.symmetries():
            squares, moves = np.argsort(square_map), np.argsort(action_map)
            planes = np.arange(PLANES)
            # The image of an entry plane is the plane of the side that its entries now come from.
            planes[FIRST_ENTRY_PLANE + action_map[:DIRECTIONS * SIZE:SIZE] // SIZE] = (
                FIRST_ENTRY_PLANE + np.arange(DIRECTIONS))
            gains = np.arange(self.lookahead)[:, None] * self.game.num_actions + moves
            parts = ((planes[:, None] * SQUARES + squares).ravel(), PLANE_NUMBERS + gains.ravel(),
                     np.arange(PLANE_NUMBERS + self.gains, self.size))
            rows.append(np.concatenate(parts))
            actions.append(moves)
        return np.stack(rows), np.stack(actions)
