"""`castle balance`: how fair rulesets are, exactly, and what parts of a game are worth."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tyro

from agents.runs import write_text_atomic
from castle_env import OptionError
from experiments.options import BackendOptions, RunOptions, command_line
from experiments.progress import progress_bar
from experiments.studies import balance_report
from experiments.studies.cells import Row, run_cells
from experiments.studies.study import Study, StudyError, load_study

CELLS: Final = "cells.jsonl"
STUDY: Final = "study.toml"


@dataclass(frozen=True, kw_only=True)
class Balance(RunOptions, BackendOptions):
    """Solve or play every ruleset of a study and report how balanced they are.

    Ctrl-C loses no cell that was finished; --resume goes on.
    """

    study: tyro.conf.Positional[str | None] = None
    """Name of a study that comes with the package (storm-small, storm-full, storm-restricted,
    storm-restricted-full, played-storm, played-storm-exact, played-sudden-death,
    sudden-death-readings), or a TOML file; with --resume, that of the folder when left out."""
    resume: Path | None = None
    """Folder of a study to go on with; its finished cells are not computed again."""


def run(options: Balance) -> None:
    """Compute all cells that are missing and write the report.

    Raises `StudyError`, after the report is written, if some of them failed.
    """
    if options.resume is None:
        if options.study is None:
            raise OptionError("no study is given; allowed: a study's name, a TOML file, or "
                              "--resume FOLDER")
        study = load_study(options.study)
        options.start()
        with options.new_folder("balance") as folder:
            _work(options, study, folder)
        return
    if options.name is not None:
        raise OptionError(f"name is {options.name!r} with --resume {str(options.resume)!r}; "
                          "allowed: one of them")
    study = load_study(options.study or options.resume / STUDY)
    _work(options, study, options.resume)


def _work(options: Balance, study: Study, folder: Path) -> None:
    write_text_atomic(folder / STUDY, study.text)
    cells = study.cells()
    with progress_bar(study.description, len(cells)) as advance:
        rows = run_cells(cells, folder / CELLS, options.start(), command_line(), advance)
    path = balance_report.write(folder, study, rows, command_line())
    print(balance_report.answer(study, rows))
    print(f"report: {path}")
    _tell_failures(rows, path)


def _tell_failures(rows: dict[str, Row], path: Path) -> None:
    failed = [row for row in rows.values() if "error" in row]
    if failed:
        first = failed[0]
        raise StudyError(f"{len(failed)} of {len(rows)} cells failed, all of them told in "
                         f"{str(path)!r}; castle balance --resume {path.parent} tries them again; "
                         f"the first: {first['ruleset']} ({first['kind']}): {first['error']}")
