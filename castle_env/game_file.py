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
its sign), and where there is one, a comment as a JSON text. The last line repeats the result:
`player 0 wins`, `player 1 wins`, `draw`, or `*` where the game goes on. A game without this line is
not whole.

Files are UTF-8. Reading skips a byte-order mark at the start and accepts CRLF line ends; neither is
written. A file that contradicts itself or the rules is refused, with the line at fault, and never
repaired.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from os import PathLike
from typing import Any, Final, NamedTuple

from castle_env.errors import CastleError
from castle_env.game import Game, Outcome
from castle_env.game_record import GameRecord, Note, game_of, record_game
from castle_env.position import Position
from castle_env.ruleset import Ruleset, load_ruleset, preset_names

__all__ = ["GameFileError", "GameRecord", "Note", "format_game", "parse_games", "read_games",
           "record_game"]

UNFINISHED: Final = "*"
_FORMAT: Final = ("castle-game", 1)
_REQUIRED: Final = ("mode", "ruleset", "digest", "players", "result", "victory-points", "plies")
_RESULTS: Final = ("player 0 wins", "player 1 wins", "draw", UNFINISHED)
_HEADER: Final = re.compile(r"([a-z-]+): (.*)", re.DOTALL)
_MOVE: Final = re.compile(
    r" *(?P<number>[1-9][0-9]{0,5})\. +(?P<action>\w+)"
    r"(?: +(?P<value>[+-][0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?))?"
    r"(?: +(?P<comment>\".*\"))? *", re.DOTALL | re.ASCII)
# Characters that some programs take for the end of a line, or that do not show.
_ESCAPES: Final = {code: f"\\u{code:04x}" for code in (*range(0x7f, 0xa0), 0x2028, 0x2029, 0xfeff)}


class GameFileError(CastleError):
    """A game's text is not whole, contradicts itself or the rules, or cannot be written."""


# Writing


def format_game(game: GameRecord) -> str:
    """Text of a game, its last line ended; `parse_games` gives the game back.

    Raises `IllegalActionError` for a move that may not be played, `PositionError` for a start that
    is no position of the ruleset and `GameFileError` for texts that have no UTF-8 form.
    """
    states = game.states()
    keys = {_FORMAT[0]: _FORMAT[1], **_claims(game), "ruleset": _ruleset_value(game.rules),
            "players": list(game.players), "seed": game.seed, "date": game.date or None,
            "start": _start_text(game), "comment": game.comment or None,
            "opening-plies": game.opening_plies or None}
    width = len(str(states[-1].ply))
    lines = [
        *(f"{key}: {_to_json(keys[key])}" for key in _KEYS if keys[key] is not None),
        "",
        *(f"{state.ply:>{width}}. {_move_text(game, index)}"
          for index, state in enumerate(states[1:])),
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
    }


def _result(outcome: Outcome | None) -> str:
    if outcome is None:
        return UNFINISHED
    return _RESULTS[2 if outcome.winner is None else outcome.winner]


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


def _move_text(game: GameRecord, index: int) -> str:
    parts, note = [game.game.format_action(game.actions[index])], game.note(index)
    if note.value is not None:
        # Adding 0 turns -0.0, which no reader would expect, into 0.0.
        parts.append(f"{float(note.value) + 0:+}".removesuffix(".0"))
    if note.comment:
        parts.append(_to_json(note.comment))
    return "  ".join(parts)


def _to_json(value: object) -> str:
    """JSON on one line; raises `GameFileError` for text with half a surrogate pair."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GameFileError(f"{value!r} has no UTF-8 form; allowed: any text without lone "
                            "surrogates") from None
    return text.translate(_ESCAPES)


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
    _FORMAT[0]: (str(_FORMAT[1]), _is_integer),
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
}


class _Entry(NamedTuple):
    """The value of a header line, and the number of the line."""

    value: Any
    line: int


_Header = dict[str, _Entry]


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
        actions, notes, result = self._moves(rules, start)
        about = {key.replace("-", "_"): header[key].value
                 for key in ("seed", "date", "comment", "opening-plies") if key in header}
        game = record_game(rules, actions, start, notes=notes,
                           players=tuple(header["players"].value), **about)
        true = _claims(game)
        for key in ("result", "victory-points", "plies"):
            self._compare(header, key, true[key], "the moves lead to")
        if result != true["result"]:
            raise GameFileError(f"result {result!r}; the moves lead to {true['result']!r}")
        return game

    def _header(self, first: str) -> _Header:
        """The lines up to the first blank one; every key that must be there is."""
        key, value = _header_line(first)
        if (key, value) != _FORMAT:
            raise GameFileError(f"{_quoted(first)} begins no game; allowed: "
                                f"'{_FORMAT[0]}: {_FORMAT[1]}'")
        header: _Header = {}
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

    def _moves(
        self, rules: Ruleset, start: Position | None
    ) -> tuple[tuple[int, ...], tuple[Note, ...], str]:
        """The moves, each of them legal, what is said of them, and the line that ends the game."""
        game = game_of(rules)
        state = game.initial_state() if start is None else start
        actions: list[int] = []
        notes: list[Note] = []
        while True:
            self._ply = state.ply + 1
            line = self._next_filled()
            if line is None:
                raise GameFileError("the text ends within a game; allowed: moves, then one of "
                                    f"{_choices(_RESULTS)}")
            if line.rstrip(" ") in _RESULTS:
                self._ply = None
                return tuple(actions), tuple(notes), line.rstrip(" ")
            action, note = _parse_move(game, line, self._ply)
            state = game.apply(state, action)
            actions.append(action)
            notes.append(note)

    def _at(self, header: _Header, key: str) -> Any:
        """A header's value, whose line errors name from now on."""
        self._line = header[key].line
        return header[key].value

    def _compare(self, header: _Header, key: str, true: Any, source: str) -> None:
        """Raise `GameFileError` unless the header's value is the true one, which `source` gives."""
        if header[key].value != true:
            raise GameFileError(f"{key} is {self._at(header, key)!r}, but {source} {true!r}")


def _header_line(line: str) -> tuple[str, Any]:
    match = _HEADER.fullmatch(line)
    if match is None:
        raise GameFileError(f"{_quoted(line)} is no header line; allowed: a key, ': ' and a JSON "
                            "value, and a blank line before the moves")
    key, value = match[1], _from_json(match[2])
    if key not in _KEYS:
        raise GameFileError(f"key {key!r}; allowed: {', '.join(_KEYS)}")
    allowed, is_right = _KEYS[key]
    if not is_right(value):
        raise GameFileError(f"{key} is {value!r}; allowed: {allowed}")
    return key, value


def _parse_move(game: Game, line: str, ply: int) -> tuple[int, Note]:
    match = _MOVE.fullmatch(line)
    if match is None:
        raise GameFileError(f"{_quoted(line)} is no move; allowed: its number, the action, perhaps "
                            "a value such as +2 and a comment in double quotes, or at the end "
                            f"{_choices(_RESULTS)}")
    number, action, value, comment = match.groups()
    if int(number) != ply:
        raise GameFileError(f"move {action!r} has number {number}; expected {ply}")
    text = "" if comment is None else _from_json(comment)
    if not isinstance(text, str):
        raise GameFileError(f"comment {_quoted(comment)}; allowed: one JSON text")
    return game.parse_action(action), Note(None if value is None else float(value), text)


def _from_json(text: str) -> Any:
    """A JSON value that can be written again as UTF-8; raises `GameFileError`."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise GameFileError(f"{_quoted(text)} is not valid JSON: {error}") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def _choices(texts: Iterable[str]) -> str:
    return ", ".join(map(repr, texts))
