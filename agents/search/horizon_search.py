"""Proofs up to a horizon in both modes: which margin can the mover force?

A search looks `plies_left` ahead, as if the turn limit were there. What it finds holds for a board
with so many plies left, whatever moves led to it. That tokens can walk in circles is no problem:
the number of plies left is another one each time. Values are Victory Points for the mover, captures
before the position not counted.

At the horizon a game that has not ended is worth, by `claim`, to the mover:

    TURN_LIMIT     the margin as it stands: the horizon is the turn limit
    MOVER_ENDS     LOWEST: the mover has to end the game earlier. What it can force then it can
                   force with more plies left too: lower bounds hold for every later turn limit
    OPPONENT_ENDS  HIGHEST: the opponent has to; upper bounds hold for every later turn limit

With TURN_LIMIT a board has to be searched anew for each number of plies left. With the other two
the bounds found with one number hold for others too, and short horizons suffice for proofs. So each
position is asked first whether the game can be ended two plies sooner.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.search.board import board_of
from agents.search.horizon_last import (
    HISTORY_PLIES,
    Records,
    Work,
    ends_next,
    last_two,
    last_value,
    standing,
)
from agents.search.horizon_plies import (
    MOVER_ENDS,
    OPPONENT_ENDS,
    moves_of_each,
    must_enter,
    needed_plies,
)
from agents.search.horizon_table import (
    HIGHEST,
    LOWER,
    LOWEST,
    NO_ACTION,
    UPPER,
    Known,
    askable,
    bounded,
    find,
    store,
)
from agents.search.moves import take_largest
from agents.search.null_window import Window, narrowed, next_beta
from agents.search.position_key import Key, Symmetries, canonical_key
from agents.search.pushes import NEVER
from agents.search.side_by_side import (
    ACTION,
    CREDIT,
    MARGIN,
    TARGET,
    Columns,
    largest_margin,
    last_entry,
    passes,
    position_at,
    write_entries,
    write_steps,
)
from castle_env.compiled import kernel
from castle_env.kernels import Rules, RuleTable, captures, play_pass
from castle_env.position import Position

Ints = npt.NDArray[np.int64]

# Searches with so many plies left use the table; look at replies to put moves in order.
TABLE_PLIES: Final = 3
LOOK_AHEAD_PLIES: Final = 5
# `order` holds margin * 2**38 + history * 2**6 + column, with more added for the move to be tried
# first, one Victory Point for the killer, and less for those to be tried last.
_COLUMN_BITS: Final = 6
_COLUMN_MASK: Final = (1 << _COLUMN_BITS) - 1
_MARGIN_SHIFT: Final = 38
_FIRST: Final = 1 << 58
_LAST: Final = 1 << 59
# The margin where the opponent has no entry, to put moves in order.
_NO_REPLY: Final = -1000


@kernel
def key_of(
    symmetries: Symmetries, work: Work, position: Position, claim: int
) -> tuple[Key, int]:
    """All that bounds depend on but the plies left, the same for positions that symmetries join.

    And which symmetry brings the position into the form that the key holds.
    """
    rest = position.own_hand << 4 | position.opposing_hand
    rest = rest << 3 | position.ply & work.sides | (claim + 1) << 1
    return canonical_key(symmetries, board_of(position), rest)


@kernel
def look_ahead(
    rules: Rules, work: Work, position: Position, start: int, columns: Columns, after: Ints
) -> None:
    """Replace the margins of legal moves by those after the opponent's best entry."""
    for column in range(start, columns.all):
        if after[TARGET + column]:
            child = position_at(position, after, column, columns.entries)
            reply = last_entry(rules, work.ways, child.ply & 1, board_of(child), work.after[1])
            after[MARGIN + column] = after[CREDIT + column] - max(reply, _NO_REPLY)


@kernel
def write_order(
    work: Work, position: Position, plies_left: int, claim: int, start: int, columns: Columns,
    hint: int
) -> int:
    """List the legal moves from a column on, `hint` first; their number."""
    after, order = work.after[plies_left], work.order[plies_left]
    row = min(plies_left, HISTORY_PLIES - 1)
    history, killer = work.history[claim + 1, row], work.killers[claim + 1, row]
    hand, moves, _, _ = moves_of_each(position, plies_left, claim)
    entries_first = claim == MOVER_ENDS and hand == moves
    count = 0
    for column in range(start, columns.all):
        action = after[ACTION + column]
        margin = after[MARGIN + column] + (action == killer)
        order[count] = ((margin << _MARGIN_SHIFT) + (history[action] << _COLUMN_BITS) + column
                        + (_FIRST if action == hint else 0)
                        - (_LAST if entries_first and column >= columns.entries else 0))
        count += after[TARGET + column] != 0
    return count


