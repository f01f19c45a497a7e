"""Errors a user can cause: `ValueError`s that quote the input and say what is allowed."""

from typing import Any, Final

_MAX_SIGNS: Final = 200


def quoted(value: Any) -> str:
    """What was given, for a message: its `repr`, cut where it is long.

    An integer of so many digits that Python writes none of them is described instead.
    """
    try:
        text = repr(value)
    except ValueError:
        text = f"an integer of {value.bit_length()} bits" if isinstance(value, int) else (
            f"a {type(value).__name__} with an integer that is too long to show")
    return text if len(text) <= _MAX_SIGNS else f"{text[:_MAX_SIGNS - 3]}..."


class CastleError(ValueError):
    """Base of all errors caused by bad input; the `castle` command prints it and exits with 2."""


class RulesetError(CastleError):
    """A ruleset has an unknown key, a wrong type, or a value that is not allowed."""


class PositionError(CastleError):
    """A position's text or its counts describe no position of the game."""


class ActionError(CastleError):
    """An action's text or number names no action of the mode."""


class IllegalActionError(CastleError):
    """The action exists but may not be played in this position."""


class AgentError(CastleError):
    """An agent's name or its arguments are unknown, or it cannot play this ruleset."""


class OptionError(CastleError):
    """An option of an environment or a command has a value that is not allowed."""


class MissingPackageError(CastleError):
    """A package is not installed; the message has the command that installs it."""
