"""`castle bench`: how fast things are on this machine, and beside other libraries."""

import statistics
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import rich
import tyro
from rich.console import Console
from rich.progress import Progress

from agents.runs import environment_info
from castle_env.errors import OptionError
from experiments.bench.measurements import MEASUREMENTS, Measurement, usable_threads
from experiments.bench.peers import COMPARISONS, PEERS, PeerMissingError, one_core, peer_versions
from experiments.options import OutputOptions
from experiments.report.tables import Table, to_rich


@dataclass(frozen=True)
class Bench(OutputOptions):
    """Measure speed: medians of several runs after a warm-up that is not counted."""

    peers: bool = False
    """Measure Pgx and OpenSpiel too, where installed, and print ratios; all on one core."""
    only: Annotated[tuple[str, ...], tyro.conf.arg(
        metavar="ROW...", help_behavior_hint="")] = ()
    """Names of the rows to measure, or what they begin with up to a dot; all when none is given."""
    runs: int = 5
    """Runs of each row."""
    seconds: float = 0.5
    """Least duration of a run, where the amount of work is free."""


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


def run(options: Bench) -> None:
    """Measure, print the tables and write the JSON file, if one is asked for.

    The file holds {"rows": [{"name", "unit", "median", "runs", "threads"}], "environment"} and,
    with `peers` or where both rows of a comparison were measured, "ratios": [{"ours", "theirs",
    "ratio"}]. Raises `OptionError` for values that are not allowed before anything is measured.
    """
    _check(options)
    chosen = choose(options.only)
    environment = environment_info()
    peers: dict[str, Measurement] = {}
    with ExitStack() as stack:
        if options.peers:
            peers = {theirs: PEERS[theirs] for ours, others in COMPARISONS.items()
                     if ours in chosen for theirs in others if theirs in PEERS}
            environment["packages"] |= peer_versions()
            environment["machine"]["pinned_to_core"] = stack.enter_context(one_core())
        rows, missing = measure_all(chosen | peers, options.runs, options.seconds)
    result: dict[str, Any] = {"rows": [asdict(row) for row in rows], "environment": environment}
    ratios = compare(rows)
    if options.peers or ratios:
        result["ratios"] = [asdict(ratio) for ratio in ratios]
        _show_ratios(ratios, missing, environment["machine"].get("pinned_to_core"))
    options.write_json(result)


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
    measurements: Mapping[str, Measurement], runs: int, seconds: float
) -> tuple[list[Row], list[str]]:
    """Measure one row after another; also a line for each library that is missing.

    Prints the rows when they are done, those so far when it is interrupted.
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
            _show_rows(rows)
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


def _check(options: Bench) -> None:
    if options.runs < 1:
        raise OptionError(f"runs is {options.runs}; allowed: an integer from 1 on")
    if not 0 <= options.seconds < float("inf"):
        raise OptionError(f"seconds is {options.seconds}; allowed: a number from 0 on")


def _show_rows(rows: Iterable[Row]) -> None:
    rich.print(to_rich(Table(
        "Speed, on one thread unless said", ("row", "median", "lowest", "highest", "unit"),
        tuple((row.name, _number(row.median), _number(min(row.runs)), _number(max(row.runs)),
               row.unit if row.threads == 1 else f"{row.unit}, {row.threads} threads")
              for row in rows),
        frozenset({1, 2, 3}))))


def _show_ratios(ratios: Iterable[Ratio], missing: Iterable[str], core: int | None) -> None:
    table = Table("Beside other libraries", ("ours", "theirs", "ours / theirs"),
                  tuple((ratio.ours, ratio.theirs, f"{ratio.ratio:.2f}") for ratio in ratios),
                  frozenset({2}))
    if table.rows:
        rich.print(to_rich(table))
    if any(ratio.theirs in PEERS for ratio in ratios):
        print("Other games, the same kind of play. A learner step of gym.storm is two plies.")
    if core is not None:
        print(f"All rows were measured on core {core} alone.")
    for line in missing:
        print(line)


def _number(value: float) -> str:
    """The value to three digits: 28.6 M, 612 k, 0.512."""
    rounded = float(f"{value:.3g}")
    for factor, sign in ((1e6, " M"), (1e3, " k")):
        if rounded >= factor:
            return f"{rounded / factor:g}{sign}"
    return f"{rounded:g}"
