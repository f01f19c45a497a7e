"""What each action leads to within a few plies, as numbers that a network can read."""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.search.alphabeta import INFINITE, Workspace, search, workspace
from agents.search.moves import (
    CODE_BITS,
    CODE_MASK,
    action_of_code,
    list_scored,
    play_code,
    take_largest,
)
from castle_env.batch import load
from castle_env.compiled import kernel
from castle_env.kernels import Rules, RuleTable, is_over, mover_margin
from castle_env.position import Position, PositionArray

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

MOST_LOOKAHEAD: Final = 3
# Victory Points are divided by this, so that most numbers lie between -2 and 2.
VP_SCALE: Final = 4.0
# Gains so far below the best of their kind are not told apart: a search for them would take long.
WINDOW: Final = 3


@kernel
def deepen(rules: Rules, position: Position, plies: int, count: int, work: Workspace) -> int:
    """Search `count` scored moves, listed in `work.moves[0]`, `plies` deep; the best margin.

    Moves are scored as by `agents.search.moves.list_scored`: before with any margins, the best of
    which are searched first, after with those for the mover after `plies` plies of best play.
    Margins more than `WINDOW` below the best are raised to that.
    """
    moves = work.moves[0]
    lowest = -INFINITE
    best = lowest
    for index in range(count):
        code = take_largest(moves, index, count) & CODE_MASK
        child = play_code(rules, position, code)
        margin = -search(rules, child, plies - 1, lowest, WINDOW - best, work)
        best = max(best, margin)
        moves[index] = margin << CODE_BITS | code
    for index in range(count):
        margin = max(moves[index] >> CODE_BITS, best - WINDOW)
        moves[index] = margin << CODE_BITS | moves[index] & CODE_MASK
    return best


@kernel
def write_lookahead(
    table: RuleTable, states: PositionArray, plies: int, out_gains: Floats, out_totals: Floats
) -> None:
    """Write what the mover gains by each action, in VP / `VP_SCALE`.

    out_gains: (n, plies, num_actions), the change of the mover's margin by an action and best play
    of both up to 1 .. `plies` plies in all; 0 for illegal actions, and at least that of the best
    action less `WINDOW`. out_totals: (n, 1 + plies), the mover's margin now and the best gain of
    each kind. All but the margin are 0 once a game is over.
    """
    rules = table[0]
    work = workspace(plies)
    moves = work.moves[0]
    out_gains[:] = 0
    out_totals[:] = 0
    for index in range(len(states)):
        position = load(states, index)
        now = mover_margin(rules, position)
        out_totals[index, 0] = now / VP_SCALE
        if is_over(rules, position):
            continue
        work.history[:] = 0
        count = list_scored(rules, position, moves)
        for depth in range(1, plies + 1):
            best = deepen(rules, position, depth, count, work)
            out_totals[index, depth] = (best - now) / VP_SCALE
            for place in range(count):
                action = action_of_code(moves[place] & CODE_MASK)
                gain = (moves[place] >> CODE_BITS) - now
                out_gains[index, depth - 1, action] = gain / VP_SCALE
