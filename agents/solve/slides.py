"""All slides of a storm position at once, in loops over lanes that compile to vector code.

The rules are those of `castle_env.kernels`, arranged in another way: all 24 slides, legal or not,
are played side by side, so that a whole last ply takes about as long as two moves played alone.
Lanes are numbered as actions are.

`after` is a (ROWS, 24) int64 array with a column for each lane and a row for each fact about the
position after the slide on it. Boards and values in it are those of the player who slides.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.search.board import LANE_BITS, LANE_MASK, Board
from agents.search.pushes import (
    NEVER,
    Lane,
    Weights,
    board_margin,
    credit_of,
    first_on,
    may_move,
    run_from,
    slid,
    tame,
    weights_of,
)
from castle_env.board import DIRECTIONS, EDGES, ENTRIES, FIRST_COLUMN, SIZE, SQUARES, TOP_ROW
from castle_env.compiled import inlined_kernel, kernel
from castle_env.kernels import Rules

Ints = npt.NDArray[np.int64]

# Rows of `after`. TARGET: the square on which the faction comes to stand; 0 where the slide is
# illegal, and then the boards are unchanged. CREDIT: Victory Points for what the slide captures.
# MARGIN: that plus the margin of the boards.
TARGET, OWN, OPPOSING, STRONGHOLDS, CREDIT, MARGIN = range(6)
ROWS: Final = 6


def _by_lane(by_side: list[int]) -> Ints:
    """A value for each of the four sides as an array over the lanes."""
    return np.repeat(np.array(by_side, dtype=np.int64), SIZE)


_LEFT: Final = _by_lane([SIZE, 0, 1, 0])
_RIGHT: Final = _by_lane([0, SIZE, 0, 1])
_FAR_EDGE: Final = _by_lane([EDGES[side ^ 1] for side in range(DIRECTIONS)])
_SQUARES: Final = np.array([FIRST_COLUMN << file for file in range(SIZE)] * 2
                           + [TOP_ROW << (SIZE * rank) for rank in range(SIZE)] * 2, dtype=np.int64)


@inlined_kernel
def lane_of(index: int) -> Lane:
    """The lane of an action."""
    return tame(Lane(_LEFT[index], _RIGHT[index], _SQUARES[index], _FAR_EDGE[index]))


@inlined_kernel
def pushed(lane: Lane, board: Board) -> tuple[int, int]:
    """The first token on a lane and the run that begins with it; 0, 0 if it must not be pushed."""
    first = first_on(lane, board)
    run = run_from(lane, first, board)
    moves = may_move(lane, run, board)
    return first if moves else 0, run if moves else 0


@inlined_kernel
def slide_margin(weights: Weights, lane: Lane, board: Board) -> int:
    """Margin for the mover after a slide, points of squares apart; NEVER if it is illegal."""
    first, run = pushed(lane, board)
    slide = slid(lane, first, run, board)
    margin = credit_of(weights, board, slide) + board_margin(weights, slide)
    return margin if first != 0 else NEVER


@inlined_kernel
def slide_to(after: Ints, index: int) -> Board:
    """The board after the slide on a lane, seen from the other player."""
    return Board(after[OPPOSING, index], after[OWN, index], after[STRONGHOLDS, index],
                 after[TARGET, index])


@kernel
def write_slides(rules: Rules, board: Board, after: Ints) -> None:
    """Write all of `after`, (ROWS, 24) int64, for the slides of the mover."""
    weights = weights_of(rules)
    for index in range(ENTRIES):
        lane = lane_of(index)
        first, run = pushed(lane, board)
        slide = slid(lane, first, run, board)
        credit = credit_of(weights, board, slide)
        after[TARGET, index] = slide.bastion
        after[OWN, index] = slide.own
        after[OPPOSING, index] = slide.opposing
        after[STRONGHOLDS, index] = slide.strongholds
        after[CREDIT, index] = credit
        after[MARGIN, index] = credit + board_margin(weights, slide)
    if rules.uses_squares:
        for square in range(SQUARES):
            add_square(rules.squares[square], square, after)


@kernel
def add_square(weight: int, square: int, after: Ints) -> None:
    """Add the Victory Points of one square to the margins in `after`, (ROWS, 24) int64."""
    for index in range(ENTRIES):
        after[MARGIN, index] += weight * ((after[OWN, index] >> square & 1)
                                          - (after[OPPOSING, index] >> square & 1))


@kernel
def best_slide(after: Ints) -> tuple[int, int]:
    """The legal lane with the largest margin, and that margin; NEVER if all are illegal.

    after: (ROWS, 24) int64.
    """
    best = NEVER << LANE_BITS
    for index in range(ENTRIES):
        margin = after[MARGIN, index] if after[TARGET, index] != 0 else NEVER
        best = max(best, margin << LANE_BITS | index)
    return best & LANE_MASK, best >> LANE_BITS


@kernel
def last_slide(rules: Rules, board: Board, after: Ints) -> int:
    """Exact value for the mover with one ply left; captures before it do not count.

    after: (ROWS, 24) int64, memory to write to.
    """
    if rules.uses_squares:
        write_slides(rules, board, after)
        margin = best_slide(after)[1]
        # Where all lanes are illegal, each shows the unchanged board, whose margin a pass keeps.
        return margin if margin != NEVER else after[MARGIN, 0]
    weights = weights_of(rules)
    best = NEVER
    for index in range(ENTRIES):
        best = max(best, slide_margin(weights, lane_of(index), board))
    return best if best != NEVER else board_margin(weights, board)


@kernel
def write_replies(rules: Rules, pool: Ints, count: int, index: int, out_margins: Ints) -> None:
    """The opponent's margin after it replies with one lane to each of `count` slides.

    pool: (ROWS, 24) int64, the slides in its first columns, with the rows of `after`. out_margins:
    (24,) int64, NEVER where the reply is illegal; points of squares are left out. Columns up to the
    next multiple of 8 are written too.
    """
    weights, lane = weights_of(rules), lane_of(index)
    for column in range((count + 7) // 8 * 8):
        out_margins[column] = slide_margin(weights, lane, slide_to(pool, column))
