"""What an agent is, and the one registry in which agents are found by name."""

import re
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from castle_env.errors import AgentError, MissingPackageError
from castle_env.game import Game
from castle_env.imports import explain_import_error
from castle_env.position import PositionArray

ENTRY_POINT_GROUP: Final = "castle_env.agents"


@runtime_checkable
class Agent(Protocol):
    """Whoever chooses moves, for many games at once.

    `name` tells the agent from others in reports. `select_actions` takes positions of shape (n,),
    none of them over, and returns legal action indices of shape (n,), int64; all randomness comes
    from `rng`.
    """

    name: str

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """A legal action for each position."""
        ...


# Takes what follows the first part of an agent's name, which ends before the first ":" or "+", and
# the game; a ":" there is left out, a "+" is not.
AgentFactory: TypeAlias = Callable[[str, Game], Agent]

_registered: dict[str, AgentFactory] = {}


def register_agent(name: str, factory: AgentFactory) -> None:
    """Make `make_agent` know agents called `name`, `name:ARGUMENTS` or `name+...` in this process.

    Packages register theirs for every process with an entry point in the group
    "castle_env.agents" instead.
    """
    _registered[name] = factory


def agent_names() -> list[str]:
    """First parts of the names of all known agents, sorted."""
    installed = {entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)}
    return sorted(installed | set(_registered))


def make_agent(spec: str, game: Game) -> Agent:
    """Agent from its name, such as "random", "alphabeta:4" or "ppo:PATH".

    Raises `AgentError` for an unknown name, wrong arguments, or a ruleset it cannot play, and
    `MissingPackageError` where a package it needs is not installed or hidden by another.
    """
    if not isinstance(spec, str):
        raise AgentError(f"an agent's name is {spec!r}; allowed: text such as 'alphabeta:4'")
    name = re.split("[:+]", spec, maxsplit=1)[0]
    arguments = spec[len(name):].removeprefix(":")
    if name in _registered:
        return _registered[name](arguments, game)
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=name):
        return _load_factory(entry)(arguments, game)
    raise AgentError(f"no agent {spec!r}; allowed: {', '.join(agent_names())}, "
                     "some with arguments after ':' as in alphabeta:4")


def _load_factory(entry: EntryPoint) -> AgentFactory:
    """What an entry point names."""
    try:
        factory: AgentFactory = entry.load()
    except ImportError as error:
        explanation = explain_import_error(error, f"agent {entry.name!r} ({entry.value})")
        if explanation is None:
            raise
        raise MissingPackageError(explanation) from error
    return factory
