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

from castle_env.board import BOARD, DIRECTIONS, SIZE, SQUARES
from castle_env.compiled import inlined_kernel, kernel
from castle_env.kernels import Moves, Rules, captures, neighbours, popcount, square_of
from castle_env.position import Position
from castle_env.ruleset import MAX_FACTIONS, Ruleset

# Planes of either type, shape (..., PLANES, 36) or (..., PLANES, 6, 6).
Planes: TypeAlias = npt.NDArray[Any]
Divisors: TypeAlias = npt.NDArray[np.float64]
Eights: TypeAlias = npt.NDArray[Any]
ObservationDtype: TypeAlias = Literal["float32", "uint8"]

OBSERVATION_DTYPES: Final = ("float32", "uint8")
PLANES: Final = 18
FIRST_ENTRY_PLANE: Final = 4
FIRST_COUNT_PLANE: Final = 12
SEAT_PLANE: Final = 17
OBSERVATION_SHAPE: Final = (PLANES, SIZE, SIZE)
MOST: Final = 255

# Rows of `eight_numbers` from here on are those of counts.
COUNTS: Final = 256


def plane_maxima(rules: Ruleset) -> npt.NDArray[np.int64]:
    """The greatest count in each plane, shape (PLANES,)."""
    factions = rules.factions_per_player
    return np.array([1] * 10 + [4] * 2 + [factions] * 4 + [rules.max_plies, 1])


def plane_divisors(rules: Ruleset, dtype: ObservationDtype) -> Divisors:
    """What counts are divided by in each plane, shape (PLANES,): 1 in planes of uint8."""
    maxima = plane_maxima(rules).astype(np.float64)
    return maxima if dtype == "float32" else np.ones_like(maxima)


def eight_numbers(rules: Ruleset, dtype: ObservationDtype) -> Eights:
    """Numbers as they are written into planes, eight at a time, (COUNTS + 9, 8) of `dtype`.

    Row b holds the eight bits of the byte b; row COUNTS + k eight times what planes of hands and
    captures show for k factions.
    """
    bits = [[byte >> bit & 1 for bit in range(8)] for byte in range(COUNTS)]
    divisor = plane_divisors(rules, dtype)[FIRST_COUNT_PLANE]
    counts = [[count / divisor] * 8 for count in range(MAX_FACTIONS + 1)]
    return np.array(bits + counts, dtype=dtype)


@inlined_kernel
def write_row(planes: Planes, plane: int, at: int, row: int, eights: Eights) -> None:
    """Write a row of eight numbers into a plane, from the square `at` on."""
    # All eight are read before one is written: only then does LLVM move them in one piece.
    a, b, c, d = eights[row, 0], eights[row, 1], eights[row, 2], eights[row, 3]
    e, f, g, h = eights[row, 4], eights[row, 5], eights[row, 6], eights[row, 7]
    planes[plane, at], planes[plane, at + 1], planes[plane, at + 2] = a, b, c
    planes[plane, at + 3], planes[plane, at + 4], planes[plane, at + 5] = d, e, f
    planes[plane, at + 6], planes[plane, at + 7] = g, h


@inlined_kernel
def write_half_row(planes: Planes, plane: int, row: int, eights: Eights) -> None:
    """Write half a row into the last four squares of a plane."""
    a, b, c, d = eights[row, 0], eights[row, 1], eights[row, 2], eights[row, 3]
    planes[plane, 32], planes[plane, 33], planes[plane, 34], planes[plane, 35] = a, b, c, d


@kernel
def write_plane(planes: Planes, plane: int, bits: int, eights: Eights) -> None:
    """Write a bitboard as zeros and ones into one of the planes, shape (PLANES, 36)."""
    for at in range(0, SQUARES - DIRECTIONS, 8):
        write_row(planes, plane, at, bits >> at & 0xFF, eights)
    write_half_row(planes, plane, bits >> 32, eights)


@kernel
def write_count(planes: Planes, plane: int, count: int, eights: Eights) -> None:
    """Write into all squares of a plane what it shows for so many factions."""
    for at in range(0, SQUARES - DIRECTIONS, 8):
        write_row(planes, plane, at, COUNTS + count, eights)
    write_half_row(planes, plane, COUNTS + count, eights)


@kernel
def write_neighbours(
    planes: Planes, own: int, opposing: int, strongholds: int, divisor: float, eights: Eights
) -> None:
    """Write into planes 10 and 11 how many own and opposing factions stand beside each stronghold.
    """
    share = 1 / divisor  # the divisor is 4 or 1: products are what quotients would be
    write_plane(planes, 10, 0, eights)
    write_plane(planes, 11, 0, eights)
    while strongholds:
        stronghold = strongholds & -strongholds
        square, around = square_of(stronghold), neighbours(stronghold)
        planes[10, square] = popcount(own & around) * share
        planes[11, square] = popcount(opposing & around) * share
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
    write_neighbours(planes, own, opposing, strongholds, divisors[10], eights)
    own_captures, opposing_captures = captures(rules.factions, position)
    write_count(planes, 12, position.own_hand, eights)
    write_count(planes, 13, position.opposing_hand, eights)
    write_count(planes, 14, own_captures, eights)
    write_count(planes, 15, opposing_captures, eights)
    planes[16, :] = min((rules.max_plies - position.ply) / divisors[16], MOST)
    write_plane(planes, 17, BOARD if player else 0, eights)
