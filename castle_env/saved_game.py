"""A game from its start to its end, or to where it was left, with what was said about it."""

import math
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache

from castle_env.errors import CastleError
from castle_env.game import Game, Outcome
from castle_env.position import Position
from castle_env.ruleset import Ruleset


class GameFileError(CastleError):
    """A game's text is not whole, contradicts itself or the rules, or cannot be written."""


@dataclass(frozen=True)
class SavedMove:
    """A move of a saved game. value: player 0's margin that it leads to, in Victory Points.

    Raises `GameFileError` for a value that is no finite number.
    """

    action: int
    value: float | None = None
    comment: str = ""

    def __post_init__(self) -> None:
        if self.value is not None and not math.isfinite(self.value):
            raise GameFileError(f"value {self.value!r}; allowed: finite numbers")


@dataclass(frozen=True)
class SavedGame:
    """A game from its start to its end, or to where it was left.

    players: names of players 0 and 1. date: an ISO date, with or without the time, or "". start:
    the first position, None for that of the ruleset. Raises `GameFileError` for players, a seed or
    a date that are none. That the moves are legal is checked when they are played, in `states`.
    """

    rules: Ruleset
    moves: tuple[SavedMove, ...]
    players: tuple[str, str] = ("?", "?")
    seed: int | None = None
    date: str = ""
    start: Position | None = None
    comment: str = ""

    def __post_init__(self) -> None:
        if len(self.players) != 2 or not all(isinstance(name, str) for name in self.players):
            raise GameFileError(f"players {self.players!r}; allowed: two names")
        if self.seed is not None and (type(self.seed) is not int or self.seed < 0):
            raise GameFileError(f"seed {self.seed!r}; allowed: an integer from 0 on")
        if self.date:
            _check_date(self.date)

    @property
    def game(self) -> Game:
        """The game of the ruleset."""
        return game_of(self.rules)

    def states(self) -> tuple[Position, ...]:
        """All positions, one more than there are moves; raises `IllegalActionError`."""
        return self._states

    @cached_property
    def _states(self) -> tuple[Position, ...]:
        states = [self.game.initial_state() if self.start is None else self.start]
        for move in self.moves:
            states.append(self.game.apply(states[-1], move.action))
        return tuple(states)

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended; None where it goes on."""
        return self.game.outcome(self.states()[-1])


@lru_cache(maxsize=16)
def game_of(rules: Ruleset) -> Game:
    """The game of a ruleset, the same one for the games of a file."""
    return Game(rules)


def _check_date(text: object) -> None:
    try:
        datetime.fromisoformat(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise GameFileError(f"date {text!r}; allowed: an ISO date such as 2026-03-01 or "
                            "2026-03-01T12:30:00") from None
