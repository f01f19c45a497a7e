"""The keys of a study's file, read strictly."""

from collections.abc import Collection, Mapping
from typing import Any

from castle_env.errors import CastleError


class StudyError(CastleError):
    """A study cannot be read, or some of its cells failed."""


def wrong(name: str, key: str, value: Any, allowed: str) -> StudyError:
    """The error for a key of the study `name`."""
    return StudyError(f"study {name!r}: key '{key}' is {value!r}; allowed: {allowed}")


def checked(value: Any, kind: type, key: str, allowed: str, name: str) -> Any:
    """The value, if it is of a kind; raises `StudyError`. A bool is no int."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise wrong(name, key, value, allowed)
    return value


def check_keys(
    keys: Mapping[str, Any], known: Collection[str], needed: Collection[str], name: str
) -> None:
    """Raise `StudyError` for an unknown key, or one that is missing."""
    for key in keys:
        if key not in known:
            raise StudyError(f"study {name!r} has an unknown key {key!r}; allowed: "
                             f"{', '.join(known)}")
    for key in needed:
        if key not in keys:
            raise StudyError(f"study {name!r}: key {key!r} is missing; needed: "
                             f"{', '.join(needed)}")
