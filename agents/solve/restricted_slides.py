"""Which slides of a storm position a restricted player may make; see `agents.search.restriction`.

That depends on the board alone, so positions may be joined by symmetry as ever.
"""

import numpy as np
import numpy.typing as npt

from agents.search.board import Board
from agents.search.restriction import Restriction, is_forbidden
from agents.solve.slides import (
    MARGIN,
    OPPOSING,
    OWN,
    STRONGHOLDS,
    TARGET,
    best_slide,
    write_slides,
)
from castle_env.board import ENTRIES
from castle_env.compiled import kernel
from castle_env.kernels import RuleTable

Ints = npt.NDArray[np.int64]


@kernel
def avoids(forbidden: int, board: Board, after: Ints, lane: int, best: int) -> bool:
    """Whether a restricted player avoids a legal slide; `best` is the largest margin of all."""
    slide = Board(after[OWN, lane], after[OPPOSING, lane], after[STRONGHOLDS, lane],
                  after[TARGET, lane])
    return is_forbidden(forbidden, board, slide, 1, best - after[MARGIN, lane])


@kernel
def forbid(restriction: Restriction | None, board: Board, after: Ints) -> None:
    """Make the slides illegal that the restriction forbids, unless no others are legal.

    after: (ROWS, 24), all slides of `board` as `agents.solve.slides` says.
    """
    if restriction is None:
        return
    best = best_slide(after)[1]
    allowed = 0
    for lane in range(ENTRIES):
        if after[TARGET, lane]:
            allowed += not avoids(restriction.forbidden, board, after, lane, best)
    for lane in range(ENTRIES if allowed else 0):
        if after[TARGET, lane] and avoids(restriction.forbidden, board, after, lane, best):
            after[TARGET, lane] = 0


@kernel
def write_allowed(
    rule_table: RuleTable, restriction: Restriction, board: Board, after: Ints, out_allowed: Ints
) -> None:
    """Write 1 for each lane that a restricted mover may use, and 0 for the others.

    after: (ROWS, 24) int64, memory to write to. out_allowed: (24,) int64.
    """
    write_slides(rule_table[0], board, after)
    forbid(restriction, board, after)
    for lane in range(ENTRIES):
        out_allowed[lane] = after[TARGET, lane] != 0
