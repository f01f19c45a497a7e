"""What a run needs of whoever learns, whatever the algorithm."""

from collections.abc import Callable
from typing import Any, Protocol

from stable_baselines3.common.logger import Logger

from agents.networks.agent import NetworkAgent
from agents.training.config import RunConfig
from castle_env.game import Game


class Learner(Protocol):
    """A training in memory, whose state between two iterations is small and whole.

    `get_state` gives all that decides how training goes on; a learner made with the same game and
    config goes on from it exactly as the first would have.
    """

    @property
    def game(self) -> Game:
        """What is played."""
        ...

    @property
    def config(self) -> RunConfig:
        """What the run is made of."""
        ...

    @property
    def steps(self) -> int:
        """Learner steps taken so far."""
        ...

    @property
    def device(self) -> str:
        """The PyTorch device that is used."""
        ...

    def learn(self, until: int, logger: Logger, pause: Callable[[], bool]) -> None:
        """Go on until so many steps are taken.

        `pause` is called between two iterations, before the first and after the last; when it
        returns False, training ends there.
        """
        ...

    def log(self, logger: Logger) -> None:
        """Record what happened since the last call."""
        ...

    def results(self) -> dict[str, Any]:
        """Plain values for a card, beside the evaluations."""
        ...

    def current_agent(self) -> NetworkAgent:
        """The learner as it stands, playing its most probable action."""
        ...

    def load_weights(self, weights: dict[str, Any]) -> None:
        """Begin from the weights of another network of the same kind."""
        ...

    def get_state(self) -> dict[str, Any]:
        """Tensors and plain values, with the network's weights under "policy"."""
        ...

    def set_state(self, state: dict[str, Any]) -> None:
        """Take up what `get_state` gave."""
        ...
