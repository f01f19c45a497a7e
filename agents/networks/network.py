"""Networks from the environment's observation to a policy and a value, and how one is made.

A network is a PyTorch module that takes observations (batch, PLANES, 6, 6), as
`castle_env.observation` lists them, and gives logits of all actions, legal or not,
(batch, num_actions), and values (batch,): what the player to move expects, in rewards. It reads
nothing else.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import torch
from torch import nn

from agents.networks.lanes import LaneNetwork
from agents.networks.layers import Convolution, Dense, LayerNetwork, LineMixing
from castle_env.errors import OptionError
from castle_env.game import Game

# Takes the game; gives a network as above.
NetworkFactory: TypeAlias = Callable[[Game], nn.Module]

MAX_SIZE: Final = 1024


class NetworkConfig(NamedTuple):
    """What a network is made of.

    kind: one of `NETWORKS`, or "module:name" of a `NetworkFactory` that can be imported, to which
    the other fields mean nothing. channels: numbers of each square between layers. blocks: layers.
    hidden: numbers of each lane inside a block and in the heads, or of the dense layer behind the
    blocks.
    """

    kind: str = "lanes"
    channels: int = 32
    blocks: int = 2
    hidden: int = 64


NETWORKS: Final[Mapping[str, Callable[[Game, int, int, int], nn.Module]]] = MappingProxyType({
    "lanes": LaneNetwork,
    "lines": LayerNetwork.of(LineMixing),
    "convolution": LayerNetwork.of(Convolution),
    "dense": LayerNetwork.of(Dense),
})


def build_network(game: Game, config: NetworkConfig) -> nn.Module:
    """A network with fresh weights from PyTorch's global generator.

    Raises `OptionError` for no such kind or sizes, and as `make_network`.
    """
    if config.kind not in NETWORKS:
        return make_network(game, import_function(config.kind, "network", NETWORKS))
    sizes = config.channels, config.blocks, config.hidden
    if not 1 <= min(sizes) <= max(sizes) <= MAX_SIZE:
        raise OptionError(f"channels, blocks and hidden are {sizes}; allowed: integers from 1 to "
                          f"{MAX_SIZE}")
    return NETWORKS[config.kind](game, *sizes)


def make_network(game: Game, factory: NetworkFactory) -> nn.Module:
    """The network of a factory; `OptionError` where it is no module of the right shapes."""
    network = factory(game)
    name = import_path(factory)
    if not isinstance(network, nn.Module):
        raise OptionError(f"network {name!r} made a {type(network).__name__}; allowed: a PyTorch "
                          "module")
    network.eval()
    with torch.inference_mode():
        outputs = network(torch.as_tensor(game.encode(game.initial_states(2))[0]))
    network.train()
    shapes = [tuple(output.shape) for output in outputs]
    if shapes != [(2, game.num_actions), (2,)]:
        raise OptionError(f"network {name!r} gives shapes {shapes} for 2 observations; allowed: "
                          f"logits (2, {game.num_actions}) and values (2,)")
    return network


def import_path(function: Callable[..., Any]) -> str:
    """The "module:name" by which a function of a module can be imported again."""
    return f"{function.__module__}:{getattr(function, '__qualname__', type(function).__name__)}"


def import_function(path: str, option: str, names: Iterable[str]) -> Any:
    """What "module:name" stands for; `OptionError` where it cannot be imported or called."""
    module, _, name = path.partition(":")
    allowed = f"allowed: {', '.join(names)}, or MODULE:NAME of your own"
    if not (module and name):
        raise OptionError(f"{option} is {path!r}; {allowed}")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise OptionError(f"{option} is {path!r}, which cannot be imported: {error}; "
                          f"{allowed}") from error
    if not callable(function):
        raise OptionError(f"{option} is {path!r}, a {type(function).__name__} that cannot be "
                          f"called; {allowed}")
    return function


def is_symmetric(network: nn.Module) -> bool:
    """Whether the network sees a position alike from all sides, by construction."""
    return bool(getattr(network, "symmetric", False))


def count_weights(network: nn.Module) -> int:
    """Numbers that training changes."""
    return sum(parameter.numel() for parameter in network.parameters())
