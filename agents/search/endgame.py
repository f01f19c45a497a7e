"""Exact values of the last plies before the turn limit, found by looking at all that can happen.

They need no network: in storm a position with three plies left costs about as much as one call of a
small network, one with a ply less a tenth of it.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.search.alphabeta import INFINITE, Workspace, search, workspace
from agents.search.moves import (
    CODE_MASK,
    action_of_code,
    list_scored,
    play_code,
    take_largest,
)
from castle_env.batch import load
from castle_env.compiled import kernel
from castle_env.kernels import Rules, RuleTable
from castle_env.position import Position, PositionArray

Ints = npt.NDArray[np.int64]

# In margins: this action is illegal.
ILLEGAL: Final = -INFINITE


@kernel
def plies_left(rules: Rules, position: Position) -> int:
    """Plies before the turn limit; in sudden death the game may end earlier."""
    return rules.max_plies - position.ply


@kernel
def exact_margin(rules: Rules, position: Position, work: Workspace) -> int:
    """The mover's margin under best play to the end; `work` is for all plies that are left."""
    # Not the constant itself, for which Numba would compile another version of `search`.
    alpha = -INFINITE
    return search(rules, None, position, plies_left(rules, position), alpha, -alpha, work)


@kernel
def exact_margins(
    rules: Rules, position: Position, slack: int, work: Workspace, out_margins: Ints
) -> None:
    """The mover's margin after each action and best play; the game is not over.

    out_margins: (num_actions,), `ILLEGAL` where an action is. Margins within `slack` of the best
    are exact, others are upper bounds below that.
    """
    out_margins[:] = ILLEGAL
    depth = plies_left(rules, position)
    moves = work.moves[depth]
    count, best = list_scored(rules, position, moves), -INFINITE
    for index in range(count):
        code = take_largest(moves, index, count) & CODE_MASK
        child = play_code(rules, position, code)
        # Exact from one below the best so far less the slack.
        least = best - slack - 1 if index else -INFINITE
        margin = -search(rules, None, child, depth - 1, -INFINITE, -least, work)
        out_margins[action_of_code(code)] = margin
        best = max(best, margin)


@kernel
def write_exact_margins(
    table: RuleTable, states: PositionArray, most_plies: int, slack: int, out_margins: Ints
) -> None:
    """`exact_margins` of positions (n,) with at most so many plies left: (n, num_actions)."""
    work = workspace(most_plies)
    for index in range(len(states)):
        exact_margins(table[0], load(states, index), slack, work, out_margins[index])
