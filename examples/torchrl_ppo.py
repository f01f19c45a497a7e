"""TorchRL: PPO through its Gym wrapper, and a game through its PettingZoo wrapper, both masked.

    pip install -e '.[frameworks]'
    python examples/torchrl_ppo.py --steps 50000
"""

from typing import Any

import gymnasium as gym
import torch
import tyro
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import (
    ActionMask,
    Compose,
    DTypeCastTransform,
    GymWrapper,
    PettingZooWrapper,
    TransformedEnv,
)
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from castle_env import Game, PolicyAgent, castle_v1, load_ruleset
from experiments.measure.match import points_against
from experiments.report.tables import percent

ROLLOUT, MINIBATCH, EPOCHS = 1024, 256, 4


def network(outputs: int) -> nn.Module:
    """Planes to some numbers."""
    return nn.Sequential(nn.Flatten(-3), nn.Linear(18 * 36, 128), nn.ReLU(),
                         nn.Linear(128, outputs))


def make_env(seed: int) -> TransformedEnv:
    """Storm whose action spec knows what is legal."""
    env = gym.make("castle_env:castle_env/Storm-v1", observation="dict")
    as_bool = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    wrapped = TransformedEnv(GymWrapper(env, categorical_action_encoding=True),
                             Compose(as_bool, ActionMask()))
    wrapped.set_seed(seed)
    return wrapped


def main(steps: int = 16_000, games: int = 200, seed: int = 1) -> None:
    """Train against `random` for so many moves of the learner, then play so many games."""
    torch.manual_seed(seed)
    env = make_env(seed)
    logits = TensorDictModule(network(env.action_spec.n), ["observation"], ["logits"])
    actor = ProbabilisticActor(logits, in_keys={"logits": "logits", "mask": "action_mask"},
                               distribution_class=MaskedCategorical, spec=env.action_spec,
                               return_log_prob=True)
    critic = ValueOperator(network(1), in_keys=["observation"])
    advantages = GAE(gamma=1.0, lmbda=0.95, value_network=critic, average_gae=True)
    losses = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(losses.parameters(), lr=1e-3)
    for rollout in Collector(env, actor, frames_per_batch=ROLLOUT, total_frames=steps,
                             auto_register_policy_transforms=False):
        for _ in range(EPOCHS):
            advantages(rollout)
            for chosen in torch.randperm(ROLLOUT).split(MINIBATCH):
                loss = losses(rollout[chosen])
                total = loss["loss_objective"] + loss["loss_critic"] + loss["loss_entropy"]
                optimizer.zero_grad()
                total.backward()
                optimizer.step()

    both = PettingZooWrapper(castle_v1.env(observation="planes"), use_mask=True,
                             categorical_actions=True)
    print(f"a random game through the PettingZoo wrapper has {len(both.rollout(100))} plies")

    def choose(planes: Any, masks: Any) -> Any:
        seen = TensorDict({"observation": torch.from_numpy(planes),
                           "action_mask": torch.from_numpy(masks).bool()}, [len(planes)])
        with torch.no_grad():
            return actor.get_dist(seen).mode.numpy()

    game = Game(load_ruleset("storm"))
    points = points_against(game, PolicyAgent("PPO", game, choose), "random", games)
    print(f"PPO has {percent(points)} of the points against random")


if __name__ == "__main__":
    tyro.cli(main)
