"""What training gained: the network before and after it, in a sentence and a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.measure.intervals import Interval
from experiments.report.tables import Table, percent, plain, to_markdown


def gain_sentence(evaluations: Sequence[Mapping[str, Any]]) -> str:
    """The first and the last evaluation of a run in one sentence, in the words of its panel."""
    first, last = evaluations[0], evaluations[-1]
    gains = [f"from {old['win_rate']:.0%} to {new['win_rate']:.0%} of the points against "
              f"{new['opponent']}" for old, new in zip(first["rows"], last["rows"], strict=True)]
    regret = ""
    if first["regret"] and last["regret"]:
        regret = (f", and its regret from {first['regret']['estimate']:.2f} to "
                  f"{last['regret']['estimate']:.2f} VP per move")
    return (f"{last['steps'] - first['steps']:,} steps of training brought the network "
            f"{', '.join(gains)}{regret}.")


def gain_markdown(evaluations: Sequence[Mapping[str, Any]]) -> str:
    """The sentence, and a table with both evaluations and their intervals."""
    first, last = evaluations[0], evaluations[-1]
    opponents = tuple(row["opponent"] for row in first["rows"])
    regret = ("regret",) if first["regret"] else ()
    cells = tuple(_line(evaluation) for evaluation in (first, last))
    columns = ("network", *opponents, *regret)
    table = Table("", columns, cells, frozenset(range(1, len(columns))))
    return f"{gain_sentence(evaluations)}\n\n{to_markdown(table)}"


def _line(evaluation: Mapping[str, Any]) -> tuple[str, ...]:
    steps = evaluation["steps"]
    name = f"after {steps:,} steps" if steps else "before training"
    points = (percent(Interval(*row["win_rate_interval"])) for row in evaluation["rows"])
    regret = (plain(Interval.from_dict(evaluation["regret"])),) if evaluation["regret"] else ()
    return (name, *points, *regret)
