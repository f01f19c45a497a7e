"""Tianshou 2: PPO on observations that hold planes and mask.

    pip install -e '.[frameworks]'
    python examples/tianshou_ppo.py --steps 50000
"""

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import tyro
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from torch import Tensor, nn

from castle_env import Game, PolicyAgent, load_ruleset
from experiments.measure.match import points_against
from experiments.report.tables import percent

NUM_ENVS, ROLLOUT = 8, 2048


class Network(nn.Module):
    """Logits of actions, those of illegal ones minus infinity, or with `critic` values."""

    def __init__(self, outputs: int, critic: bool = False) -> None:
        super().__init__()
        self.critic = critic
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(18 * 36, 128), nn.ReLU(),
                                    nn.Linear(128, outputs))

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> Any:
        out: Tensor = self.layers(torch.as_tensor(obs.observation))
        if self.critic:
            return out
        return out.masked_fill(torch.as_tensor(obs.action_mask) == 0, -torch.inf), state


def main(steps: int = 20_000, games: int = 200, seed: int = 1) -> None:
    """Train against `random` for so many moves of the learner, then play so many games."""
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)
    make = partial(gym.make, "castle_env:castle_env/Storm-v1", observation="dict")
    envs, space = DummyVectorEnv([make] * NUM_ENVS), make().action_space
    policy = DiscreteActorPolicy(actor=Network(space.n), action_space=space,
                                 deterministic_eval=True)
    algorithm = PPO(policy=policy, critic=Network(1, critic=True),
                    optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0)
    collector = Collector(algorithm, envs, VectorReplayBuffer(ROLLOUT, NUM_ENVS))
    algorithm.run_training(OnPolicyTrainerParams(
        training_collector=collector, max_epochs=1, epoch_num_steps=steps,
        collection_step_num_env_steps=ROLLOUT, batch_size=256, update_step_num_repetitions=4,
        show_progress=False, verbose=False))

    def choose(planes: Any, masks: Any) -> Any:
        seen = Batch(obs=Batch(observation=planes, action_mask=masks), info=Batch())
        with torch.no_grad():
            return policy(seen).act.numpy()

    game = Game(load_ruleset("storm"))
    points = points_against(game, PolicyAgent("PPO", game, choose), "random", games)
    print(f"PPO has {percent(points)} of the points against random")


if __name__ == "__main__":
    tyro.cli(main)
