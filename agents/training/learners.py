"""The learner of a config, by its algorithm; and the device that it may use."""

from collections.abc import Sequence

import torch
from stable_baselines3.common.callbacks import BaseCallback

from agents.networks.network import NetworkFactory, build_network
from agents.training.az.learner import AZLearner
from agents.training.config import AZConfig, PPOConfig, RunConfig
from agents.training.learner import Learner
from agents.training.ppo import PPOLearner
from agents.training.rewards import load_reward
from castle_env.agent import make_agent
from castle_env.errors import OptionError
from castle_env.game import Game


def make_learner(
    game: Game,
    config: RunConfig,
    network: NetworkFactory | None = None,
    callbacks: Sequence[BaseCallback] = (),
) -> Learner:
    """The learner that a config describes; see `agents.training.run.train`."""
    if isinstance(config, AZConfig):
        if callbacks:
            raise OptionError("callbacks are given for az; allowed: none, since they are of "
                              "Stable-Baselines3, which trains ppo")
        return AZLearner(game, config, network)
    assert isinstance(config, PPOConfig)
    return PPOLearner(game, config, network, callbacks)


def check_config(game: Game, config: RunConfig) -> None:
    """Raise `CastleError` for what could not be made of a config: device, network, reward, agents.
    """
    check_device(config.device)
    build_network(game, config.network_config)
    load_reward(config.reward)
    for name in config.agents:
        make_agent(name, game)


def check_device(device: str) -> None:
    """Raise `OptionError` for a device that PyTorch cannot use."""
    if device == "auto":
        return
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        said = str(error).partition("\n")[0]
        raise OptionError(f"device is {device!r}, which cannot be used: {said}; allowed: auto or "
                          "a PyTorch device that is here, such as cpu or cuda:0") from error
