"""Storm the Castle: the rules as a pure core, and the environments on it."""

from typing import NoReturn

from gymnasium.envs.registration import register

from castle_env.agent import Agent, BaseAgent, PolicyAgent, agent_names, make_agent, register_agent
from castle_env.default_agents import make_greedy, make_random
from castle_env.errors import (
    ActionError,
    AgentError,
    CastleError,
    IllegalActionError,
    MissingPackageError,
    OptionError,
    PositionError,
    RulesetError,
)
from castle_env.game import Game, Outcome
from castle_env.position import Position
from castle_env.ruleset import Ruleset, VictoryPoints, load_ruleset, preset_names

__all__ = [
    "ActionError",
    "Agent",
    "AgentError",
    "BaseAgent",
    "CastleError",
    "Game",
    "IllegalActionError",
    "MissingPackageError",
    "OptionError",
    "Outcome",
    "PolicyAgent",
    "Position",
    "PositionError",
    "Ruleset",
    "RulesetError",
    "VictoryPoints",
    "__version__",
    "agent_names",
    "load_ruleset",
    "make_agent",
    "preset_names",
    "register_agent",
]

__version__ = "0.2.0"

# Not entry points as those of other packages: these two need nothing but this package.
register_agent("random", make_random)
register_agent("greedy", make_greedy)

for _id, _kwargs in (
    ("castle_env/Storm-v1", {"ruleset": "storm"}),
    ("castle_env/SuddenDeath-v1", {"ruleset": "sudden-death"}),
    ("castle_env/Castle-v1", {}),
):
    register(_id, entry_point="castle_env.env:CastleEnv", kwargs=_kwargs,
             vector_entry_point="castle_env.vector_env:CastleVectorEnv")


def __getattr__(name: str) -> NoReturn:
    """Say which module has taken the place of an older one."""
    if name == "castle_v0":
        raise ImportError("castle_v0 is no more; use castle_v1 (its version history says what "
                          "changed)")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
