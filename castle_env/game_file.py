"""Games as text: a file holds one or more of them, each closed by its result.

    castle-game: 1
    mode: "storm"
    ruleset: "storm"
    digest: "fa4b38d8ca4d"
    players: ["alphabeta:4", "mcts:200"]
    seed: 7
    date: "2026-03-01"
    result: "*"
    victory-points: [1, 3]
    plies: 3

    1. Nc  -4  "straight at a stronghold"
    2. W3  -4
    3. Nd
    *

A header line is a key and a JSON value. `ruleset` is a preset's name, or else all keys of the
ruleset as one JSON object; `digest` and `mode` are those of the ruleset. Optional keys are `seed`,
`date` (ISO), `start` (the text of a position, where that is not the ruleset's start), `comment` and
`opening-plies` (how many of the first moves the players did not choose). `victory-points` are those
of players 0 and 1 in the last position.

After a blank line follows one line for each ply: its number (odd ones are player 0's), the action,
then, where there is one, a value (player 0's margin that the move leads to, in Victory Points, with
its sign), and where there is one, a comment as a JSON text. Moves that were looked at in place of
another one stand behind it, between a line `(` and a line `)`, with their own such moves inside:

    2. W3  -4
    (
      2. W2  +1  "better"
      3. Nd
    )
    3. Nd

A game that has them is one of `castle-game: 2`, and `variation-plies` in its header is the number
of moves between all its brackets. The last line repeats the result:
`player 0 wins`, `player 1 wins`, `draw`, or `*` where the game goes on. A game without this line is
not whole.

Files are UTF-8. Reading skips a byte-order mark at the start and accepts CRLF line ends; neither is
written. A file that contradicts itself or the rules is refused, with the line at fault, and never
repaired.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from os import PathLike
from typing import Any, Final, NamedTuple

from castle_env.errors import CastleError
from castle_env.game import Game, Outcome
from castle_env.game_lines import (
    CLOSES,
    MAX_NESTED,
    OPENS,
    RESULTS,
    UNFINISHED,
    GameFileError,
    choices,
    count_moves,
    format_line,
    from_json,
    parse_move,
    quoted,
    to_json,
)
from castle_env.game_record import GameRecord, Note, Variation, game_of, record_game
from castle_env.position import Position
from castle_env.ruleset import Ruleset, load_ruleset, preset_names

__all__ = ["GameFileError", "GameRecord", "Note", "format_game", "parse_games", "read_games",
           "record_game"]

_FORMAT: Final = "castle-game"
# A game with variations is one of version 2; older programs read version 1 alone.
_PLAIN, _BRANCHED = 1, 2
_REQUIRED: Final = ("mode", "ruleset", "digest", "players", "result", "victory-points", "plies")
_HEADER: Final = re.compile(r"([a-z-]+): (.*)", re.DOTALL)


# Writing


def format_game(game: GameRecord) -> str:
    """Text of a game, its last line ended; `parse_games` gives the game back.

    Raises `IllegalActionError` for a move that may not be played, `PositionError` for a start that
    is no position of the ruleset and `GameFileError` for texts that have no UTF-8 form.
    """
    states = game.states()
    keys = {_FORMAT: _BRANCHED if game.variations else _PLAIN, **_claims(game),
            "ruleset": _ruleset_value(game.rules), "players": list(game.players), "seed": game.seed,
            "date": game.date or None, "start": _start_text(game), "comment": game.comment or None,
            "opening-plies": game.opening_plies or None}
    width = len(str(states[-1].ply))
    lines = [
        *(f"{key}: {to_json(keys[key])}" for key in _KEYS if keys[key] is not None),
        "",
        *format_line(game.game, states[0], game, width),
        keys["result"],
    ]
    return "\n".join(lines) + "\n"


def _claims(game: GameRecord) -> dict[str, Any]:
    """The header's values that follow from the ruleset and the moves; a reader compares them."""
    last = game.states()[-1]
    return {
        "mode": game.rules.mode,
        "digest": _digest(game.rules),
        "result": _result(game.game.outcome(last)),
        "victory-points": list(game.game.victory_points(last)),
        "plies": game.plies,
        "variation-plies": count_moves(game.variations) or None,
    }


def _result(outcome: Outcome | None) -> str:
    if outcome is None:
        return UNFINISHED
    return RESULTS[2 if outcome.winner is None else outcome.winner]


@lru_cache(maxsize=16)
def _ruleset_value(rules: Ruleset) -> Any:
    return rules.name if _presets().get(rules.name) == rules else rules.to_dict()


