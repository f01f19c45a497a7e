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

from castle_env.board import SIZE, SQUARES
from castle_env.compiled import inlined_kernel
from castle_env.kernels import Moves, Rules, captures, neighbours, popcount, square_of
from castle_env.position import Position
from castle_env.ruleset import MAX_FACTIONS, Ruleset

# Planes of either type, shape (..., CELLS) or (..., PLANES, 6, 6).
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
# Numbers in an observation, one plane after another.
CELLS: Final = PLANES * SQUARES
MOST: Final = 255

# Rows of `eight_numbers` from this one on are those of counts.
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
    """Numbers as they are written into planes, eight at a time, ((COUNTS + 9) * 8,) of `dtype`.

    Row b, eight in a row, holds the eight bits of the byte b; row COUNTS + k eight times what
    planes of hands and captures show for k factions.
    """
    bits = [[byte >> bit & 1 for bit in range(8)] for byte in range(COUNTS)]
    divisor = plane_divisors(rules, dtype)[FIRST_COUNT_PLANE]
    counts = [[count / divisor] * 8 for count in range(MAX_FACTIONS + 1)]
    return np.array(bits + counts, dtype=dtype).reshape(-1)


# What follows is written out where a loop would do, and no index can seem to be negative to numba,
# which would look at it each time: only then does LLVM move eight numbers in one piece.


@inlined_kernel
def write_row(out_planes: Planes, at: int, row: int, eights: Eights) -> None:
    """Write a row of eight numbers into eight cells, from `at` on."""
    row = (row & 0x1FF) << 3
    a, b, c, d = eights[row], eights[row + 1], eights[row + 2], eights[row + 3]
    e, f, g, h = eights[row + 4], eights[row + 5], eights[row + 6], eights[row + 7]
    out_planes[at], out_planes[at + 1], out_planes[at + 2], out_planes[at + 3] = a, b, c, d
    out_planes[at + 4], out_planes[at + 5], out_planes[at + 6], out_planes[at + 7] = e, f, g, h


@inlined_kernel
def write_half_row(out_planes: Planes, at: int, row: int, eights: Eights) -> None:
    """Write half a row into four cells."""
    row = (row & 0x1FF) << 3
    a, b, c, d = eights[row], eights[row + 1], eights[row + 2], eights[row + 3]
    out_planes[at], out_planes[at + 1], out_planes[at + 2], out_planes[at + 3] = a, b, c, d


@inlined_kernel
def write_plane(out_planes: Planes, plane: int, bits: int, eights: Eights) -> None:
    """Write a bitboard as zeros and ones into one of the planes."""
    at = plane * SQUARES
    write_row(out_planes, at, bits & 0xFF, eights)
    write_row(out_planes, at + 8, bits >> 8 & 0xFF, eights)
    write_row(out_planes, at + 16, bits >> 16 & 0xFF, eights)
    write_row(out_planes, at + 24, bits >> 24 & 0xFF, eights)
    write_half_row(out_planes, at + 32, bits >> 32 & 0xF, eights)


@inlined_kernel
def write_same(out_planes: Planes, plane: int, row: int, eights: Eights) -> None:
    """Write a row of equal numbers into all of a plane."""
    at = plane * SQUARES
    write_row(out_planes, at, row, eights)
    write_row(out_planes, at + 8, row, eights)
    write_row(out_planes, at + 16, row, eights)
    write_row(out_planes, at + 24, row, eights)
    write_half_row(out_planes, at + 32, row, eights)


@inlined_kernel
def write_four_times(out_planes: Planes, at: int, number: float) -> None:
    """Write a number into four cells, from `at` on."""
    out_planes[at] = out_planes[at + 1] = out_planes[at + 2] = out_planes[at + 3] = number


@inlined_kernel
def write_number(out_planes: Planes, plane: int, number: float) -> None:
    """Write a number into all of a plane."""
    at = plane * SQUARES
    write_four_times(out_planes, at, number)
    write_four_times(out_planes, at + 4, number)
    write_four_times(out_planes, at + 8, number)
    write_four_times(out_planes, at + 12, number)
    write_four_times(out_planes, at + 16, number)
    write_four_times(out_planes, at + 20, number)
    write_four_times(out_planes, at + 24, number)
    write_four_times(out_planes, at + 28, number)
    write_four_times(out_planes, at + 32, number)


@inlined_kernel
def write_neighbours(
    out_planes: Planes, own: int, opposing: int, strongholds: int, divisor: float, eights: Eights
) -> None:
    """Write into planes 10 and 11 how many own and opposing factions stand beside each stronghold.
    """
    # `np.divide` raises nothing, which would cost time in all that it becomes a part of.
    share = np.divide(1.0, divisor)  # of 4 or 1: products are what quotients would be
    write_same(out_planes, 10, 0, eights)
    write_same(out_planes, 11, 0, eights)
    while strongholds:
        stronghold = strongholds & -strongholds
        square, around = square_of(stronghold), neighbours(stronghold)
        out_planes[10 * SQUARES + square] = popcount(own & around) * share
        out_planes[11 * SQUARES + square] = popcount(opposing & around) * share
        strongholds ^= stronghold


@inlined_kernel
def write_observation(
    rules: Rules,
    position: Position,
    moves: Moves,
    player: int,
    divisors: Divisors,
    eights: Eights,
    out_planes: Planes,
) -> None:
    """Write the planes of a position into `out_planes`, shape (CELLS,).

    `position` is seen from `player`; `moves` are that player's legal moves, all empty when it is
    not to move; `divisors` and `eights` are those of the planes' type.
    """
    own, opposing, strongholds = position.own, position.opposing, position.strongholds
    write_plane(out_planes, 0, own, eights)
    write_plane(out_planes, 1, opposing, eights)
    write_plane(out_planes, 2, strongholds, eights)
    write_plane(out_planes, 3, position.bastion, eights)
    write_plane(out_planes, FIRST_ENTRY_PLANE, moves[0], eights)
    write_plane(out_planes, FIRST_ENTRY_PLANE + 1, moves[1], eights)
    write_plane(out_planes, FIRST_ENTRY_PLANE + 2, moves[2], eights)
    write_plane(out_planes, FIRST_ENTRY_PLANE + 3, moves[3], eights)
    besieged = neighbours(strongholds)
    write_plane(out_planes, 8, own & besieged, eights)
    write_plane(out_planes, 9, opposing & besieged, eights)
    write_neighbours(out_planes, own, opposing, strongholds, divisors[10], eights)
    own_captures, opposing_captures = captures(rules.factions, position)
    write_same(out_planes, 12, COUNTS + position.own_hand, eights)
    write_same(out_planes, 13, COUNTS + position.opposing_hand, eights)
    write_same(out_planes, 14, COUNTS + own_captures, eights)
    write_same(out_planes, 15, COUNTS + opposing_captures, eights)
    turns = np.divide(float(rules.max_plies - position.ply), divisors[16])
    write_number(out_planes, 16, min(turns, MOST))
    write_same(out_planes, SEAT_PLANE, 0xFF if player else 0, eights)
