"""The lines of a game's text: moves with what is said of them, variations, and JSON values."""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

from castle_env.errors import CastleError
from castle_env.game import Game
from castle_env.game_record import NO_NOTE, GameRecord, Note, Variation
from castle_env.position import Position

UNFINISHED: Final = "*"
RESULTS: Final = ("player 0 wins", "player 1 wins", "draw", UNFINISHED)
OPENS: Final = "("
CLOSES: Final = ")"
MAX_NESTED: Final = 200
_MOVE: Final = re.compile(
    r" *(?P<number>[1-9][0-9]{0,5})\. +(?P<action>\w+)"
    r"(?: +(?P<value>[+-][0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?))?"
    r"(?: +(?P<comment>\".*\"))? *", re.DOTALL | re.ASCII)
# Characters that some programs take for the end of a line, or that do not show.
_ESCAPES: Final = {code: f"\\u{code:04x}" for code in (*range(0x7f, 0xa0), 0x2028, 0x2029, 0xfeff)}


class GameFileError(CastleError):
    """A game's text is not whole, contradicts itself or the rules, or cannot be written."""


# Writing


def format_line(
    game: Game, start: Position, line: GameRecord | Variation, width: int, indent: str = ""
) -> Iterator[str]:
    """A line for each move, numbers `width` wide; after a move the variations that stand for it."""
    state, waiting = start, deque(line.variations)
    for index, action in enumerate(line.actions):
        note = line.notes[index] if line.notes else NO_NOTE
        yield f"{indent}{state.ply + 1:>{width}}. {_move_text(game, action, note)}"
        while waiting and waiting[0].at == index:
            yield indent + OPENS
            yield from format_line(game, state, waiting.popleft(), width, f"{indent}  ")
            yield indent + CLOSES
        state = game.apply(state, action)


def count_moves(variations: Iterable[Variation]) -> int:
    """Number of moves in all of them, those of their own variations included."""
    return sum(len(one.actions) + count_moves(one.variations) for one in variations)


def _move_text(game: Game, action: int, note: Note) -> str:
    parts = [game.format_action(action)]
    if note.value is not None:
        # Adding 0 turns -0.0, which no reader would expect, into 0.0.
        parts.append(f"{float(note.value) + 0:+}".removesuffix(".0"))
    if note.comment:
        parts.append(to_json(note.comment))
    return "  ".join(parts)


def to_json(value: object) -> str:
    """JSON on one line; raises `GameFileError` for text with half a surrogate pair."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GameFileError(f"{value!r} has no UTF-8 form; allowed: any text without lone "
                            "surrogates") from None
    return text.translate(_ESCAPES)


# Reading


def parse_move(game: Game, line: str, ply: int) -> tuple[int, Note]:
    """The action of a move's line and what is said of it; raises `GameFileError`."""
    match = _MOVE.fullmatch(line)
    if match is None:
        raise GameFileError(f"{quoted(line)} is no move; allowed: its number, the action, perhaps "
                            "a value such as +2 and a comment in double quotes, or at the end "
                            f"{choices((*RESULTS, OPENS, CLOSES))}")
    number, action, value, comment = match.groups()
    if int(number) != ply:
        raise GameFileError(f"move {action!r} has number {number}; expected {ply}")
    text = "" if comment is None else from_json(comment)
    if not isinstance(text, str):
        raise GameFileError(f"comment {quoted(comment)}; allowed: one JSON text")
    return game.parse_action(action), Note(None if value is None else float(value), text)


def from_json(text: str) -> Any:
    """A JSON value that can be written again as UTF-8; raises `GameFileError`."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise GameFileError(f"{quoted(text)} is not valid JSON: {error}") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no number")


def quoted(text: str) -> str:
    """Text for a message, not too long."""
    return repr(text if len(text) <= 80 else text[:77] + "...")


def choices(texts: Iterable[str]) -> str:
    """Texts for a message."""
    return ", ".join(map(repr, texts))
