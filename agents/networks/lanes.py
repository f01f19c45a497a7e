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

A map that treats both directions of a line alike splits into two of half the size: one of the sums
of opposite squares, which gives the even part of the two lanes, and one of their differences, which
gives the odd part. The lane entered at the line's first square is even + odd, the other even - odd.
This takes half as many multiplications as to compute each lane from its six squares.

Opposite squares are three places apart in the order `FOLDED`, in which the lines of the board and
the squares of a line stand inside the network.

Axes of tensors over lines: (batch, kind, line, numbers), where kind is 0 for rows and 1 for
columns. Pairs of these are even and odd parts, or lanes: those entered at the first square of their
lines, then those entered at the last.
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
HALF: Final = SIZE // 2

# The first half of a line, then its second half from the other end. It is its own inverse.
FOLDED: Final = torch.tensor([*range(HALF), *reversed(range(HALF, SIZE))])

Pair: TypeAlias = tuple[torch.Tensor, torch.Tensor]


class LaneMap(nn.Module):
    """A linear map of the six squares of each lane, nearest to its entry first.

    Shapes: parts of lines (batch, 2, 6, 3 * inputs) to parts of lanes (batch, 2, 6, outputs).
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight: Final = nn.Parameter(_weights(SIZE, inputs, outputs))
        self.bias: Final = nn.Parameter(torch.zeros(outputs))

    def forward(self, even: torch.Tensor, odd: torch.Tensor) -> Pair:
        """Both parts of all lanes."""
        for_even, for_odd = _parts(self.weight / 2, dim=0)
        return (nn.functional.linear(even, for_even.flatten(0, 1).t(), self.bias),
                odd @ for_odd.flatten(0, 1))


class SquareMap(nn.Module):
    """The way back: each square gets a sum over the four lanes that it lies on.

    Shapes: two lanes of each line (batch, 2, 6, inputs) to squares (batch, 6, 6, outputs).
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight: Final = nn.Parameter(_weights(inputs, SIZE, outputs) / ENDS)
        self.bias: Final = nn.Parameter(torch.zeros(outputs))

    def forward(self, first: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        """Numbers of all squares."""
        for_even, for_odd = _parts(self.weight / 2, dim=1)
        even = (first + last) @ for_even.flatten(1)
        odd = (first - last) @ for_odd.flatten(1)
        by_line = torch.cat((even + odd, even - odd), dim=3)
        rows, columns = by_line.view(-1, KINDS, SIZE, SIZE, len(self.bias)).unbind(1)
        return rows + columns.transpose(1, 2) + self.bias


class LaneBlock(nn.Module):
    """A residual layer: squares to lanes, a ReLU, and back to squares; `entries` are added first.

    Shapes: squares (batch, 6, 6, channels) and a pair of (batch, 2, 6, hidden) to squares.
    """

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.to_lanes: Final = LaneMap(channels, hidden)
        self.to_squares: Final = SquareMap(hidden, channels)

    def forward(self, squares: torch.Tensor, entries: Pair | None) -> torch.Tensor:
        """The squares, changed."""
        even, odd = self.to_lanes(*_parts_of_lines(squares))
        first, last = even + odd, even - odd
        if entries is not None:
            first, last = first + entries[0], last + entries[1]
        return torch.relu(squares + self.to_squares(torch.relu(first), torch.relu(last)))


class LaneNetwork(nn.Module):
    """Blocks over lanes, a policy head for each lane, and a value head over the whole board.

    Shapes: observations (batch, PLANES, 6, 6) to logits (batch, num_actions) and values (batch,).
    """

    square_order: torch.Tensor
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
        for name, indices in (("square_order", _folded_squares()),
                              ("entry_order", _entry_squares()),
                              ("action_order", _actions(self.policy.out_features))):
            self.register_buffer(name, indices, persistent=False)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values."""
        seen = observations.flatten(2).transpose(1, 2).contiguous()
        seen = seen.index_select(1, self.square_order)
        squares = self._embed(seen)
        at_entries, policy_at_entries = self._entries(seen)
        for number, block in enumerate(self.blocks):
            squares = block(squares, at_entries if number == 0 else None)
        board = torch.cat((squares.mean((1, 2)), squares.amax((1, 2))), dim=1)
        lanes = self._policy_lanes(squares, board, policy_at_entries)
        whole = torch.cat((board, lanes.mean((1, 2, 3))), dim=1)
        values = self.value(torch.relu(self.value_hidden(whole))).flatten()
        logits = torch.cat((self.policy(lanes).flatten(1),
                            self.passing.expand(lanes.shape[0], 1)), dim=1)
        return logits.index_select(1, self.action_order), values

    def _embed(self, seen: torch.Tensor) -> torch.Tensor:
        """Squares (batch, 6, 6, channels), each from its own numbers (batch, 36, PLANES) alone."""
        before, entry, behind = torch.split(
            self.embed.weight, [FIRST_ENTRY_PLANE, 1, PLANES - FIRST_ENTRY_PLANE - DIRECTIONS], 1)
        weight = torch.cat((before, entry.expand(-1, DIRECTIONS), behind), dim=1)
        squares = nn.functional.linear(seen, weight, self.embed.bias)
        if self.places is not None:
            places = self.places.flatten(1, 2).index_select(1, self.square_order)
            squares = squares + torch.lerp(places[0], places[1], seen[:, :1, SEAT_PLANE, None])
        return torch.relu(squares).view(-1, SIZE, SIZE, squares.shape[2])

    def _entries(self, seen: torch.Tensor) -> tuple[Pair, Pair]:
        """What the first block and the policy head read of where factions would come to stand."""
        entries = seen.flatten(1).index_select(1, self.entry_order).view(-1, SIZE)
        # In one product, with the inputs outside: so its gradient takes a sixth of the time.
        weight = torch.cat((self.entries.weight, self.policy_entries.weight)).t().contiguous()
        for_both = (entries @ weight).view(-1, ENDS, KINDS, SIZE, weight.shape[1])
        (first, policy_first), (last, policy_last) = (
            lanes.chunk(2, dim=3) for lanes in for_both.unbind(1))
        return (first, last), (policy_first, policy_last)

    def _policy_lanes(
        self, squares: torch.Tensor, board: torch.Tensor, entries: Pair
    ) -> torch.Tensor:
        """What the policy head knows of each lane: (batch, 2, 2, 6, hidden), ends before kinds."""
        parts = _parts_of_lines(squares)
        even, odd = self.policy_lanes(*parts)
        beside_even, beside_odd = self.policy_beside(*parts)
        even = even + _beside(beside_even) + self.policy_board(board)[:, None, None]
        odd = odd + _beside(beside_odd)
        return torch.relu(torch.stack((even + odd + entries[0], even - odd + entries[1]), dim=1))


def all_sides_are_alike(game: Game) -> bool:
    """Whether every turn and mirror of the board keeps the rules as the player to move sees them.

    Where each player has an axis of its own, a turn by 90 degrees makes one player the other.
    """
    rules = game.table[0].copy()
    if game.rules.entry_lanes == OWN_AXIS:
        rules["doors"] = rules["doors"][0] | rules["doors"][1]
    return len(symmetries_of(rules, game.num_actions)) == len(board_symmetries())


def _parts(values: torch.Tensor, dim: int) -> Pair:
    """Sums and differences of opposite squares, which this axis has in the board's order."""
    near, far = values.chunk(2, dim)
    far = far.flip(dim)
    return near + far, near - far


def _parts_of_lines(squares: torch.Tensor) -> Pair:
    """Sums and differences of opposite squares on all lines, (batch, 2, 6, 3 * channels)."""
    near, far = torch.stack((squares, squares.transpose(1, 2)), dim=1).flatten(3).chunk(2, dim=3)
    return near + far, near - far


def _beside(lines: torch.Tensor) -> torch.Tensor:
    """Sums over the lines on either side, shape as `lines`."""
    by_line = dict(zip(FOLDED.tolist(), lines.unbind(2), strict=True))
    sums = [by_line[line - 1] + by_line[line + 1] if 0 < line < SIZE - 1 else
            by_line[1 if line == 0 else SIZE - 2] for line in FOLDED.tolist()]
    return torch.stack(sums, dim=2)


def _folded_squares() -> torch.Tensor:
    """The squares (36,) of the board, row by row, in the order of the network."""
    return torch.arange(SQUARES).view(SIZE, SIZE)[FOLDED][:, FOLDED].flatten()


def _entry_squares() -> torch.Tensor:
    """Where each lane's faction would come to stand, as places (2 * 2 * 6 * 6,) in (36, PLANES).

    By ends, kinds and lines; a lane's squares are in its own order, nearest to its entry first.
    There the numbers are zeros and ones; all are 0 where entering is illegal.
    """
    places = torch.arange(SQUARES * PLANES).view(SIZE, SIZE, PLANES)
    north, south, west, east = places[..., FIRST_ENTRY_PLANE:][..., :DIRECTIONS].unbind(2)
    first, last = torch.stack((west, north.t())), torch.stack((east, south.t()))
    return torch.stack((first[..., FOLDED], last[..., FOLDED].flip(2))).flatten()


def _actions(numbers: int) -> torch.Tensor:
    """Where the logit of each action, (num_actions,), is among `numbers` of every lane and a pass.

    Of a lane's numbers the first is for entering; the others are for steps of a faction on each of
    its squares, in the direction in which the lane is entered.
    """
    count = ENDS * KINDS * SIZE * numbers
    (west, north), (east, south) = (
        torch.arange(count).view(ENDS, KINDS, SIZE, numbers)[:, :, FOLDED])
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
