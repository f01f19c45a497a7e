"""`castle export`: a trained agent as two small files that can be shipped, or as ONNX."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agents.networks.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from agents.networks.policy import checkpoint_path, policy_of
from agents.runs import RunError, check_writable
from castle_env import Game, OptionError, Ruleset
from experiments.options import RESULTS, AgentArgument, OptionalFile, OutputOptions
from experiments.output import tell

# What the card of a run's checkpoint and that of an exported network have in common.
KEPT: Final = ("algorithm", "network", "weights", "reward", "steps", "hours", "cpu_minutes",
               "device", "config", "seed", "environment", "init_from")


@dataclass(frozen=True)
class Export(OutputOptions):
    """Write a trained network to a file, with its card beside it, or as ONNX."""

    agent: AgentArgument
    """Folder of a training run; for ONNX also a checkpoint or a shipped agent's name."""
    out: OptionalFile = None
    """File of the weights of a finished run, NAME.pt; the card is NAME.json."""
    onnx: OptionalFile = None
    """File of the network for other programs, NAME.onnx."""


def run(options: Export) -> None:
    """Write the files and say how large they are."""
    if options.out is None and options.onnx is None:
        raise OptionError("neither --out nor --onnx is given; allowed: one of them or both")
    for name, path, suffix in (("out", options.out, ".pt"), ("onnx", options.onnx, ".onnx")):
        if path is not None and path.suffix != suffix:
            raise OptionError(f"{name} is {str(path)!r}; allowed: a name that ends in {suffix}")
    checkpoint = load_checkpoint(checkpoint_path(options.agent))
    written = []
    if options.out is not None:
        _write_weights(checkpoint, Path(options.agent), options.out)
        written += [options.out, options.out.with_suffix(".json")]
    if options.onnx is not None:
        from agents.networks.onnx_file import write_onnx

        check_writable(options.onnx)
        write_onnx(policy_of(checkpoint), options.onnx)
        written.append(options.onnx)
    for path in written:
        tell(f"{path}: {path.stat().st_size:,} bytes")
    options.write_json({"files": [{"path": path, "bytes": path.stat().st_size}
                                  for path in written]})


def _write_weights(checkpoint: Checkpoint, folder: Path, out: Path) -> None:
    """Write the network and its card.

    The card has the command that began the run, without the options that say where it was written,
    and the evaluations of the run, of which the first is from before training. If the run began
    with the weights of another, that one's are under "init_from".
    """
    results = _results(folder, out.stem)
    check_writable(out)
    card = checkpoint.card
    _check_replaced(out, card["ruleset_digest"])
    save_checkpoint(
        out, {"policy": checkpoint.tensors["policy"]}, Game(Ruleset.from_dict(card["ruleset"])),
        {key: card[key] for key in KEPT if key in card}
        | {"command": re.sub(r" --(name|runs)[ =]\S+", "", card["command"]), "results": results,
           "evaluations": card["results"]["evaluations"]})


def _check_replaced(out: Path, digest: str) -> None:
    """Raise `RunError` for a file that holds anything but a network of that ruleset."""
    if out.exists():
        try:
            held = load_checkpoint(out).card["ruleset_digest"]
        except CheckpointError:
            held = None
        if held != digest:
            raise RunError(f"{str(out)!r} exists already and is left as it is; allowed: another "
                           "file, or a network of the same ruleset, which is replaced")


def _results(folder: Path, name: str) -> list[dict[str, Any]]:
    """The final results of a run, with the agent called `name`; raises `RunError`."""
    path = folder / RESULTS
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return [row | {"agent": name} for summary in found["results"]["final"]
                for row in summary["rows"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"cannot read {str(path)!r}: {error!r}; allowed: the folder of a training "
                       "run that has come to its end") from error
