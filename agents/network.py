"""The network of PPO agents: it looks along lines, as pushes do."""

from itertools import pairwise
from typing import Any, Final

import gymnasium as gym
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from castle_env.board import SIZE, SQUARES
from castle_env.game import Game
from castle_env.observation import PLANES
from castle_env.options import observation_space
from castle_env.spaces import LegalDiscrete


class LineMixing(nn.Module):
    """Two linear maps over whole lines: one shared by all rows, one shared by all columns.

    A push moves a run along one line, so that a line is what has to be seen as a whole. Shapes:
    (batch, 6, 6, inputs) to (batch, 6, 6, outputs).
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.rows: Final = nn.Linear(SIZE * inputs, SIZE * outputs)
        self.columns: Final = nn.Linear(SIZE * inputs, SIZE * outputs)
        self._outputs: Final = outputs

    def forward(self, squares: torch.Tensor) -> torch.Tensor:
        """Sum of both maps after a ReLU."""
        shape = (-1, SIZE, SIZE, self._outputs)
        by_row = self.rows(squares.flatten(2)).view(shape)
        by_column = self.columns(squares.transpose(1, 2).flatten(2)).view(shape).transpose(1, 2)
        return torch.relu(by_row + by_column)


class LineNetwork(BaseFeaturesExtractor):
    """Layers of `LineMixing` and one dense layer, shared by policy and value.

    Shapes: observations (batch, PLANES, 6, 6) to features (batch, features).
    """

    def __init__(
        self, observation_space: gym.Space[Any], channels: tuple[int, ...], features: int
    ) -> None:
        super().__init__(observation_space, features)
        widths = (PLANES, *channels)
        self.lines: Final = nn.Sequential(
            *(LineMixing(inputs, outputs) for inputs, outputs in pairwise(widths)))
        self.dense: Final = nn.Linear(SQUARES * widths[-1], features)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Features of a batch of observations."""
        squares = self.lines(observations.permute(0, 2, 3, 1))
        return torch.relu(self.dense(squares.flatten(1)))


def policy_arguments(channels: tuple[int, ...], features: int) -> dict[str, Any]:
    """What makes an SB3 actor-critic policy use a `LineNetwork`, with linear heads on it."""
    return {
        "features_extractor_class": LineNetwork,
        "features_extractor_kwargs": {"channels": channels, "features": features},
        "net_arch": [],
    }


def build_policy(
    game: Game, channels: tuple[int, ...], features: int, device: str | torch.device
) -> MaskableActorCriticPolicy:
    """The network of a PPO agent with fresh weights."""
    policy = MaskableActorCriticPolicy(
        observation_space(), LegalDiscrete(game.num_actions), lambda _: 0.0,
        **policy_arguments(channels, features),
    )
    return policy.to(device)


def policy_logits(
    policy: MaskableActorCriticPolicy, observations: torch.Tensor
) -> torch.Tensor:
    """Logits of all actions, legal or not, shape (batch, num_actions)."""
    features = policy.extract_features(observations, policy.pi_features_extractor)
    assert isinstance(features, torch.Tensor)
    logits: torch.Tensor = policy.action_net(policy.mlp_extractor.forward_actor(features))
    return logits