@lru_cache(maxsize=16)
def _digest(rules: Ruleset) -> str:
    return rules.digest


@lru_cache(maxsize=1)
def _presets() -> dict[str, Ruleset]:
    return {name: load_ruleset(name) for name in preset_names()}


def _start_text(game: GameRecord) -> str | None:
    if game.start is None:
        return None
    text = game.game.format_position(game.start)
    game.game.parse_position(text)
    return text


# Reading


def parse_games(text: str, name: str = "text") -> list[GameRecord]:
    """The games of a text, which errors call `name`; raises `GameFileError`."""
    return list(_Reader(text.encode(errors="surrogatepass").split(b"\n"), name).games())


def read_games(path: str | PathLike[str]) -> Iterator[GameRecord]:
    """The games of a file, one after another as they are read.

    Raises `GameFileError`, which names file, line and ply, after the games before the fault, and
    `OSError` for a file that cannot be read.
    """
    with open(path, "rb") as file:
        yield from _Reader(file, str(path)).games()


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_integer(value: Any) -> bool:
    return type(value) is int


def _is_list(is_one: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and len(value) == 2 and all(map(is_one, value))


# Each key of a header, with what its value may be. Whether it fits the game is checked later.
_KEYS: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    _FORMAT: (f"{_PLAIN} or {_BRANCHED}", _is_integer),
    "mode": ("a text", _is_text),
    "ruleset": ("a text or an object", lambda value: isinstance(value, str | dict)),
    "digest": ("a text", _is_text),
    "players": ("two texts", _is_list(_is_text)),
    "seed": ("an integer", _is_integer),
    "date": ("a text", _is_text),
    "start": ("a text", _is_text),
    "comment": ("a text", _is_text),
    "opening-plies": ("an integer", _is_integer),
    "result": ("a text", _is_text),
    "victory-points": ("two integers", _is_list(_is_integer)),
    "plies": ("an integer", _is_integer),
    "variation-plies": ("an integer", _is_integer),
}


class _Entry(NamedTuple):
    """The value of a header line, and the number of the line."""

    value: Any
    line: int


_Header = dict[str, _Entry]


class _Line(NamedTuple):
    """Moves while they are read, what is said of each, and the variations so far."""

    actions: list[int]
    notes: list[Note]
    variations: list[Variation]

    def as_variation(self, at: int) -> Variation:
        """The same in place of the move with this index."""
        return Variation(at, tuple(self.actions), tuple(self.notes), tuple(self.variations))


