"""What `castle bench` prints: rows, and ratios to other libraries."""

from collections.abc import Iterable

import rich

from experiments.bench.peers import PEERS
from experiments.bench.rows import Ratio, Row
from experiments.output import tell
from experiments.report.tables import Table, to_rich


def show_rows(rows: Iterable[Row]) -> None:
    """Print the rows as a table."""
    rich.print(to_rich(Table(
        "Speed, on one thread unless said", ("row", "median", "lowest", "highest", "unit"),
        tuple((row.name, _number(row.median), _number(min(row.runs)), _number(max(row.runs)),
               row.unit if row.threads == 1 else f"{row.unit}, {row.threads} threads")
              for row in rows),
        frozenset({1, 2, 3}))))


def show_ratios(ratios: Iterable[Ratio], missing: Iterable[str], core: int | None) -> None:
    """Print the ratios, what is missing, and the core that everything was measured on."""
    table = Table("Beside other libraries", ("ours", "theirs", "ours / theirs"),
                  tuple((ratio.ours, ratio.theirs, f"{ratio.ratio:.2f}") for ratio in ratios),
                  frozenset({2}))
    if table.rows:
        rich.print(to_rich(table))
    if any(ratio.theirs in PEERS for ratio in ratios):
        tell("Other games, the same kind of play. A learner step of gym.storm is two plies.")
    if core is not None:
        tell(f"All rows were measured on core {core} alone.")
    for line in missing:
        tell(line)


def _number(value: float) -> str:
    """The value to three digits: 28.6 M, 612 k, 0.512."""
    rounded = float(f"{value:.3g}")
    for factor, sign in ((1e6, " M"), (1e3, " k")):
        if rounded >= factor:
            return f"{rounded / factor:g}{sign}"
    return f"{rounded:g}"
