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

Inside, lines and lanes are pairs of tensors, one for the rows of the board and one for its columns,
each (batch * 6, numbers). A line's numbers are those of its six squares in the board's order; the
lanes of a line are the one entered at its first square and then the one entered at its last.
"""

import math
from typing import Final, TypeAlias

import torch
from torch import nn

from castle_env.board import DIRECTIONS, SIZE, SQUARES
from castle_env.game import Game
from castle_env.observation import FIRST_ENTRY_PLANE, PLANES, SEAT_PLANE
from castle_env.symmetry import board_symmetries, symmetries_of

OWN_AXIS: Final = "own_axis"
KINDS: Final = 2
ENDS: Final = 2

Pair: TypeAlias = tuple[torch.Tensor, torch.Tensor]


class LaneMap(nn.Module):
    """A linear map of the six squares of each lane, nearest to its entry first.

    Shapes: lines (batch * 6, 6 * inputs) to lanes (batch * 6, 2 * outputs). With `entries`,
    (batch * 12, 6), numbers of where each lane's faction would come to stand, `entry_map` of these
    is added.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight: Final = nn.Parameter(_weights(SIZE, inputs, outputs))
        self.bias: Final = nn.Parameter(torch.zeros(outputs))

    def forward(
        self, lines: Pair, entries: Pair | None = None, entry_map: nn.Linear | None = None
    ) -> Pair:
        """Numbers of all lanes."""
        weight = torch.cat((self.weight, self.weight.flip(0)), dim=2).flatten(0, 1)
        bias = self.bias.repeat(ENDS)
        if entries is None or entry_map is None:
            to_rows, to_columns = bias, bias
        else:
            to_rows, to_columns = (nn.functional.linear(kind, entry_map.weight, self.bias)
                                   .view(-1, len(bias)) for kind in entries)
        return torch.addmm(to_rows, lines[0], weight), torch.addmm(to_columns, lines[1], weight)


