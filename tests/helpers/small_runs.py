"""Training runs that are over in a second, and what tests look at in them."""

import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from forked import Forked
from quick_pictures import quick_pictures
from stable_baselines3.common.logger import Logger

from agents.networks.checkpoint import Checkpoint, load_checkpoint
from agents.training.config import PPOConfig, RunConfig
from agents.training.ppo import PPOLearner
from agents.training.run import Evaluation, Progress, train
from castle_env import Game
from experiments import cli
from experiments.backend import preload

# Decisions in one rollout, whatever the number of games.
ROLLOUT = 128
# Where a run has a pool: itself, these baselines, and past selves.
POOL: dict[str, Any] = {"opponents": "prioritised", "baselines": ("random", "greedy")}
# A process that has done nothing after so many waits of 0.02 s is taken to hang.
MAX_WAITS = 10_000
# The same for the `castle` command, with a handful of games to measure by.
SMALL_OPTIONS = ("--num-envs", 16, "--n-steps", 8, "--batch-size", 64, "--channels", 4,
                 "--blocks", 1, "--hidden", 8, "--device", "cpu", "--evaluation-games", 4,
                 "--report-games", 4, "--regret-positions", 0)

# An optimizer imports `torch._dynamo` when it is made.
preload("experiments.commands.train", "agents.training.ppo", "agents.training.az.learner",
        "torch._dynamo")


def config(**changes: Any) -> PPOConfig:
    """A small network, and rollouts of 128 decisions unless `n_steps` says otherwise."""
    num_envs = changes.pop("num_envs", 16)
    small: dict[str, Any] = {
        "steps": 4 * ROLLOUT, "num_envs": num_envs, "n_steps": ROLLOUT // num_envs,
        "batch_size": 64, "n_epochs": 1, "channels": 4, "blocks": 1, "hidden": 8,
        "reward": "outcome", "snapshot_every": 2 * ROLLOUT, "evaluate_every": 10**9,
        "checkpoint_every": 2 * ROLLOUT, "regret_positions": 0, "device": "cpu",
    }
    return PPOConfig(**small | changes)


def run(
    game: Game,
    settings: RunConfig,
    folder: Path,
    checkpoint: Checkpoint | None = None,
    show: Callable[[Progress], None] = lambda progress: None,
    command: str = "",
    **more: Any,
) -> tuple[int, list[Evaluation]]:
    """Train in a folder without playing any panel; what an evaluation finds is made up.

    `more` goes to `agents.training.run.train`.
    """
    folder.mkdir(exist_ok=True)
    made_up = {"rows": [{"opponent": "nobody", "win_rate": 0.5, "margin": 0.0}], "regret": None}
    return train(game, settings, folder, lambda agent: dict(made_up), show, checkpoint, command,
                 **more)


def quiet_learner(game: Game, settings: PPOConfig) -> PPOLearner:
    """A learner that logs nowhere, not even into the temporary folder that SB3 would make."""
    learner = PPOLearner(game, settings)
    learner.model.set_logger(Logger(None, []))
    return learner


def checkpoint_steps(folder: Path) -> list[int]:
    """Steps of all complete checkpoints of a run, each of which is loaded to see that it is."""
    cards = sorted((folder / "checkpoints").glob("step-*.json"))
    for card in cards:
        load_checkpoint(card.with_suffix(".pt"))
    return [int(card.stem.removeprefix("step-")) for card in cards]


def same(one: Any, other: Any) -> bool:
    """Whether nested values are equal, tensors bit for bit."""
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def training_state(folder: Path) -> dict[str, Any]:
    """All that the newest checkpoint holds but the clock."""
    tensors = load_checkpoint(folder).tensors
    for episode in tensors.get("episodes", ()):
        del episode["t"]
    return tensors


class Castle(Forked):
    """The `castle` command, with pictures of one pixel."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(run_castle, *arguments)


def run_castle(*arguments: object) -> None:
    """The same in this process."""
    with quick_pictures() as patch:
        patch.setattr(sys, "argv", ["castle", *map(str, arguments)])
        cli.main()


def start_castle(*arguments: object) -> "subprocess.Popen[str]":
    """Start the installed `castle` command, which shares nothing with this process."""
    castle = Path(sysconfig.get_path("scripts")) / "castle"
    return subprocess.Popen([castle, *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def wait_until(
    condition: Callable[[], bool], process: "Forked | subprocess.Popen[str]"
) -> None:
    """Wait until something has come true while a process runs, which must not end before."""
    for _ in range(MAX_WAITS):
        if condition():
            return
        if process.poll() is not None:
            break
        time.sleep(0.02)
    process.kill()
    raise AssertionError(process.communicate())
