"""`ppo:PATH+search:N`: a network's policy and value guide a tree search (see `search_tree`).

N is the number of positions that the search visits beyond the one to move in; `+search:200ms` goes
on for so long instead. With N the same seed gives the same move. What else is in a batch matters
only through the rounding of the network's numbers, which can differ with the size of its batches.
"""

import re
import time
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from agents.search.moves import MAX_MOVES
from agents.search.puct_tree import (
    MAX_LEAVES,
    NODE_DTYPE,
    Nodes,
    Weights,
    choose,
    expand,
    gather,
    new_trees,
)
from castle_env.agent import BaseAgent
from castle_env.errors import AgentError
from castle_env.game import Game
from castle_env.options import Reward, margin_scale
from castle_env.position import POSITION_DTYPE, PositionArray

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

# Takes positions (n,); gives logits (n, num_actions) and the movers' values (n,) in rewards.
Evaluator: TypeAlias = Callable[[PositionArray], tuple[Floats, Floats]]

SEARCH: Final = "+search"
MAX_SIMULATIONS: Final = 100_000
# Bytes of the trees that are searched together; a single tree may take more.
MAX_BYTES: Final = 1 << 28
# Chosen by the regret of a small agent in storm. It was least at 2 and 3 with N = 400, hardly more
# at 1 and 4, and least at 1 and 2 with N = 100.
EXPLORATION: Final = 2.0
REDUCTION: Final = 0.3
VIRTUAL_LOSS: Final = -1.0
# Victory Points that count as 1 in a search by margin.
VALUE_UNIT: Final = 4.0
# Plies before the turn limit from which on a leaf has its exact value.
EXACT_PLIES: Final = 3

_LIMIT: Final = re.compile(
    r":(?:(?P<simulations>[1-9][0-9]{0,5})|(?P<milliseconds>[1-9][0-9]{0,6})ms)", re.ASCII)


class Limits(NamedTuple):
    """What a move may cost; 0 milliseconds are no limit."""

    simulations: int = MAX_SIMULATIONS
    milliseconds: int = 0


def split_search(arguments: str) -> tuple[str, Limits | None]:
    """What stands before "+search:N" or "+search:Tms" in an agent's name, and those limits.

    Limits are None where no search is asked for. Raises `AgentError` for limits that make no sense.
    """
    before, search, limit = arguments.rpartition(SEARCH)
    if not search or (limit and limit[0] != ":"):
        return arguments, None
    match = _LIMIT.fullmatch(limit)
    found = {str(match.lastgroup): int(match[str(match.lastgroup)])} if match else {}
    limits = Limits(**found)
    if not found or limits.simulations > MAX_SIMULATIONS:
        raise AgentError(f"search {search + limit!r} in an agent's name; allowed: {SEARCH}:N with "
                         f"N from 1 to {MAX_SIMULATIONS}, or {SEARCH}:Tms with T up to 9999999")
    return before, limits


def search_weights(
    reward: Reward, exploration: float = EXPLORATION, exact_plies: int = EXACT_PLIES
) -> Weights:
    """The weights of searches whose evaluator's values are rewards of this kind."""
    unit = VALUE_UNIT if reward == "margin" else 0.0
    return Weights(unit, exploration, REDUCTION, VIRTUAL_LOSS, exact_plies)


def value_factor(game: Game, reward: Reward) -> np.float32:
    """What turns a reward of this kind into the unit of searches."""
    return np.float32(margin_scale(game) / VALUE_UNIT if reward == "margin" else 1.0)


class PUCTAgent(BaseAgent):
    """An `Agent` that searches with an evaluator whose values are in units of `reward`.

    Values are normalised in a fixed way: under "margin" 1 stands for `VALUE_UNIT` Victory Points,
    under "outcome" for a won game.
    """

    def __init__(
        self, name: str, game: Game, evaluate: Evaluator, reward: Reward, limits: Limits,
        exploration: float = EXPLORATION,
    ) -> None:
        self.name = name
        self._game: Final = game
        self._evaluate: Final = evaluate
        self._limits: Final = limits
        self._weights: Final = search_weights(reward, exploration)
        self._factor: Final = value_factor(game, reward)
        self._nodes: Final = 1 + min(game.num_actions, MAX_MOVES) * (limits.simulations + 1)
        self._stopped = False

    def __repr__(self) -> str:
        return f"PUCTAgent({self.name!r})"

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Ints:
        """A legal action for each position, shape (n,)."""
        seeds = rng.integers(np.iinfo(np.int64).max, size=len(states))
        actions = np.empty(len(states), dtype=np.int64)
        together = max(1, MAX_BYTES // (self._nodes * NODE_DTYPE.itemsize))
        if self._limits.milliseconds:
            together = 1
        for first in range(0, len(states), together):
            part = slice(first, first + together)
            choose(self.search(states[part]), seeds[part], actions[part])
        return actions

    def stop(self) -> None:
        """From another thread, for good: searches end at once with what they have found."""
        self._stopped = True

    def search(self, states: PositionArray) -> Nodes:
        """The trees (n, nodes) of a search of positions (n,) within the limits.

        At least two steps are made, so that at least one move has been looked at.
        """
        end = time.monotonic() + (self._limits.milliseconds / 1000 or np.inf)
        trees = new_trees(len(states), self._nodes)
        sizes = np.ones(len(states), dtype=np.int64)
        visits_left = np.full(len(states), self._limits.simulations + 1)
        leaves = np.empty(len(states) * MAX_LEAVES, dtype=POSITION_DTYPE)
        places = np.empty((len(leaves), 2), dtype=np.int64)
        steps = 0
        while visits_left.any() and (steps < 2 or (time.monotonic() < end and not self._stopped)):
            count = gather(self._game.table, trees, states, visits_left, self._weights, leaves,
                           places)
            if count:
                logits, values = self._evaluate(leaves[:count])
                expand(self._game.table, trees, sizes, leaves[:count], places[:count], logits,
                       values * self._factor)
            steps += 1
        return trees