class SquareMap(nn.Module):
    """The way back: each square gets a sum over the four lanes that it lies on, added to its own.

    Shapes: squares (batch, 6, 6, outputs) and lanes (batch * 6, 2 * inputs) to such squares.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight: Final = nn.Parameter(_weights(inputs, SIZE, outputs) / ENDS)
        self.bias: Final = nn.Parameter(torch.zeros(outputs))

    def forward(self, squares: torch.Tensor, lanes: Pair) -> torch.Tensor:
        """Numbers of all squares."""
        weight = torch.cat((self.weight, self.weight.flip(1))).flatten(1)
        by_row = torch.addmm(squares.view(-1, weight.shape[1]), lanes[0], weight)
        by_column = torch.addmm(self.bias.repeat(SIZE), lanes[1], weight)
        return by_row.view_as(squares) + by_column.view_as(squares).transpose(1, 2)


class LaneBlock(nn.Module):
    """A residual layer: squares to lanes, a ReLU, and back to squares.

    Shapes: squares (batch, 6, 6, channels) and entries (batch * 12, 6) to squares.
    """

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.to_lanes: Final = LaneMap(channels, hidden)
        self.to_squares: Final = SquareMap(hidden, channels)

    def forward(
        self, squares: torch.Tensor, entries: Pair | None = None, entry_map: nn.Linear | None = None
    ) -> torch.Tensor:
        """The squares, changed."""
        rows, columns = self.to_lanes(_lines(squares), entries, entry_map)
        return torch.relu_(self.to_squares(squares, (torch.relu_(rows), torch.relu_(columns))))


class LaneNetwork(nn.Module):
    """Blocks over lanes, a policy head for each lane, and a value head over the whole board.

    Shapes: observations (batch, PLANES, 6, 6) to logits (batch, num_actions) and values (batch,).
    """

    entry_order: torch.Tensor
    action_order: torch.Tensor

    def __init__(self, game: Game, channels: int, blocks: int, hidden: int) -> None:
        super().__init__()
        self.symmetric: Final = all_sides_are_alike(game)
        steps = game.num_actions > KINDS * SIZE * ENDS + 1
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
        self.policy: Final = nn.Linear(hidden, 1 + SIZE if steps else 1)
        self.passing: Final = nn.Parameter(torch.zeros(1))
        self.value_hidden: Final = nn.Linear(2 * channels + hidden, hidden)
        self.value: Final = nn.Linear(hidden, 1)
        for head, gain in ((self.policy, 0.01), (self.value, 0.1)):
            nn.init.orthogonal_(head.weight, gain)
            nn.init.zeros_(head.bias)
        for name, indices in (("entry_order", _entry_squares()),
                              ("action_order", _actions(self.policy.out_features))):
            self.register_buffer(name, indices, persistent=False)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values."""
        squares = self._embed(observations)
        rows, columns = observations.flatten(1).index_select(1, self.entry_order).chunk(2, dim=1)
        entries = rows.reshape(-1, SIZE), columns.reshape(-1, SIZE)
        squares = self.blocks[0](squares, entries, self.entries)
        for block in self.blocks[1:]:
            squares = block(squares)
        board = torch.cat((squares.mean((1, 2)), squares.amax((1, 2))), dim=1)
        lanes = self._policy_lanes(squares, board, entries)
        whole = torch.cat((board, (lanes[0].mean(1) + lanes[1].mean(1)) / KINDS), dim=1)
        values = self.value(torch.relu(self.value_hidden(whole))).flatten()
        logits = torch.cat((*(self.policy(kind).flatten(1) for kind in lanes),
                            self.passing.expand(board.shape[0], 1)), dim=1)
        return logits.index_select(1, self.action_order), values

    def _embed(self, observations: torch.Tensor) -> torch.Tensor:
        """Squares (batch, 6, 6, channels), each from its own numbers alone."""
        before, entry, behind = torch.split(
            self.embed.weight, [FIRST_ENTRY_PLANE, 1, PLANES - FIRST_ENTRY_PLANE - DIRECTIONS], 1)
        weight = torch.cat((before, entry.expand(-1, DIRECTIONS), behind), dim=1)
        squares = nn.functional.linear(observations.permute(0, 2, 3, 1), weight, self.embed.bias)
        if self.places is not None:
            seats = observations[:, SEAT_PLANE, 0, 0].view(-1, 1, 1, 1)
            squares = squares + torch.lerp(self.places[0], self.places[1], seats)
        return torch.relu(squares)

    def _policy_lanes(self, squares: torch.Tensor, board: torch.Tensor, entries: Pair) -> Pair:
        """What the policy head knows of each lane, (batch, 12, hidden) of rows and of columns."""
        lines = _lines(squares)
        lanes = self.policy_lanes(lines, entries, self.policy_entries)
        of_board = self.policy_board(board).repeat(1, ENDS)[:, None]
        rows, columns = (
            torch.relu_(own.view(-1, SIZE, own.shape[1]) + _beside(other) + of_board)
            .view(-1, SIZE * ENDS, own.shape[1] // ENDS)
            for own, other in zip(lanes, self.policy_beside(lines), strict=True))
        return rows, columns


def all_sides_are_alike(game: Game) -> bool:
    """Whether every turn and mirror of the board keeps the rules as the player to move sees them.

    Where each player has an axis of its own, a turn by 90 degrees makes one player the other.
    """
    rules = game.table[0].copy()
    if game.rules.entry_lanes == OWN_AXIS:
        rules["doors"] = rules["doors"][0] | rules["doors"][1]
    return len(symmetries_of(rules, game.num_actions)) == len(board_symmetries())


def _lines(squares: torch.Tensor) -> Pair:
    """All rows and all columns of squares (batch, 6, 6, channels)."""
    numbers = SIZE * squares.shape[3]
    return squares.view(-1, numbers), squares.transpose(1, 2).reshape(-1, numbers)


def _beside(lanes: torch.Tensor) -> torch.Tensor:
    """Sums over the lanes of the same end on the lines to either side, (batch, 6, numbers)."""
    padded = nn.functional.pad(lanes.view(-1, SIZE, lanes.shape[1]), (0, 0, 1, 1))
    return padded[:, :-2] + padded[:, 2:]


def _entry_squares() -> torch.Tensor:
    """Where each lane's faction would come to stand, as places (2 * 6 * 2 * 6,) in observations.

    By kinds, lines and ends; a lane's squares are in its own order, nearest to its entry first.
    There the numbers are zeros and ones; all are 0 where entering is illegal.
    """
    places = torch.arange(PLANES * SQUARES).view(PLANES, SIZE, SIZE)
    north, south, west, east = places[FIRST_ENTRY_PLANE:][:DIRECTIONS]
    rows = torch.stack((west, east.flip(1)), dim=1)
    columns = torch.stack((north.t(), south.t().flip(1)), dim=1)
    return torch.stack((rows, columns)).flatten()


def _actions(numbers: int) -> torch.Tensor:
    """Where the logit of each action, (num_actions,), is among `numbers` of every lane and a pass.

    Of a lane's numbers the first is for entering; the others are for steps of a faction on each of
    its squares, in the direction in which the lane is entered.
    """
    count = KINDS * SIZE * ENDS * numbers
    rows, columns = torch.arange(count).view(KINDS, SIZE, ENDS, numbers)
    (west, east), (north, south) = rows.unbind(1), columns.unbind(1)
    entering = [north[:, 0], south[:, 0], west[:, 0], east[:, 0], torch.tensor([count])]
    if numbers == 1:
        return torch.cat(entering)
    # A lane from the north leads south, and so on.
    stepping = torch.stack((south[:, 1:].flip(1).t(), north[:, 1:].t(),
                            east[:, 1:].flip(1), west[:, 1:]), dim=2)
    return torch.cat((*entering, stepping.flatten()))


def _weights(*shape: int) -> torch.Tensor:
    """Weights that keep the size of numbers through a ReLU (He et al. 2015); the last axis is out.
    """
    return torch.randn(*shape) * math.sqrt(2 / math.prod(shape[:-1]))
