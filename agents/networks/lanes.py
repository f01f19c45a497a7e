"""The lane network: one set of weights for all 24 lanes, each seen from the side of its entry.

A push moves a run along one line, and which moves are good does not depend on the side they come
from. So every map over a line is shared by rows and columns and by both directions:

    planes --embed--> squares --+-----------------------------+--> ... --+--> lanes --> logits
                        |       |                             |          |       |
                        +-> lanes --ReLU--> squares, summed --+          |      +-> mean ---+
                                                                         +-> mean, max --+--> value

In the policy head each lane also reads the lanes beside it, since strongholds there count too.

What the network sees of a turned board are the turned numbers: it is symmetric by construction.
Rulesets that are not (odd layouts, home edges, VP of squares) get a learned vector for each square
and seat, and with it the network can tell sides apart.

Axes of tensors over lanes: (batch, kind, line, end, numbers), where kind is 0 for rows and 1 for
columns, and end is 0 for lanes entered at the line's first square, 1 for those entered at its last.
"""

import math
from typing import Final

import torch
from torch import nn

from castle_env.board import DIRECTIONS, SIZE, SQUARES
from castle_env.game import Game
from castle_env.observation import FIRST_ENTRY_PLANE, PLANES, SEAT_PLANE
from castle_env.symmetry import board_symmetries, symmetries_of

OWN_AXIS: Final = "own_axis"
KINDS: Final = 2
ENDS: Final = 2


class LaneMap(nn.Module):
    """A linear map of the six squares of each lane, nearest to its entry first.

    Shapes: squares (batch, 6, 6, inputs) to lanes (batch, 2, 6, 2, outputs).
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight: Final = nn.Parameter(_weights(SIZE, inputs, outputs))
        self.bias: Final = nn.Parameter(torch.zeros(outputs))

    def forward(self, squares: torch.Tensor) -> torch.Tensor:
        """Numbers of all lanes."""
        lines = torch.stack((squares, squares.transpose(1, 2)), dim=1).flatten(3)
        both_ends = torch.cat((self.weight, self.weight.flip(0)), dim=2).flatten(0, 1)
        lanes = nn.functional.linear(lines, both_ends.t(), self.bias.repeat(ENDS))
        return lanes.view(-1, KINDS, SIZE, ENDS, len(self.bias))


class SquareMap(nn.Module):
    """The way back: each square gets a sum over the four lanes that it lies on.

    Shapes: lanes (batch, 2, 6, 2, inputs) to squares (batch, 6, 6, outputs).
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight: Final = nn.Parameter(_weights(inputs, SIZE, outputs) / ENDS)
        self.bias: Final = nn.Parameter(torch.zeros(outputs))

    def forward(self, lanes: torch.Tensor) -> torch.Tensor:
        """Numbers of all squares."""
        both_ends = torch.cat((self.weight, self.weight.flip(1)), dim=0).flatten(1)
        by_line = (lanes.flatten(3) @ both_ends).view(-1, KINDS, SIZE, SIZE, len(self.bias))
        squares: torch.Tensor = by_line[:, 0] + by_line[:, 1].transpose(1, 2) + self.bias
        return squares


class LaneBlock(nn.Module):
    """A residual layer: squares to lanes, a ReLU, and back to squares; `entries` are added first.

    Shapes: squares (batch, 6, 6, channels) and lanes (batch, 2, 6, 2, hidden) to squares.
    """

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.to_lanes: Final = LaneMap(channels, hidden)
        self.to_squares: Final = SquareMap(hidden, channels)

    def forward(self, squares: torch.Tensor, entries: torch.Tensor | None) -> torch.Tensor:
        """The squares, changed."""
        lanes = self.to_lanes(squares)
        if entries is not None:
            lanes = lanes + entries
        return torch.relu(squares + self.to_squares(torch.relu(lanes)))


