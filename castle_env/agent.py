"""What an agent is, and the one registry in which agents are found by name."""

import re
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from castle_env.errors import AgentError, MissingPackageError
from castle_env.game import Game
from castle_env.imports import explain_import_error
from castle_env.position import PositionArray

ENTRY_POINT_GROUP: Final = "castle_env.agents"


class PlainAgent(Protocol):
    """What others write as an agent, at the least; `as_agent` makes an `Agent` of it.

    `name` tells the agent from others in reports.
    """

    name: str

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Legal action indices, shape (n,), int64, for positions of shape (n,) of games not over.

        All randomness comes from `rng`.
        """
        ...


@runtime_checkable
class Agent(PlainAgent, Protocol):
    """Whoever chooses moves, for many games at once.

    `thread_safe` says whether several threads may call `select_actions` of one agent at the same
    time.
    """

    thread_safe: bool

    def stop(self) -> None:
        """End a search soon, for good; another thread may call this.

        `select_actions` then returns what it has found, or raises an error.
        """
        ...


class BaseAgent:
    """Defaults for agents that answer at once and that one thread uses at a time."""

    thread_safe: bool = False

    def stop(self) -> None:
        """Do nothing: such an agent answers at once."""


class PolicyAgent(BaseAgent):
    """An agent made of a policy that any framework has trained on the observations.

    choose: takes observations, (n, PLANES, 6, 6) float32, and masks, (n, num_actions) int8, and
    gives legal actions, (n,).
    """

    def __init__(
        self, name: str, game: Game,
        choose: Callable[[npt.NDArray[Any], npt.NDArray[np.int8]], npt.ArrayLike],
    ) -> None:
        self.name = name
        self._game: Final = game
        self._choose: Final = choose

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """What the policy chooses; `rng` is not used."""
        return self._game.action_array(self._choose(*self._game.encode(states)), len(states))


def as_agent(source: Any, role: str) -> Agent:
    """A `PlainAgent` as an `Agent`: without `thread_safe` and `stop` it gets those of `BaseAgent`.

    Raises `AgentError`, which says that `role`, such as "opponent", is no agent.
    """
    missing = [member for member in ("name", "select_actions", "thread_safe", "stop")
               if not hasattr(source, member)]
    if missing == ["thread_safe", "stop"]:
        return _CompletedAgent(source)
    if missing:
        raise AgentError(f"{role} is {source!r}, which has no {' and no '.join(missing)}; allowed: "
                         "an object with name and select_actions(states, rng), and with both or "
                         "neither of thread_safe and stop()")
    agent: Agent = source
    return agent


class _CompletedAgent(BaseAgent):
    """Adds the rest to an agent that has `name` and `select_actions` alone."""

    def __init__(self, agent: PlainAgent) -> None:
        self.name = agent.name
        self._agent: Final = agent

    def __repr__(self) -> str:
        return repr(self._agent)

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        return self._agent.select_actions(states, rng)


# Takes what follows the first part of an agent's name, which ends before the first ":" or "+", and
# the game; a ":" there is left out, a "+" is not. Gives what `as_agent` takes.
AgentFactory: TypeAlias = Callable[[str, Game], PlainAgent]

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
        return as_agent(_registered[name](arguments, game), f"agent {spec!r}")
    entry = _entry_point(name)
    if entry is not None:
        return as_agent(_load_factory(entry)(arguments, game), f"agent {spec!r}")
    raise AgentError(f"no agent {spec!r}; allowed: {', '.join(agent_names())}, "
                     "some with arguments after ':' as in alphabeta:4")


# By name, and by where Python looks for packages: to look through all of them takes 10 ms.
_found: dict[tuple[str, tuple[str, ...]], EntryPoint] = {}


def _entry_point(name: str) -> EntryPoint | None:
    """The installed agent of a name, or None; one installed a moment ago is found too."""
    place = name, tuple(sys.path)
    if place not in _found:
        entries = list(entry_points(group=ENTRY_POINT_GROUP, name=name))
        if not entries:
            return None
        _found[place] = entries[0]
    return _found[place]


def _load_factory(entry: EntryPoint) -> AgentFactory:
    """The factory that an entry point names."""
    try:
        factory: AgentFactory = entry.load()
    except ImportError as error:
        explanation = explain_import_error(error, f"agent {entry.name!r} ({entry.value})")
        if explanation is None:
            raise
        raise MissingPackageError(explanation) from error
    return factory
