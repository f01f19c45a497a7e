"""Proofs in storm: can the mover force a margin, with so many plies left?

Values are Victory Points for the mover at the horizon, `depth` plies ahead, captures before the
position not counted; with `depth` equal to `left`, the plies left, that is the end of the game.
Every search asks one question, "at least `beta`?" (a null window), and answers with a bound:

    result >= beta: a lower bound, the mover can force as much
    result <  beta: an upper bound, the opponent can hold the mover to it
"""

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from agents.search.position_key import Key, Symmetries, canonical_key
from agents.solve.ordering import look_ahead, put_off, take_best, write_order
from agents.solve.slides import (
    CREDIT,
    MARGIN,
    NEVER,
    NO_LANE,
    ROWS,
    TARGET,
    Board,
    best_slide,
    last_slide,
    slide_to,
    write_replies,
    write_slides,
)
from agents.solve.transposition import HIGHEST, LOWEST, Entry, find, hash_of, store
from castle_env.board import ENTRIES
from castle_env.compiled import kernel
from castle_env.kernels import Rules, RuleTable

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[np.void]

MAX_PLIES: Final = 16
# Searches at least so deep use the table, look at replies for the order of slides, and are left to
# the other thread while it is at them.
TABLE_DEPTH: Final = 4
LOOK_AHEAD_DEPTH: Final = 5
SHARED_DEPTH: Final = 6
# Replies tried against all slides at once, and how many slides may be left for one by one.
REPLIES: Final = 3
FEW: Final = 2

BUSY_SLOTS: Final = 1 << 12

WORK_DTYPE: Final = np.dtype([
    ("nodes", np.int64),
    ("stop", np.int64),
    ("shared", np.int64),
    ("after", np.int64, (MAX_PLIES + 1, ROWS, ENTRIES)),
    ("order", np.int64, (MAX_PLIES + 1, ENTRIES)),
    ("history", np.int64, (MAX_PLIES + 1, NO_LANE + 1)),
    ("pool", np.int64, (ROWS, ENTRIES)),
    ("margins", np.int64, (ENTRIES,)),
])


class Work(Protocol):
    """A row of WORK_DTYPE: the memory of one thread.

    nodes: positions visited so far, ends of games not counted. stop: set from outside, ends the
    search. shared: whether other threads are at the same search. after, order: slides of the node
    in hand at each depth. history: by plies left and lane, see `agents.solve.ordering`. pool,
    margins: what `last_two` has still to refute.
    """

    nodes: int
    stop: int
    shared: int
    after: Ints
    order: Ints
    history: Ints
    pool: Ints
    margins: Ints


@kernel
def last_two(rules: Rules, work: Work, board: Board, beta: int) -> int:
    """`search` with two plies to the horizon."""
    after = work.after[2]
    write_slides(rules, board, after)
    lane, margin = best_slide(after)
    work.nodes += 1
    # Without a legal slide every lane shows what a pass leads to.
    best: int = after[CREDIT, lane] - last_slide(rules, slide_to(after, lane), work.after[1])
    if best >= beta or margin == NEVER:
        return best
    after[TARGET, lane] = 0
    count = 0
    for other in range(ENTRIES):
        for row in range(ROWS):
            work.pool[row, count] = after[row, other]
        count += after[TARGET, other] != 0
    work.nodes += count
    if count > FEW and not rules.uses_squares:
        count, best = refute(rules, work, board, beta, count, best)
    return best_of_pool(rules, work, beta, count, best)


@kernel
def refute(
    rules: Rules, work: Work, board: Board, beta: int, count: int, best: int
) -> tuple[int, int]:
    """Try replies against all slides in the pool at once, those first that would gain most now.

    The number of slides that are left, which the pool then holds, and an upper bound of all others
    and `best`.
    """
    pool, margins, replies = work.pool, work.margins, work.after[0]
    write_slides(rules, Board(board.opposing, board.own, board.strongholds, 0), replies)
    for _ in range(REPLIES):
        lane, margin = best_slide(replies)
        if count <= FEW or margin == NEVER:
            break
        replies[TARGET, lane] = 0
        write_replies(rules, pool, count, lane, margins)
        kept = 0
        for index in range(count):
            value = pool[CREDIT, index] - margins[index]
            best = max(best, value if value < beta else NEVER)
            for row in range(ROWS):
                pool[row, kept] = pool[row, index]
            kept += value >= beta
        count = kept
    return count, best


