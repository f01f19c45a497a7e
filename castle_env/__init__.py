"""Storm the Castle: the rules as a pure core, and the environments on it."""

from castle_env.errors import (
    ActionError,
    AgentError,
    CastleError,
    IllegalActionError,
    PositionError,
    RulesetError,
)
from castle_env.game import Game, Outcome
from castle_env.position import Position
from castle_env.ruleset import Ruleset, VictoryPoints, load_ruleset, preset_names

__all__ = [
    "ActionError",
    "AgentError",
    "CastleError",
    "Game",
    "IllegalActionError",
    "Outcome",
    "Position",
    "PositionError",
    "Ruleset",
    "RulesetError",
    "VictoryPoints",
    "load_ruleset",
    "preset_names",
]
