"""Rows of a benchmark: measured one after another, and compared."""

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.progress import Progress

from castle_env.errors import OptionError
from experiments.bench.measurements import MEASUREMENTS
from experiments.bench.peers import COMPARISONS, PeerMissingError
from experiments.bench.runs import Measurement, usable_threads


@dataclass(frozen=True)
class Row:
    """One measured row; `median` and `runs` (the value of each run) in `unit`."""

    name: str
    unit: str
    median: float
    runs: tuple[float, ...]
    threads: int


@dataclass(frozen=True)
class Ratio:
    """How many times as fast as another library's row one of ours is."""

    ours: str
    theirs: str
    ratio: float


def choose(only: Iterable[str]) -> dict[str, Measurement]:
    """Our measurements with these names, or whose names begin so up to a dot; all without any.

    Raises `OptionError` for a name that none has.
    """
    wanted = tuple(only) or tuple(MEASUREMENTS)
    for name in wanted:
        if not any(_matches(row, name) for row in MEASUREMENTS):
            raise OptionError(f"no row {name!r}; allowed: {', '.join(MEASUREMENTS)}, or what "
                              "they begin with up to a dot")
    return {row: measurement for row, measurement in MEASUREMENTS.items()
            if any(_matches(row, name) for name in wanted)}


def _matches(row: str, name: str) -> bool:
    return f"{row}.".startswith(f"{name}.")


def measure_all(
    measurements: Mapping[str, Measurement], runs: int, seconds: float,
    show: Callable[[list[Row]], None],
) -> tuple[list[Row], list[str]]:
    """Measure one row after another; also a line for each library that is missing.

    `show` gets the rows when they are done, those so far when it is interrupted.
    """
    rows: list[Row] = []
    missing: list[str] = []
    try:
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("", total=len(measurements) * runs)
            for number, (name, measurement) in enumerate(measurements.items()):
                progress.update(task, description=name, completed=number * runs)
                try:
                    rows.append(measure(name, measurement, runs, seconds,
                                        lambda: progress.advance(task)))
                except PeerMissingError as error:
                    missing.append(str(error))
    finally:
        if rows:
            show(rows)
    return rows, list(dict.fromkeys(missing))


def measure(
    name: str, measurement: Measurement, runs: int, seconds: float,
    advance: Callable[[], None] = lambda: None,
) -> Row:
    """One row; `advance` is called after each run."""
    values = []
    with measurement.prepare() as take:
        for _ in range(runs):
            values.append(take(seconds))
            advance()
    return Row(name, measurement.unit, statistics.median(values), tuple(values),
               usable_threads(measurement.threads))


def compare(rows: Iterable[Row]) -> list[Ratio]:
    """Ratios of medians, for all comparisons of which both rows were measured."""
    medians = {row.name: row.median for row in rows}
    return [Ratio(ours, theirs, medians[ours] / medians[theirs])
            for ours, others in COMPARISONS.items() for theirs in others
            if ours in medians and theirs in medians]
