"""Expert iteration in memory, and its state as tensors and plain values."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import get_device
from torch import nn

from agents.networks.agent import NetworkAgent
from agents.networks.network import NetworkFactory, build_network, is_symmetric, make_network
from agents.networks.policy import Policy
from agents.networks.symmetry import symmetry_maps
from agents.openings import longest_opening
from agents.search.puct import value_factor
from agents.training.az.replay import ReplayWindow, unpack
from agents.training.az.selfplay import SelfPlay
from agents.training.config import AZConfig
from agents.training.resuming import check_optimizer
from agents.training.tensors import to_arrays, to_tensors
from castle_env.game import Game
from castle_env.observation import OBSERVATION_SHAPE

LOSSES: Final = ("policy_loss", "value_loss", "entropy", "target_entropy")
# Stands for minus infinity among logits.
_LEAST: Final = -1e8


class AZLearner:
    """Network, games and window of a run; a `Learner`.

    network: makes the network instead of the config.
    """

    def __init__(
        self, game: Game, config: AZConfig, network: NetworkFactory | None = None
    ) -> None:
        self.game: Final = game
        self.config: Final = config
        self.steps = 0
        self.updates = 0
        torch.manual_seed(config.seed)
        made = make_network(game, network) if network else build_network(
            game, config.network_config)
        self.network: Final[nn.Module] = made.to(get_device(config.device))
        self.optimizer: Final = torch.optim.AdamW(
            self.network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay,
            fused=True)
        self.window: Final = ReplayWindow(game, config.window)
        games, self._rng = (np.random.default_rng([config.seed, part]) for part in range(2))
        self.selfplay: Final = SelfPlay(
            game, config, min(config.opening_plies, longest_opening(game)),
            self._policy(one_side=True).look_at, games)
        self._turns: Final = config.random_symmetry and not is_symmetric(self.network)
        self._factor: Final = float(value_factor(game, config.reward_kind))
        self._losses: list[list[float]] = []

    def _policy(self, one_side: bool) -> Policy:
        return Policy(self.game, self.network, self.config.reward, one_side)

    @property
    def device(self) -> str:
        """The PyTorch device that is used."""
        return str(next(self.network.parameters()).device)

    def learn(self, until: int, logger: Logger, pause: Callable[[], bool]) -> None:
        """Go on until so many positions are played; see `Learner`."""
        while pause() and self.steps < until:
            self.iterate()

    def iterate(self) -> None:
        """Play some plies of all games, and learn from the window as often as they allow."""
        self.window.add(self.selfplay.play(self.config.plies))
        self.steps += self.config.plies * self.config.num_envs
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.rate_after(self.steps)
        due = int(self.window.added * self.config.passes / self.config.batch_size)
        while self.updates < due and self.window.filled >= self.config.batch_size:
            self._losses.append(self._update())
            self.updates += 1

    def log(self, logger: Logger) -> None:
        """Record what was learned, and the games."""
        for losses in self._losses:
            for name, loss in zip(LOSSES, losses, strict=True):
                logger.record_mean(f"train/{name}", loss)
        self._losses.clear()
        logger.record("train/learning_rate", self.config.rate_after(self.steps))
        logger.record("train/n_updates", self.updates)
        logger.record("selfplay/games", self.selfplay.ended)
        logger.record("selfplay/window", self.window.filled)

    def results(self) -> dict[str, Any]:
        """Plain values for a card."""
        return {"games": self.selfplay.ended, "updates": self.updates}

    def current_agent(self) -> NetworkAgent:
        """The learner as it stands, playing its most probable action."""
        return NetworkAgent("learner", self._policy(one_side=False))

    def load_weights(self, weights: dict[str, Any]) -> None:
        """Begin from the weights of another network of the same kind."""
        self.network.load_state_dict(weights)

    def _update(self) -> list[float]:
        """One step of the optimizer; the `LOSSES`."""
        observations, masks, policies, values = self._minibatch()
        logits, found = self.network(observations)
        logs = torch.log_softmax(torch.where(masks, logits, _LEAST), dim=1)
        policy_loss = -(policies * logs).sum(dim=1).mean()
        value_loss = ((found - values) * self._factor).square().mean()
        self.optimizer.zero_grad()
        (policy_loss + self.config.value_weight * value_loss).backward()
        self.optimizer.step()
        with torch.no_grad():
            entropy = -(logs.exp() * logs).sum(dim=1).mean()
            target_entropy = torch.special.entr(policies).sum(dim=1).mean()
        return torch.stack((policy_loss, value_loss, entropy, target_entropy)).tolist()

    def _minibatch(self) -> tuple[torch.Tensor, ...]:
        """Observations, masks, policies and values of random samples of the window."""
        samples = self.window.draw(self.config.batch_size, self._rng)
        planes, masks = self.game.encode(samples.states)
        policies = unpack(samples.policies, masks)
        if self._turns:
            images, actions = symmetry_maps(self.game)
            turns = self._rng.integers(len(images), size=len(masks))
            flat = planes.reshape(len(masks), -1)
            planes = np.take_along_axis(flat, images[turns], axis=1)
            planes = planes.reshape(-1, *OBSERVATION_SHAPE)
            masks = np.take_along_axis(masks, actions[turns], axis=1)
            policies = np.take_along_axis(policies, actions[turns], axis=1)
        arrays = (planes, masks == 1, policies, samples.values)
        return tuple(torch.as_tensor(array, device=self.device) for array in arrays)

    def get_state(self) -> dict[str, Any]:
        """The run between two iterations: tensors and plain values only."""
        return {
            "policy": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "window": to_tensors(self.window.get_state()),
            "selfplay": to_tensors(self.selfplay.get_state()),
            "random": self._rng.bit_generator.state,
            "steps": self.steps,
            "updates": self.updates,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Take up what `get_state` gave."""
        self.network.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])
        check_optimizer(self.optimizer)
        self.window.set_state(to_arrays(state["window"]))
        self.selfplay.set_state(to_arrays(state["selfplay"]))
        self._rng.bit_generator.state = state["random"]
        self.steps, self.updates = state["steps"], state["updates"]
