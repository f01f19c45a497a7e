"""What restricted play costs, solved or played: in a sentence and in a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes

from experiments.measure.intervals import Interval
from experiments.report import figures
from experiments.report.tables import SEAT_NAMES, plain


class Cost(Protocol):
    """What a restriction costs the player in a seat under one ruleset, in VP of margin.

    interval: None where the cost is exact.
    """

    @property
    def restriction(self) -> str: ...

    @property
    def seat(self) -> int: ...

    @property
    def cost(self) -> float: ...

    @property
    def interval(self) -> Interval | None: ...


def costs_sentence(costs: Sequence[Cost]) -> str:
    """The mean cost of each restriction from both seats, the dearest first.

    Of one ruleset with its intervals; where there are several, the table has them.
    """
    names = dict.fromkeys(cost.restriction for cost in costs)
    found = {name: [costs_from(costs, name, seat) for seat in (0, 1)] for name in names}
    ranked = sorted((name for name in names if all(found[name])),
                    key=lambda name: -sum(map(_mean, found[name])))
    texts = [f"{name} {' and '.join(map(_mean_text, found[name]))}" for name in ranked]
    return ("Restricted play costs the first and the second player these VP on average: "
            + ", ".join(texts) + ".")


def costs_from(costs: Sequence[Cost], restriction: str, seat: int) -> list[Cost]:
    """What one restriction costs in one seat, ruleset by ruleset."""
    return [cost for cost in costs if (cost.restriction, cost.seat) == (restriction, seat)]


def _mean(costs: Sequence[Cost]) -> float:
    return float(np.mean([cost.cost for cost in costs]))


def _mean_text(costs: Sequence[Cost]) -> str:
    interval = costs[0].interval if len(costs) == 1 else None
    return f"{_mean(costs):.1f}" if interval is None else plain(interval, 1)


def draw_costs(
    costs: Sequence[Cost], path: Path, subject: str, opponent: str = "perfect play"
) -> None:
    """What each restriction costs, from either seat: a point for each ruleset.

    Raises `RunError` where the file cannot be written.
    """
    names = list(dict.fromkeys(cost.restriction for cost in costs))
    are_exact = all(cost.interval is None for cost in costs)
    several = any(len(costs_from(costs, name, 0)) > 1 for name in names)
    said = ("exact values" if are_exact else "line: 95% bootstrap interval") + (
        "; a point: a ruleset; with a rim: the mean of all" if several else "")
    figure, axes = figures.new_figure(
        f"What restricted play costs against {opponent}, {subject}", said, 7.5,
        2.0 + 0.6 * max(2, len(names)))
    for seat, (colour, marker) in enumerate(((figures.BLUE, "D"), (figures.RED, "s"))):
        for row, name in enumerate(names):
            _draw_cost(axes, costs_from(costs, name, seat), row + 0.2 * (2 * seat - 1), colour,
                       marker)
        axes.plot([], [], marker=marker, linestyle="none", markersize=7, color=colour,
                  markeredgecolor=figures.BLACK, label=f"{SEAT_NAMES[seat]} player restricted")
    figures.name_rows(axes, names, "restriction")
    axes.axvline(0, color=figures.GREY, linewidth=1, zorder=0.9)
    figures.only_grid(axes, "x")
    axes.set_xlabel("VP of margin that the restricted player loses")
    figures.legend(figure, axes)
    figures.save(figure, path)


def _draw_cost(
    axes: Axes, costs: Sequence[Cost], height: float, colour: str, marker: str
) -> None:
    """The points of one restriction and seat; those with intervals one beneath the other."""
    if not costs:
        return
    lost = [cost.cost for cost in costs]
    known = [cost.interval for cost in costs if cost.interval is not None]
    reach = 0.12 if known and len(costs) > 1 else 0.0
    heights = np.linspace(height - reach, height + reach, len(costs))
    for interval, place in zip(known, heights, strict=False):
        axes.plot([interval.low, interval.high], [place, place], color=colour, linewidth=1.6,
                  alpha=0.7)
    axes.plot(lost, heights, marker="o", linestyle="none", color=colour, markersize=6, alpha=0.4,
              markeredgewidth=0)
    axes.plot([_mean(costs)], [height], marker=marker, linestyle="none", markersize=7,
              color=colour, markeredgecolor=figures.BLACK)
