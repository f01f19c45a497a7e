"""The last two plies before the horizon, in loops over all moves at once.

Values are the mover's, captures before the position not counted.
"""

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from agents.search.board import Board, board_of
from agents.search.horizon_plies import MAX_PLIES, MOVER_ENDS, TURN_LIMIT
from agents.search.horizon_table import LOWEST
from agents.search.pushes import NEVER, board_margin, weights_of
from agents.search.side_by_side import (
    COLUMNS,
    CREDIT,
    MARGIN,
    SIZE_OF_AFTER,
    TARGET,
    WAYS_DTYPE,
    Columns,
    Ways,
    last_entry,
    last_step,
    position_at,
    ways_of,
    write_entries,
    write_replies,
    write_steps,
)
from castle_env.board import SQUARES
from castle_env.compiled import kernel
from castle_env.game import Game
from castle_env.kernels import Rules
from castle_env.position import Position

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[np.void]

# How many replies `refute` tries against all moves at once, and how few moves left end it.
REPLIES: Final = 2
FEW: Final = 2

# Success of moves is counted for so many plies left, those above taken together.
HISTORY_PLIES: Final = 64
_ACTIONS: Final = 256

WORK_DTYPE: Final = np.dtype([
    ("nodes", np.int64),
    ("max_nodes", np.int64),
    ("stop", np.int64),
    ("sides", np.int64),
    ("ways", WAYS_DTYPE),
    ("after", np.int64, (MAX_PLIES + 1, SIZE_OF_AFTER)),
    ("order", np.int64, (MAX_PLIES + 1, COLUMNS)),
    ("history", np.int64, (3, HISTORY_PLIES, _ACTIONS)),
    ("killers", np.int64, (3, HISTORY_PLIES)),
    ("pool", np.int64, (SIZE_OF_AFTER,)),
    ("margins", np.int64, (COLUMNS,)),
    ("origins", np.int64, (COLUMNS,)),
])


class Work(Protocol):
    """A row of WORK_DTYPE: the memory of one search.

    nodes: positions visited so far, ends of games not counted. max_nodes: how many end the search,
    0 for no limit. stop: ends the search; set when there have been so many nodes, or from outside.
    sides: 1 where the players enter on different lanes, so that it matters who is to move. ways:
    see `agents.search.side_by_side`. after, order: moves of the node in hand, by plies left.
    history, killers: by claim and plies left, how often each action has refuted the opponent, and
    which one did so last. pool, margins, origins: memory of `last_two`.
    """

    nodes: int
    max_nodes: int
    stop: int
    sides: int
    ways: Ways
    after: Ints
    order: Ints
    history: Ints
    killers: Ints
    pool: Ints
    margins: Ints
    origins: Ints


def new_work(game: Game, max_nodes: int = 0) -> Records:
    """Memory of a search, shape (1,), WORK_DTYPE."""
    works = np.zeros(1, dtype=WORK_DTYPE)
    doors = game.table["doors"][0]
    works["sides"] = not np.array_equal(doors[0], doors[1])
    works["max_nodes"] = max_nodes
    works["ways"] = ways_of(game)
    return works


@kernel
def last_value(rules: Rules, work: Work, position: Position, claim: int) -> int:
    """`search` with one ply left."""
    player, board = position.ply & 1, board_of(position)
    value = last_entry(rules, work.ways, player, board, work.after[1])
    if claim == TURN_LIMIT:
        value = max(value, last_step(rules, work.ways, player, board, work.origins, work.after[1]))
    if value != NEVER:
        return value
    return standing(rules, position) if claim == TURN_LIMIT else LOWEST


@kernel
def standing(rules: Rules, position: Position) -> int:
    """Margin of the board as it stands, for the mover."""
    margin = board_margin(weights_of(rules), board_of(position))
    if rules.uses_squares:
        for square in range(SQUARES):
            margin += rules.squares[square] * (position.own >> square & 1)
            margin -= rules.squares[square] * (position.opposing >> square & 1)
    return margin


@kernel
def ends_next(position: Position, plies_left: int, claim: int) -> bool:
    """Whether the ply after this one is the last, whatever the mover plays."""
    if plies_left != 2 or claim == MOVER_ENDS:
        return False
    return claim == TURN_LIMIT or position.opposing_hand == 1


@kernel
def last_two(
    rules: Rules, work: Work, position: Position, claim: int, beta: int, best: int, start: int,
    columns: Columns
) -> int:
    """`search` with two plies left, for the moves in some columns; `best` is that of the others."""
    after, pool = work.after[2], work.pool
    count = 0
    for column in range(start, columns.all):
        for row in range(0, SIZE_OF_AFTER, COLUMNS):
            pool[row + count] = after[row + column]
        count += after[TARGET + column] != 0
    work.nodes += count
    if count and best < beta:
        count, best = try_largest(rules, work, position, claim, count, best)
    if best < beta and count > FEW and not rules.uses_squares:
        count, best = refute(rules, work, position, claim, beta, count, best)
    while count and best < beta:
        count, best = try_largest(rules, work, position, claim, count, best)
    return best


@kernel
def try_largest(
    rules: Rules, work: Work, position: Position, claim: int, count: int, best: int
) -> tuple[int, int]:
    """Take the move with the largest margin out of the pool; what is left, and the best value."""
    pool, place = work.pool, 0
    for index in range(1, count):
        if pool[MARGIN + index] > pool[MARGIN + place]:
            place = index
    child = position_at(position, pool, place, 0)
    best = max(best, pool[CREDIT + place] - last_value(rules, work, child, -claim))
    count -= 1
    for row in range(0, SIZE_OF_AFTER, COLUMNS):
        pool[row + place] = pool[row + count]
    return count, best


@kernel
def refute(
    rules: Rules, work: Work, position: Position, claim: int, beta: int, count: int, best: int
) -> tuple[int, int]:
    """Try a few replies against all moves in the pool at once.

    Gives the number of moves that no reply has refuted, which the pool then holds, and an upper
    bound of the others and `best`. The replies are those that would gain most on the board itself.
    """
    pool, margins, replies, player = work.pool, work.margins, work.after[0], position.ply + 1 & 1
    board = Board(position.opposing, position.own, position.strongholds, 0)
    entries = write_entries(rules, work.ways, player, board, replies)
    columns = entries
    if claim == TURN_LIMIT:
        columns = write_steps(rules, work.ways, player, board, work.origins, replies)
    for _ in range(REPLIES):
        place = 0
        margin = NEVER
        for column in range(columns):
            if replies[TARGET + column] and replies[MARGIN + column] > margin:
                place, margin = column, replies[MARGIN + column]
        if count <= FEW or margin == NEVER:
            break
        replies[TARGET + place] = 0
        origin = work.origins[place - entries] if place >= entries else 0
        write_replies(rules, work.ways, player, place, origin, pool, count, margins)
        kept = 0
        for index in range(count):
            value = pool[CREDIT + index] - margins[index]
            best = max(best, value if value < beta else NEVER)
            for row in range(0, SIZE_OF_AFTER, COLUMNS):
                pool[row + kept] = pool[row + index]
            kept += value >= beta
        count = kept
    return count, best
