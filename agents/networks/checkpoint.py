"""Checkpoints: a file of tensors and plain values, and beside it a card in JSON.

`step-000100000.pt` is read with `torch.load(weights_only=True)`, so that no code can hide in it;
`step-000100000.json` says what it is: encoding, ruleset, config, seed, versions, results and the
SHA-256 of the tensors. The card is written last: a checkpoint exists when its card does.
"""

import hashlib
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from agents.runs import write_with_card_atomic
from castle_env.errors import CastleError
from castle_env.game import Game
from castle_env.observation import PLANES

# Changes whenever weights of an older version would read the observation or the actions wrongly.
ENCODING: Final = f"planes-{PLANES}-v1"

# What every card has, beside its encoding.
CARD_KEYS: Final = {
    "ruleset": dict, "ruleset_digest": str, "sha256": str, "config": dict, "network": dict,
    "reward": str,
}


class CheckpointError(CastleError):
    """A checkpoint is missing, damaged, or made for something else."""


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds.

    path: the file of tensors. tensors: "policy" and, from a training run, all it needs to go on.
    card: the JSON beside it.
    """

    path: Path
    tensors: dict[str, Any]
    card: dict[str, Any]


def save_checkpoint(path: Path, tensors: dict[str, Any], game: Game, card: dict[str, Any]) -> None:
    """Write tensors and card; a reader sees both or, until the card is there, neither.

    An old checkpoint of the same path is replaced. Raises `RunError` where the disk cannot be
    written.
    """
    buffer = io.BytesIO()
    torch.save(tensors, buffer)
    data = buffer.getvalue()
    write_with_card_atomic(path, data, path.with_suffix(".json"), {
        **card,
        "encoding": ENCODING,
        "ruleset": game.rules.to_dict(),
        "ruleset_digest": game.rules.digest,
        "sha256": hashlib.sha256(data).hexdigest(),
    })


def newest_checkpoint(run: Path) -> Path:
    """The newest complete checkpoint of a run's folder; raises `CheckpointError` if none is."""
    complete = [path for path in (run / "checkpoints").glob("step-*.pt")
                if path.with_suffix(".json").is_file()]
    if not complete:
        raise CheckpointError(f"no checkpoint in {str(run)!r}; allowed: the folder of a training "
                              "run that has saved checkpoints/step-N.pt with its card step-N.json")
    return max(complete, key=lambda path: path.name)


def load_checkpoint(
    source: str | Path, game: Game | None = None, device: str | torch.device = "cpu"
) -> Checkpoint:
    """Checkpoint from its file, or the newest one of a run's folder.

    Raises `CheckpointError` when it is missing, damaged, foreign, of another encoding or, if a
    game is given, of another ruleset.
    """
    path = Path(source)
    path = newest_checkpoint(path) if os.path.isdir(path) else path
    card = _read_card(path)
    if card.get("encoding") != ENCODING:
        raise CheckpointError(f"checkpoint {str(path)!r} has encoding {card.get('encoding')!r}; "
                              f"allowed: {ENCODING!r}")
    if game is not None and card["ruleset_digest"] != game.rules.digest:
        raise CheckpointError(
            f"checkpoint {str(path)!r} was trained on ruleset {card['ruleset'].get('name')!r} "
            f"({card['ruleset_digest']}); allowed here: {game.rules.name!r} ({game.rules.digest})")
    return Checkpoint(path, _read_tensors(path, card["sha256"], device), card)


def _read_card(path: Path) -> dict[str, Any]:
    file = path.with_suffix(".json")
    try:
        card = json.loads(file.read_text(encoding="utf-8"))
        wrong = [key for key, kind in CARD_KEYS.items() if not isinstance(card.get(key), kind)]
    except OSError as error:
        raise CheckpointError(f"no checkpoint {str(path)!r}: its card {str(file)!r} cannot be "
                              f"read: {error.strerror or error}") from error
    except (ValueError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"card {str(file)!r} is damaged or no card: {error}") from error
    if wrong:
        raise CheckpointError(f"card {str(file)!r} is no card of a checkpoint; it lacks "
                              f"{', '.join(wrong)}")
    return dict(card)


def _read_tensors(path: Path, sha256: str, device: str | torch.device) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"checkpoint {str(path)!r} cannot be read: "
                              f"{error.strerror or error}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise CheckpointError(f"checkpoint {str(path)!r} is damaged: its SHA-256 is not the one "
                              "that its card gives")
    try:
        tensors = torch.load(io.BytesIO(data), map_location=device, weights_only=True)
    except Exception as error:  # bytes that it did not write can make `torch.load` raise anything
        raise CheckpointError(f"checkpoint {str(path)!r} is no file of tensors and plain "
                              "values") from error
    if not isinstance(tensors, dict):
        raise CheckpointError(f"checkpoint {str(path)!r} holds a {type(tensors).__name__}; "
                              "allowed: a dict of tensors and plain values")
    return tensors
