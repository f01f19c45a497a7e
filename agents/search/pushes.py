"""Pushes and margins as functions that become part of their callers.

The rules are those of `castle_env.kernels`, arranged for loops over many moves at once, which then
compile to vector code. Boards and values are those of the player who moves; points of squares are
left out.
"""

from typing import Final, NamedTuple

from agents.search.board import Board
from castle_env.board import BOARD
from castle_env.compiled import inlined_kernel
from castle_env.kernels import Rules, neighbours, popcount, shift

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


@inlined_kernel
def tame(lane: Lane) -> Lane:
    """The lane again, with numbers that the compiler knows to be small and not negative.

    Shifts to the right are then the cheaper ones of numbers without a sign.
    """
    return Lane(lane.left & 7, lane.right & 7, lane.squares & BOARD, lane.far_edge & BOARD)


@inlined_kernel
def weights_of(rules: Rules) -> Weights:
    """The weights of a ruleset."""
    points = rules.points
    return Weights(points[0], 0 if rules.enemy_only else points[0], points[1], points[2], points[3],
                   points[4])


@inlined_kernel
def first_on(lane: Lane, board: Board) -> int:
    """The first token on a lane; 0 if there is none."""
    left, right, squares, _ = lane
    tokens = (board.own | board.opposing | board.strongholds) & squares
    behind = (tokens << left >> right) & squares
    behind |= (behind << left >> right) & squares
    behind |= (behind << 2 * left >> 2 * right) & squares
    behind |= (behind << left >> right) & squares
    return tokens & ~behind


@inlined_kernel
def run_from(lane: Lane, start: int, board: Board) -> int:
    """The run on a lane that begins with a square; 0 where the square is free."""
    left, right, squares, _ = lane
    tokens = (board.own | board.opposing | board.strongholds) & squares
    run = start & tokens
    run |= (run << left >> right) & tokens
    run |= (run << left >> right) & tokens
    run |= (run << left >> right) & tokens
    run |= (run << left >> right) & tokens
    run |= (run << left >> right) & tokens
    return run


@inlined_kernel
def may_move(lane: Lane, run: int, board: Board) -> bool:
    """Whether a run may be pushed: it holds no bastion, and no stronghold would leave the board."""
    return run & (board.bastion | board.strongholds & lane.far_edge) == 0


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
