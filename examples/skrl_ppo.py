"""skrl: PPO on the batched environment, with models that mask illegal actions.

    pip install -e '.[frameworks]'
    python examples/skrl_ppo.py --steps 100000
"""

from typing import Any

import gymnasium as gym
import torch
import tyro
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed
from skrl.utils.spaces.torch import flatten_tensorized_space, unflatten_tensorized_space
from torch import nn

from castle_env import Game, PolicyAgent, load_ruleset
from experiments.measure.match import points_against
from experiments.report.tables import percent

NUM_ENVS, ROLLOUT = 64, 16


class Network(Model):
    """Planes to some numbers."""

    def __init__(self, env: Any, outputs: int) -> None:
        Model.__init__(self, observation_space=env.observation_space,
                       action_space=env.action_space, device=env.device)
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(18 * 36, 128), nn.ReLU(),
                                    nn.Linear(128, outputs))

    def seen(self, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
        """Planes and masks, which skrl keeps in one row."""
        return unflatten_tensorized_space(self.observation_space, inputs["observations"])


class Policy(CategoricalMixin, Network):
    """Logits of actions, those of illegal ones minus infinity."""

    def __init__(self, env: Any) -> None:
        Network.__init__(self, env, env.action_space.n)
        CategoricalMixin.__init__(self)

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[torch.Tensor, dict]:
        seen = self.seen(inputs)
        logits = self.layers(seen["observation"])
        return logits.masked_fill(seen["action_mask"] == 0, -torch.inf), {}


class Value(DeterministicMixin, Network):
    """What the learner expects."""

    def __init__(self, env: Any) -> None:
        Network.__init__(self, env, 1)
        DeterministicMixin.__init__(self)

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[torch.Tensor, dict]:
        return self.layers(self.seen(inputs)["observation"]), {}


def main(steps: int = 40_000, games: int = 200, seed: int = 1) -> None:
    """Train against `random` for so many moves of the learner, then play so many games."""
    set_seed(seed)
    env = wrap_env(gym.make_vec("castle_env:castle_env/Storm-v1", num_envs=NUM_ENVS,
                                observation="dict", autoreset_mode="SameStep"))
    models = {"policy": Policy(env), "value": Value(env)}
    config = PPO_CFG(rollouts=ROLLOUT, learning_epochs=4, mini_batches=4, discount_factor=1.0,
                     entropy_loss_scale=0.01, value_loss_scale=0.5,
                     experiment={"write_interval": 0, "checkpoint_interval": 0})
    agent = PPO(models=models, memory=RandomMemory(memory_size=ROLLOUT, num_envs=NUM_ENVS),
                cfg=config, observation_space=env.observation_space, action_space=env.action_space)
    trainer = SequentialTrainer(env=env, agents=agent, cfg={
        "timesteps": -(-steps // NUM_ENVS), "headless": True, "disable_progressbar": True})
    trainer.train()

    def choose(planes: Any, masks: Any) -> Any:
        seen = {"observation": torch.from_numpy(planes), "action_mask": torch.from_numpy(masks)}
        with torch.no_grad():
            logits, _ = models["policy"].compute({"observations": flatten_tensorized_space(seen)})
        return logits.argmax(1).numpy()

    game = Game(load_ruleset("storm"))
    points = points_against(game, PolicyAgent("PPO", game, choose), "random", games)
    print(f"PPO has {percent(points)} of the points against random")


if __name__ == "__main__":
    tyro.cli(main)
