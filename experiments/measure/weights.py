"""Which weights the agents of a result played by: names alone do not tell."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import agents

_WAYS_TO_PLAY: Final = re.compile(r"(\+search:[^:]*|:sample)$")


def weights_of(names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the weights of each agent that plays by a network, by its name.

    Raises `CheckpointError` for a network that is not there.
    """
    found = {name: _digest(name) for name in names}
    return {name: digest for name, digest in found.items() if digest is not None}


def _digest(name: str) -> str | None:
    kind, _, path = _WAYS_TO_PLAY.sub("", name).partition(":")
    if path:
        return _of_file(path) if kind == "ppo" else None
    card = Path(agents.__file__).parent / "data" / f"{kind}.json"
    if not card.with_suffix(".pt").is_file():
        return None
    digest: str = json.loads(card.read_text(encoding="utf-8"))["sha256"]
    return digest


def _of_file(path: str) -> str:
    # PyTorch comes with it.
    from agents.networks.checkpoint import load_checkpoint

    digest: str = load_checkpoint(path).card["sha256"]
    return digest