@kernel
def best_of_pool(rules: Rules, work: Work, beta: int, count: int, best: int) -> int:
    """The best of `best` and the slides in the pool, tried one by one until `beta` is reached."""
    pool = work.pool
    while count and best < beta:
        place = 0
        for index in range(1, count):
            if pool[MARGIN, index] > pool[MARGIN, place]:
                place = index
        reply = last_slide(rules, slide_to(pool, place), work.after[1])
        best = max(best, pool[CREDIT, place] - reply)
        count -= 1
        for row in range(ROWS):
            pool[row, place] = pool[row, count]
    return best


@kernel
def is_busy(symmetries: Symmetries, busy: Ints, board: Board, left: int) -> bool:
    """Whether some thread is searching a position now (in rare cases, one of the same hash)."""
    key = canonical_key(symmetries, board, left)[0]
    return bool(busy[hash_of(key) % BUSY_SLOTS] == key.low)


@kernel
def search(
    rules: Rules, work: Work, symmetries: Symmetries, table: Ints, busy: Ints,
    board: Board, left: int, depth: int, beta: int
) -> int:
    """Whether the mover can force `beta`, answered by a bound as the module says.

    Meaningless, and nothing is stored, once `work.stop` is set.
    """
    work.nodes += 1
    after = work.after[depth]
    if depth == 1:
        return last_slide(rules, board, after)
    if depth == 2:
        return last_two(rules, work, board, beta)
    key, symmetry, hint = Key(0, 0), 0, NO_LANE
    if depth >= TABLE_DEPTH:
        key, symmetry = canonical_key(symmetries, board, left)
        known = find(table, key)
        if known.depth == depth and known.lower >= beta:
            return known.lower
        if known.depth == depth and known.upper < beta:
            return known.upper
        hint = symmetries.lanes[symmetries.inverse[symmetry], known.lane]
    write_slides(rules, board, after)
    if depth >= LOOK_AHEAD_DEPTH:
        look_ahead(rules, after, work.after[1])
    order = work.order[depth]
    # To pass, any lane will do where none is legal, since all of them leave the board as it is.
    count = max(write_order(after, hint, work.history[left], order), 1)
    mark = hash_of(key) % BUSY_SLOTS
    if work.shared and depth >= SHARED_DEPTH:
        busy[mark] = key.low
    best, best_lane, index = NEVER, NO_LANE, 0
    while index < count and best < beta:
        lane = take_best(order, index, count)
        child = slide_to(after, lane)
        if (work.shared and depth > SHARED_DEPTH and index > 0
                and is_busy(symmetries, busy, child, left - 1) and put_off(order, index)):
            continue
        credit = after[CREDIT, lane]
        value = credit - search(rules, work, symmetries, table, busy, child, left - 1, depth - 1,
                                credit - beta + 1)
        if work.stop:
            return 0
        if value > best:
            best, best_lane = value, lane
        index += 1
    if work.shared and depth >= SHARED_DEPTH:
        busy[mark] = 0
    if best >= beta:
        work.history[left, best_lane] += 1
    if depth >= TABLE_DEPTH:
        store(table, key, Entry(depth, best if best >= beta else LOWEST,
                                best if best < beta else HIGHEST,
                                symmetries.lanes[symmetry, best_lane]), left - depth)
    return best


@kernel
def ask(
    rule_table: RuleTable, work: Records, symmetries: Records, table: Ints, busy: Ints,
    board: Board, left: int, depth: int, beta: int
) -> int:
    """`search` for callers outside: rules, work and symmetries come as arrays of one record."""
    return search(rule_table[0], work[0], symmetries[0], table, busy, board, left, depth, beta)


@kernel
def known_bounds(symmetries: Records, table: Ints, board: Board, left: int) -> tuple[int, int]:
    """A lower and an upper bound of a position's value at the end of the game, from the table."""
    entry = find(table, canonical_key(symmetries[0], board, left)[0])
    if entry.depth != left:
        return LOWEST, HIGHEST
    return entry.lower, entry.upper


@kernel
def stored_line(
    rule_table: RuleTable, symmetries: Records, table: Ints, board: Board, left: int,
    after: Ints, out_lanes: Ints
) -> int:
    """Follow the best lanes in the table; writes them and returns their number. Nothing proven."""
    for index in range(left):
        key, symmetry = canonical_key(symmetries[0], board, left - index)
        lane = symmetries[0].lanes[symmetries[0].inverse[symmetry], find(table, key).lane]
        write_slides(rule_table[0], board, after)
        if lane == NO_LANE or after[TARGET, lane] == 0:
            return index
        out_lanes[index] = lane
        board = slide_to(after, lane)
    return left
