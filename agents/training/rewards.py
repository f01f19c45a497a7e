"""What a learner gets at the end of a game."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from agents.networks.network import import_function
from castle_env.game import Game
from castle_env.options import REWARDS, rewards_of
from castle_env.position import PositionArray

# Takes the game, final positions (n,) and the learner's VP margins in them (n,); gives (n,).
RewardFunction: TypeAlias = Callable[[Game, PositionArray, npt.NDArray[np.int64]],
                                     npt.NDArray[np.float64]]


def load_reward(name: str) -> RewardFunction:
    """The reward called "margin" or "outcome", or the function that "module:name" stands for.

    Raises `OptionError` for another name.
    """
    if name in REWARDS:
        kind: Any = name
        return lambda game, _, margins: rewards_of(game, margins, kind)
    function: RewardFunction = import_function(name, "reward", REWARDS)
    return function
