"""sb3-contrib's MaskablePPO as it comes, the yardstick of studies of trainings.

A dense network (MlpPolicy) learns from what `gym.make` shows, in a few games of a DummyVecEnv,
against one fixed opponent, with the library's own settings.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import Logger

from agents.training.config import RunConfig
from agents.training.fields import Games, Seed, Steps, Threads, check_fields, from_keys
from agents.training.learners import check_config
from agents.training.run import Evaluation
from castle_env import Agent, Game, make_agent
from castle_env.agent import BaseAgent
from castle_env.options import Reward
from castle_env.position import PositionArray


@dataclass(frozen=True)
class PlainConfig:
    """Options of a plain training; everything else is as sb3-contrib has it.

    steps: decisions of the learner in all; training ends with the rollout that reaches them.
    num_envs: games played at once. opponent: the agent inside the environment. reward: "outcome" or
    "margin". evaluate_every: steps between two evaluations. threads: those of PyTorch.
    """

    steps: Steps = 500_000
    seed: Seed = 0
    num_envs: Games = 8
    opponent: str = "greedy"
    reward: Reward = "margin"
    evaluate_every: Steps = 50_000
    threads: Threads = 1

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The config that `to_dict` gave; `OptionError` for all that is wrong."""
        return from_keys(cls, values, "training option")


def check_cell(game: Game, config: RunConfig | PlainConfig) -> None:
    """Raise `CastleError` for what could not be made of a config."""
    if isinstance(config, PlainConfig):
        make_agent(config.opponent, game)
    else:
        check_config(game, config)


class ModelAgent(BaseAgent):
    """The most probable action of a MaskablePPO model, which sees what the environment shows."""

    def __init__(self, name: str, game: Game, model: MaskablePPO) -> None:
        self.name = name
        self._game = game
        self._model = model

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """A legal action for each position, shape (n,)."""
        observations, masks = self._game.encode(states)
        actions, _ = self._model.predict(observations, action_masks=masks, deterministic=True)
        return np.asarray(actions, dtype=np.int64)


def train_plain(
    game: Game, config: PlainConfig, evaluate: Callable[[Agent], Evaluation]
) -> tuple[int, list[Evaluation]]:
    """Steps reached and, from before training on, what `evaluate` found.

    Each evaluation has its "steps" and the "cpu_minutes" that training alone took up to it.
    """
    torch.set_num_threads(config.threads)
    envs = make_vec_env("castle_env/Castle-v1", config.num_envs, seed=config.seed, env_kwargs={
        "ruleset": game.rules, "opponent": config.opponent, "reward": config.reward})
    evaluations: list[Evaluation] = []
    seconds = 0.0
    with closing(envs):
        model = MaskablePPO("MlpPolicy", envs, seed=config.seed, device="cpu")
        model.set_logger(Logger(None, []))
        for until in [*range(0, config.steps, config.evaluate_every), config.steps]:
            if evaluations and until <= model.num_timesteps:
                continue  # the last rollout went beyond it
            started = process_time()
            if until:
                model.learn(until - model.num_timesteps, reset_num_timesteps=False)
            seconds += process_time() - started
            evaluations.append({"steps": model.num_timesteps, "cpu_minutes": seconds / 60,
                                **evaluate(ModelAgent("plain", game, model))})
    return model.num_timesteps, evaluations
