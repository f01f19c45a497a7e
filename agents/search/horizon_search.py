"""Proofs up to a horizon in both modes: which margin can the mover force?

A search looks `plies_left` ahead, as if the turn limit were there. What it finds holds for a board
with so many plies left, whatever moves led to it. That tokens can walk in circles is no problem:
the number of plies left is another one each time.

At the horizon a game that has not ended is worth, by `claim`, to the mover:

    TURN_LIMIT     the margin as it stands: the horizon is the turn limit
    MOVER_ENDS     LOWEST: the mover has to end the game earlier. What it can force then it can
                   force with more plies left too: lower bounds hold for every later turn limit
    OPPONENT_ENDS  HIGHEST: the opponent has to; upper bounds hold for every later turn limit

With TURN_LIMIT a board has to be searched anew for each number of plies left. With the other two
the bounds found with one number hold for others too, and short horizons suffice for proofs.
"""

from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from agents.search.board import board_of
from agents.search.hash_table import hash_of, new_table
from agents.search.moves import (
    CODE_BITS,
    CODE_MASK,
    CODES,
    MAX_HISTORY,
    MAX_MOVES,
    add_history,
    list_scored,
    play_code,
    take_largest,
)
from agents.search.null_window import Window, narrowed, next_beta
from agents.search.position_key import Key, Symmetries, canonical_key
from castle_env.board import DIRECTIONS
from castle_env.compiled import kernel
from castle_env.game import Game
from castle_env.kernels import Rules, RuleTable, mover_margin
from castle_env.position import Position

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[np.void]

TURN_LIMIT, MOVER_ENDS, OPPONENT_ENDS = 0, -1, 1
MAX_PLIES: Final = 1000
# Beyond every margin; bounds that say nothing.
HIGHEST: Final = 1 << 32
LOWEST: Final = -HIGHEST

# An entry of the table: low and high part of the key, then lower and upper bound of the margin,
# each with the plies left that it was found with in its lowest bits.
ENTRY_WORDS: Final = 4
_BUCKET: Final = 2
_PLIES_BITS: Final = 12
_PLIES_MASK: Final = (1 << _PLIES_BITS) - 1

WORK_DTYPE: Final = np.dtype([
    ("nodes", np.int64),
    ("max_nodes", np.int64),
    ("stop", np.int64),
    ("sides", np.int64),
    ("moves", np.int64, (MAX_PLIES + 1, MAX_MOVES)),
    ("history", np.int64, (2, CODES)),
])


class Work(Protocol):
    """A row of WORK_DTYPE.

    nodes: positions searched so far. max_nodes: how many end the search, 0 for no limit. stop: ends
    the search; set when there have been so many nodes, or from outside. sides: 1 where the players
    enter on different lanes, so that it matters who is to move. moves: those of the node in hand,
    by plies left. history: for each player and move code how much the move has saved by refuting.
    """

    nodes: int
    max_nodes: int
    stop: int
    sides: int
    moves: Ints
    history: Ints


class Bounds(NamedTuple):
    """What is known of a margin."""

    lower: int
    upper: int


def new_work(game: Game, max_nodes: int = 0) -> Records:
    """Memory of a search, shape (1,), WORK_DTYPE."""
    works = np.zeros(1, dtype=WORK_DTYPE)
    doors = game.table["doors"][0]
    works["sides"] = not np.array_equal(doors[0], doors[1])
    works["max_nodes"] = max_nodes
    return works


def new_entries(memory_bytes: int) -> Ints:
    """An empty table of at most so many bytes, but at least one bucket, shape (n, ENTRY_WORDS)."""
    return new_table(memory_bytes).reshape(-1, ENTRY_WORDS)


@kernel
def key_of(
    symmetries: Symmetries, work: Work, position: Position, plies_left: int, claim: int
) -> Key:
    """All that bounds depend on, the same for positions that the ruleset's symmetries join."""
    rest = 0 if claim else plies_left
    rest = rest << 4 | position.own_hand
    rest = rest << 4 | position.opposing_hand
    rest = rest << 4 | position.own_forfeits
    rest = rest << 4 | position.opposing_forfeits
    rest = rest << 3 | position.ply & work.sides | (claim + 1) << 1
    return canonical_key(symmetries, board_of(position), rest)[0]


