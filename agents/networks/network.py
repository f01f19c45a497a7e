"""The network of PPO agents: it looks along lines, as pushes do, and weighs what moves gain.

    planes - layers ------+
                          +- dense - features -+- logits = linear(f) + weights(f) . gains
    gains, totals --------+                    +- value  = linear(f) + weights(f) . totals

`gains` and `totals` are those of `agents.networks.encoding`: how much to trust a look ahead of one,
two or three plies depends on the position, and that is what the weights say.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import gymnasium as gym
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from agents.networks.encoding import PLANE_NUMBERS, Encoding
from castle_env.board import SIZE, SQUARES
from castle_env.observation import OBSERVATION_SHAPE, PLANES
from castle_env.spaces import LegalDiscrete

# What gains and totals weigh before training: the look ahead is a fair guide, and no more.
FIRST_GAIN_WEIGHT: Final = 0.5
FIRST_TOTAL_WEIGHT: Final = 0.1
ATTENTION_HEADS: Final = 4

Layer: TypeAlias = Literal["lines", "attention", "convolution", "dense"]


class NetworkShape(NamedTuple):
    """What a network is made of: kind and widths of the layers, width of the dense one behind."""

    layer: Layer
    channels: tuple[int, ...]
    features: int


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


class LineAttention(nn.Module):
    """Self-attention along each row and, with weights of its own, along each column.

    Every square has a learned place in its line. Shapes as in `LineMixing`.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.embed: Final = nn.Linear(inputs, outputs)
        self.places: Final = nn.Parameter(0.1 * torch.randn(SIZE, SIZE, outputs))
        self.rows: Final = nn.MultiheadAttention(outputs, ATTENTION_HEADS, batch_first=True)
        self.columns: Final = nn.MultiheadAttention(outputs, ATTENTION_HEADS, batch_first=True)

    def forward(self, squares: torch.Tensor) -> torch.Tensor:
        """Squares and what they attend to, after a ReLU."""
        embedded = self.embed(squares) + self.places
        by_row = _attend(self.rows, embedded)
        by_column = _attend(self.columns, embedded.transpose(1, 2)).transpose(1, 2)
        return torch.relu(embedded + by_row + by_column)


def _attend(attention: nn.MultiheadAttention, squares: torch.Tensor) -> torch.Tensor:
    lines = squares.flatten(0, 1)
    attended: torch.Tensor = attention(lines, lines, lines, need_weights=False)[0]
    return attended.view(squares.shape)


