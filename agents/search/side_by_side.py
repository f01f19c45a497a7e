"""All moves of a position at once, in loops that compile to vector code; both modes.

The rules are those of `castle_env.kernels`, arranged in another way: all moves, legal or not, are
played side by side. A step is an entry of the token that was lifted from its square.

`after` is a (SIZE_OF_AFTER,) int64 array: rows of COLUMNS numbers, a row for each fact about the
position after a move, and in it a column for each move. A row begins where its name says, so that
`after[OWN + column]` is one number; a flat array, since loops over one of two dimensions do not
become vector code here. Boards and values are those of the player who moves. The first columns are
that player's entries, one for each of its lanes, up to a multiple of four; then come four for each
of its tokens on the board, one for each direction.
"""

from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from agents.search.board import Board
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
from castle_env.board import (
    BOARD,
    DIRECTIONS,
    EDGES,
    ENTRIES,
    FIRST_COLUMN,
    SIZE,
    SQUARES,
    STEPS,
    TOP_ROW,
)
from castle_env.compiled import inlined_kernel, kernel
from castle_env.game import Game
from castle_env.kernels import STEPS_NONE, STEPS_PUSHING, Rules, square_of
from castle_env.position import Position

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[np.void]

# Rows of `after`. TARGET: the square on which the faction comes to stand; 0 where the move is
# illegal, and then the rows after it mean nothing. CREDIT: Victory Points for what the move
# captures. MARGIN: that plus the margin of the boards.
_STEP_COLUMNS: Final = 32
COLUMNS: Final = ENTRIES + _STEP_COLUMNS
SIZE_OF_AFTER: Final = 7 * COLUMNS
TARGET, OWN, OPPOSING, STRONGHOLDS, CREDIT, MARGIN, ACTION = range(0, SIZE_OF_AFTER, COLUMNS)
# Numbers of columns pass through this, so that the compiler knows that they are small: it makes no
# vector code where an index might be negative.
_COUNT_MASK: Final = 63
# Columns come in groups of so many, which is what the widest vectors hold.
_GROUP: Final = 4

WAYS_DTYPE: Final = np.dtype([
    ("entries", np.int64, (2,)),
    ("left", np.int64, (2, COLUMNS)),
    ("right", np.int64, (2, COLUMNS)),
    ("squares", np.int64, (2, COLUMNS)),
    ("far_edge", np.int64, (2, COLUMNS)),
    ("door", np.int64, (2, COLUMNS)),
    ("action", np.int64, (2, COLUMNS)),
])


class Ways(Protocol):
    """A row of WAYS_DTYPE: where each player's tokens can go, by player and column.

    entries: how many columns are entries. left, right, squares, far_edge: see `Lane`; a step may
    use all squares that are not behind an edge. door: the square on which an entry begins. action:
    that of an entry. Columns that only fill a group have no squares.
    """

    entries: Ints
    left: Ints
    right: Ints
    squares: Ints
    far_edge: Ints
    door: Ints
    action: Ints


class Columns(NamedTuple):
    """How many columns of `after` are used: those of entries, and all."""

    entries: int
    all: int


_LEFT: Final = (0, SIZE, 0, 1)
_RIGHT: Final = (SIZE, 0, 1, 0)


def ways_of(game: Game) -> Records:
    """The ways of a ruleset, shape (1,), WAYS_DTYPE."""
    table = np.zeros(1, dtype=WAYS_DTYPE)
    row = table[0]
    for player in range(2):
        doors = game.table["doors"][0, player]
        entries = [(side, lane) for side in range(DIRECTIONS) for lane in range(SIZE)
                   if int(doors[side]) & _lane_squares(side, lane)]
        for column, (side, lane) in enumerate(entries):
            squares, direction = _lane_squares(side, lane), side ^ 1
            _write_way(row, player, column, direction, squares)
            row["door"][player, column] = squares & EDGES[side]
            row["action"][player, column] = side * SIZE + lane
        first = -len(entries) % _GROUP + len(entries)
        row["entries"][player] = first
        for column in range(first, first + _STEP_COLUMNS):
            direction = (column - first) % DIRECTIONS
            _write_way(row, player, column, direction, BOARD & ~EDGES[direction ^ 1])
    return table


def _lane_squares(side: int, lane: int) -> int:
    return FIRST_COLUMN << lane if side < 2 else TOP_ROW << SIZE * lane


