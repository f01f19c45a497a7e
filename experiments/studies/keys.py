"""The keys of a study's file, read strictly."""

from collections.abc import Collection, Mapping
from typing import Any

from castle_env.errors import CastleError, quoted
from experiments.limits import MAX_GAMES


class StudyError(CastleError):
    """A study cannot be read, or some of its cells failed."""


def wrong(name: str, key: str, value: Any, allowed: str) -> StudyError:
    """The error for a key of the study `name`."""
    return StudyError(f"study {name!r}: key '{key}' is {quoted(value)}; allowed: {allowed}")


def checked(value: Any, kind: type, key: str, allowed: str, name: str) -> Any:
    """The value, if it is of a kind; raises `StudyError`. A bool is no int."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise wrong(name, key, value, allowed)
    return value


def checked_integer(value: Any, key: str, name: str, low: int, high: int) -> int:
    """The value, if it is an integer in a range; raises `StudyError`."""
    allowed = f"an integer from {low} to {high:,}"
    number: int = checked(value, int, key, allowed, name)
    if not low <= number <= high:
        raise wrong(name, key, value, allowed)
    return number


def checked_games(value: Any, key: str, name: str) -> int:
    """The value, if so many games can be played, half from each seat; raises `StudyError`."""
    allowed = f"an even number from 2 to {MAX_GAMES:,}"
    games: int = checked(value, int, key, allowed, name)
    if games % 2 or not 2 <= games <= MAX_GAMES:
        raise wrong(name, key, value, allowed)
    return games


def checked_texts(value: Any, key: str, allowed: str, name: str) -> tuple[str, ...]:
    """The value, if it is a list of different texts; raises `StudyError`."""
    texts = checked(value, list, key, allowed, name)
    if not all(isinstance(text, str) for text in texts) or len(set(texts)) < len(texts):
        raise wrong(name, key, value, f"{allowed}, each once")
    return tuple(texts)


def check_keys(
    keys: Mapping[str, Any], known: Collection[str], needed: Collection[str], name: str
) -> None:
    """Raise `StudyError` for an unknown key, or one that is missing."""
    for key in keys:
        if key not in known:
            raise StudyError(f"study {name!r} has an unknown key {quoted(key)}; allowed: "
                             f"{', '.join(known)}")
    for key in needed:
        if key not in keys:
            raise StudyError(f"study {name!r}: key {key!r} is missing; needed: "
                             f"{', '.join(needed)}")
