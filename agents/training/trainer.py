"""A self-play training run in memory, and its state as tensors and plain values."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import get_device

from agents.networks.agent import PPOAgent
from agents.networks.encoding import Encoding
from agents.networks.network import BoardPolicy, build_policy
from agents.openings import longest_opening
from agents.training.config import TrainConfig
from agents.training.opponent_pool import SNAPSHOT_PREFIX, OpponentPool
from agents.training.sb3_env import SB3VecEnv
from agents.training.selfplay_env import SelfPlayVectorEnv
from castle_env.agent import make_agent
from castle_env.errors import OptionError
from castle_env.game import Game

Weights = dict[str, torch.Tensor]


class Trainer:
    """Model, games and opponents of a run.

    `get_state` gives all that decides how training goes on, between two rollouts; a trainer made
    with the same game and config goes on from it exactly as the first would have.
    """

    def __init__(self, game: Game, config: TrainConfig) -> None:
        self.game: Final = game
        self.config: Final = config
        self.encoding: Final = Encoding(game, config.lookahead)
        current_self = PPOAgent("self", self.encoding, self._build_policy("cpu"), sample=True)
        fixed = [current_self, *(make_agent(name, game) for name in config.baselines)]
        self.pool: Final = OpponentPool(fixed, config.pool_size, config.opponents)
        self.env: Final = SelfPlayVectorEnv(config.num_envs, game.rules, self.pool, config.reward,
                                            min(config.opening_plies, longest_opening(game)))
        self.vec_env: Final = SB3VecEnv(self.env, self.encoding, config.turned)
        self.model: Final = MaskablePPO(
            BoardPolicy, self.vec_env, seed=config.seed, device=config.device,
            n_steps=config.n_steps, batch_size=config.batch_size, n_epochs=config.n_epochs,
            learning_rate=_falling(config.learning_rate, config.last_learning_rate),
            gamma=config.gamma, gae_lambda=config.gae_lambda, ent_coef=config.ent_coef,
            clip_range=config.clip_range,
            policy_kwargs={"encoding": self.encoding, "shape": config.network},
        )
        current_self.policy = self.model.policy

    def _build_policy(self, device: str | torch.device) -> BoardPolicy:
        return build_policy(self.encoding, self.config.network, device)

    @property
    def steps(self) -> int:
        """Learner steps taken so far."""
        return int(self.model.num_timesteps)

    def current_agent(self) -> PPOAgent:
        """The learner as it stands, playing its most probable action."""
        return PPOAgent("learner", self.encoding, self.model.policy)

    def add_snapshot(self) -> None:
        """Put a copy of the learner into the pool of opponents."""
        agent = self._past_self(f"{SNAPSHOT_PREFIX}{self.steps}", self.model.policy.state_dict())
        self.pool.add_snapshot(agent, self.env.opponents)

    def _past_self(self, name: str, weights: Weights) -> PPOAgent:
        policy = self._build_policy(self.model.device)
        policy.load_state_dict(weights)
        policy.eval()
        return PPOAgent(name, self.encoding, policy, sample=True)

    def get_state(self) -> dict[str, Any]:
        """The run between two rollouts: tensors and plain values only."""
        snapshots = {number: agent.policy.state_dict()
                     for number, agent in self.pool.past_selves().items()
                     if isinstance(agent, PPOAgent)}
        return {
            "policy": self.model.policy.state_dict(),
            "optimizer": self.model.policy.optimizer.state_dict(),
            "snapshots": snapshots,
            "pool": self.pool.get_state(),
            "env": to_tensors(self.env.get_state()),
            "lengths": torch.tensor(self.vec_env.lengths),
            "symmetries": torch.tensor(self.vec_env.symmetries),
            "episode_starts": torch.tensor(np.asarray(self.model._last_episode_starts)),
            "episodes": [dict(episode) for episode in self.model.ep_info_buffer or ()],
            "rng": _get_rng_state(),
            "steps": self.steps,
            "updates": int(self.model._n_updates),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Take up what `get_state` gave."""
        model = self.model
        model.policy.load_state_dict(state["policy"])
        model.policy.optimizer.load_state_dict(state["optimizer"])
        names = {number: name for number, (name, _, _) in state["pool"]["results"].items()}
        self.pool.set_state(state["pool"], {
            number: self._past_self(names[number], weights)
            for number, weights in state["snapshots"].items()
        })
        model._setup_learn(0, None)  # makes the buffers that only `learn` makes
        self.vec_env.symmetries[:] = state["symmetries"].numpy()
        model._last_obs = self.vec_env.extend(self.env.set_state(to_arrays(state["env"])))
        model._last_episode_starts = state["episode_starts"].numpy()
        self.vec_env.lengths[:] = state["lengths"].numpy()
        assert model.ep_info_buffer is not None
        model.ep_info_buffer.extend(state["episodes"])
        model.num_timesteps = state["steps"]
        model._n_updates = state["updates"]
        _set_rng_state(state["rng"])


def _falling(first: float, last: float) -> Callable[[float], float]:
    """SB3's schedule of a rate that falls evenly: from the share of steps left to the rate."""
    return lambda left: last + (first - last) * left


def check_device(device: str) -> None:
    """Raise `OptionError` for a device that PyTorch cannot use; SB3 takes the CPU for lack of CUDA.
    """
    try:
        torch.zeros(1, device=get_device(device)).item()
    except (RuntimeError, AssertionError) as error:
        raise OptionError(f"device is {device!r}; allowed: auto or a PyTorch device that is here, "
                          "such as cpu or cuda:0") from error


def _get_rng_state() -> dict[str, Any]:
    """State of the global generators that SB3 draws from: PyTorch's, NumPy's for minibatches."""
    kind, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": [kind, torch.tensor(np.asarray(keys, dtype=np.int64)), position, has_gauss, gauss],
    }


def _set_rng_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"].cpu())
    if torch.cuda.is_available() and state["cuda"]:
        torch.cuda.set_rng_state_all([device.cpu() for device in state["cuda"]])
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))  # noqa: NPY002


def to_tensors(values: dict[str, Any]) -> dict[str, Any]:
    """The same dict with arrays as tensors, which a checkpoint may hold."""
    return {key: torch.tensor(value) if isinstance(value, np.ndarray) else value
            for key, value in values.items()}


def to_arrays(values: dict[str, Any]) -> dict[str, Any]:
    """The same dict with tensors as arrays."""
    return {key: value.cpu().numpy() if isinstance(value, torch.Tensor) else value
            for key, value in values.items()}
