"""A game as one value: its moves as integers, how it ended, and what was said about it."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any, Final

from castle_env.errors import CastleError
from castle_env.game import Game, Outcome
from castle_env.position import Position
from castle_env.ruleset import Ruleset


class GameRecordError(CastleError):
    """A record says something of a game that is impossible."""


@dataclass(frozen=True)
class Note:
    """What was said about a move. value: player 0's margin that it leads to, in Victory Points.

    Raises `GameRecordError` for a value that is no finite number.
    """

    value: float | None = None
    comment: str = ""

    def __post_init__(self) -> None:
        if self.value is not None and not math.isfinite(self.value):
            raise GameRecordError(f"value {self.value!r}; allowed: finite numbers")


NO_NOTE: Final = Note()


@dataclass(frozen=True)
class Variation:
    """Moves that were looked at in place of those of a line.

    at: how many moves of that line come before; the first of `actions` stands for the one with this
    index. notes: one for each action; empty where nothing was said. variations: those of this one,
    whose `at` counts its own moves.

    Raises `GameRecordError` for impossible fields; the actions are trusted.
    """

    at: int
    actions: tuple[int, ...]
    notes: tuple[Note, ...] = ()
    variations: tuple["Variation", ...] = ()

    def __post_init__(self) -> None:
        if not self.actions:
            raise GameRecordError("a variation has no moves; allowed: one or more")
        _settle_notes(self, len(self.actions))
        _check_variations(self.variations, len(self.actions))



@dataclass(frozen=True)
class GameRecord:
    """A game from its start to its end, or to where it was left.

    actions: action indices from the first ply on; the players did not choose the first
    `opening_plies` of them. outcome: how the game ended; None where it goes on. players: names of
    players 0 and 1. notes: one for each action; empty where nothing was said. date: an ISO date,
    with or without the time, or "". start: the first position; None for that of the ruleset.
    variations: other moves that were looked at, in the order of their places.

    The constructor trusts actions and outcome, since a match knows them; `record_game` checks the
    actions and finds the outcome. Raises `GameRecordError` for other fields that cannot be right.
    """

    rules: Ruleset
    actions: tuple[int, ...]
    outcome: Outcome | None = field(hash=False)
    players: tuple[str, str] = ("?", "?")
    opening_plies: int = 0
    notes: tuple[Note, ...] = ()
    seed: int | None = None
    date: str = ""
    start: Position | None = None
    comment: str = ""
    variations: tuple[Variation, ...] = ()

    def __post_init__(self) -> None:
        if len(self.players) != 2 or not all(isinstance(name, str) for name in self.players):
            raise GameRecordError(f"players {self.players!r}; allowed: two names")
        if type(self.opening_plies) is not int or not 0 <= self.opening_plies <= self.plies:
            raise GameRecordError(f"opening_plies {self.opening_plies!r}; allowed: an integer from "
                                  f"0 to {self.plies}, the number of moves")
        if self.seed is not None and (type(self.seed) is not int or self.seed < 0):
            raise GameRecordError(f"seed {self.seed!r}; allowed: an integer from 0 on")
        if self.date:
            _check_date(self.date)
        _settle_notes(self, self.plies)
        _check_variations(self.variations, self.plies)

    @property
    def game(self) -> Game:
        """The game of the ruleset."""
        return game_of(self.rules)

    @property
    def plies(self) -> int:
        """Number of moves, those of the opening included."""
        return len(self.actions)

    @property
    def final(self) -> Outcome:
        """The outcome of a finished game; raises `GameRecordError` where the game goes on."""
        if self.outcome is None:
            raise GameRecordError(f"a game left after {self.plies} plies has no outcome; allowed: "
                                  "finished games")
        return self.outcome

    def points_of(self, seat: int) -> float:
        """1 for a win of the player in `seat`, 0.5 for a draw, 0 for a loss."""
        return 0.5 if self.final.winner is None else float(self.final.winner == seat)

    def margin_of(self, seat: int) -> int:
        """The margin in Victory Points as the player in `seat` sees it."""
        return -self.final.margin if seat else self.final.margin

    def note(self, index: int) -> Note:
        """What was said about the move with this index, from 0 on."""
        return self.notes[index] if self.notes else NO_NOTE

    def states(self) -> tuple[Position, ...]:
        """All positions, one more than there are moves; raises `IllegalActionError`."""
        return self._states

    @cached_property
    def _states(self) -> tuple[Position, ...]:
        states = [self.game.initial_state() if self.start is None else self.start]
        for action in self.actions:
            states.append(self.game.apply(states[-1], action))
        return tuple(states)

    def extended(
        self, action: int, outcome: Outcome | None, note: Note = NO_NOTE
    ) -> "GameRecord":
        """The game with one more move, after which `outcome` stands."""
        said = self.notes or note != NO_NOTE
        notes = (*(self.note(index) for index in range(self.plies)), note) if said else ()
        return replace(self, actions=(*self.actions, int(action)), notes=notes, outcome=outcome)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: moves and positions as text, values and comments by move."""
        return {
            "ruleset": self.rules.to_dict(),
            "players": list(self.players),
            "start": self.game.format_position(self.states()[0]),
            "moves": [self.game.format_action(action) for action in self.actions],
            "opening_plies": self.opening_plies,
            "values": [self.note(index).value for index in range(self.plies)],
            "comments": [self.note(index).comment for index in range(self.plies)],
            "outcome": None if self.outcome is None else asdict(self.outcome),
            "seed": self.seed,
            "date": self.date,
            "comment": self.comment,
        }

    def cut(self, plies: int) -> "GameRecord":
        """The game as it was after so many moves."""
        if plies >= self.plies:
            return self
        return replace(self, actions=self.actions[:plies], notes=self.notes[:plies], outcome=None,
                       opening_plies=min(self.opening_plies, plies),
                       variations=tuple(other for other in self.variations if other.at < plies))


def record_game(
    rules: Ruleset, actions: Iterable[int] = (), start: Position | None = None, **about: Any
) -> GameRecord:
    """The record of a game with these moves; `about` are the other fields of `GameRecord`.

    Raises `IllegalActionError` and what `GameRecord` raises.
    """
    record = GameRecord(rules, tuple(map(int, actions)), None, start=start, **about)
    return replace(record, outcome=record.game.outcome(record.states()[-1]))


@lru_cache(maxsize=16)
def game_of(rules: Ruleset) -> Game:
    """The game of a ruleset, made once."""
    return Game(rules)


def _settle_notes(line: GameRecord | Variation, plies: int) -> None:
    """Raise `GameRecordError` unless there are no notes or one for each move.

    Notes that say nothing are dropped, so that equal games are equal records.
    """
    if line.notes and len(line.notes) != plies:
        raise GameRecordError(f"{len(line.notes)} notes; allowed: none, or one for each of {plies} "
                              "moves")
    if line.notes and all(note == NO_NOTE for note in line.notes):
        object.__setattr__(line, "notes", ())


def _check_variations(variations: Iterable[Variation], plies: int) -> None:
    places = [variation.at for variation in variations]
    if places != sorted(places) or any(not 0 <= at < plies for at in places):
        raise GameRecordError(f"variations after {places} moves; allowed: in ascending order, from "
                              f"0 to {plies - 1}, one less than the line has moves")


def _check_date(text: object) -> None:
    try:
        datetime.fromisoformat(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise GameRecordError(f"date {text!r}; allowed: an ISO date such as 2026-03-01 or "
                              "2026-03-01T12:30:00") from None
