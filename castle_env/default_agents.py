"""`random` and `greedy`: the agents that environments bring along as opponents."""

from typing import Final

import numpy as np
import numpy.typing as npt

from castle_env.agent import Agent, BaseAgent
from castle_env.batch import choose_from_masks, load, moves_or_none
from castle_env.board import PASS
from castle_env.compiled import kernel
from castle_env.errors import AgentError
from castle_env.game import Game
from castle_env.kernels import KINDS, RuleTable, action_of, mover_margin, play
from castle_env.position import PositionArray


class RandomAgent(BaseAgent):
    """Plays every legal action with the same probability."""

    thread_safe = True

    def __init__(self, game: Game) -> None:
        self.name = "random"
        self._game: Final = game

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """A legal action for each position, shape (n,)."""
        return self._game.random_actions(states, rng)


class GreedyAgent(BaseAgent):
    """Plays an action with the best VP margin on the next position, ties by lot."""

    thread_safe = True

    def __init__(self, game: Game) -> None:
        self.name = "greedy"
        self._game: Final = game

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """A legal action for each position, shape (n,)."""
        best = np.zeros((len(states), self._game.num_actions), dtype=np.int8)
        mark_best(self._game.table, states, best)
        actions = np.empty(len(states), dtype=np.int64)
        choose_from_masks(0, len(states), best, rng.random(len(states)), actions)
        return actions


@kernel
def mark_best(table: RuleTable, states: PositionArray, out_best: npt.NDArray[np.int8]) -> None:
    """Mark the actions with the best margin for their mover on the next position.

    `out_best`, shape (n, num_actions), holds zeros before and 1 for each of them after. A position
    without a legal move has its pass marked.
    """
    rules = table[0]
    for index in range(len(states)):
        position = load(states, index)
        moves = moves_or_none(rules, position)
        best, found = 0, False
        for kind in range(KINDS):
            squares = moves[kind]
            while squares:
                bit = squares & -squares
                squares ^= bit
                margin = -mover_margin(rules, play(rules, position, kind, bit))
                if not found or margin > best:
                    best, found = margin, True
                    out_best[index] = 0
                if margin == best:
                    out_best[index, action_of(kind, bit)] = 1
        if not found:
            out_best[index, PASS] = 1


def make_random(arguments: str, game: Game) -> Agent:
    """The random agent; it takes no arguments."""
    _no_arguments("random", arguments)
    return RandomAgent(game)


def make_greedy(arguments: str, game: Game) -> Agent:
    """The greedy agent; it takes no arguments."""
    _no_arguments("greedy", arguments)
    return GreedyAgent(game)


def _no_arguments(agent: str, arguments: str) -> None:
    if arguments:
        raise AgentError(f"agent {f'{agent}:{arguments}'!r}: {agent} takes no arguments; "
                         f"allowed: {agent}")
