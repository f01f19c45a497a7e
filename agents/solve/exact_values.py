"""Exact values in compiled code: of whole batches of storm positions that are near their end.

`agents.solve.storm_solver` is for positions that take longer: it reports how far it is, and hears
Ctrl-C meanwhile.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.board import Board, board_of
from agents.search.position_key import Symmetries
from agents.solve.slides import CREDIT, MARGIN, ROWS, TARGET, slide_to, write_slides
from agents.solve.storm_search import Arrays, Work, narrow
from castle_env.batch import load
from castle_env.board import ENTRIES, PASS
from castle_env.compiled import kernel
from castle_env.kernels import Rules, captures
from castle_env.position import PositionArray

Ints = npt.NDArray[np.int64]
Values = npt.NDArray[np.int16]

# With so few plies left a position's moves are valued within tens of milliseconds at most.
LAST_PLIES: Final = 7
# The value of a move that is not legal: less than any margin.
ILLEGAL: Final = int(np.iinfo(np.int16).min)

# Bytes of a table for so few plies; a larger one does not stay in the processor's caches.
LAST_MEMORY: Final = 1 << 22


class Tools(NamedTuple):
    """What a search needs besides the position; see `agents.solve.storm_search`."""

    rules: Rules
    work: Work
    symmetries: Symmetries
    table: Ints
    busy: Ints


@kernel
def exact_value(tools: Tools, board: Board, plies_left: int) -> int:
    """The mover's exact margin at the end, captures before the position not counted."""
    value = 0
    for depth in range(2 - plies_left % 2, plies_left + 1, 2):
        value = narrow(tools.rules, tools.work, tools.symmetries, tools.table, tools.busy, None,
                       board, plies_left, depth, value)
    return value


@kernel
def write_move_values(arrays: Arrays, states: PositionArray, out_values: Values) -> None:
    """The exact margin at the end of the game for the mover after each move.

    states: (n,), none of them over. out_values: (n, num_actions) int16, ILLEGAL for other actions.
    """
    tools = Tools(arrays.rule_table[0], arrays.work[0], arrays.symmetries[0], arrays.table,
                  arrays.busy)
    after = np.zeros((ROWS, ENTRIES), dtype=np.int64)
    for index in range(len(states)):
        position = load(states, index)
        plies_left = tools.rules.max_plies - position.ply
        own_captures, opposing_captures = captures(tools.rules.factions, position)
        captured = tools.rules.points[0] * (own_captures - opposing_captures)
        write_slides(tools.rules, board_of(position), after)
        out_values[index] = ILLEGAL
        passes = True
        for lane in range(ENTRIES):
            if after[TARGET, lane]:
                passes = False
                out_values[index, lane] = captured + slide_value(tools, after, lane, plies_left)
        if passes:
            # Without a legal slide every lane shows what a pass leads to.
            out_values[index, PASS] = captured + slide_value(tools, after, 0, plies_left)


@kernel
def slide_value(tools: Tools, after: Ints, lane: int, plies_left: int) -> int:
    """The exact margin for the mover after a slide, captures before it not counted.

    after: (ROWS, 24), as `agents.solve.slides` says. plies_left: before the slide.
    """
    if plies_left == 1:
        margin: int = after[MARGIN, lane]
        return margin
    reply = exact_value(tools, slide_to(after, lane), plies_left - 1)
    value: int = after[CREDIT, lane] - reply
    return value