@kernel
def note_success(work: Work, plies_left: int, claim: int, action: int) -> None:
    """Remember that an action has refuted the opponent's last move."""
    row = min(plies_left, HISTORY_PLIES - 1)
    work.history[claim + 1, row, action] += 1
    work.killers[claim + 1, row] = action


@kernel
def search(
    rules: Rules, work: Work, symmetries: Symmetries, table: Ints,
    position: Position, plies_left: int, claim: int, beta: int,
) -> int:
    """A bound of the mover's margin in a game that is not over, `plies_left` from the horizon.

    At least `beta` it is a lower bound, else an upper bound. Means nothing once `work.stop` is set.
    """
    if claim:
        plies_left = needed_plies(rules, position, plies_left, claim)
        if plies_left == 0:
            return claim * HIGHEST
    elif plies_left == 0:
        return standing(rules, position)
    work.nodes += 1
    if 0 < work.max_nodes <= work.nodes:
        work.stop = 1
    # Entering the last faction ends the game.
    may_end = rules.ends_at_last_entry != 0 and position.own_hand == 1
    best = NEVER
    if (may_end and claim == MOVER_ENDS) or (plies_left == 1 and claim != OPPONENT_ENDS):
        best = last_value(rules, work, position, claim)
        if plies_left == 1 or best >= beta:
            return bounded(best)
    key, symmetry, known = Key(0, 0), 0, Known(LOWEST, HIGHEST, NO_ACTION)
    if plies_left >= TABLE_PLIES:
        key, symmetry = key_of(symmetries, work, position, claim)
        known = find(table, key, plies_left, claim)
        if known.lower >= beta:
            return known.lower
        if known.upper < beta:
            return known.upper
    after, player, board = work.after[plies_left], position.ply & 1, board_of(position)
    enters = must_enter(rules, position, plies_left, claim)
    entries = write_entries(rules, work.ways, player, board, after)
    columns = Columns(entries, entries if enters else write_steps(
        rules, work.ways, player, board, work.origins, after))
    if not enters and passes(after, columns.all):
        return -search(rules, work, symmetries, table, play_pass(position), plies_left - 1, -claim,
                       1 - beta)
    if claim and plies_left >= TABLE_PLIES:
        # An earlier end is cheaper to find; if there is none, the table knows what to try first.
        sooner = search(rules, work, symmetries, table, position, plies_left - 2, claim, beta)
        if work.stop or (claim == MOVER_ENDS) == (sooner >= beta):
            return sooner
        known = find(table, key, plies_left, claim)
    hint = symmetries.actions[symmetries.inverse[symmetry], known.action]
    start, action = 0, NO_ACTION
    if may_end:
        best, start = max(best, largest_margin(after, 0, entries)), entries
    if best < beta and ends_next(position, plies_left, claim):
        return bounded(last_two(rules, work, position, claim, beta, best, start, columns))
    if best < beta and plies_left >= LOOK_AHEAD_PLIES:
        look_ahead(rules, work, position, start, columns, after)
    count, index = 0, 0
    if best < beta:
        count = write_order(work, position, plies_left, claim, start, columns, hint)
    while index < count and best < beta:
        column = take_largest(work.order[plies_left], index, count) & _COLUMN_MASK
        child = position_at(position, after, column, entries)
        credit = after[CREDIT + column]
        value = credit - search(rules, work, symmetries, table, child, plies_left - 1, -claim,
                                askable(credit - beta + 1))
        if work.stop:
            return 0
        if value > best:
            best, action = value, after[ACTION + column]
        index += 1
    best = bounded(best)
    if best >= beta and action != NO_ACTION:
        note_success(work, plies_left, claim, action)
    if plies_left >= TABLE_PLIES:
        store(table, key, plies_left, best, LOWER if best >= beta else UPPER,
              symmetries.actions[symmetry, action])
    return best


@kernel
def narrow(
    rules: Rules, work: Work, symmetries: Symmetries, table: Ints,
    position: Position, plies_left: int, claim: int, window: Window,
) -> int:
    """The mover's margin where it lies in the window, and else a bound of it.

    Here captures before the position count. Means nothing once `work.stop` is set.
    """
    own, opposing = captures(rules.factions, position)
    captured = rules.points[0] * (own - opposing)
    while window.low < window.high and not work.stop:
        beta = askable(next_beta(window) - captured)
        bound = search(rules, work, symmetries, table, position, plies_left, claim, beta)
        window = narrowed(window, beta + captured, bounded(bound + captured))
    return window.last


@kernel
def ask_value(
    rule_table: RuleTable, works: Records, symmetries: Records,
    table: Ints, position: Position, plies_left: int, claim: int, window: Window,
) -> int:
    """`narrow` for Python."""
    return narrow(rule_table[0], works[0], symmetries[0], table, position, plies_left, claim,
                  window)