def _write_way(row: np.void, player: int, column: int, direction: int, squares: int) -> None:
    row["left"][player, column] = _LEFT[direction]
    row["right"][player, column] = _RIGHT[direction]
    row["squares"][player, column] = squares
    row["far_edge"][player, column] = EDGES[direction]


@inlined_kernel
def entries_of(ways: Ways, player: int) -> int:
    """How many columns are entries of a player's."""
    count: int = ways.entries[player] & _COUNT_MASK
    return count


@inlined_kernel
def lane_at(ways: Ways, player: int, column: int) -> Lane:
    """The lane of an entry, or the way of a step."""
    return tame(Lane(ways.left[player, column], ways.right[player, column],
                     ways.squares[player, column], ways.far_edge[player, column]))


@inlined_kernel
def entry(lane: Lane, door: int, by_step: bool, board: Board) -> tuple[int, int]:
    """Where an entering faction comes to stand, and the run that it pushes; 0, 0 if illegal."""
    start = door if by_step else first_on(lane, board)
    run = run_from(lane, start, board)
    moves = may_move(lane, run, board)
    return start if moves else 0, run if moves else 0


@inlined_kernel
def step(lane: Lane, origin: int, must_push: bool, board: Board) -> tuple[int, int]:
    """The same for a step of the token on `origin`, a square of the mover's or 0."""
    target = ((origin & BOARD) << lane.left >> lane.right) & lane.squares
    run = run_from(lane, target, board)
    moves = may_move(lane, run, board) and (run != 0 or not must_push)
    return target if moves else 0, run if moves else 0


@inlined_kernel
def lifted(board: Board, origin: int) -> Board:
    """The board without the token on a square; 0: unchanged."""
    return Board(board.own & ~origin, board.opposing, board.strongholds, board.bastion)


@inlined_kernel
def margin_to(weights: Weights, lane: Lane, target: int, run: int, board: Board) -> int:
    """Margin for the mover after an entry; NEVER if it is illegal."""
    after = slid(lane, target, run, board)
    margin = credit_of(weights, board, after) + board_margin(weights, after)
    return margin if target != 0 else NEVER


@inlined_kernel
def board_at(after: Ints, column: int) -> Board:
    """The board after a move, seen from the other player."""
    return Board(after[OPPOSING + column], after[OWN + column], after[STRONGHOLDS + column],
                 after[TARGET + column])


@inlined_kernel
def position_at(position: Position, after: Ints, column: int, entries: int) -> Position:
    """The position after a move, seen from the other player; forfeits are left out."""
    return Position(after[OPPOSING + column], after[OWN + column], after[STRONGHOLDS + column],
                    after[TARGET + column], position.opposing_hand,
                    position.own_hand - (1 if column < entries else 0), 0, 0, position.ply + 1)


@inlined_kernel
def write_column(
    weights: Weights, lane: Lane, target: int, run: int, board: Board, column: int, after: Ints
) -> None:
    """Write the facts about one move but its action."""
    slide = slid(lane, target, run, board)
    credit = credit_of(weights, board, slide)
    after[TARGET + column] = target
    after[OWN + column] = slide.own
    after[OPPOSING + column] = slide.opposing
    after[STRONGHOLDS + column] = slide.strongholds
    after[CREDIT + column] = credit
    after[MARGIN + column] = credit + board_margin(weights, slide)


@kernel
def write_origins(own: int, origins: Ints) -> int:
    """Write each square of the mover's four times, and return how many squares that makes.

    origins: (32,) int64.
    """
    count = 0
    while own:
        bit = own & -own
        for direction in range(DIRECTIONS):
            origins[count + direction] = bit
        count += DIRECTIONS
        own ^= bit
    return count & _COUNT_MASK


@kernel
def write_entries(rules: Rules, ways: Ways, player: int, board: Board, after: Ints) -> int:
    """Write the columns of `after`, (SIZE_OF_AFTER,) int64, for entries; their number."""
    weights, by_step = weights_of(rules), rules.enters_by_step != 0
    entries = entries_of(ways, player)
    for column in range(entries):
        lane = lane_at(ways, player, column)
        target, run = entry(lane, ways.door[player, column], by_step, board)
        write_column(weights, lane, target, run, board, column, after)
        after[ACTION + column] = ways.action[player, column]
    if rules.uses_squares:
        add_squares(rules, 0, entries, after)
    return entries


