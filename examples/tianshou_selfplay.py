"""Tianshou 2: both seats of the PettingZoo environment learn, by DQN with one network for both.

A move of the opponent may end a game, and the position after one's own move is the opponent's to
judge. So returns look ahead to the end of the game instead of at the next position: Tianshou adds
up a seat's rewards over the steps of both.

    pip install -e '.[frameworks]'
    python examples/tianshou_selfplay.py --steps 200000
"""

from typing import Any

import numpy as np
import torch
import tyro
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from torch import Tensor, nn

from castle_env import Game, PolicyAgent, castle_v1, load_ruleset
from experiments.measure.match import points_against
from experiments.report.tables import percent

NUM_ENVS, BUFFER = 16, 16_384


class Network(nn.Module):
    """What each action is worth to the player to move."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(18 * 36, 128), nn.ReLU(),
                                    nn.Linear(128, actions))

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> Any:
        values: Tensor = self.layers(torch.as_tensor(obs))
        return values, state


def main(steps: int = 60_000, games: int = 200, seed: int = 1) -> None:
    """Train against itself for so many plies, then play so many games."""
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)
    game = Game(load_ruleset("storm"))
    envs = DummyVectorEnv([lambda: PettingZooEnv(castle_v1.env())] * NUM_ENVS)
    policy = DiscreteQLearningPolicy(
        model=Network(game.num_actions), action_space=castle_v1.env().action_space("player_0"),
        eps_training=0.1)
    seats = [DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0,
                 n_step_return_horizon=game.rules.max_plies) for _ in range(2)]
    both = MultiAgentOffPolicyAlgorithm(algorithms=seats, env=PettingZooEnv(castle_v1.env()))
    collector = Collector(both, envs, VectorReplayBuffer(BUFFER, NUM_ENVS),
                          exploration_noise=True)
    both.run_training(OffPolicyTrainerParams(
        training_collector=collector, max_epochs=1, epoch_num_steps=steps,
        # Whole games, so that each return is known.
        collection_step_num_env_steps=NUM_ENVS * game.rules.max_plies, batch_size=256,
        update_step_num_gradient_steps_per_sample=0.1, show_progress=False, verbose=False))

    def choose(planes: Any, masks: Any) -> Any:
        with torch.no_grad():
            values = policy.model(planes)[0]
        return values.masked_fill(torch.as_tensor(masks) == 0, -torch.inf).argmax(dim=1).numpy()

    points = points_against(game, PolicyAgent("DQN", game, choose), "random", games)
    print(f"DQN has {percent(points)} of the points against random")


if __name__ == "__main__":
    tyro.cli(main)
