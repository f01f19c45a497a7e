"""`castle export`: a trained agent as two small files that can be shipped."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tyro

from agents.networks.checkpoint import load_checkpoint, save_checkpoint
from agents.runs import RunError, check_writable
from castle_env import Game, OptionError, Ruleset

# What the card of a run's checkpoint and that of an exported network have in common.
KEPT: Final = ("algorithm", "network", "weights", "reward", "steps", "hours", "cpu_minutes",
               "device", "config", "seed", "environment")


@dataclass(frozen=True)
class Export:
    """Write the network of a finished training run, and its card, to a file and one beside it."""

    run: tyro.conf.Positional[Path]
    """Folder of the training run."""
    out: Path
    """File of the weights, NAME.pt; the card is NAME.json."""


def run(options: Export) -> None:
    """Write both files and say how large they are.

    The card has the command that began the run, without the options that say where it was written.
    """
    if options.out.suffix != ".pt":
        raise OptionError(f"out is {str(options.out)!r}; allowed: a name that ends in .pt")
    checkpoint = load_checkpoint(options.run)
    results = _results(options.run, options.out.stem)
    check_writable(options.out)
    card = checkpoint.card
    save_checkpoint(
        options.out, {"policy": checkpoint.tensors["policy"]},
        Game(Ruleset.from_dict(card["ruleset"])),
        {key: card[key] for key in KEPT}
        | {"command": re.sub(r" --(name|runs)[ =]\S+", "", card["command"]), "results": results,
           "untrained": card["results"]["evaluations"][0]})
    for path in (options.out, options.out.with_suffix(".json")):
        print(f"{path}: {path.stat().st_size:,} bytes")


def _results(folder: Path, name: str) -> list[dict[str, Any]]:
    """The final results of a run, with the agent called `name`; raises `RunError`."""
    path = folder / "results.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return [row | {"agent": name} for summary in found["results"]["final"]
                for row in summary["rows"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"cannot read {str(path)!r}: {error!r}; allowed: the folder of a training "
                       "run that has come to its end") from error
