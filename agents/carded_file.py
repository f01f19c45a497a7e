"""Files of data with a JSON card beside them, which has their checksum."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from castle_env.errors import CastleError

# What every card has besides its own keys.
_KEYS: Final[Mapping[str, type]] = {"format": int, "sha256": str}


def read_with_card(
    path: Path, kind: str, keys: Mapping[str, type], form: int, error: type[CastleError]
) -> tuple[dict[str, Any], bytes]:
    """The card (NAME.json) and the bytes of a file; `error` where they are not right.

    kind: what the file is called in messages. keys: what the card has to have, and of which type.
    form: the number under "format".
    """
    card = read_card(path, kind, keys, form, error)
    data = _read(path, kind, error)
    if hashlib.sha256(data).hexdigest() != card["sha256"]:
        raise error(f"{kind} {str(path)!r} is damaged: its SHA-256 is not that of its card")
    return card, data


def _read(path: Path, kind: str, error: type[CastleError]) -> bytes:
    try:
        return path.read_bytes()
    except OSError as reason:
        raise error(f"cannot read {kind} {str(path)!r}: {reason.strerror or reason}") from reason


def read_card(
    path: Path, kind: str, keys: Mapping[str, type], form: int, error: type[CastleError]
) -> dict[str, Any]:
    """The card of a file alone; arguments and errors as in `read_with_card`."""
    needed = {**_KEYS, **keys}
    path = path.with_suffix(".json")
    data = _read(path, kind, error)
    try:
        card = json.loads(data)
    except (ValueError, RecursionError) as reason:
        raise error(f"card {str(path)!r} is no JSON: {reason}") from None
    if not isinstance(card, dict) or not all(type(card.get(name)) is expected
                                             for name, expected in needed.items()):
        raise error(f"card {str(path)!r}; allowed: a JSON object with {', '.join(needed)}")
    if card["format"] != form:
        raise error(f"card {str(path)!r} has format {card['format']}; allowed: {form}")
    return card
