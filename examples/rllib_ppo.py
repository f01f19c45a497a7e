"""RLlib: masked PPO on the PettingZoo environment; one network plays both seats.

    pip install -e '.[ray]'
    python examples/rllib_ppo.py --mode sudden_death --steps 100000

This is RLlib's new API stack; its own module masks the actions.
"""

from typing import Any, Literal

import numpy as np
import torch
import tyro
from gymnasium import spaces
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from castle_env import Game, PolicyAgent, castle_v1, load_ruleset
from experiments.measure.match import points_against
from experiments.report.tables import percent

SHARED = "both seats"


def row(planes: Any, masks: Any) -> dict[str, Any]:
    """Planes in one row and mask, under the names that RLlib's masking module expects."""
    return {"observations": planes.reshape(*masks.shape[:-1], -1),
            "action_mask": masks.astype(np.float32)}


class Castle(MultiAgentEnv):
    """The AEC environment as RLlib takes it: whoever is to move is asked, rewards go to both."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self._env = castle_v1.env(mode=config["mode"])
        self.agents = self.possible_agents = list(self._env.possible_agents)
        self.action_spaces = {agent: self._env.action_space(agent) for agent in self.agents}
        self.observation_spaces = dict.fromkeys(self.agents, spaces.Dict({
            "observations": spaces.Box(0, 1, (18 * 36,), np.float32),
            "action_mask": spaces.Box(0, 1, (self.action_spaces["player_0"].n,), np.float32)}))

    def _observe(self, agents: list[str]) -> dict[str, Any]:
        seen = {agent: self._env.observe(agent) for agent in agents}
        return {agent: row(*parts.values()) for agent, parts in seen.items()}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        """Start a game; what the first player sees."""
        self._env.reset(seed=seed)
        return self._observe([self._env.agent_selection]), {}

    def step(self, action_dict: dict[str, int]) -> tuple[dict[str, Any], ...]:
        """Play the mover's action; what the next mover sees, or both at the end."""
        self._env.step(int(action_dict[self._env.agent_selection]))
        over = all(self._env.terminations.values())
        asked = self.possible_agents if over else [self._env.agent_selection]
        return (self._observe(asked), dict(self._env.rewards), {"__all__": over},
                {"__all__": False}, {})


def main(mode: Literal["storm", "sudden_death"] = "storm", steps: int = 10_000,
         games: int = 200, seed: int = 1) -> None:
    """Train by self-play for so many plies, then play so many games against `random`."""
    module = RLModuleSpec(module_class=ActionMaskingTorchRLModule,
                          model_config={"fcnet_hiddens": [128, 128], "head_fcnet_hiddens": [64]})
    config = (PPOConfig()
              # RLlib's check of an environment plays moves without looking at the mask.
              .environment(Castle, env_config={"mode": mode}, disable_env_checking=True)
              .env_runners(num_env_runners=0)
              .multi_agent(policies={SHARED}, policy_mapping_fn=lambda *_, **__: SHARED)
              .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={SHARED: module}))
              .training(train_batch_size_per_learner=500, minibatch_size=128, num_epochs=4)
              .debugging(seed=seed))
    algorithm, plies = config.build_algo(), 0
    while plies < steps:
        plies = int(algorithm.train()["env_runners"]["num_env_steps_sampled_lifetime"])
    network = algorithm.get_module(SHARED)

    def choose(planes: Any, masks: Any) -> Any:
        seen = {key: torch.from_numpy(part) for key, part in row(planes, masks).items()}
        with torch.no_grad():
            return network.forward_inference({"obs": seen})["action_dist_inputs"].argmax(1).numpy()

    game = Game(load_ruleset(mode))
    points = points_against(game, PolicyAgent("PPO", game, choose), "random", games)
    print(f"PPO has {percent(points)} of the points against random after {plies:,} plies")
    algorithm.stop()


if __name__ == "__main__":
    tyro.cli(main)
