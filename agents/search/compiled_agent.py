"""The agent around a compiled function that chooses moves for a batch."""

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from castle_env.agent import BaseAgent
from castle_env.position import PositionArray

Ints = npt.NDArray[np.int64]


class Chooser(Protocol):
    """Writes an action for each position, chosen with a random seed for each position."""

    def __call__(self, states: PositionArray, seeds: Ints, out_actions: Ints) -> None:
        """All arrays have shape (n,); `seeds` and `out_actions` are int64."""
        ...


class CompiledAgent(BaseAgent):
    """An `Agent` that calls a `Chooser` with seeds drawn from `rng`.

    A position's action depends on its own seed alone, not on the rest of the batch. `choose` keeps
    nothing from one call to the next, so threads may share the agent.
    """

    thread_safe = True

    def __init__(self, name: str, choose: Chooser) -> None:
        self.name = name
        self._choose: Final = choose

    def __repr__(self) -> str:
        return f"CompiledAgent({self.name!r})"

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Ints:
        """A legal action for each position, shape (n,)."""
        seeds = rng.integers(np.iinfo(np.int64).max, size=len(states))
        actions = np.empty(len(states), dtype=np.int64)
        self._choose(states, seeds, actions)
        return actions
