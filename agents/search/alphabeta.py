"""`alphabeta:D`: the best margin that can be forced within D plies, ties by lot.

With limits, as in `alphabeta:8:200ms`, see `agents.search.limited_search`.
"""

from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.arguments import positive_integer
from agents.search.compiled_agent import CompiledAgent
from agents.search.limited_search import LIMIT_FORMS, LimitedAlphaBeta, parse_limits
from agents.search.moves import (
    CODE_BITS,
    CODE_MASK,
    CODES,
    MAX_HISTORY,
    MAX_MOVES,
    action_of_code,
    add_history,
    list_codes,
    list_scored,
    pick_best,
    play_code,
    take_largest,
)
from castle_env.agent import Agent
from castle_env.batch import load
from castle_env.compiled import kernel
from castle_env.game import Game
from castle_env.kernels import Rules, RuleTable, is_over, mover_margin
from castle_env.position import Position, PositionArray

Ints = npt.NDArray[np.int64]

MAX_DEPTH: Final = 16
# Above every margin, and small enough to be packed with a move code into one integer.
INFINITE: Final = 1 << 32


class Workspace(NamedTuple):
    """Memory of a search, written over and over.

    moves: (D + 1, MAX_MOVES), the moves of the node in hand at each depth left. history: (2,
    CODES), for each player how much tree a move has cut off.
    """

    moves: Ints
    history: Ints


@kernel
def workspace(depth: int) -> Workspace:
    """Memory for searches of up to `depth` plies."""
    return Workspace(np.zeros((depth + 1, MAX_MOVES), dtype=np.int64),
                     np.zeros((2, CODES), dtype=np.int64))


@kernel
def last_ply(rules: Rules, position: Position, beta: int, codes: Ints) -> int:
    """`search` with one ply left: every move is worth the margin it leads to."""
    best = -INFINITE
    for index in range(list_codes(rules, position, codes)):
        margin = -mover_margin(rules, play_code(rules, position, codes[index]))
        best = max(best, margin)
        if best >= beta:
            break
    return best


@kernel
def search(
    rules: Rules, position: Position, depth: int, alpha: int, beta: int, work: Workspace
) -> int:
    """Margin for the mover after `depth` plies of best play by both, or at an earlier end.

    Exact when it lies strictly between `alpha` and `beta`; at most `alpha` it is an upper bound,
    at least `beta` a lower bound (fail-soft). Every ply, passes too, uses up depth and plies of the
    game, so cycles end.
    """
    if depth == 0 or is_over(rules, position):
        return mover_margin(rules, position)
    moves = work.moves[depth]
    if depth == 1:
        return last_ply(rules, position, beta, moves)
    history = work.history[position.ply & 1]
    count = list_scored(rules, position, moves)
    add_history(moves, count, history)
    best = -INFINITE
    for index in range(count):
        code = take_largest(moves, index, count) & CODE_MASK
        child = play_code(rules, position, code)
        best = max(best, -search(rules, child, depth - 1, -beta, -max(alpha, best), work))
        if best >= beta:
            history[code] = min(history[code] + depth * depth, MAX_HISTORY)
            break
    return best


@kernel
def search_root(rules: Rules, position: Position, depth: int, work: Workspace) -> int:
    """Value every move; the number of moves, which are in `work.moves[depth]` with their values.

    Entries are value * 2**CODE_BITS + code. The best value is exact, and so is that of every move
    that shares it, since the window always starts one below; the others have upper bounds.
    """
    moves = work.moves[depth]
    count = list_scored(rules, position, moves)
    best = -INFINITE
    for index in range(count):
        code = take_largest(moves, index, count) & CODE_MASK
        child = play_code(rules, position, code)
        value = -search(rules, child, depth - 1, -INFINITE, 1 - best, work)
        best = max(best, value)
        moves[index] = value << CODE_BITS | code
    return count


@kernel
def choose_by_search(
    table: RuleTable, depth: int, states: PositionArray, seeds: Ints, out_actions: Ints
) -> None:
    """An action with the best value at `depth` plies for each position."""
    rules = table[0]
    work = workspace(depth)
    for index in range(len(states)):
        work.history[:] = 0
        count = search_root(rules, load(states, index), depth, work)
        code = pick_best(work.moves[depth], count, seeds[index])
        out_actions[index] = action_of_code(code)


def make(arguments: str, game: Game) -> Agent:
    """The agent that looks as many plies ahead as its argument says, or as limits allow."""
    if limits := parse_limits(arguments):
        return LimitedAlphaBeta(f"alphabeta:{arguments}", game, limits)
    depth = positive_integer("alphabeta", arguments, MAX_DEPTH, LIMIT_FORMS)
    return CompiledAgent(f"alphabeta:{depth}", partial(choose_by_search, game.table, depth))
