"""All slides of a storm position at once, in loops over lanes that compile to vector code.

The rules are those of `castle_env.kernels`, arranged in another way: all 24 slides, legal or not,
are played side by side, so that a whole last ply takes about as long as two moves played alone.
Lanes are numbered as actions are.

`after` is a (ROWS, 24) int64 array with a column for each lane and a row for each fact about the
position after the slide on it. Boards and values in it are those of the player who slides.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.board import LANE_BITS, LANE_MASK, Board
from castle_env.board import DIRECTIONS, EDGES, ENTRIES, FIRST_COLUMN, SIZE, SQUARES, TOP_ROW
from castle_env.compiled import inlined_kernel, kernel
from castle_env.kernels import Rules, neighbours, popcount, shift

Ints = npt.NDArray[np.int64]

# Rows of `after`. TARGET: the square on which the faction comes to stand; 0 where the slide is
# illegal, and then the boards are unchanged. CREDIT: Victory Points for what the slide captures.
# MARGIN: that plus the margin of the boards.
TARGET, OWN, OPPOSING, STRONGHOLDS, CREDIT, MARGIN = range(6)
ROWS: Final = 6

# Less than any margin: |margin| is below 20,000, since no weight of a ruleset exceeds 100.
NEVER: Final = -(1 << 20)


class Weights(NamedTuple):
    """Victory Points by row of the table; `lost` is what losing a token costs, at once.

    They are copied out of the ruleset because loops that read them there do not become vector code.
    """

    captured: int
    lost: int
    besieging: int
    contact: int
    controlled: int
    survivor: int


class Lane(NamedTuple):
    """Where a lane is and which way it leads.

    A token moves on by a shift to the left and one to the right, of which one is 0.
    """

    left: int
    right: int
    squares: int
    far_edge: int


def _by_lane(by_side: list[int]) -> Ints:
    """A value for each of the four sides as an array over the lanes."""
    return np.repeat(np.array(by_side, dtype=np.int64), SIZE)


_LEFT: Final = _by_lane([SIZE, 0, 1, 0])
_RIGHT: Final = _by_lane([0, SIZE, 0, 1])
_FAR_EDGE: Final = _by_lane([EDGES[side ^ 1] for side in range(DIRECTIONS)])
_SQUARES: Final = np.array([FIRST_COLUMN << file for file in range(SIZE)] * 2
                           + [TOP_ROW << (SIZE * rank) for rank in range(SIZE)] * 2, dtype=np.int64)


@inlined_kernel
def weights_of(rules: Rules) -> Weights:
    """The weights of a ruleset."""
    points = rules.points
    return Weights(points[0], 0 if rules.enemy_only else points[0], points[1], points[2], points[3],
                   points[4])


@inlined_kernel
def lane_of(index: int) -> Lane:
    """The lane of an action."""
    return Lane(_LEFT[index], _RIGHT[index], _SQUARES[index], _FAR_EDGE[index])


@inlined_kernel
def pushed(lane: Lane, board: Board) -> tuple[int, int]:
    """The first token on a lane and the run that begins with it; 0, 0 if it must not be pushed."""
    left, right, squares, far_edge = lane
    tokens = (board.own | board.opposing | board.strongholds) & squares
    behind = (tokens << left >> right) & squares
    behind |= (behind << left >> right) & squares
    behind |= (behind << 2 * left >> 2 * right) & squares
    behind |= (behind << left >> right) & squares
    first = tokens & ~behind
    run = first
    run |= (run << left >> right) & tokens
    run |= (run << left >> right) & tokens
    run |= (run << left >> right) & tokens
    run |= (run << left >> right) & tokens
    run |= (run << left >> right) & tokens
    moves = run & (board.bastion | board.strongholds & far_edge) == 0
    return first if moves else 0, run if moves else 0


@inlined_kernel
def moved(lane: Lane, run: int, side: int) -> int:
    """The squares of `side` after a push of `run`."""
    return side & ~run | ((side & run) << lane.left >> lane.right) & lane.squares


@inlined_kernel
def slid(lane: Lane, first: int, run: int, board: Board) -> Board:
    """The board after a slide that pushes `run`, seen from the same player; 0, 0: unchanged."""
    return Board(moved(lane, run, board.own) | first, moved(lane, run, board.opposing),
                 moved(lane, run, board.strongholds), first)


@inlined_kernel
def credit_of(weights: Weights, board: Board, after: Board) -> int:
    """Victory Points for what a slide captured."""
    captured = popcount(board.opposing) - popcount(after.opposing)
    lost = popcount(board.own) + (after.bastion != 0) - popcount(after.own)
    return weights.captured * captured - weights.lost * lost


@inlined_kernel
def neighbour_counts(side: int) -> tuple[int, int, int]:
    """How many tokens of `side` are adjacent to each square: bitboards of the bits 1, 2 and 4."""
    north, south, west, east = shift(side, 0), shift(side, 1), shift(side, 2), shift(side, 3)
    column, row = north ^ south, west ^ east
    both, all_row = north & south, west & east
    return column ^ row, both ^ all_row ^ (column & row), both & all_row


@inlined_kernel
def lead(one: int, other: int, squares: int) -> int:
    """How many more of `squares` are in `one` than in `other`."""
    return popcount(one & squares) - popcount(other & squares)


@inlined_kernel
def board_margin(weights: Weights, board: Board) -> int:
    """Margin of a board for its mover, apart from captures and points of squares."""
    own, opposing, strongholds, _ = board
    own_1, own_2, own_4 = neighbour_counts(own)
    opposing_1, opposing_2, opposing_4 = neighbour_counts(opposing)
    # Compare the counts bit by bit from the lowest on; a difference in a higher bit decides.
    more, less = own_1 & ~opposing_1, opposing_1 & ~own_1
    more = own_2 & ~opposing_2 | more & ~(own_2 ^ opposing_2)
    less = opposing_2 & ~own_2 | less & ~(own_2 ^ opposing_2)
    more = own_4 & ~opposing_4 | more & ~(own_4 ^ opposing_4)
    less = opposing_4 & ~own_4 | less & ~(own_4 ^ opposing_4)
    contact = (lead(own_1, opposing_1, strongholds) + 2 * lead(own_2, opposing_2, strongholds)
               + 4 * lead(own_4, opposing_4, strongholds))
    return (weights.besieging * lead(own, opposing, neighbours(strongholds))
            + weights.contact * contact + weights.controlled * lead(more, less, strongholds)
            + weights.survivor * (popcount(own) - popcount(opposing)))


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
