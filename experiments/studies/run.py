"""The one runner of studies: what is missing is computed, then everything is told."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from agents.locks import locked
from agents.runs import RunError, write_text_atomic
from castle_env import OptionError
from experiments.backend import Backend
from experiments.options import RESULTS, StudyOptions, command_line
from experiments.output import results_before_output, tell
from experiments.progress import progress_bar
from experiments.studies import report
from experiments.studies.cells import Row, failed_rows, missing, run_cells
from experiments.studies.keys import StudyError
from experiments.studies.load import Study, load_study
from experiments.studies.rulesets.findings import find_rulesets
from experiments.studies.trained.findings import find_trainings
from experiments.studies.trained.study import TrainingStudy

CELLS: Final = "cells.jsonl"
STUDY: Final = "study.toml"


def run_options(options: StudyOptions, command: str, prefix: str) -> None:
    """Run the study that is asked for, in a new folder called `prefix` or in that to go on with.

    Raises `OptionError`, and `StudyError`, also where another command runs this study.
    """
    if options.resume is None:
        if options.study is None:
            raise OptionError("no study is given; allowed: a study's name, a TOML file, or "
                              "--resume FOLDER")
        study = load_study(options.study, command)
        options.start()
        with options.new_folder(prefix) as folder:
            run_study(study, folder, options.start())
        options.write_results_of(folder)
        return
    if options.name is not None:
        raise OptionError(f"name is {options.name!r} with --resume {str(options.resume)!r}; "
                          "allowed: one of them")
    study = (_kept_study(options.resume, command) if options.study is None
             else load_study(options.study, command))
    if not options.resume.is_dir():
        raise RunError(f"no folder {str(options.resume)!r}; allowed: that of a study to go on with")
    with locked(options.resume), results_before_output(options.resume):
        run_study(study, options.resume, options.start())
    options.write_results_of(options.resume)


def _kept_study(folder: Path, command: str) -> Study:
    """The study of a folder, called as its results say, or else as the folder."""
    study = load_study(folder / STUDY, command, f"--resume {folder}")
    try:
        name = json.loads((folder / RESULTS).read_text(encoding="utf-8"))["study"]
    except (OSError, ValueError, KeyError, TypeError):
        name = folder.resolve().name
    return replace(study, name=str(name))


def run_study(study: Study, folder: Path, backend: Backend) -> None:
    """Compute the cells that `folder` lacks, print what was found, and write the report.

    Raises `CastleError` for cells that cannot be computed, before anything is, and `StudyError`,
    after the report is written, if some cells failed.
    """
    cells = study.cells()
    study.check(missing(cells, folder / CELLS))
    write_text_atomic(folder / STUDY, study.text)
    with progress_bar(study.description, len(cells)) as advance:
        rows = run_cells(cells, folder / CELLS, backend, command_line(), advance)
    findings = findings_of(study, rows)
    path = report.write(folder, study, rows, findings, command_line())
    findings.show()
    tell(f"report: {path}")
    _tell_failures(study, rows, path)


def findings_of(study: Study, rows: Mapping[str, Row]) -> report.Findings:
    """What the rows of a study say, whatever its kind."""
    if isinstance(study, TrainingStudy):
        return find_trainings(study, rows)
    return find_rulesets(study, rows)


def _tell_failures(study: Study, rows: Mapping[str, Row], path: Path) -> None:
    failed = failed_rows(rows)
    if failed:
        first = failed[0]
        raise StudyError(f"{len(failed)} of {len(rows)} cells failed, all of them told in "
                         f"{str(path)!r}; castle {study.command} --resume {path.parent} tries them "
                         f"again; the first: {first['ruleset']} ({first['kind']}): "
                         f"{first['error']}")