class _Reader:
    """Makes games of lines; errors name the line, and within the moves the ply."""

    def __init__(self, lines: Iterable[bytes], name: str) -> None:
        self._lines = enumerate(lines, 1)
        self._name = name
        self._read = 0
        self._line = 0
        self._ply: int | None = None

    def games(self) -> Iterator[GameRecord]:
        """All games up to the end of the lines."""
        while True:
            self._ply = None
            try:
                line = self._next_filled()
                game = None if line is None else self._game(line)
            except CastleError as error:
                ply = "" if self._ply is None else f", ply {self._ply}"
                raise GameFileError(f"{self._name}, line {self._line}{ply}: {error}") from error
            if game is None:
                return
            yield game

    def _next(self) -> str | None:
        """The next line without its end, or None after the last."""
        for number, line in self._lines:
            self._read = self._line = number
            try:
                text = line.decode().removesuffix("\n").removesuffix("\r")
            except UnicodeDecodeError as error:
                raise GameFileError(f"{line[:80]!r} is not UTF-8: {error.reason}") from None
            return text.removeprefix("\ufeff") if number == 1 else text
        self._line = self._read
        return None

    def _next_filled(self) -> str | None:
        while (line := self._next()) is not None and not line.strip(" "):
            pass
        return line

    def _game(self, first: str) -> GameRecord:
        header = self._header(first)
        rules = self._rules(header)
        start = self._start(header, rules)
        state = game_of(rules).initial_state() if start is None else start
        line, result = self._line_of(game_of(rules), state, 0)
        about = {key.replace("-", "_"): header[key].value
                 for key in ("seed", "date", "comment", "opening-plies") if key in header}
        game = record_game(rules, line.actions, start, notes=tuple(line.notes),
                           variations=tuple(line.variations),
                           players=tuple(header["players"].value), **about)
        true = _claims(game)
        for key in ("result", "victory-points", "plies"):
            self._compare(header, key, true[key], "the moves lead to")
        self._compare_variations(header, true["variation-plies"])
        if result != true["result"]:
            raise GameFileError(f"result {result!r}; the moves lead to {true['result']!r}")
        return game

    def _header(self, first: str) -> _Header:
        """The lines up to the first blank one; every key that must be there is."""
        key, value = _header_line(first)
        if key != _FORMAT or value not in (_PLAIN, _BRANCHED):
            raise GameFileError(f"{quoted(first)} begins no game; allowed: "
                                f"'{_FORMAT}: {_PLAIN}', or '{_FORMAT}: {_BRANCHED}' where there "
                                "are variations")
        header: _Header = {_FORMAT: _Entry(value, self._line)}
        while (line := self._next()) is not None and line.strip(" "):
            key, value = _header_line(line)
            if key in header:
                raise GameFileError(f"key {key!r} for the second time; first in line "
                                    f"{header[key].line}")
            header[key] = _Entry(value, self._line)
        missing = [key for key in _REQUIRED if key not in header]
        if line is None or missing:
            raise GameFileError("the header ends too soon; missing: "
                                f"{', '.join(missing) or 'a blank line and the result'}")
        return header

    def _rules(self, header: _Header) -> Ruleset:
        given = self._at(header, "ruleset")
        if isinstance(given, str):
            # A file may name presets, not other files.
            if given not in _presets():
                raise GameFileError(f"ruleset {given!r}; allowed: one of "
                                    f"{', '.join(_presets())}, or an object of all keys")
            rules = _presets()[given]
        else:
            rules = Ruleset.from_dict(given)
        self._compare(header, "digest", _digest(rules), f"ruleset {rules.name!r} has")
        self._compare(header, "mode", rules.mode, f"ruleset {rules.name!r} has")
        return rules

    def _start(self, header: _Header, rules: Ruleset) -> Position | None:
        if "start" not in header:
            return None
        return game_of(rules).parse_position(self._at(header, "start"))

    def _line_of(self, game: Game, state: Position, depth: int) -> tuple["_Line", str]:
        """The moves from a position on, each of them legal, and the line that ends them: a result,
        or what closes a variation.
        """
        line, before = _Line([], [], []), state
        ends = [CLOSES] if depth else RESULTS
        while True:
            self._ply = state.ply + 1
            text = self._next_filled()
            if text is None:
                raise GameFileError("the text ends within a game; allowed: moves, then one of "
                                    f"{choices(ends)}")
            word = text.strip(" ")
            if word in ends:
                self._ply = None if depth == 0 else self._ply
                return line, word
            if word == OPENS and line.actions and depth < MAX_NESTED:
                inner, _ = self._line_of(game, before, depth + 1)
                line.variations.append(inner.as_variation(len(line.actions) - 1))
                continue
            action, note = parse_move(game, text, self._ply)
            before, state = state, game.apply(state, action)
            line.actions.append(action)
            line.notes.append(note)

    def _compare_variations(self, header: _Header, true: int | None) -> None:
        """Raise `GameFileError` unless the header tells of the variations that there are."""
        if (true is not None) != (header[_FORMAT].value == _BRANCHED):
            self._compare(header, _FORMAT, _PLAIN if true is None else _BRANCHED,
                          "what it holds is of version")
        if true is not None or "variation-plies" in header:
            self._compare(header, "variation-plies", true or 0, "the variations have")

    def _at(self, header: _Header, key: str) -> Any:
        """A header's value; errors that come next name its line."""
        self._line = header[key].line
        return header[key].value

    def _compare(self, header: _Header, key: str, true: Any, source: str) -> None:
        """Raise `GameFileError` unless the header's value is the true one, which `source` gives."""
        if key not in header:
            raise GameFileError(f"the header tells no {key}, but {source} {true!r}")
        if header[key].value != true:
            raise GameFileError(f"{key} is {self._at(header, key)!r}, but {source} {true!r}")


def _header_line(line: str) -> tuple[str, Any]:
    match = _HEADER.fullmatch(line)
    if match is None:
        raise GameFileError(f"{quoted(line)} is no header line; allowed: a key, ': ' and a JSON "
                            "value, and a blank line before the moves")
    key, value = match[1], from_json(match[2])
    if key not in _KEYS:
        raise GameFileError(f"key {key!r}; allowed: {', '.join(_KEYS)}")
    allowed, is_right = _KEYS[key]
    if not is_right(value):
        raise GameFileError(f"{key} is {value!r}; allowed: {allowed}")
    return key, value