class Convolution(nn.Module):
    """A 3x3 convolution and a ReLU; shapes as in `LineMixing`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.convolution: Final = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1)

    def forward(self, squares: torch.Tensor) -> torch.Tensor:
        """The neighbourhood of each square."""
        return torch.relu(self.convolution(squares.permute(0, 3, 1, 2))).permute(0, 2, 3, 1)


class Dense(nn.Module):
    """A linear map of the whole board and a ReLU; shapes as in `LineMixing`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear: Final = nn.Linear(SQUARES * inputs, SQUARES * outputs)

    def forward(self, squares: torch.Tensor) -> torch.Tensor:
        """Every square of all squares."""
        mixed: torch.Tensor = torch.relu(self.linear(squares.flatten(1)))
        return mixed.view(-1, SIZE, SIZE, mixed.shape[1] // SQUARES)


LAYERS: Final[Mapping[Layer, Callable[[int, int], nn.Module]]] = MappingProxyType({
    "lines": LineMixing,
    "attention": LineAttention,
    "convolution": Convolution,
    "dense": Dense,
})


class BoardNetwork(BaseFeaturesExtractor):
    """Layers over the board and a dense one behind them, shared by policy and value.

    Shapes: rows of an `Encoding` (batch, size) to (batch, features + gains + totals): behind the
    features, gains and totals go on to the heads as they are.
    """

    def __init__(
        self, observation_space: gym.Space[Any], encoding: Encoding, shape: NetworkShape
    ) -> None:
        ahead = encoding.gains + encoding.totals
        super().__init__(observation_space, shape.features + ahead)
        widths = (PLANES, *shape.channels)
        layer = LAYERS[shape.layer]
        self.layers: Final = nn.Sequential(
            *(layer(inputs, outputs) for inputs, outputs in pairwise(widths)))
        self.dense: Final = nn.Linear(SQUARES * widths[-1] + ahead, shape.features)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Features of a batch of rows, with gains and totals behind them."""
        planes, ahead = observations[:, :PLANE_NUMBERS], observations[:, PLANE_NUMBERS:]
        squares = self.layers(planes.view(-1, *OBSERVATION_SHAPE).permute(0, 2, 3, 1))
        features = torch.relu(self.dense(torch.cat((squares.flatten(1), ahead), dim=1)))
        return torch.cat((features, ahead), dim=1)


class WeighingHead(nn.Module):
    """Linear in the features, plus known numbers with weights that are linear in the features.

    Shapes: what `BoardNetwork` gives, in which `groups` groups of `outputs` numbers start at
    `start`, to (batch, outputs).
    """

    def __init__(
        self, features: int, start: int, groups: int, outputs: int, scale: float, weight: float
    ) -> None:
        super().__init__()
        self.linear: Final = nn.Linear(features, outputs)
        self.weights: Final = nn.Linear(features, groups)
        self._features: Final = features
        self._known: Final = slice(start, start + groups * outputs)
        self._shape: Final = (-1, groups, outputs)
        nn.init.orthogonal_(self.linear.weight, scale)
        nn.init.zeros_(self.linear.bias)
        nn.init.zeros_(self.weights.weight)
        nn.init.constant_(self.weights.bias, weight)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Logits or a value for each row."""
        features = numbers[:, :self._features]
        known = numbers[:, self._known].view(self._shape)
        weighed: torch.Tensor = (self.weights(features).unsqueeze(2) * known).sum(dim=1)
        weighed += self.linear(features)
        return weighed


class BoardPolicy(MaskableActorCriticPolicy):
    """SB3's masked actor-critic policy on a `BoardNetwork`, each head a `WeighingHead`.

    Without a look ahead the heads are linear.
    """

    def __init__(
        self,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        lr_schedule: Any,
        encoding: Encoding,
        shape: NetworkShape,
        **kwargs: Any,
    ) -> None:
        self._encoding: Final = encoding
        self._features: Final = shape.features
        super().__init__(
            observation_space, action_space, lr_schedule, **kwargs, net_arch=[],
            features_extractor_class=BoardNetwork,
            features_extractor_kwargs={"encoding": encoding, "shape": shape})

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        encoding, features = self._encoding, self._features
        if not encoding.lookahead:
            return
        actor = WeighingHead(features, features, encoding.lookahead, encoding.game.num_actions,
                             0.01, FIRST_GAIN_WEIGHT)
        critic = WeighingHead(features, features + encoding.gains, encoding.totals, 1, 1.0,
                              FIRST_TOTAL_WEIGHT)
        self.action_net = actor
        self.value_net = critic  # type: ignore[assignment]
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr_schedule(1),
                                          **self.optimizer_kwargs)


def build_policy(
    encoding: Encoding, shape: NetworkShape, device: str | torch.device
) -> BoardPolicy:
    """The network of a PPO agent with fresh weights."""
    policy = BoardPolicy(encoding.space, LegalDiscrete(encoding.game.num_actions), lambda _: 0.0,
                        encoding, shape)
    return policy.to(device)


def logits_and_values(
    policy: MaskableActorCriticPolicy, observations: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of all actions, legal or not, (batch, num_actions), and values (batch,)."""
    features = policy.extract_features(observations, policy.pi_features_extractor)
    assert isinstance(features, torch.Tensor)
    for_policy, for_value = policy.mlp_extractor(features)
    return policy.action_net(for_policy), policy.value_net(for_value).flatten()
