"""Which slide to try first: the table's, then by the lead it gives, then by its success so far.

Slides are listed in `order`, one integer each: margin * 2**37 + history * 2**5 + lane, plus or
minus something for those to be tried first or last.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.solve.slides import (
    CREDIT,
    LANE_BITS,
    LANE_MASK,
    MARGIN,
    TARGET,
    last_slide,
    slide_to,
)
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

    `history` counts how often each lane has refuted the opponent with as many plies left.
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
    """Replace the margins of legal slides by what is left of them after the best reply."""
    for lane in range(ENTRIES):
        if after[TARGET, lane]:
            reply = last_slide(rules, slide_to(after, lane), scratch)
            after[MARGIN, lane] = after[CREDIT, lane] - reply


@kernel
def take_best(order: Ints, start: int, count: int) -> int:
    """The lane of the best entry from `start` on, which is swapped to `start`."""
    place = start
    for index in range(start + 1, count):
        if order[index] > order[place]:
            place = index
    best: int = order[place]
    order[place] = order[start]
    order[start] = best
    return best & LANE_MASK


@kernel
def put_off(order: Ints, index: int) -> bool:
    """Move an entry to the end of the order; False if that was done before."""
    if order[index] < -_FIRST:
        return False
    order[index] -= _LAST
    return True
