"""A position as one immutable value, and a batch of positions as one structured array."""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt


class Position(NamedTuple):
    """Everything that decides how a game goes on, seen from the player to move.

    Nine integers; player 0 is to move when `ply` is even. `bastion` is the bitboard of the faction
    that moved last (0 when there is none). Tokens a player has lost are not stored: they are
    factions_per_player - hand - tokens on the board. `own_forfeits` and `opposing_forfeits` count
    the lost tokens that their own owner pushed off; they stay 0 unless the ruleset's
    `capture_credit` is "enemy_only", the one reading in which they matter.
    """

    own: int
    opposing: int
    strongholds: int
    bastion: int
    own_hand: int
    opposing_hand: int
    own_forfeits: int
    opposing_forfeits: int
    ply: int


POSITION_DTYPE = np.dtype([(field, np.int64) for field in Position._fields])

# A batch: shape (n,), dtype POSITION_DTYPE; `states["ply"]` is a column, `states[i]` a row.
PositionArray: TypeAlias = npt.NDArray[np.void]


def stack(positions: list[Position]) -> PositionArray:
    """Batch of shape (n,) that holds copies of `positions`."""
    return np.array(positions, dtype=POSITION_DTYPE)


def unstack(states: PositionArray) -> list[Position]:
    """The positions of a batch as a list of values."""
    return [Position(*row) for row in states.tolist()]
