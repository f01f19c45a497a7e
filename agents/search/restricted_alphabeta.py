"""Alphabeta that never makes certain moves, for restricted play in either mode.

`agents.solve.restricted_solver` computes in small games of storm what is measured here by playing.
The search reckons with its own restriction at every ply and takes its opponent to have none; the
opponent does not know of it. For "looks-one-move-ahead" the margin one ply ahead is that of the
Victory Points as they stand then.
"""

from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from agents.search.alphabeta import search_root, workspace
from agents.search.compiled_agent import CompiledAgent
from agents.search.moves import action_of_code, pick_best
from agents.search.restriction import FORBIDDEN, RANDOM_HALF, Restriction, check_restriction
from castle_env.agent import Agent, BaseAgent, make_agent
from castle_env.batch import load
from castle_env.compiled import kernel
from castle_env.game import Game
from castle_env.kernels import RuleTable
from castle_env.position import PositionArray

Ints = npt.NDArray[np.int64]


@kernel
def choose_restricted(
    table: RuleTable, forbidden: int, depth: int, states: PositionArray, seeds: Ints,
    out_actions: Ints
) -> None:
    """An allowed action with the best value at `depth` plies for each position, ties by lot.

    forbidden: what the mover, whoever it is, never does. states: (n,). seeds, out_actions: (n,)
    int64.
    """
    work = workspace(depth)
    for index in range(len(states)):
        position = load(states, index)
        work.history[:] = 0
        restriction = Restriction(forbidden, position.ply & 1)
        count = search_root(table[0], restriction, position, depth, work)
        code = pick_best(work.moves[depth], count, seeds[index])
        out_actions[index] = action_of_code(code)


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
