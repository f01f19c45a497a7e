"""What an agent sees: planes of 6x6 numbers relative to the player to move.

Plane by plane (shape (PLANES, 6, 6), row 0 is rank 6, column 0 is file a), with the greatest value:

     0      own factions                                                       1
     1      opposing factions                                                  1
     2      strongholds                                                        1
     3      the bastion (the faction that moved last and may not be pushed)    1
     4 - 7  legal entries from the north, south, west, east, on the square     1
            where the faction would come to stand
     8      own factions that besiege a stronghold                             1
     9      opposing factions that do                                          1
    10      own factions orthogonally adjacent to a stronghold, on its square  4
    11      opposing factions adjacent to it, on its square                    4

    planes 12 - 17: one number in all 36 squares

    12      own hand                                                           factions per player
    13      opposing hand                                                      factions per player
    14      tokens the opponent has lost that score for the mover              factions per player
    15      tokens the mover has lost that score for the opponent              factions per player
    16      turns left                                                         turns of a game
    17      1 when the mover is player 1                                       1

As uint8 the numbers are these counts, turns left no more than 255; as float32 they are divided by
the greatest values, which gives 0 to 1. A player controls a stronghold when it has more factions
beside it: plane 10 is greater there than plane 11.
"""

from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from castle_env.board import DIRECTIONS, SIZE, SQUARES
from castle_env.compiled import kernel
from castle_env.kernels import Moves, Rules, captures, neighbours, popcount, square_of
from castle_env.position import Position
from castle_env.ruleset import Ruleset

# Planes of either type, shape (..., PLANES, 36) or (..., PLANES, 6, 6).
Planes: TypeAlias = npt.NDArray[Any]
Divisors: TypeAlias = npt.NDArray[np.float64]
Eights: TypeAlias = npt.NDArray[Any]
ObservationDtype: TypeAlias = Literal["float32", "uint8"]

OBSERVATION_DTYPES: Final = ("float32", "uint8")
PLANES: Final = 18
FIRST_ENTRY_PLANE: Final = 4
SEAT_PLANE: Final = 17
OBSERVATION_SHAPE: Final = (PLANES, SIZE, SIZE)
MOST: Final = 255

# Eight bits at a time: their numbers as zeros and ones, in each type, which are then copied whole.
EIGHTS: Final = {dtype: np.array([[byte >> bit & 1 for bit in range(8)] for byte in range(256)],
                                 dtype=dtype) for dtype in OBSERVATION_DTYPES}


def plane_maxima(rules: Ruleset) -> npt.NDArray[np.int64]:
    """The greatest count in each plane, shape (PLANES,)."""
    factions = rules.factions_per_player
    return np.array([1] * 10 + [4] * 2 + [factions] * 4 + [rules.max_plies, 1])


def plane_divisors(rules: Ruleset, dtype: ObservationDtype) -> Divisors:
    """What counts are divided by in each plane, shape (PLANES,): 1 in planes of uint8."""
    maxima = plane_maxima(rules).astype(np.float64)
    return maxima if dtype == "float32" else np.ones_like(maxima)


@kernel
def write_plane(planes: Planes, plane: int, bits: int, eights: Eights) -> None:
    """Write a bitboard as zeros and ones into one of the planes, shape (PLANES, 36)."""
    # All eight are read before one is written: only then does LLVM move them in one piece.
    for at in range(0, SQUARES - DIRECTIONS, 8):
        byte = bits >> at & 0xFF
        a, b, c, d = eights[byte, 0], eights[byte, 1], eights[byte, 2], eights[byte, 3]
        e, f, g, h = eights[byte, 4], eights[byte, 5], eights[byte, 6], eights[byte, 7]
        planes[plane, at], planes[plane, at + 1], planes[plane, at + 2] = a, b, c
        planes[plane, at + 3], planes[plane, at + 4], planes[plane, at + 5] = d, e, f
        planes[plane, at + 6], planes[plane, at + 7] = g, h
    byte = bits >> 32
    a, b, c, d = eights[byte, 0], eights[byte, 1], eights[byte, 2], eights[byte, 3]
    planes[plane, 32], planes[plane, 33], planes[plane, 34], planes[plane, 35] = a, b, c, d


@kernel
def fill_plane(planes: Planes, plane: int, number: float) -> None:
    """Write a number into all squares of a plane."""
    for square in range(SQUARES):
        planes[plane, square] = number


@kernel
def write_neighbours(
    planes: Planes, plane: int, factions: int, strongholds: int, divisor: float
) -> None:
    """Write into a plane how many of `factions` stand beside each stronghold."""
    fill_plane(planes, plane, 0)
    while strongholds:
        stronghold = strongholds & -strongholds
        count = popcount(factions & neighbours(stronghold))
        planes[plane, square_of(stronghold)] = count / divisor
        strongholds ^= stronghold


@kernel
def write_observation(
    rules: Rules,
    position: Position,
    moves: Moves,
    player: int,
    divisors: Divisors,
    eights: Eights,
    planes: Planes,
) -> None:
    """Write the planes of a position into `planes`, shape (PLANES, 36).

    `position` is seen from `player`; `moves` are that player's legal moves, all empty when it is
    not to move; `divisors` and `eights` are those of the planes' type.
    """
    own, opposing, strongholds = position.own, position.opposing, position.strongholds
    write_plane(planes, 0, own, eights)
    write_plane(planes, 1, opposing, eights)
    write_plane(planes, 2, strongholds, eights)
    write_plane(planes, 3, position.bastion, eights)
    for side in range(DIRECTIONS):
        write_plane(planes, FIRST_ENTRY_PLANE + side, moves[side], eights)
    besieged = neighbours(strongholds)
    write_plane(planes, 8, own & besieged, eights)
    write_plane(planes, 9, opposing & besieged, eights)
    write_neighbours(planes, 10, own, strongholds, divisors[10])
    write_neighbours(planes, 11, opposing, strongholds, divisors[11])
    own_captures, opposing_captures = captures(rules.factions, position)
    fill_plane(planes, 12, position.own_hand / divisors[12])
    fill_plane(planes, 13, position.opposing_hand / divisors[13])
    fill_plane(planes, 14, own_captures / divisors[14])
    fill_plane(planes, 15, opposing_captures / divisors[15])
    fill_plane(planes, 16, min((rules.max_plies - position.ply) / divisors[16], MOST))
    fill_plane(planes, 17, player)
