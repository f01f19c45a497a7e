"""Proofs in storm: which margin can the mover force, with so many plies left?

Values are Victory Points for the mover at the horizon, `depth` plies ahead, captures before the
position not counted; with `depth` equal to `plies_left` that is the end of the game. A search asks
one question, "at least `beta`?" (see `agents.search.null_window`), and answers with a bound:

    result >= beta: a lower bound, the mover can force as much
    result <  beta: an upper bound, the opponent can hold the mover to it
"""

from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from agents.search.board import LANE_MASK, NO_LANE, Board
from agents.search.hash_table import hash_of, new_table
from agents.search.moves import take_largest
from agents.search.null_window import Window, narrowed, next_beta
from agents.search.position_key import Key, Symmetries, canonical_key, symmetry_table
from agents.search.pushes import NEVER
from agents.search.restriction import Restriction, is_restricted
from agents.solve.ordering import look_ahead, put_off, write_order
from agents.solve.restricted_slides import forbid
from agents.solve.slides import (
    CREDIT,
    MARGIN,
    ROWS,
    TARGET,
    best_slide,
    last_slide,
    slide_to,
    write_replies,
    write_slides,
)
from agents.solve.transposition import HIGHEST, LOWEST, Entry, find, store
from castle_env.board import ENTRIES
from castle_env.compiled import kernel
from castle_env.game import Game
from castle_env.kernels import Rules, RuleTable

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[np.void]

MAX_PLIES: Final = 16
# Searches at least so deep use the table; look at replies to put slides in order; and are put off
# by a thread while another one is busy with them.
TABLE_DEPTH: Final = 4
LOOK_AHEAD_DEPTH: Final = 5
SHARED_DEPTH: Final = 6
# How many replies `refute` tries against all slides at once, and how few slides left end it.
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
    search. shared: whether other threads work on the same search. after, order: slides of the node
    in hand at each depth. history: by plies left and lane, see `agents.solve.ordering`. pool,
    margins: the slides that `last_two` has not refuted yet.
    """

    nodes: int
    stop: int
    shared: int
    after: Ints
    order: Ints
    history: Ints
    pool: Ints
    margins: Ints


class Arrays(NamedTuple):
    """What a search needs besides the position, as compiled functions take it from Python.

    rule_table, work, symmetries: one record each, shape (1,). table: see
    `agents.solve.transposition`. busy: (BUSY_SLOTS,) int64.
    """

    rule_table: RuleTable
    work: Records
    symmetries: Records
    table: Ints
    busy: Ints


def new_arrays(game: Game, memory_bytes: int, use_symmetries: bool = True) -> Arrays:
    """For one thread, with an empty table; raises `OptionError` as `new_table` does."""
    return Arrays(game.table, np.zeros(1, dtype=WORK_DTYPE), symmetry_table(game, use_symmetries),
                  new_table(memory_bytes), np.zeros(BUSY_SLOTS, dtype=np.int64))


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
    """Try a few replies against all slides in the pool at once.

    Gives the number of slides that no reply has refuted, which the pool then holds, and an upper
    bound of the others and `best`. The replies are those that would gain most on `board` itself.
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
    """The largest of `best` and the values of slides in the pool, until `beta` is reached."""
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
def is_busy(symmetries: Symmetries, busy: Ints, board: Board, plies_left: int) -> bool:
    """Whether a thread is searching a position now (in rare cases, another of the same hash).

    busy: (BUSY_SLOTS,) int64, the keys of positions that are being searched.
    """
    key = canonical_key(symmetries, board, plies_left)[0]
    return bool(busy[hash_of(key) % BUSY_SLOTS] == key.low)


