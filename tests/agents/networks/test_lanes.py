"""The lane network against its definition, lane by lane and square by square."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scripted import game_of_source, positions_of
from torch import nn

from agents.networks.network import NetworkConfig, build_network
from castle_env.board import ACTION_NAMES
from castle_env.observation import FIRST_ENTRY_PLANE, SEAT_PLANE
from castle_env.position import stack

Floats = npt.NDArray[np.float64]
Square = tuple[int, int]

SIDES = "NSWE"
ENTRY_PLANES = {side: FIRST_ENTRY_PLANE + number for number, side in enumerate(SIDES)}
RANKS, FILES = "654321", "abcdef"
# Lanes by the side and the number of the line: their squares, nearest to the entry first.
LANES: dict[tuple[str, int], list[Square]] = {
    (side, line): [{"N": (step, line), "S": (5 - step, line),
                    "W": (line, step), "E": (line, 5 - step)}[side] for step in range(6)]
    for side in SIDES for line in range(6)
}


class Definition:
    """What the drawing in `agents.networks.lanes` says, with the weights of a network."""

    def __init__(self, network: nn.Module, planes: Floats) -> None:
        self.weights = {name: weights.detach().numpy().astype(np.float64)
                        for name, weights in network.named_parameters()}
        self.planes = planes

    def linear(self, name: str, values: Floats) -> Floats:
        result: Floats = values @ self.weights[f"{name}.weight"].T
        return result + self.weights.get(f"{name}.bias", 0.0)

    def at_entry(self, lane: tuple[str, int]) -> Floats:
        """Zeros, and a one where a faction that enters this lane would come to stand."""
        plane = self.planes[ENTRY_PLANES[lane[0]]]
        return np.array([plane[square] for square in LANES[lane]])

    def lane_map(self, name: str, squares: Floats) -> dict[tuple[str, int], Floats]:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return {lane: bias + sum(squares[square] @ weight[step] for step, square in enumerate(way))
                for lane, way in LANES.items()}

    def square_map(self, name: str, lanes: dict[tuple[str, int], Floats]) -> Floats:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        squares = np.tile(bias, (6, 6, 1))
        for lane, way in LANES.items():
            for step, square in enumerate(way):
                squares[square] += lanes[lane] @ weight[:, step]
        return squares

    def embedded(self) -> Floats:
        first, last = ENTRY_PLANES["N"], ENTRY_PLANES["E"] + 1
        entries = self.planes[first:last].sum(axis=0, keepdims=True)
        seen = np.concatenate((self.planes[:first], entries, self.planes[last:]))
        squares = self.linear("embed", seen.transpose(1, 2, 0))
        if "places" in self.weights:
            squares = squares + self.weights["places"][int(self.planes[SEAT_PLANE, 0, 0])]
        return np.maximum(squares, 0)

    def outputs(self, blocks: int) -> tuple[dict[tuple[str, int], Floats], float]:
        """The numbers of the policy head for every lane, and the value."""
        squares = self.embedded()
        for block in range(blocks):
            lanes = self.lane_map(f"blocks.{block}.to_lanes", squares)
            for lane in lanes if block == 0 else ():
                lanes[lane] = lanes[lane] + self.linear("entries", self.at_entry(lane))
            positive = {lane: np.maximum(numbers, 0) for lane, numbers in lanes.items()}
            change = self.square_map(f"blocks.{block}.to_squares", positive)
            squares = np.maximum(squares + change, 0)
        board = np.concatenate((squares.mean((0, 1)), squares.max((0, 1))))
        own = self.lane_map("policy_lanes", squares)
        other = self.lane_map("policy_beside", squares)
        heads = {}
        for side, line in LANES:
            total = own[side, line] + self.linear("policy_board", board)
            total = total + self.linear("policy_entries", self.at_entry((side, line)))
            for beside in (line - 1, line + 1):
                total = total + other.get((side, beside), 0.0)
            heads[side, line] = np.maximum(total, 0)
        whole = np.concatenate((board, np.mean(list(heads.values()), axis=0)))
        value = self.linear("value", np.maximum(self.linear("value_hidden", whole), 0))
        return {lane: self.linear("policy", head) for lane, head in heads.items()}, float(value[0])

    def logit(self, text: str, heads: dict[tuple[str, int], Floats]) -> float:
        """Of an action by its text; a step is a number of the lane that leads its way."""
        if text == "pass":
            return float(self.weights["passing"][0])
        if text[0] in SIDES:
            line = (RANKS if text[0] in "WE" else FILES).index(text[1])
            return float(heads[text[0], line][0])
        start, end = ((RANKS.index(square[1]), FILES.index(square[0]))
                      for square in (text[:2], text[2:]))
        side = {(1, 0): "N", (-1, 0): "S", (0, 1): "W", (0, -1): "E"}[
            end[0] - start[0], end[1] - start[1]]
        line = start[0] if side in "WE" else start[1]
        return float(heads[side, line][1 + LANES[side, line].index(start)])


@pytest.mark.parametrize("name", ["storm", "sudden-death", "sudden-death-home"])
def test_outputs_are_those_of_the_definition(name: str) -> None:
    game = game_of_source(name)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network: Any = build_network(game, NetworkConfig("lanes", 4, 2, 5)).double()
        with torch.no_grad():
            for weights in network.parameters():
                weights.copy_(0.4 * torch.randn_like(weights))
    positions = positions_of(game, count=4, seed=1, share=0.2)
    observations = game.encode(stack(positions))[0]
    with torch.inference_mode():
        logits, values = network(torch.as_tensor(observations, dtype=torch.float64))
    for planes, row, value in zip(observations, logits.numpy(), values.numpy(), strict=True):
        definition = Definition(network, planes.astype(np.float64))
        heads, expected = definition.outputs(blocks=2)
        assert value == pytest.approx(expected, abs=1e-9)
        # Steps off the board have no name, and are never legal.
        for action, text in ACTION_NAMES.items():
            if action < game.num_actions:
                assert row[action] == pytest.approx(definition.logit(text, heads), abs=1e-9), text
