"""A run of expert iteration in memory, and its state as tensors and plain values."""

import math
from typing import Any, Final

import numpy as np
import torch
from stable_baselines3.common.utils import get_device

from agents.networks.agent import PPOAgent
from agents.networks.encoding import Encoding
from agents.networks.network import build_policy, logits_and_values
from agents.openings import longest_opening
from agents.search.puct import network_evaluator, value_factor
from agents.training.az.config import AZConfig
from agents.training.az.replay import ReplayWindow, unpack
from agents.training.az.selfplay import SelfPlay
from agents.training.trainer import to_arrays, to_tensors
from castle_env.game import Game


class AZLearner:
    """Network, games and window of a run.

    `get_state` gives all that decides how training goes on, between two iterations; a learner made
    with the same game and config goes on from it exactly as the first would have.
    """

    def __init__(self, game: Game, config: AZConfig) -> None:
        self.game: Final = game
        self.config: Final = config
        self.steps = 0
        self.updates = 0
        self.encoding: Final = Encoding(game, 0)
        torch.manual_seed(config.seed)
        device = get_device(config.device)
        self.policy: Final = build_policy(self.encoding, config.network, device)
        self.optimizer: Final = torch.optim.AdamW(
            self.policy.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
        self.window: Final = ReplayWindow(game, config.window)
        games, self._rng = (np.random.default_rng([config.seed, part]) for part in range(2))
        self.selfplay: Final = SelfPlay(
            game, config, min(config.opening_plies, longest_opening(game)),
            network_evaluator(self.encoding, self.policy), games)
        self._maps: Final = self.encoding.symmetry_maps()
        self._factor: Final = float(value_factor(game, config.reward))

    def current_agent(self) -> PPOAgent:
        """The network as it stands, playing its most probable action."""
        return PPOAgent("learner", self.encoding, self.policy)

    def iterate(self) -> dict[str, float]:
        """Play some plies of all games and learn from the window; what there is to log."""
        ended = self.selfplay.ended
        self.window.add(self.selfplay.play(self.config.plies))
        self.steps += self.config.plies * self.config.num_envs
        rate = self.learning_rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        losses = []
        while self.window.filled >= self.config.batch_size and self.updates < self._updates_due():
            losses.append(self._learn())
            self.updates += 1
        logged = {"az/learning_rate": rate, "az/window": self.window.filled,
                  "az/games": self.selfplay.ended - ended, "az/updates": self.updates}
        if losses:
            means = np.mean(losses, axis=0)
            names = ("policy_loss", "value_loss", "entropy", "target_entropy")
            logged |= {f"az/{name}": float(mean) for name, mean in zip(names, means, strict=True)}
        return logged

    def learning_rate(self) -> float:
        """The step size after the steps so far: half a cosine from the first to the last one."""
        done = min(1.0, self.steps / self.config.steps)
        first, last = self.config.learning_rate, self.config.last_learning_rate
        return last + (first - last) * (1 + math.cos(math.pi * done)) / 2

    def _updates_due(self) -> int:
        return int(self.steps * self.config.passes / self.config.batch_size)

    def _learn(self) -> tuple[float, float, float, float]:
        """One step of the optimizer; losses of policy and value, entropies of policy and target."""
        rows, masks, policies, values = self._minibatch()
        logits, found = logits_and_values(self.policy, rows)
        logs = torch.log_softmax(torch.where(masks, logits, -1e8), dim=1)
        policy_loss = -(policies * logs).sum(dim=1).mean()
        value_loss = ((found - values) * self._factor).square().mean()
        self.optimizer.zero_grad()
        (policy_loss + self.config.value_weight * value_loss).backward()
        self.optimizer.step()
        with torch.no_grad():
            entropy = -(logs.exp() * logs).sum(dim=1).mean()
            target_entropy = torch.special.entr(policies).sum(dim=1).mean()
        return policy_loss.item(), value_loss.item(), entropy.item(), target_entropy.item()

    def _minibatch(self) -> tuple[torch.Tensor, ...]:
        """Rows, masks, policies and values of random samples of the window."""
        samples = self.window.draw(self.config.batch_size, self._rng)
        rows, masks = self.encoding.encode(samples.states)
        policies = unpack(samples.policies, masks)
        if self.config.turned:
            row_maps, action_maps = self._maps
            turns = self._rng.integers(len(row_maps), size=len(rows))
            rows = np.take_along_axis(rows, row_maps[turns], axis=1)
            masks = np.take_along_axis(masks, action_maps[turns], axis=1)
            policies = np.take_along_axis(policies, action_maps[turns], axis=1)
        arrays = (rows, masks == 1, policies, samples.values)
        return tuple(torch.as_tensor(array, device=self.policy.device) for array in arrays)

    def get_state(self) -> dict[str, Any]:
        """The run between two iterations: tensors and plain values only."""
        return {
            "policy": self.policy.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "window": to_tensors(self.window.get_state()),
            "selfplay": to_tensors(self.selfplay.get_state()),
            "rng": self._rng.bit_generator.state,
            "steps": self.steps,
            "updates": self.updates,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Take up what `get_state` gave."""
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.window.set_state(to_arrays(state["window"]))
        self.selfplay.set_state(to_arrays(state["selfplay"]))
        self._rng.bit_generator.state = state["rng"]
        self.steps, self.updates = state["steps"], state["updates"]
