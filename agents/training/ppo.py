"""Self-play with MaskablePPO in memory, and its state as tensors and plain values."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.logger import Logger
from torch import nn

from agents.networks.agent import NetworkAgent
from agents.networks.network import NetworkFactory, build_network, is_symmetric, make_network
from agents.networks.policy import Policy
from agents.networks.sb3_policy import LearnerPolicy
from agents.openings import longest_opening
from agents.training.config import PPOConfig
from agents.training.opponent_pool import SNAPSHOT_PREFIX, OpponentPool
from agents.training.random_state import get_random_state, set_random_state
from agents.training.resuming import check_optimizer
from agents.training.sb3_env import SB3VecEnv
from agents.training.selfplay_env import SelfPlayVectorEnv
from agents.training.tags import tag
from agents.training.tensors import to_arrays, to_tensors
from castle_env.agent import make_agent
from castle_env.game import Game

Weights = dict[str, torch.Tensor]


class PPOLearner:
    """Model, games and opponents of a run; a `Learner`.

    network: makes the network instead of the config. callbacks: of Stable-Baselines3, for `learn`.
    """

    def __init__(
        self,
        game: Game,
        config: PPOConfig,
        network: NetworkFactory | None = None,
        callbacks: Sequence[BaseCallback] = (),
    ) -> None:
        self.game: Final = game
        self.config: Final = config
        self._network: Final = network
        self._callbacks: Final = list(callbacks)
        placeholder = self._make_network()
        turns = config.random_symmetry and not is_symmetric(placeholder)
        current_self = NetworkAgent("self", self._policy(placeholder), sample=True)
        self.pool: Final = self._make_pool(current_self)
        self.env: Final = SelfPlayVectorEnv(
            config.num_envs, game.rules, self.pool, config.reward,
            min(config.opening_plies, longest_opening(game)))
        self.vec_env: Final = SB3VecEnv(self.env, turns)
        self.model: Final = MaskablePPO(
            LearnerPolicy, self.vec_env, seed=config.seed, device=config.device,
            n_steps=config.n_steps, batch_size=config.batch_size, n_epochs=config.n_epochs,
            learning_rate=lambda _: config.rate_after(self.steps), gamma=self._gamma,
            gae_lambda=config.gae_lambda, ent_coef=config.ent_coef, vf_coef=config.vf_coef,
            clip_range=config.clip_range, policy_kwargs={"make_network": self._make_network})
        current_self.policy = self._policy(self._model_network())
        self._last_pause = -1

    def _make_pool(self, current_self: NetworkAgent) -> OpponentPool | None:
        config = self.config
        if config.opponents == "self":
            return None
        fixed = [make_agent(name, self.game) for name in config.baselines]
        return OpponentPool([current_self, *fixed], config.pool_size, config.opponents)

    @property
    def _gamma(self) -> float:
        """The discount of the next decision's value.

        Where the learner plays both seats, that value is the opponent's: it counts with a minus
        sign, in the generalised advantage estimate too.
        """
        return self.config.gamma if self.pool else -self.config.gamma

    def _make_network(self) -> nn.Module:
        if self._network is not None:
            return make_network(self.game, self._network)
        return build_network(self.game, self.config.network_config)

    def _model_network(self) -> nn.Module:
        policy = self.model.policy
        assert isinstance(policy, LearnerPolicy)
        return policy.network

    def _policy(self, network: nn.Module, one_side: bool = True) -> Policy:
        return Policy(self.game, network, self.config.reward, one_side)

    @property
    def steps(self) -> int:
        """Learner steps taken so far."""
        return int(self.model.num_timesteps) if hasattr(self, "model") else 0

    @property
    def device(self) -> str:
        """The PyTorch device that is used."""
        return str(self.model.device)

    def learn(self, until: int, logger: Logger, pause: Callable[[], bool]) -> None:
        """Go on until so many steps are taken; see `Learner`."""
        def pause_here() -> bool:
            if self.steps > self._last_pause:
                self._add_snapshot_if_due()
                self._last_pause = self.steps
            return pause()

        self.model.set_logger(logger)
        callbacks = CallbackList([_Pauses(pause_here), *self._callbacks])
        self.model.learn(until - self.steps, callbacks, reset_num_timesteps=False)

    def log(self, logger: Logger) -> None:
        """Record results by opponent and what happened in the games."""
        for member in self.pool.active() if self.pool else ():
            logger.record_mean(tag("pool", member.kind, "average_result"), member.average)
        for name, value in self.env.game_log.take().items():
            logger.record(name, value)
        if "train/entropy_loss" in logger.name_to_value:
            logger.record("train/entropy", -logger.name_to_value["train/entropy_loss"])

    def results(self) -> dict[str, Any]:
        """The pool, for a card."""
        return {"pool": self.pool.table() if self.pool else []}

    def current_agent(self) -> NetworkAgent:
        """The learner as it stands, playing its most probable action."""
        return NetworkAgent("learner", self._policy(self._model_network(), one_side=False))

    def load_weights(self, weights: Weights) -> None:
        """Begin from the weights of another network of the same kind."""
        self._model_network().load_state_dict(weights)

    def _add_snapshot_if_due(self) -> None:
        every = self.config.snapshot_every
        if self.pool and self.steps and self.steps // every > max(0, self._last_pause) // every:
            self.add_snapshot()

    def add_snapshot(self) -> None:
        """Put a copy of the learner into the pool of opponents."""
        assert self.pool is not None
        agent = self._past_self(f"{SNAPSHOT_PREFIX}{self.steps}",
                                self._model_network().state_dict())
        self.pool.add_snapshot(agent, self.env.opponents)

    def _past_self(self, name: str, weights: Weights) -> NetworkAgent:
        network = self._make_network().to(self.model.device)
        network.load_state_dict(weights)
        network.eval()
        return NetworkAgent(name, self._policy(network), sample=True)

    def get_state(self) -> dict[str, Any]:
        """The run between two rollouts: tensors and plain values only."""
        past_selves = self.pool.past_selves() if self.pool else {}
        snapshots = {number: agent.policy.network.state_dict()
                     for number, agent in past_selves.items() if isinstance(agent, NetworkAgent)}
        return {
            "policy": self._model_network().state_dict(),
            "optimizer": self.model.policy.optimizer.state_dict(),
            "snapshots": snapshots,
            "pool": self.pool.get_state() if self.pool else {},
            "env": to_tensors(self.env.get_state()),
            "lengths": torch.tensor(self.vec_env.lengths),
            "symmetries": torch.tensor(self.vec_env.symmetries),
            "episode_starts": torch.tensor(self._episode_starts()),
            "episodes": [dict(episode) for episode in self.model.ep_info_buffer or ()],
            "random": get_random_state(),
            "steps": self.steps,
            "updates": int(self.model._n_updates),
        }

    def _episode_starts(self) -> npt.NDArray[np.bool_]:
        """Which games have just begun; all of them before the first rollout."""
        starts = self.model._last_episode_starts
        return np.ones(self.config.num_envs, dtype=np.bool_) if starts is None else starts

    def set_state(self, state: dict[str, Any]) -> None:
        """Take up what `get_state` gave."""
        model = self.model
        self._model_network().load_state_dict(state["policy"])
        model.policy.optimizer.load_state_dict(state["optimizer"])
        check_optimizer(model.policy.optimizer)
        if self.pool:
            names = {number: name for number, (name, _, _) in state["pool"]["results"].items()}
            self.pool.set_state(state["pool"], {
                number: self._past_self(names[number], weights)
                for number, weights in state["snapshots"].items()
            })
        model._setup_learn(0, None)  # makes the buffers that only `learn` makes
        self.vec_env.symmetries[:] = state["symmetries"].numpy()
        model._last_obs = self.vec_env.shown(self.env.set_state(to_arrays(state["env"])))
        model._last_episode_starts = state["episode_starts"].numpy()
        self.vec_env.lengths[:] = state["lengths"].numpy()
        assert model.ep_info_buffer is not None
        model.ep_info_buffer.extend({key: float(episode[key]) for key in ("r", "l", "t")}
                                    for episode in state["episodes"])
        model.num_timesteps = self._last_pause = state["steps"]
        model._n_updates = state["updates"]
        set_random_state(state["random"])


class _Pauses(BaseCallback):
    """Calls back between two rollouts, and ends training where the call returns False."""

    def __init__(self, pause: Callable[[], bool]) -> None:
        super().__init__()
        self._pause: Final = pause
        self._goes_on = True

    def _on_rollout_start(self) -> None:
        self._goes_on = self._pause()

    def _on_step(self) -> bool:
        return self._goes_on

    def _on_training_end(self) -> None:
        if self._goes_on:
            self._pause()
