"""Alphabeta that may not do certain things, for restricted play in either mode.

The restrictions are those of `agents.solve.restricted_solver`, which measures in small games of
storm exactly what is measured here by playing. The search knows its own restriction in the whole
tree and takes its opponent to have none; its opponent knows of none. The margin one ply ahead, for
"looks-one-move-ahead", is that of the Victory Points as they then stand.
"""

from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from agents.search.alphabeta import INFINITE, Workspace, last_ply, workspace
from agents.search.compiled_agent import CompiledAgent
from agents.search.moves import (
    CODE_BITS,
    CODE_MASK,
    MAX_HISTORY,
    action_of_code,
    add_history,
    list_scored,
    pick_best,
    play_code,
    take_largest,
)
from agents.solve.restricted_search import CAPTURE, CONTEST, PUSH_STRONGHOLD
from agents.solve.restricted_solver import FORBIDDEN, RANDOM_HALF, check_restriction
from castle_env.agent import Agent, BaseAgent, make_agent
from castle_env.batch import load
from castle_env.compiled import kernel
from castle_env.game import Game
from castle_env.kernels import Rules, RuleTable, is_over, mover_margin, neighbours, popcount
from castle_env.position import Position, PositionArray

Ints = npt.NDArray[np.int64]


@kernel
def tokens(position: Position) -> int:
    """Factions that are not lost, on the board or in hand."""
    return (popcount(position.own | position.opposing) + position.own_hand
            + position.opposing_hand)


@kernel
def is_forbidden(restriction: int, position: Position, child: Position, behind: int) -> bool:
    """Whether a restricted mover avoids the move to `child`; see `agents.solve.restricted_search`.

    behind: by how much its margin after the move is less than after the best one.
    """
    if restriction == CAPTURE:
        return bool(tokens(child) < tokens(position))
    if restriction == PUSH_STRONGHOLD:
        return bool(child.strongholds != position.strongholds)
    if restriction == CONTEST:
        besieged = child.strongholds & neighbours(child.own)
        return bool(neighbours(child.bastion) & besieged != 0)
    return bool(behind > 0)


@kernel
def keep_allowed(
    rules: Rules, restriction: int, position: Position, scored: Ints, count: int
) -> int:
    """Bring allowed moves to the front; their number, or `count` if there is none.

    `scored` holds `count` entries as `list_scored` writes them.
    """
    best = scored[0] >> CODE_BITS
    for index in range(1, count):
        best = max(best, scored[index] >> CODE_BITS)
    allowed = 0
    for index in range(count):
        entry = scored[index]
        child = play_code(rules, position, entry & CODE_MASK)
        if not is_forbidden(restriction, position, child, best - (entry >> CODE_BITS)):
            scored[index], scored[allowed] = scored[allowed], entry
            allowed += 1
    return allowed if allowed else count


@kernel
def search(
    rules: Rules, restriction: int, seat: int, position: Position, depth: int, alpha: int,
    beta: int, work: Workspace
) -> int:
    """What `agents.search.alphabeta.search` gives where the player in `seat` is restricted."""
    if depth == 0 or is_over(rules, position):
        return mover_margin(rules, position)
    moves = work.moves[depth]
    is_restricted = position.ply & 1 == seat
    if depth == 1 and not is_restricted:
        return last_ply(rules, position, beta, moves)
    history = work.history[position.ply & 1]
    count = list_scored(rules, position, moves)
    if is_restricted:
        count = keep_allowed(rules, restriction, position, moves, count)
    add_history(moves, count, history)
    best = -INFINITE
    for index in range(count):
        code = take_largest(moves, index, count) & CODE_MASK
        child = play_code(rules, position, code)
        best = max(best, -search(rules, restriction, seat, child, depth - 1, -beta,
                                 -max(alpha, best), work))
        if best >= beta:
            history[code] = min(history[code] + depth * depth, MAX_HISTORY)
            break
    return best


@kernel
def choose_restricted(
    table: RuleTable, restriction: int, depth: int, states: PositionArray, seeds: Ints,
    out_actions: Ints
) -> None:
    """An allowed action with the best value at `depth` plies for each position, ties by lot."""
    rules = table[0]
    work = workspace(depth)
    moves = work.moves[depth]
    for row in range(len(states)):
        position = load(states, row)
        work.history[:] = 0
        count = list_scored(rules, position, moves)
        count = keep_allowed(rules, restriction, position, moves, count)
        best = -INFINITE
        for index in range(count):
            code = take_largest(moves, index, count) & CODE_MASK
            # A window from one below the best so far makes values that share it exact.
            child = play_code(rules, position, code)
            value = -search(rules, restriction, position.ply & 1, child, depth - 1, -INFINITE,
                            1 - best, work)
            best = max(best, value)
            moves[index] = value << CODE_BITS | code
        out_actions[row] = action_of_code(pick_best(moves, count, seeds[row]))


class RandomFirstHalf(BaseAgent):
    """Moves at random while more than half of its factions are in hand, then as another agent."""

    def __init__(self, name: str, game: Game, then: Agent) -> None:
        self.name = name
        self.thread_safe = then.thread_safe
        self._game: Final = game
        self._then: Final = then

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Ints:
        """A legal action for each position, shape (n,)."""
        actions = self._game.random_actions(states, rng)
        late = 2 * states["own_hand"] <= self._game.rules.factions_per_player
        if late.any():
            actions[late] = self._then.select_actions(states[late], rng)
        return actions

    def stop(self) -> None:
        """Stop the other agent."""
        self._then.stop()


def restricted_alphabeta(game: Game, restriction: str, depth: int) -> Agent:
    """`alphabeta:D` under a restriction, which is part of its name.

    Raises `OptionError` for what is no restriction, and `AgentError` for a wrong depth.
    """
    check_restriction(restriction, 0)
    free = make_agent(f"alphabeta:{depth}", game)
    name = f"{free.name}, {restriction}"
    if restriction == RANDOM_HALF:
        return RandomFirstHalf(name, game, free)
    return CompiledAgent(name, partial(choose_restricted, game.table, FORBIDDEN[restriction],
                                       depth))
