"""Networks: what they read, what they are symmetric in, and how one of your own is made."""

from typing import Any

import numpy as np
import pytest
import torch
from board_maps import board_maps, moved
from scripted import game_of_source, name_of, positions_of
from torch import nn

from agents.networks.lanes import all_sides_are_alike
from agents.networks.network import (
    NETWORKS,
    NetworkConfig,
    build_network,
    count_weights,
    import_path,
    is_symmetric,
)
from agents.networks.policy import Policy
from agents.networks.symmetry import symmetry_maps
from castle_env import Game, OptionError, preset_names
from castle_env.observation import OBSERVATION_SHAPE
from castle_env.options import RulesetSource
from castle_env.position import stack

# Rulesets that not every turn and mirror of the board keeps.
ODD_LAYOUT = {"name": "odd-layout", "mode": "storm", "strongholds": [".#...."] + ["......"] * 5}
SQUARE_POINTS = {"name": "square-points", "mode": "storm",
                 "victory_points": {"squares": [[1, 2, 3, 4, 5, 6]] * 6}}
ALIKE = {"storm": True, "storm-towers": True, "sudden-death": True, "sudden-death-central": True,
         "sudden-death-step": True, "sudden-death-home": False}


def lanes(game: Game, blocks: int = 2) -> nn.Module:
    """A lane network whose weights are all random, those of the heads too, in float64."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        network = build_network(game, NetworkConfig("lanes", 6, blocks, 8))
        with torch.no_grad():
            for weights in network.parameters():
                weights.copy_(0.4 * torch.randn_like(weights))
    return network.double().eval()


def outputs(network: nn.Module, observations: Any) -> tuple[Any, Any]:
    with torch.inference_mode():
        logits, values = network(torch.as_tensor(observations, dtype=torch.float64))
    return logits.numpy(), values.numpy()


# Symmetry


@pytest.mark.parametrize("name", [name for name, alike in ALIKE.items() if alike])
@pytest.mark.parametrize("blocks", [1, 3])
def test_the_lane_network_is_symmetric(name: str, blocks: int) -> None:
    """Logits move as the actions do and values stay, under each symmetry of the ruleset."""
    game = game_of_source(name)
    network, positions = lanes(game, blocks), positions_of(game, 40, 1, 0.2)
    logits, values = outputs(network, game.encode(stack(positions))[0])
    assert values.std() > 0.01
    assert logits.std(axis=1).min() > 0.01
    assert len(game.symmetries()) in (4, 8)
    for square_map, action_map in game.symmetries():
        images = stack([moved(position, square_map.tolist()) for position in positions])
        image_logits, image_values = outputs(network, game.encode(images)[0])
        assert np.allclose(image_logits[:, action_map], logits, atol=1e-9)
        assert np.allclose(image_values, values, atol=1e-9)


@pytest.mark.parametrize("source", ["sudden-death-home", ODD_LAYOUT, SQUARE_POINTS], ids=name_of)
def test_without_symmetry_of_the_rules_the_lane_network_tells_sides_apart(
    source: RulesetSource
) -> None:
    """Mirrored observations, which are other positions, get other numbers."""
    game = game_of_source(source)
    network = lanes(game)
    assert network.places is not None
    observations = game.encode(stack(positions_of(game, 40, 1, 0.2)))[0]
    logits, values = outputs(network, observations)
    kept = {tuple(square_map) for square_map, _ in game.symmetries()}
    lost = [square_map for square_map in board_maps() if tuple(square_map) not in kept]
    assert lost
    alike = game_of_source({"mode": game.rules.mode, "entry_lanes": "all"})
    for square_map, action_map in alike.symmetries():
        if square_map.tolist() not in lost:
            continue
        images = observations.reshape(len(observations), -1)[:, image_map(alike, square_map)]
        images = images.reshape(observations.shape)
        other = (images != observations).any(axis=(1, 2, 3))  # not its own mirror image
        image_logits, image_values = outputs(network, images)
        assert (abs(image_logits[:, action_map] - logits).max(axis=1) > 1e-3).all()
        assert (abs(image_values - values) > 1e-6)[other].all()
        assert other.sum() > 30


def image_map(game: Game, square_map: Any) -> Any:
    """Where the numbers of an observation come from after a turn of the board."""
    index = [list(found) for found, _ in game.symmetries()].index(list(square_map))
    return symmetry_maps(game)[0][index]


@pytest.mark.parametrize("source", ["storm", "sudden-death", "sudden-death-home", SQUARE_POINTS],
                         ids=name_of)
def test_turned_observations_are_those_of_turned_positions(source: RulesetSource) -> None:
    game = game_of_source(source)
    positions = positions_of(game, 40, 2, 0.2)
    observations, masks = game.encode(stack(positions))
    for (square_map, _), image, actions in zip(game.symmetries(), *symmetry_maps(game),
                                               strict=True):
        turned = game.encode(stack([moved(position, square_map.tolist())
                                    for position in positions]))
        assert np.array_equal(observations.reshape(40, -1)[:, image], turned[0].reshape(40, -1))
        assert np.array_equal(masks[:, actions], turned[1])


@pytest.mark.parametrize("name", preset_names())
def test_which_presets_look_alike_from_all_sides(name: str) -> None:
    game = game_of_source(name)
    assert all_sides_are_alike(game) == ALIKE[name]
    network = build_network(game, NetworkConfig())
    assert is_symmetric(network) == ALIKE[name]
    assert (network.places is None) == ALIKE[name]


@pytest.mark.parametrize("source", [ODD_LAYOUT, SQUARE_POINTS], ids=name_of)
def test_which_other_rulesets_do_not(source: RulesetSource) -> None:
    assert not all_sides_are_alike(game_of_source(source))


# What is read


def same_positions(game: Game) -> list[tuple[list[int], list[int]]]:
    """Two ways each to the same position."""
    seen: dict[Any, list[int]] = {}
    pairs, rng = [], np.random.default_rng(0)
    for _ in range(20_000):
        state, actions = game.initial_state(), []
        for _ in range(4):
            actions.append(int(rng.choice(game.legal_actions(state)[:6])))
            state = game.apply(state, actions[-1])
        if seen.setdefault(state, actions) != actions:
            pairs.append((seen[state], actions))
            if len(pairs) == 5:
                break
    return pairs


@pytest.mark.parametrize("kind", NETWORKS)
def test_how_a_position_came_about_does_not_matter(kind: str) -> None:
    """Two histories with one observation get one answer, whatever was asked in between."""
    game = game_of_source("storm")
    policy = Policy(game, build_network(game, NetworkConfig(kind, 4, 2, 8)), "margin")
    pairs = same_positions(game)
    assert len(pairs) == 5
    for histories in pairs:
        answers = []
        for actions in histories:
            state = game.initial_state()
            for action in actions:
                observations, masks = game.encode(stack([state]))
                policy.evaluate(observations, masks)
                state = game.apply(state, action)
            answers.append(policy.evaluate(*game.encode(stack([state]))))
        for one, other in zip(*answers, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("name", ["storm", "sudden-death"])
@pytest.mark.parametrize("kind", NETWORKS)
def test_shapes_of_every_kind(name: str, kind: str) -> None:
    game = game_of_source(name)
    network = build_network(game, NetworkConfig(kind, 4, 2, 8))
    logits, values = network(torch.rand(3, *OBSERVATION_SHAPE))
    assert (logits.shape, values.shape) == ((3, game.num_actions), (3,))
    (logits.sum() + values.sum()).backward()
    used = [parameter for parameter in network.parameters() if parameter.grad is not None]
    assert len(used) == len(list(network.parameters()))
    assert count_weights(network) == sum(parameter.numel() for parameter in used)


# Networks of your own


class Own(nn.Module):
    """Logits and values of chosen shapes."""

    def __init__(self, *shapes: tuple[int, ...]) -> None:
        super().__init__()
        self.shapes = shapes

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(torch.zeros(len(observations), *shape) for shape in self.shapes)


def right(game: Game) -> nn.Module:
    return Own((game.num_actions,), ())


def few_logits(game: Game) -> nn.Module:
    return Own((7,), ())


def wide_values(game: Game) -> nn.Module:
    return Own((game.num_actions,), (1,))


def no_values(game: Game) -> nn.Module:
    return Own((game.num_actions,))


def no_module(game: Game) -> Any:
    return "a network"


def test_a_network_of_ones_own_is_made_by_its_import_path() -> None:
    assert import_path(right) == f"{__name__}:right"
    network = build_network(game_of_source("storm"), NetworkConfig(f"{__name__}:right"))
    assert isinstance(network, Own)
    assert not is_symmetric(network)


@pytest.mark.parametrize(("kind", "said"), [
    ("hats", "network is 'hats'; allowed: lanes, lines, convolution, dense, or MODULE:NAME"),
    ("", "network is ''; allowed"),
    (":right", "network is ':right'; allowed"),
    ("nowhere:right", "'nowhere:right', which cannot be imported: No module named 'nowhere'"),
    (f"{__name__}:wrong", "test_network:wrong', which cannot be imported: .*'wrong'"),
    (f"{__name__}:ALIKE", "test_network:ALIKE', a dict that cannot be called"),
    (f"{__name__}:no_module", "test_network:no_module' made a str; allowed: a PyTorch module"),
    (f"{__name__}:few_logits", r"shapes \[\(2, 7\), \(2,\)\].*logits \(2, 25\)"),
    (f"{__name__}:wide_values", r"shapes \[\(2, 25\), \(2, 1\)\].*values \(2,\)"),
    (f"{__name__}:no_values", r"shapes \[\(2, 25\)\] for 2 observations; allowed"),
])
def test_what_makes_no_network_is_refused(kind: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        build_network(game_of_source("storm"), NetworkConfig(kind))


@pytest.mark.parametrize("sizes", [(0, 1, 1), (1, 0, 1), (1, 1, -1)])
def test_sizes_from_one_on(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(OptionError, match="allowed: integers from 1 "):
        build_network(game_of_source("storm"), NetworkConfig("lanes", *sizes))
