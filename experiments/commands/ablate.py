"""`castle ablate`: what each part of training is worth, one change at a time, over several seeds.

A study is a TOML file:

    description = "What makes self-play stronger in storm"
    ruleset = "storm"
    seeds = [0, 1, 2]
    games = 600          # against each opponent of the panel
    positions = 8        # of each ply, for the regret in storm
    base = {steps = 300_000}                    # options of training, see `castle train --help`

    [variants]
    "look ahead 1 ply" = {lookahead = 1}        # what each differs in; "base" itself comes first
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
import rich
import tyro
from scipy import stats

from agents.runs import write_text_atomic
from agents.training.config import PPOConfig
from castle_env import OptionError, Ruleset, load_ruleset
from experiments.measure.intervals import CONFIDENCE, Interval
from experiments.options import BackendOptions, RunOptions, command_line
from experiments.progress import progress_bar
from experiments.report import run_report as report
from experiments.report.tables import Table, percent, to_markdown, to_rich
from experiments.studies.cells import Row, run_cells
from experiments.studies.study import Cell, StudyError

CELLS: Final = "cells.jsonl"
STUDY: Final = "study.toml"
BASE: Final = "base"
_KEYS: Final[Mapping[str, type]] = {
    "description": str, "ruleset": str, "seeds": list, "games": int, "positions": int,
    "base": dict, "variants": dict,
}


@dataclass(frozen=True, kw_only=True)
class Ablate(RunOptions, BackendOptions):
    """Train every variant of a study with every seed, and tell what each change is worth.

    Ctrl-C loses no training that was finished; --resume goes on.
    """

    study: tyro.conf.Positional[str | None] = None
    """Name of a study that comes with the package (ablation), or a TOML file; with --resume, that
    of the folder when left out."""
    resume: Path | None = None
    """Folder of a study to go on with; what is finished is not trained again."""


@dataclass(frozen=True)
class Ablation:
    """A study file: cells of every variant by its name, in the order of seeds; `text` as read."""

    description: str
    rules: Ruleset
    cells: Mapping[str, Sequence[Cell]]
    text: str


def run(options: Ablate) -> None:
    """Train what is missing, print the table and write the report; raises `StudyError`."""
    if (options.study is None) == (options.resume is None):
        raise OptionError("study and --resume: give one of them")
    if options.resume is not None:
        _work(options, options.resume, _read(str(options.resume / STUDY)))
        return
    study = _read(str(options.study))
    options.start()
    with options.new_folder("ablation") as folder:
        _work(options, folder, study)


def _read(source: str) -> Ablation:
    file = resources.files("experiments") / "studies" / f"{source}.toml"
    try:
        text = (file if file.is_file() else Path(source)).read_text(encoding="utf-8")
        return parse_ablation(text, source)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StudyError(f"cannot read study {source!r}: {error}") from error


def parse_ablation(text: str, name: str) -> Ablation:
    """The study in a TOML text; raises `StudyError`, `TOMLDecodeError` and `OptionError`."""
    keys = tomllib.loads(text)
    for key in keys.keys() ^ _KEYS.keys():
        raise StudyError(f"study {name!r}: key {key!r} is {'unknown' if key in keys else 'missing'}"
                         f"; allowed and needed: {', '.join(_KEYS)}")
    for key, kind in _KEYS.items():
        if not isinstance(keys[key], kind):
            raise StudyError(f"study {name!r}: {key} is {keys[key]!r}; allowed: a {kind.__name__}")
    rules = load_ruleset(keys["ruleset"])
    cells = {
        variant: [_cell(rules, keys, changes, seed) for seed in keys["seeds"]]
        for variant, changes in {BASE: {}, **keys["variants"]}.items()
    }
    return Ablation(keys["description"], rules, cells, text)


def _cell(
    rules: Ruleset, keys: Mapping[str, Any], changes: Mapping[str, Any], seed: int
) -> Cell:
    config = PPOConfig.from_dict({**keys["base"], **changes, "seed": seed}).to_dict()
    del config["seed"]
    # Nothing but the measurement at the end is wanted.
    config |= {"evaluate_every": config["steps"], "checkpoint_every": config["steps"]}
    params = {"config": config, "games": keys["games"], "positions": keys["positions"]}
    return Cell("training", rules, params, seed)


def _work(options: Ablate, folder: Path, study: Ablation) -> None:
    write_text_atomic(folder / STUDY, study.text)
    cells = [cell for variant in study.cells.values() for cell in variant]
    with progress_bar(study.description, len(cells)) as advance:
        rows = run_cells(cells, folder / CELLS, options.start(), command_line(), advance)
    errors = {row["error"] for row in rows.values() if "error" in row}
    if errors:
        raise StudyError(f"some cells failed; castle ablate --resume {folder} tries them again: "
                         f"{'; '.join(sorted(errors))}")
    table = ablation_table(study, rows)
    rich.print(to_rich(table))
    path = report.write_report(folder, [
        f"# {study.description}\n", f"All numbers come from `{command_line()}` and stand in "
        f"`{CELLS}`.\n\n{report.circumstances()}", EXPLANATION, to_markdown(table)])
    print(f"report: {path}")


EXPLANATION: Final = """\
Each line changes one thing of the base. Share of the points (win 1, draw 1/2) against each opponent
of the panel, both seats, from random openings; regret in VP per move from ply 6 on. Mean over the
seeds, with the 95% interval of Student's t: it says how much another seed may differ.
"""


def ablation_table(study: Ablation, rows: Mapping[str, Row]) -> Table:
    """A line for each variant, means over its seeds."""
    opponents = [row["opponent"] for row in next(iter(rows.values()))["result"]["rows"]]
    lines = []
    for variant, cells in study.cells.items():
        results = [rows[cell.key]["result"] for cell in cells]
        rates = [percent(mean_interval([result["rows"][place]["win_rate"] for result in results]))
                 for place in range(len(opponents))]
        regrets = [result["regret"]["estimate"] for result in results if result["regret"]]
        speed = float(np.median([result["steps_per_second"] for result in results]))
        lines.append((variant, *rates, _regret(regrets), f"{speed:,.0f}"))
    columns = ("variant", *opponents, "regret", "steps/s")
    return Table(study.description, columns, tuple(lines), frozenset(range(1, len(columns))))


def _regret(values: Sequence[float]) -> str:
    if not values:
        return "-"
    mean = mean_interval(values)
    spread = f" [{mean.low:.2f}, {mean.high:.2f}]" if mean.is_known else ""
    return f"{mean.estimate:.2f}{spread}"


def mean_interval(values: Sequence[float]) -> Interval:
    """Mean and its 95% interval by Student's t; unknown ends for a single value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, float("nan"), float("nan"))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * stats.sem(values))
    return Interval(mean, mean - half, mean + half)
