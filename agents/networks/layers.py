"""Networks of layers over the whole board with a dense layer behind, to compare `lanes` with.

They see each side of the board with weights of their own: `random_symmetry` in training and the
mean over all symmetries in play make up for that.
"""

from collections.abc import Callable
from typing import Final

import torch
from torch import nn

from castle_env.board import SIZE, SQUARES
from castle_env.game import Game
from castle_env.observation import PLANES


class LineMixing(nn.Module):
    """Two linear maps over whole lines: one shared by all rows, one shared by all columns.

    A push moves a run along one line, so a line is what has to be seen as a whole. Shapes:
    (batch, 6, 6, inputs) to (batch, 6, 6, outputs).
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.rows: Final = nn.Linear(SIZE * inputs, SIZE * outputs)
        self.columns: Final = nn.Linear(SIZE * inputs, SIZE * outputs)
        self._outputs: Final = outputs

    def forward(self, squares: torch.Tensor) -> torch.Tensor:
        """Sum of both maps."""
        shape = (-1, SIZE, SIZE, self._outputs)
        by_row: torch.Tensor = self.rows(squares.flatten(2)).view(shape)
        by_column = self.columns(squares.transpose(1, 2).flatten(2)).view(shape).transpose(1, 2)
        summed: torch.Tensor = by_row + by_column
        return summed


class Convolution(nn.Module):
    """A 3x3 convolution; shapes as in `LineMixing`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.convolution: Final = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1)

    def forward(self, squares: torch.Tensor) -> torch.Tensor:
        """What lies around each square."""
        around: torch.Tensor = self.convolution(squares.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return around


class Dense(nn.Module):
    """A linear map of the whole board; shapes as in `LineMixing`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear: Final = nn.Linear(SQUARES * inputs, SQUARES * outputs)

    def forward(self, squares: torch.Tensor) -> torch.Tensor:
        """Each square as a function of all squares."""
        mixed: torch.Tensor = self.linear(squares.flatten(1))
        return mixed.view(-1, SIZE, SIZE, mixed.shape[1] // SQUARES)


class LayerNetwork(nn.Module):
    """Layers with a ReLU each, all but the first residual, then a dense layer and both heads.

    Shapes: observations (batch, PLANES, 6, 6) to logits (batch, num_actions) and values (batch,).
    """

    def __init__(
        self, game: Game, channels: int, blocks: int, hidden: int,
        layer: Callable[[int, int], nn.Module],
    ) -> None:
        super().__init__()
        self.first: Final = layer(PLANES, channels)
        self.blocks: Final = nn.ModuleList(layer(channels, channels) for _ in range(blocks - 1))
        self.dense: Final = nn.Linear(SQUARES * channels, hidden)
        self.policy: Final = nn.Linear(hidden, game.num_actions)
        self.value: Final = nn.Linear(hidden, 1)
        nn.init.orthogonal_(self.policy.weight, 0.01)
        nn.init.zeros_(self.policy.bias)

    @classmethod
    def of(
        cls, layer: Callable[[int, int], nn.Module]
    ) -> "Callable[[Game, int, int, int], LayerNetwork]":
        """The networks of one kind of layer."""
        return lambda game, channels, blocks, hidden: cls(game, channels, blocks, hidden, layer)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values."""
        squares = torch.relu(self.first(observations.permute(0, 2, 3, 1)))
        for block in self.blocks:
            squares = torch.relu(squares + block(squares))
        features = torch.relu(self.dense(squares.flatten(1)))
        return self.policy(features), self.value(features).flatten()
