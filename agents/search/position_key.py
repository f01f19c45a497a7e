"""A storm position as 83 bits, the same for all positions that the ruleset's symmetries join.

How a game goes on depends on the board, the bastion and the plies left; captures made before only
add to the margin. A key holds the board, the bastion and the plies left, as the mover sees them:

    low, 64 bits:  bits 0-35   squares of own factions and of strongholds
                   bits 36-63  squares 0-27 of opposing factions and of strongholds
    high, 19 bits: bits 0-7    squares 28-35 of the same
                   bits 8-13   square of the bastion, 63 without one
                   bits 14-18  plies left

It is no hash: two positions with one key have the same future, up to a symmetry.
"""

from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from agents.search.board import NO_LANE, Board
from castle_env.board import ENTRIES, SIZE, SQUARES, TOP_ROW
from castle_env.compiled import kernel
from castle_env.game import Game
from castle_env.kernels import square_of
from castle_env.symmetry import map_bits

Ints = npt.NDArray[np.int64]

HIGH_BITS: Final = 19
# The lowest of the bits of `high` that hold the plies left.
PLIES_LEFT_BIT: Final = 14

_BASTION_BIT: Final = 8
_NO_BASTION: Final = 63
_LOW_SQUARES: Final = 28
_SYMMETRIES: Final = 8
_NO_ACTION: Final = 255

SYMMETRIES_DTYPE: Final = np.dtype([
    ("count", np.int64),
    ("images", np.int64, (_SYMMETRIES, SIZE, 1 << SIZE)),
    ("lanes", np.int64, (_SYMMETRIES, NO_LANE + 1)),
    ("actions", np.int64, (_SYMMETRIES, _NO_ACTION + 1)),
    ("inverse", np.int64, (_SYMMETRIES,)),
])


class Symmetries(Protocol):
    """A row of SYMMETRIES_DTYPE: what each symmetry does, the identity first.

    images: of every occupancy of each rank, as a bitboard. lanes: where each lane goes; NO_LANE
    stays. actions: where each action goes; numbers above all actions stay. inverse: which symmetry
    undoes it.
    """

    count: int
    images: Ints
    lanes: Ints
    actions: Ints
    inverse: Ints


class Key(NamedTuple):
    """A position, as drawn above."""

    low: int
    high: int


def symmetry_table(game: Game, use: bool = True) -> npt.NDArray[np.void]:
    """The ruleset's symmetries, shape (1,), SYMMETRIES_DTYPE; just the identity if not to be used.
    """
    table = np.zeros(1, dtype=SYMMETRIES_DTYPE)
    maps = game.symmetries()[:None if use else 1]
    table["count"] = len(maps)
    table["lanes"] = np.arange(NO_LANE + 1)
    table["actions"] = np.arange(_NO_ACTION + 1)
    for index, (square_map, action_map) in enumerate(maps):
        table["images"][0, index] = [
            [map_bits(square_map, bits << (SIZE * rank)) for bits in range(1 << SIZE)]
            for rank in range(SIZE)]
        table["lanes"][0, index, :ENTRIES] = action_map[:ENTRIES]
        table["actions"][0, index, :len(action_map)] = action_map
        table["inverse"][0, index] = [np.array_equal(other[square_map], np.arange(SQUARES))
                                      for other, _ in maps].index(True)
    return table


@kernel
def image(symmetries: Symmetries, index: int, squares: int) -> int:
    """What a symmetry makes of a bitboard."""
    images = symmetries.images
    mapped = 0
    for rank in range(SIZE):
        mapped |= images[index, rank, squares >> SIZE * rank & TOP_ROW]
    return mapped


@kernel
def canonical_key(symmetries: Symmetries, board: Board, plies_left: int) -> tuple[Key, int]:
    """The key of a board, and which symmetry brings the board into the form that the key holds.

    That form has the smallest bitboards (own, opposing, bastion), each of the former with the
    strongholds.
    """
    own, opposing = board.own | board.strongholds, board.opposing | board.strongholds
    best, chosen = (own, opposing, board.bastion), 0
    for index in range(1, symmetries.count):
        own_image = image(symmetries, index, own)
        if own_image <= best[0]:
            mapped = (own_image, image(symmetries, index, opposing),
                      image(symmetries, index, board.bastion))
            if mapped < best:
                best, chosen = mapped, index
    own, opposing, bastion = best
    square = square_of(bastion) if bastion else _NO_BASTION
    high = opposing >> _LOW_SQUARES | square << _BASTION_BIT | plies_left << PLIES_LEFT_BIT
    return Key(own | opposing << SQUARES, high), chosen
