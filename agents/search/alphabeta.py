"""`alphabeta:D`: the best margin that can be forced within D plies, ties by lot.

With limits, as in `alphabeta:8:200ms`, see `agents.search.limited_search`.
"""

from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.arguments import positive_integer
from agents.search.board import Board, board_of
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
from agents.search.restriction import Restriction, is_forbidden, is_restricted
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
    """Memory of a search of D plies, written over and over.

    moves: (D + 1, MAX_MOVES) int64, the moves of the node in hand, by depth. history: (2, CODES)
    int64, for each player and move code how much the move has saved by refuting.
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
    """`search` with one ply left: every move is worth the margin it leads to.

    codes: (MAX_MOVES,) int64, memory to write to.
    """
    best = -INFINITE
    for index in range(list_codes(rules, position, codes)):
        margin = -mover_margin(rules, play_code(rules, position, codes[index]))
        best = max(best, margin)
        if best >= beta:
            break
    return best


@kernel
def keep_allowed(
    rules: Rules, restriction: Restriction | None, position: Position, scored: Ints, count: int
) -> int:
    """Bring the moves to the front that the restriction allows.

    Their number, which is `count` where it allows none.
    scored: (MAX_MOVES,) int64, `count` entries as `list_scored` writes them.
    """
    if restriction is None:
        return count
    best = scored[0] >> CODE_BITS
    for index in range(1, count):
        best = max(best, scored[index] >> CODE_BITS)
    before, allowed = board_of(position), 0
    for index in range(count):
        entry = scored[index]
        child = play_code(rules, position, entry & CODE_MASK)
        after = Board(child.opposing, child.own, child.strongholds, child.bastion)
        if not is_forbidden(restriction.forbidden, before, after,
                            position.own_hand - child.opposing_hand,
                            best - (entry >> CODE_BITS)):
            scored[index], scored[allowed] = scored[allowed], entry
            allowed += 1
    return allowed if allowed else count


@kernel
def search(
    rules: Rules, restriction: Restriction | None, position: Position, depth: int, alpha: int,
    beta: int, work: Workspace
) -> int:
    """Margin for the mover after `depth` plies of best play by both, or at an earlier end.

    A restricted player, where there is one, plays best among the moves that are allowed to it.

    Exact when it lies strictly between `alpha` and `beta`; at most `alpha` it is an upper bound,
    at least `beta` a lower bound (fail-soft). Every ply, a pass too, uses up depth, so that walking
    in circles comes to an end.
    """
    if depth == 0 or is_over(rules, position):
        return mover_margin(rules, position)
    moves = work.moves[depth]
    restricted = is_restricted(restriction, position.ply)
    if depth == 1 and not restricted:
        return last_ply(rules, position, beta, moves)
    history = work.history[position.ply & 1]
    count = list_scored(rules, position, moves)
    if restricted:
        count = keep_allowed(rules, restriction, position, moves, count)
    add_history(moves, count, history)
    best = -INFINITE
    for index in range(count):
        code = take_largest(moves, index, count) & CODE_MASK
        child = play_code(rules, position, code)
        best = max(best, -search(rules, restriction, child, depth - 1, -beta, -max(alpha, best),
                                 work))
        if best >= beta:
            history[code] = min(history[code] + depth * depth, MAX_HISTORY)
            break
    return best


@kernel
def search_root(
    rules: Rules, restriction: Restriction | None, position: Position, depth: int, work: Workspace
) -> int:
    """Value every allowed move; their number. They are in `work.moves[depth]` with their values.

    Entries are value * 2**CODE_BITS + code. The best value is exact, and so is that of every move
    that shares it, since the window always starts one below; the others have upper bounds.
    """
    moves = work.moves[depth]
    count = list_scored(rules, position, moves)
    if is_restricted(restriction, position.ply):
        count = keep_allowed(rules, restriction, position, moves, count)
    best = -INFINITE
    for index in range(count):
        code = take_largest(moves, index, count) & CODE_MASK
        child = play_code(rules, position, code)
        value = -search(rules, restriction, child, depth - 1, -INFINITE, 1 - best, work)
        best = max(best, value)
        moves[index] = value << CODE_BITS | code
    return count


@kernel
def choose_by_search(
    table: RuleTable, depth: int, states: PositionArray, seeds: Ints, out_actions: Ints
) -> None:
    """An action with the best value at `depth` plies for each position, ties by lot.

    states: (n,). seeds, out_actions: (n,) int64.
    """
    rules = table[0]
    work = workspace(depth)
    for index in range(len(states)):
        work.history[:] = 0
        count = search_root(rules, None, load(states, index), depth, work)
        code = pick_best(work.moves[depth], count, seeds[index])
        out_actions[index] = action_of_code(code)


def make(arguments: str, game: Game) -> Agent:
    """The agent that looks as many plies ahead as its argument says, or as limits allow."""
    if limits := parse_limits(arguments):
        return LimitedAlphaBeta(f"alphabeta:{arguments}", game, limits)
    depth = positive_integer("alphabeta", arguments, MAX_DEPTH, LIMIT_FORMS)
    return CompiledAgent(f"alphabeta:{depth}", partial(choose_by_search, game.table, depth))
