"""Which slide to try next: the one in the table, then by margin, then by success so far.

Slides are listed in `order`, (24,) int64: margin * 2**37 + history * 2**5 + lane, with 2**56 added
for the one to be tried first and 2**58 subtracted for those to be tried last. The largest is next.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.search.board import LANE_BITS
from agents.solve.slides import CREDIT, MARGIN, TARGET, last_slide, slide_to
from castle_env.board import ENTRIES
from castle_env.compiled import kernel
from castle_env.kernels import Rules

Ints = npt.NDArray[np.int64]

_MARGIN_SHIFT: Final = LANE_BITS + 32
_FIRST: Final = 1 << 56
_LAST: Final = 1 << 58


@kernel
def write_order(after: Ints, hint: int, history: Ints, order: Ints) -> int:
    """List the legal slides, `hint` first; their number. Where there are none, lists lane 23.

    after: (ROWS, 24) int64. history: (32,) int64, how often each lane has refuted the opponent with
    as many plies left.
    """
    count = 0
    for lane in range(ENTRIES):
        first = _FIRST if lane == hint else 0
        order[count] = ((after[MARGIN, lane] << _MARGIN_SHIFT) + (history[lane] << LANE_BITS)
                        + first + lane)
        count += after[TARGET, lane] != 0
    return count


@kernel
def look_ahead(rules: Rules, after: Ints, scratch: Ints) -> None:
    """Replace the margins of legal slides by those after the opponent's best reply.

    after: (ROWS, 24) int64. scratch: the same shape, memory to write to.
    """
    for lane in range(ENTRIES):
        if after[TARGET, lane]:
            reply = last_slide(rules, slide_to(after, lane), scratch)
            after[MARGIN, lane] = after[CREDIT, lane] - reply


@kernel
def put_off(order: Ints, index: int) -> bool:
    """Move an entry to the end of the order; False if that was done before."""
    if order[index] < -_FIRST:
        return False
    order[index] -= _LAST
    return True
