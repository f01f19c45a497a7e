"""`castle bench`: how fast things are on this machine, and beside other libraries."""

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import tyro

from agents.runs import environment_info
from castle_env.errors import OptionError
from experiments.bench.peers import COMPARISONS, PEERS, one_core, peer_versions
from experiments.bench.rows import choose, compare, measure_all
from experiments.bench.runs import Measurement
from experiments.options import OutputOptions
from experiments.report.speed_report import show_ratios, show_rows


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
        rows, missing = measure_all(chosen | peers, options.runs, options.seconds, show_rows)
    result: dict[str, Any] = {"rows": [asdict(row) for row in rows], "environment": environment}
    ratios = compare(rows)
    if options.peers or ratios:
        result["ratios"] = [asdict(ratio) for ratio in ratios]
        show_ratios(ratios, missing, environment["machine"].get("pinned_to_core"))
    options.write_json(result)


def _check(options: Bench) -> None:
    if options.runs < 1:
        raise OptionError(f"runs is {options.runs}; allowed: an integer from 1 on")
    if not 0 <= options.seconds < float("inf"):
        raise OptionError(f"seconds is {options.seconds}; allowed: a number from 0 on")