class LaneNetwork(nn.Module):
    """Blocks over lanes, a policy head for each lane, and a value head over the whole board.

    Shapes: observations (batch, PLANES, 6, 6) to logits (batch, num_actions) and values (batch,).
    """

    def __init__(self, game: Game, channels: int, blocks: int, hidden: int) -> None:
        super().__init__()
        self.symmetric: Final = all_sides_are_alike(game)
        self._steps: Final = game.num_actions > KINDS * SIZE * ENDS + 1
        # Entry planes share one weight, so that a square looks alike from every side.
        self.embed: Final = nn.Linear(PLANES - DIRECTIONS + 1, channels)
        self.places: Final = (None if self.symmetric else
                              nn.Parameter(0.1 * torch.randn(2, SIZE, SIZE, channels)))
        self.entries: Final = nn.Linear(SIZE, hidden, bias=False)
        self.blocks: Final = nn.ModuleList(LaneBlock(channels, hidden) for _ in range(blocks))
        self.policy_lanes: Final = LaneMap(channels, hidden)
        self.policy_beside: Final = LaneMap(channels, hidden)
        self.policy_entries: Final = nn.Linear(SIZE, hidden, bias=False)
        self.policy_board: Final = nn.Linear(2 * channels, hidden, bias=False)
        self.policy: Final = nn.Linear(hidden, 1 + SIZE if self._steps else 1)
        self.passing: Final = nn.Parameter(torch.zeros(1))
        self.value_hidden: Final = nn.Linear(2 * channels + hidden, hidden)
        self.value: Final = nn.Linear(hidden, 1)
        for head, gain in ((self.policy, 0.01), (self.value, 0.1)):
            nn.init.orthogonal_(head.weight, gain)
            nn.init.zeros_(head.bias)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values."""
        squares, entries = self._embed(observations), _entry_squares(observations)
        at_entries: torch.Tensor | None = self.entries(entries)
        for block in self.blocks:
            squares, at_entries = block(squares, at_entries), None
        board = torch.cat((squares.mean((1, 2)), squares.amax((1, 2))), dim=1)
        lanes = self.policy_lanes(squares) + self.policy_entries(entries)
        lanes = lanes + _beside(self.policy_beside(squares))
        lanes = torch.relu(lanes + self.policy_board(board)[:, None, None, None])
        whole = torch.cat((board, lanes.mean((1, 2, 3))), dim=1)
        values = self.value(torch.relu(self.value_hidden(whole))).flatten()
        return self._logits(self.policy(lanes)), values

    def _embed(self, observations: torch.Tensor) -> torch.Tensor:
        """Squares (batch, 6, 6, channels), each from its own numbers alone."""
        last_entry = FIRST_ENTRY_PLANE + DIRECTIONS
        planes = torch.cat((
            observations[:, :FIRST_ENTRY_PLANE],
            observations[:, FIRST_ENTRY_PLANE:last_entry].sum(1, keepdim=True),
            observations[:, last_entry:]), dim=1)
        squares = self.embed(planes.permute(0, 2, 3, 1))
        if self.places is not None:
            seats = observations[:, SEAT_PLANE, 0, 0].view(-1, 1, 1, 1)
            squares = squares + torch.lerp(self.places[0], self.places[1], seats)
        return torch.relu(squares)

    def _logits(self, outputs: torch.Tensor) -> torch.Tensor:
        """Logits in the order of actions from what the policy head gives to each lane.

        Of a lane's numbers the first is for entering; the others are for steps of a faction on
        each of its squares, in the direction in which the lane is entered.
        """
        entries, steps = outputs[..., 0], outputs[..., 1:]
        entering = (entries[:, 1, :, 0], entries[:, 1, :, 1], entries[:, 0, :, 0],
                    entries[:, 0, :, 1], self.passing.expand(outputs.shape[0], 1))
        if not self._steps:
            return torch.cat(entering, dim=1)
        to_south, to_east = steps[:, 1, :, 0].transpose(1, 2), steps[:, 0, :, 0]
        to_north = steps[:, 1, :, 1].flip(2).transpose(1, 2)
        to_west = steps[:, 0, :, 1].flip(2)
        stepping = torch.stack((to_north, to_south, to_west, to_east), dim=3)
        return torch.cat((*entering, stepping.view(-1, SQUARES * DIRECTIONS)), dim=1)


def all_sides_are_alike(game: Game) -> bool:
    """Whether every turn and mirror of the board keeps the rules as the player to move sees them.

    Where each player has an axis of its own, a turn by 90 degrees makes one player the other.
    """
    rules = game.table[0].copy()
    if game.rules.entry_lanes == OWN_AXIS:
        rules["doors"] = rules["doors"][0] | rules["doors"][1]
    return len(symmetries_of(rules, game.num_actions)) == len(board_symmetries())


def _beside(lanes: torch.Tensor) -> torch.Tensor:
    """Sums over the lanes of the same end on the lines to either side, shape as `lanes`."""
    before = nn.functional.pad(lanes[:, :, :-1], (0, 0, 0, 0, 1, 0))
    behind = nn.functional.pad(lanes[:, :, 1:], (0, 0, 0, 0, 0, 1))
    return before + behind


def _entry_squares(observations: torch.Tensor) -> torch.Tensor:
    """Where each lane's faction would come to stand, lanes (batch, 2, 6, 2, 6) of zeros and ones.

    A lane's squares are in its own order, nearest to its entry first; all are 0 where entering is
    illegal.
    """
    north, south, west, east = observations[:, FIRST_ENTRY_PLANE:][:, :DIRECTIONS].unbind(1)
    rows = torch.stack((west, east.flip(2)), dim=2)
    columns = torch.stack((north.transpose(1, 2), south.transpose(1, 2).flip(2)), dim=2)
    return torch.stack((rows, columns), dim=1)


def _weights(*shape: int) -> torch.Tensor:
    """Weights that keep the size of numbers through a ReLU (He et al. 2015); the last axis is out.
    """
    return torch.randn(*shape) * math.sqrt(2 / math.prod(shape[:-1]))
