"""`random`: a uniformly random legal action."""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.arguments import no_arguments
from castle_env.agent import Agent
from castle_env.game import Game
from castle_env.position import PositionArray


class RandomAgent:
    """Plays every legal action with the same probability."""

    def __init__(self, game: Game) -> None:
        self.name = "random"
        self._game: Final = game

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """A legal action for each position, shape (n,)."""
        return self._game.random_actions(states, rng)


def make(arguments: str, game: Game) -> Agent:
    """The random agent; it takes no arguments."""
    no_arguments("random", arguments)
    return RandomAgent(game)
