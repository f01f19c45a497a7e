"""Measurements of networks and of their training; PyTorch is loaded when one is taken."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from castle_env import Game, load_ruleset
from experiments.bench.runs import Run, number_of, rate, usable_threads

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO

# Positions that a network looks at in one call.
POSITIONS: Final = 1024
# PyTorch's threads while training is measured, or fewer where there are fewer cores.
TRAINING_THREADS: Final = 2
# Random plies before the positions that a network looks at.
NETWORK_PLIES: Final = 6
# What SB3's examples train on: so many single games, each in an environment of its own.
PLAIN_ENVS: Final = 8

PEAK_MEMORY: Final = """
import sys
from experiments.bench.learning import peak_megabytes, training
with training(sys.argv[1]) as run:
    run(0)
print(peak_megabytes())
"""


@contextmanager
def training(preset: str, updates: bool = True) -> Iterator[Run]:
    """The learner's decisions in whole iterations, rollout and update, of `castle train`.

    The config is the preset "standard". A pool, where there is one, is full as in mid-run. Without
    `updates` rollouts alone are measured.
    """
    from stable_baselines3.common.logger import Logger

    from agents.training.config import PRESETS
    from agents.training.ppo import PPOLearner

    learner = PPOLearner(Game(load_ruleset(preset)), PRESETS["standard"])
    learner.model.set_logger(Logger(None, []))
    for _ in range(learner.config.pool_size if learner.pool else 0):
        learner.add_snapshot()
    with _training_threads():
        yield _iterations(learner.model, updates)


@contextmanager
def plain_training(n_steps: int, updates: bool = True) -> Iterator[Run]:
    """The same network and settings in plain MaskablePPO on a few games against random in storm.

    `n_steps` are the decisions in each of the games between two updates. Without `updates` rollouts
    alone are measured.
    """
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.logger import Logger

    from agents.networks.network import build_network
    from agents.networks.sb3_policy import NetworkPolicy
    from agents.training.config import PRESETS

    config, game = PRESETS["standard"], Game(load_ruleset("storm"))
    envs = make_vec_env("castle_env/Storm-v1", PLAIN_ENVS, seed=0)
    model = MaskablePPO(
        NetworkPolicy, envs, n_steps=n_steps, seed=0, batch_size=config.batch_size,
        n_epochs=config.n_epochs, learning_rate=config.learning_rate, gamma=config.gamma,
        gae_lambda=config.gae_lambda, ent_coef=config.ent_coef, vf_coef=config.vf_coef,
        policy_kwargs={"make_network": partial(build_network, game, config.network_config)})
    model.set_logger(Logger(None, []))
    with closing(envs), _training_threads():
        yield _iterations(model, updates)


@contextmanager
def expert_self_play(preset: str) -> Iterator[Run]:
    """Positions searched or solved in the self-play of `castle train --algorithm az`.

    The config is the preset "standard"; the network has learned nothing.
    """
    from agents.training.az.learner import AZLearner
    from agents.training.config import AZ_PRESETS

    learner = AZLearner(Game(load_ruleset(preset)), AZ_PRESETS["standard"])

    def play_ply() -> int:
        learner.selfplay.play(1)
        return learner.config.num_envs

    with _training_threads():
        yield rate(play_ply)


@contextmanager
def network_evaluations(preset: str) -> Iterator[Run]:
    """Positions that the network of the preset "standard" looks at, a batch in one call."""
    from agents.networks.network import build_network
    from agents.networks.policy import Policy
    from agents.training.config import PRESETS

    game = Game(load_ruleset(preset))
    policy = Policy(game, build_network(game, PRESETS["standard"].network_config), "margin")
    states, rng = game.initial_states(POSITIONS), np.random.default_rng(0)
    for _ in range(NETWORK_PLIES):
        states = game.apply_actions(states, game.random_actions(states, rng))

    def evaluate() -> int:
        policy.look_at(states)
        return len(states)

    with _training_threads():
        yield rate(evaluate)


def _iterations(model: "MaskablePPO", updates: bool) -> Run:
    """Takes rollouts, each with the update that follows if wanted, and counts the decisions."""
    if not updates:
        model.train = lambda: None  # type: ignore[method-assign]

    def iterate() -> int:
        decisions: int = model.n_steps * model.n_envs
        model.learn(decisions, reset_num_timesteps=False)
        return decisions

    return rate(iterate)


@contextmanager
def _training_threads() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(usable_threads(TRAINING_THREADS))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def training_memory(preset: str) -> Iterator[Run]:
    """Most memory that a process of its own takes for three iterations of `training`, in MB."""
    yield lambda _: number_of(PEAK_MEMORY, preset)


def peak_megabytes() -> float:
    """Most memory that this process has taken so far.

    Where the system has /proc, not from `getrusage`: there a process starts with what the one that
    started it has taken.
    """
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) * 1024 / 1e6
    from resource import RUSAGE_SELF, getrusage

    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
