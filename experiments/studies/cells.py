"""Cells of a study: computed on a backend, kept in a file of JSON lines, never computed twice.

A cell is one thing to compute for one ruleset. Its key is made of the ruleset's digest and of all
that is computed, the weights of agents among it, so that a cell is the same in every study that
asks for it. Its row has `key`, `kind`, `ruleset` (its name in the study), `digest`, `params`,
`seed`, `weights` (SHA-256 by agent), `command`, `made_by` (versions, machine and git commit),
`cpu_seconds` and either `result` or `error`.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from time import process_time
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from agents.runs import RunError, environment_info
from castle_env import Game, Ruleset
from experiments.backend import Backend
from experiments.measure.weights import weights_of

Row: TypeAlias = dict[str, Any]
Compute: TypeAlias = Callable[[Game, Mapping[str, Any], int | None], dict[str, Any]]

# What computes each kind of cell, as module and function, imported when it is needed.
KINDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({
    "value": ("experiments.studies.solved.cells", "value_cell"),
    "restricted": ("experiments.studies.solved.cells", "restricted_cell"),
    "proof": ("experiments.studies.solved.proofs", "proof_cell"),
    "match": ("experiments.studies.played.cells", "match_cell"),
    "restricted-match": ("experiments.studies.played.cells", "restricted_match_cell"),
    "training": ("experiments.studies.trained.cells", "training_cell"),
})

# Kinds of cells whose results have changed, or depend on weights, with the number of their form.
FORMATS: Final[Mapping[str, int]] = MappingProxyType({"match": 2, "restricted-match": 2})


@dataclass(frozen=True)
class Cell:
    """One thing to compute for one ruleset.

    kind: which function of `KINDS` computes it. params: its arguments, as plain values. seed: of
    its random streams; None where nothing is random.
    """

    kind: str
    rules: Ruleset
    params: Mapping[str, Any]
    seed: int | None = None

    @cached_property
    def key(self) -> str:
        """Sixteen hex digits, the same for all cells that compute the same (SHA-256)."""
        parts = [self.kind, self.rules.digest, dict(self.params), self.seed]
        if self.kind in FORMATS:
            parts += [FORMATS[self.kind], self.weights]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def weights(self) -> dict[str, str]:
        """SHA-256 of the weights of its agents that are networks, by name."""
        config = self.params.get("config", {})
        names = [*self.params.get("agents", ()), *config.get("baselines", ()),
                 config.get("opponent", "")]
        return weights_of(names)


def compute(cell: Cell) -> Row:
    """A cell's row without its command; what goes wrong is in it as `error`."""
    started = process_time()
    row: Row = {"key": cell.key, "kind": cell.kind, "ruleset": cell.rules.name,
                "digest": cell.rules.digest, "params": dict(cell.params), "seed": cell.seed,
                "weights": cell.weights}
    try:
        module, function = KINDS[cell.kind]
        compute_kind: Compute = getattr(import_module(module), function)
        row["result"] = compute_kind(Game(cell.rules), cell.params, cell.seed)
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"
    return row | {"cpu_seconds": round(process_time() - started, 3)}


def run_cells(
    cells: Sequence[Cell],
    file: Path,
    backend: Backend,
    command: str,
    advance: Callable[[int], None] = lambda done: None,
) -> dict[str, Row]:
    """Rows of all cells by key: those that the file holds, and the others, which are added to it.

    Cells that failed before are computed again. `advance` is told how many more cells are there.
    Raises `RunError` for a file that cannot be read or written, and `BackendError`.
    """
    known, whole = read_cells(file)
    rows = {key: row for key, row in known.items() if "result" in row}
    todo = [cell for cell in cells if cell.key not in rows]
    advance(len(cells) - len(todo))
    try:
        with open(file, "ab") as lines:
            lines.truncate(whole)

            made_by = environment_info()

            def keep(index: int, row: Row) -> None:
                row = row | {"command": command, "made_by": made_by}
                rows[row["key"]] = row
                lines.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                lines.flush()
                advance(1)

            backend.map(compute, todo, keep)
    except OSError as error:
        raise RunError(f"cannot write {str(file)!r}: {error.strerror or error}") from error
    return {cell.key: rows[cell.key] for cell in cells}


def missing(cells: Sequence[Cell], file: Path) -> list[Cell]:
    """The cells of which the file holds no result; raises `RunError`."""
    rows, _ = read_cells(file)
    return [cell for cell in cells if "result" not in rows.get(cell.key, {})]


def failed_rows(rows: Mapping[str, Row]) -> list[Row]:
    """Those that have an error and no result."""
    return [row for row in rows.values() if "error" in row]


def read_cells(file: Path) -> tuple[dict[str, Row], int]:
    """Rows by key, the last of each, and how many bytes are whole lines: a kill may tear one."""
    try:
        data = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise RunError(f"cannot read {str(file)!r}: {error.strerror or error}") from error
    whole = data.rfind(b"\n") + 1
    rows: dict[str, Row] = {}
    for number, line in enumerate(data[:whole].splitlines(), start=1):
        try:
            row = json.loads(line)
            rows[row["key"]] = row
        except (ValueError, TypeError, KeyError):
            raise RunError(f"{str(file)!r}, line {number}: {line[:60]!r} is no cell; allowed: a "
                           "JSON object with a key") from None
    return rows, whole
