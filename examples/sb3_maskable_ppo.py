"""Stable-Baselines3: MaskablePPO of sb3-contrib as it is, with nothing of ours but the environment.

    pip install -e '.[train]'
    python examples/sb3_maskable_ppo.py --steps 50000
"""

import tyro
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from castle_env import Game, PolicyAgent, load_ruleset
from experiments.measure.match import points_against
from experiments.report.tables import percent


def main(steps: int = 40_000, games: int = 200, seed: int = 1) -> None:
    """Train against `random` for so many moves of the learner, then play so many games."""
    envs = make_vec_env("castle_env/Storm-v1", n_envs=8, seed=seed)
    model = MaskablePPO("MlpPolicy", envs, learning_rate=1e-3, n_steps=256, batch_size=256,
                        gamma=1.0, seed=seed)
    model.learn(steps)

    game = Game(load_ruleset("storm"))
    learned = PolicyAgent("MaskablePPO", game, lambda planes, masks: model.predict(
        planes, action_masks=masks, deterministic=True)[0])
    points = points_against(game, learned, "random", games)
    print(f"{learned.name} has {percent(points)} of the points against random")


if __name__ == "__main__":
    tyro.cli(main)