@kernel
def write_steps(
    rules: Rules, ways: Ways, player: int, board: Board, origins: Ints, after: Ints
) -> int:
    """Write the columns for steps, which come after those of entries; the number of both.

    origins: (32,) int64, memory to write to. after: (SIZE_OF_AFTER,) int64.
    """
    entries = entries_of(ways, player)
    if rules.steps == STEPS_NONE:
        return entries
    weights, must_push = weights_of(rules), rules.steps == STEPS_PUSHING
    count = write_origins(board.own, origins)
    for index in range(count):
        lane, origin = lane_at(ways, player, entries + index), origins[index]
        rest = lifted(board, origin)
        target, run = step(lane, origin, must_push, rest)
        write_column(weights, lane, target, run, rest, entries + index, after)
    for index in range(count):
        after[ACTION + entries + index] = (STEPS + square_of(origins[index]) * DIRECTIONS
                                           + index % DIRECTIONS)
    if rules.uses_squares:
        add_squares(rules, entries, entries + count, after)
    return entries + count


@kernel
def add_squares(rules: Rules, start: int, stop: int, after: Ints) -> None:
    """Add the Victory Points of squares to the margins in some columns of `after`."""
    for square in range(SQUARES):
        weight = rules.squares[square]
        for column in range(start, stop):
            after[MARGIN + column] += weight * ((after[OWN + column] >> square & 1)
                                                - (after[OPPOSING + column] >> square & 1))


@kernel
def largest_margin(after: Ints, start: int, columns: int) -> int:
    """The largest margin of legal moves in some columns; NEVER if all are illegal.

    after: (SIZE_OF_AFTER,) int64.
    """
    best = NEVER
    for column in range(start, columns):
        best = max(best, after[MARGIN + column] if after[TARGET + column] != 0 else NEVER)
    return best


@kernel
def last_entry(rules: Rules, ways: Ways, player: int, board: Board, after: Ints) -> int:
    """The largest margin that an entry leads to; NEVER if none is legal.

    after: (SIZE_OF_AFTER,) int64, memory to write to.
    """
    if rules.uses_squares:
        return largest_margin(after, 0, write_entries(rules, ways, player, board, after))
    weights, by_step = weights_of(rules), rules.enters_by_step != 0
    best = NEVER
    for column in range(entries_of(ways, player)):
        lane = lane_at(ways, player, column)
        target, run = entry(lane, ways.door[player, column], by_step, board)
        best = max(best, margin_to(weights, lane, target, run, board))
    return best


@kernel
def last_step(
    rules: Rules, ways: Ways, player: int, board: Board, origins: Ints, after: Ints
) -> int:
    """The largest margin that a step leads to; NEVER if none is legal.

    origins, after: see `write_steps`; memory to write to.
    """
    entries = entries_of(ways, player)
    if rules.uses_squares:
        return largest_margin(after, entries,
                              write_steps(rules, ways, player, board, origins, after))
    weights, must_push, best = weights_of(rules), rules.steps == STEPS_PUSHING, NEVER
    if rules.steps == STEPS_NONE:
        return best
    for index in range(write_origins(board.own, origins)):
        lane, origin = lane_at(ways, player, entries + index), origins[index]
        rest = lifted(board, origin)
        target, run = step(lane, origin, must_push, rest)
        best = max(best, margin_to(weights, lane, target, run, rest))
    return best


@kernel
def write_replies(
    rules: Rules, ways: Ways, player: int, column: int, origin: int, pool: Ints, count: int,
    out_margins: Ints
) -> None:
    """The margin of `player` after one and the same move in each of `count` positions.

    column: of an entry, or of a step from the square `origin`. pool: (SIZE_OF_AFTER,) int64, the
    moves of the other player that lead to those positions. out_margins: (COLUMNS,) int64, NEVER
    where the move is illegal; points of squares are left out.
    """
    weights, by_step = weights_of(rules), rules.enters_by_step != 0
    must_push = rules.steps == STEPS_PUSHING
    lane, door = lane_at(ways, player, column), ways.door[player, column]
    if column < ways.entries[player]:
        for index in range(count):
            board = board_at(pool, index)
            target, run = entry(lane, door, by_step, board)
            out_margins[index] = margin_to(weights, lane, target, run, board)
        return
    for index in range(count):
        board = board_at(pool, index)
        here = origin & board.own
        rest = lifted(board, here)
        target, run = step(lane, here, must_push, rest)
        out_margins[index] = margin_to(weights, lane, target, run, rest)


@kernel
def passes(after: Ints, columns: int) -> bool:
    """Whether no move is legal. after: (SIZE_OF_AFTER,) int64."""
    targets = 0
    for column in range(columns):
        targets |= after[TARGET + column]
    return targets == 0