@kernel
def search(
    rules: Rules, work: Work, symmetries: Symmetries, table: Ints, busy: Ints,
    restriction: Restriction | None, board: Board, plies_left: int, depth: int, beta: int
) -> int:
    """Whether the mover can force `beta`, answered by a bound as the module says.

    For a restricted player, slides that it never makes do not exist while others are legal.
    Meaningless, and nothing is stored, once `work.stop` is set.
    """
    work.nodes += 1
    after = work.after[depth]
    # A storm game has an even number of plies, so those left tell who is to move.
    restricted = is_restricted(restriction, plies_left)
    if depth == 1 and not restricted:
        return last_slide(rules, board, after)
    if depth == 2 and restriction is None:
        return last_two(rules, work, board, beta)
    key, symmetry, hint = Key(0, 0), 0, NO_LANE
    if depth >= TABLE_DEPTH:
        key, symmetry = canonical_key(symmetries, board, plies_left)
        known = find(table, key)
        if known.depth == depth and known.lower >= beta:
            return known.lower
        if known.depth == depth and known.upper < beta:
            return known.upper
        hint = symmetries.lanes[symmetries.inverse[symmetry], known.lane]
    write_slides(rules, board, after)
    if restricted:
        forbid(restriction, board, after)
    if depth == 1:
        margin = best_slide(after)[1]
        return margin if margin != NEVER else after[MARGIN, 0]
    if depth >= LOOK_AHEAD_DEPTH:
        look_ahead(rules, after, work.after[1])
    order = work.order[depth]
    # To pass, any lane will do where none is legal, since all of them leave the board as it is.
    count = max(write_order(after, hint, work.history[plies_left], order), 1)
    mark = hash_of(key) % BUSY_SLOTS
    if work.shared and depth >= SHARED_DEPTH:
        busy[mark] = key.low
    best, best_lane, index = NEVER, NO_LANE, 0
    while index < count and best < beta:
        lane = take_largest(order, index, count) & LANE_MASK
        child = slide_to(after, lane)
        if (work.shared and depth > SHARED_DEPTH and index > 0
                and is_busy(symmetries, busy, child, plies_left - 1) and put_off(order, index)):
            continue
        credit = after[CREDIT, lane]
        value = credit - search(rules, work, symmetries, table, busy, restriction, child,
                                plies_left - 1, depth - 1, credit - beta + 1)
        if work.stop:
            return 0
        if value > best:
            best, best_lane = value, lane
        index += 1
    if work.shared and depth >= SHARED_DEPTH:
        busy[mark] = 0
    if best >= beta:
        work.history[plies_left, best_lane] += 1
    if depth >= TABLE_DEPTH:
        store(table, key, Entry(depth, best if best >= beta else LOWEST,
                                best if best < beta else HIGHEST,
                                symmetries.lanes[symmetry, best_lane]), plies_left - depth)
    return best


@kernel
def narrow(
    rules: Rules, work: Work, symmetries: Symmetries, table: Ints, busy: Ints,
    restriction: Restriction | None, board: Board, plies_left: int, depth: int, guess: int
) -> int:
    """The mover's exact value at a depth, found the sooner the better the guess is.

    Meaningless once `work.stop` is set.
    """
    window = Window(LOWEST, HIGHEST, guess)
    while window.low < window.high and not work.stop:
        beta = next_beta(window)
        bound = search(rules, work, symmetries, table, busy, restriction, board, plies_left, depth,
                       beta)
        window = narrowed(window, beta, bound)
    return window.last


@kernel
def ask(
    arrays: Arrays, restriction: Restriction | None, board: Board, plies_left: int, depth: int,
    beta: int
) -> int:
    """`search` for Python."""
    return search(arrays.rule_table[0], arrays.work[0], arrays.symmetries[0], arrays.table,
                  arrays.busy, restriction, board, plies_left, depth, beta)


@kernel
def ask_value(arrays: Arrays, board: Board, plies_left: int, depth: int, guess: int) -> int:
    """`narrow` without a restriction, for Python."""
    return narrow(arrays.rule_table[0], arrays.work[0], arrays.symmetries[0], arrays.table,
                  arrays.busy, None, board, plies_left, depth, guess)


@kernel
def known_bounds(arrays: Arrays, board: Board, plies_left: int) -> tuple[int, int]:
    """A lower and an upper bound of a position's value at the end of the game, from the table."""
    key = canonical_key(arrays.symmetries[0], board, plies_left)[0]
    entry = find(arrays.table, key)
    if entry.depth != plies_left:
        return LOWEST, HIGHEST
    return entry.lower, entry.upper


@kernel
def stored_line(
    arrays: Arrays, board: Board, plies_left: int, after: Ints, out_lanes: Ints
) -> int:
    """Write the best lanes that the table knows, one after the other; their number. Not proven.

    after: (ROWS, 24) int64, memory to write to. out_lanes: (MAX_PLIES,) int64.
    """
    rules, symmetries = arrays.rule_table[0], arrays.symmetries[0]
    for index in range(plies_left):
        key, symmetry = canonical_key(symmetries, board, plies_left - index)
        lane = symmetries.lanes[symmetries.inverse[symmetry], find(arrays.table, key).lane]
        write_slides(rules, board, after)
        if lane == NO_LANE or after[TARGET, lane] == 0:
            return index
        out_lanes[index] = lane
        board = slide_to(after, lane)
    return plies_left