@kernel
def bucket_of(table: Ints, key: Key) -> int:
    """Row of the first entry of a key's bucket."""
    return (hash_of(key) * (len(table) // _BUCKET) >> 32) * _BUCKET


@kernel
def find(table: Ints, key: Key, plies_left: int, claim: int) -> Bounds:
    """What the table knows of a key, as far as it holds with so many plies left."""
    bucket = bucket_of(table, key)
    for row in range(bucket, bucket + _BUCKET):
        if table[row, 0] == key.low and table[row, 1] == key.high:
            lower, upper = table[row, 2], table[row, 3]
            more = (lower & _PLIES_MASK) - plies_left, (upper & _PLIES_MASK) - plies_left
            return Bounds(lower >> _PLIES_BITS if claim * more[0] >= 0 else LOWEST,
                          upper >> _PLIES_BITS if claim * more[1] <= 0 else HIGHEST)
    return Bounds(LOWEST, HIGHEST)


@kernel
def effort(table: Ints, row: int) -> int:
    """The most plies left with which a bound of an entry was found."""
    most: int = max(table[row, 2] & _PLIES_MASK, table[row, 3] & _PLIES_MASK)
    return most


@kernel
def remember(table: Ints, key: Key, plies_left: int, bound: int, is_lower: bool) -> None:
    """Write a bound over the old one of its kind.

    A key without an entry takes the first place of its bucket, or the second if the entry in the
    first was found with more plies left.
    """
    row = bucket_of(table, key)
    if table[row, 0] != key.low or table[row, 1] != key.high:
        other = row + 1
        known = table[other, 0] == key.low and table[other, 1] == key.high
        if known or plies_left < effort(table, row):
            row = other
        if not known:
            table[row, 0], table[row, 1] = key.low, key.high
            table[row, 2], table[row, 3] = LOWEST << _PLIES_BITS, HIGHEST << _PLIES_BITS
    table[row, 2 if is_lower else 3] = bound << _PLIES_BITS | plies_left


@kernel
def soonest_end(position: Position) -> int:
    """The fewest plies in which a player can bring on the last faction, in sudden death."""
    return min(2 * position.own_hand - 1, 2 * position.opposing_hand)


@kernel
def ended_now(moves: Ints, count: int) -> tuple[int, int]:
    """The best margin that entering the last faction gives, and how many moves are no entries.

    moves: (MAX_MOVES,) int64, `count` entries of `list_scored`; other moves come first afterwards.
    """
    best, kept = LOWEST, 0
    for index in range(count):
        entry = moves[index]
        if (entry & CODE_MASK) >> 6 < DIRECTIONS:
            best = max(best, entry >> CODE_BITS)
        else:
            moves[kept] = entry
            kept += 1
    return best, kept


@kernel
def search(
    rules: Rules, work: Work, symmetries: Symmetries, table: Ints,
    position: Position, plies_left: int, claim: int, beta: int,
) -> int:
    """A bound of the mover's margin in a game that is not over, `plies_left` from the horizon.

    At least `beta` it is a lower bound, else an upper bound. Means nothing once `work.stop` is set.
    """
    if claim and soonest_end(position) > plies_left:
        return claim * HIGHEST
    if plies_left == 0:
        return mover_margin(rules, position)
    key = key_of(symmetries, work, position, plies_left, claim)
    known = find(table, key, plies_left, claim)
    if known.lower >= beta:
        return known.lower
    if known.upper < beta:
        return known.upper
    work.nodes += 1
    if work.nodes == work.max_nodes:
        work.stop = 1
    moves = work.moves[plies_left]
    count = list_scored(rules, position, moves)
    best = LOWEST
    if rules.ends_at_last_entry and position.own_hand == 1:
        best, count = ended_now(moves, count)
    history = work.history[position.ply & 1]
    if best < beta:
        add_history(moves, count, history)
    index = 0
    while best < beta and index < count and not work.stop:
        code = take_largest(moves, index, count) & CODE_MASK
        child = play_code(rules, position, code)
        best = max(best, -search(rules, work, symmetries, table, child, plies_left - 1, -claim,
                                 1 - beta))
        if best >= beta:
            history[code] = min(history[code] + plies_left * plies_left, MAX_HISTORY)
        index += 1
    if not work.stop:
        remember(table, key, plies_left, best, best >= beta)
    return best


@kernel
def narrow(
    rules: Rules, work: Work, symmetries: Symmetries, table: Ints,
    position: Position, plies_left: int, claim: int, window: Window,
) -> int:
    """The mover's margin where it lies in the window, and else a bound of it.

    Means nothing once `work.stop` is set.
    """
    while window.low < window.high and not work.stop:
        beta = next_beta(window)
        window = narrowed(window, beta, search(rules, work, symmetries, table, position, plies_left,
                                               claim, beta))
    return window.last


@kernel
def ask(
    rule_table: RuleTable, works: Records, symmetries: Records,
    table: Ints, position: Position, plies_left: int, claim: int, beta: int,
) -> int:
    """`search` for Python."""
    return search(rule_table[0], works[0], symmetries[0], table, position, plies_left, claim, beta)


@kernel
def ask_value(
    rule_table: RuleTable, works: Records, symmetries: Records,
    table: Ints, position: Position, plies_left: int, claim: int, window: Window,
) -> int:
    """`narrow` for Python."""
    return narrow(rule_table[0], works[0], symmetries[0], table, position, plies_left, claim,
                  window)
