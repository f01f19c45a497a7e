"""What decides how a storm game goes on, and the numbers of its lanes."""

from typing import Final, NamedTuple

from castle_env.compiled import kernel
from castle_env.position import Position

# A lane, 0 to 23 as actions are numbered, takes five bits where it is packed with something else.
LANE_BITS: Final = 5
LANE_MASK: Final = (1 << LANE_BITS) - 1
NO_LANE: Final = LANE_MASK


class Board(NamedTuple):
    """The tokens on the board as one player sees them, and the bastion; all of them bitboards."""

    own: int
    opposing: int
    strongholds: int
    bastion: int


@kernel
def board_of(position: Position) -> Board:
    """The board of a position, as its mover sees it."""
    return Board(position.own, position.opposing, position.strongholds, position.bastion)
