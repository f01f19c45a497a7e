"""Masked PPO by RLlib on the PettingZoo environment: one network plays both seats.

    pip install -e '.[ray]'
    python notebooks/rllib_self_play.py --mode sudden_death --steps 100000

RLlib's new API stack; its own module masks the actions. The environment refuses illegal moves with
an error, which would end this program.
"""

from typing import Any, Literal

import numpy as np
import tyro
from gymnasium import spaces
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from castle_env import castle_v1

SHARED = "both seats"


class Castle(MultiAgentEnv):
    """The AEC environment as RLlib takes it: whoever is to move is asked, rewards go to both.

    Observations are the planes in one row, under the names that RLlib's masking module expects.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self._env = castle_v1.env(mode=config["mode"])
        self.possible_agents = list(self._env.possible_agents)
        self.agents = list(self.possible_agents)
        self.action_spaces = {agent: self._env.action_space(agent) for agent in self.agents}
        self.observation_spaces = {agent: self._space(agent) for agent in self.agents}

    def _space(self, agent: str) -> spaces.Dict:
        planes = self._env.observation_space(agent)["observation"]
        return spaces.Dict({
            "observations": spaces.Box(0, 1, (int(np.prod(planes.shape)),), np.float32),
            "action_mask": spaces.Box(0, 1, (int(self.action_spaces[agent].n),), np.float32)})

    def _observe(self, agent: str) -> dict[str, np.ndarray]:
        seen = self._env.observe(agent)
        return {"observations": seen["observation"].ravel(),
                "action_mask": seen["action_mask"].astype(np.float32)}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start a game; the observation of the first player."""
        self._env.reset(seed=seed)
        first = self._env.agent_selection
        return {first: self._observe(first)}, {}

    def step(self, action_dict: dict[str, int]) -> tuple[dict[str, Any], ...]:
        """Play the mover's action; what the next mover sees, or both at the end."""
        self._env.step(int(action_dict[self._env.agent_selection]))
        over = all(self._env.terminations.values())
        asked = self.possible_agents if over else [self._env.agent_selection]
        return ({agent: self._observe(agent) for agent in asked}, dict(self._env.rewards),
                {"__all__": over}, {"__all__": False}, {})


def config(mode: str, steps_per_update: int = 500) -> PPOConfig:
    """PPO with one masked network for both seats, sampling in this process."""
    module = RLModuleSpec(module_class=ActionMaskingTorchRLModule,
                          model_config={"fcnet_hiddens": [128, 128], "head_fcnet_hiddens": [64]})
    return (PPOConfig()
            # RLlib's check of an environment plays moves without looking at the mask.
            .environment(Castle, env_config={"mode": mode}, disable_env_checking=True)
            .env_runners(num_env_runners=0)
            .multi_agent(policies={SHARED}, policy_mapping_fn=lambda *_, **__: SHARED)
            .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={SHARED: module}))
            .training(train_batch_size_per_learner=steps_per_update, minibatch_size=128,
                      num_epochs=2))


def main(mode: Literal["storm", "sudden_death"] = "storm", steps: int = 20_000) -> None:
    """Train for `steps` plies and tell how many games were played, all of them legal."""
    algorithm = config(mode).build_algo()
    played = 0
    while played < steps:
        result = algorithm.train()["env_runners"]
        played = int(result["num_env_steps_sampled_lifetime"])
        print(f"{played:,} plies, mean length of a game {result['episode_len_mean']:.1f}")
    algorithm.stop()


if __name__ == "__main__":
    tyro.cli(main)
