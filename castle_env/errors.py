"""Errors a user can cause: `ValueError`s that quote the input and say what is allowed."""


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
