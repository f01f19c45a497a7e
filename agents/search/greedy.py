"""`greedy`: the best margin after one move, ties by lot."""

from functools import partial

import numpy as np
import numpy.typing as npt

from agents.arguments import no_arguments
from agents.search.compiled_agent import CompiledAgent
from agents.search.moves import MAX_MOVES, action_of_code, list_scored, pick_best
from castle_env.agent import Agent
from castle_env.batch import load
from castle_env.compiled import kernel
from castle_env.game import Game
from castle_env.kernels import RuleTable
from castle_env.position import PositionArray

Ints = npt.NDArray[np.int64]


@kernel
def choose_greedily(
    table: RuleTable, states: PositionArray, seeds: Ints, out_actions: Ints
) -> None:
    """An action with the best margin for its mover on the next position, for each position."""
    rules = table[0]
    scored = np.empty(MAX_MOVES, dtype=np.int64)
    for index in range(len(states)):
        count = list_scored(rules, load(states, index), scored)
        out_actions[index] = action_of_code(pick_best(scored, count, seeds[index]))


def make(arguments: str, game: Game) -> Agent:
    """The greedy agent; it takes no arguments."""
    no_arguments("greedy", arguments)
    return CompiledAgent("greedy", partial(choose_greedily, game.table))
