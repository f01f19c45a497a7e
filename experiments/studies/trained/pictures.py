"""Learning curves of a study of trainings: over learner steps and over CPU minutes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from experiments.report import figures

# The opponent of the panel that the points are shown against.
OPPONENT: Final = "greedy"
_LABELS: Final[Mapping[str, str]] = {
    "steps": "learner steps (square-root scale)", "cpu_minutes": "CPU minutes of training",
    "points": f"points against {OPPONENT}", "regret": "regret in VP per move"}


@dataclass(frozen=True)
class Point:
    """The same evaluation of several seeds; each field has a value for every seed.

    points: share of the points against `OPPONENT`. regret: in VP per move; empty where there is
    none.
    """

    steps: tuple[float, ...]
    cpu_minutes: tuple[float, ...]
    points: tuple[float, ...]
    regret: tuple[float, ...]


def curve_of(evaluations: Sequence[Sequence[Mapping[str, Any]]]) -> list[Point]:
    """The evaluations of each seed, in the order of steps, put together."""
    return [Point(
        steps=tuple(float(one["steps"]) for one in together),
        cpu_minutes=tuple(float(one["cpu_minutes"]) for one in together),
        points=tuple(next(row["win_rate"] for row in one["rows"] if row["opponent"] == OPPONENT)
                     for one in together),
        regret=tuple(one["regret"]["estimate"] for one in together if one["regret"]),
    ) for together in zip(*evaluations, strict=False)]


def learning_curves(curves: Mapping[str, Sequence[Point]], path: Path, subject: str) -> None:
    """How fast trainings learn: points, and regret in storm, over steps and over CPU minutes.

    curves: by the names of variants. A line is the mean over seeds, a band reaches from the worst
    to the best. Raises `RunError` where the file cannot be written.
    """
    has_regret = any(point.regret for curve in curves.values() for point in curve)
    values = ("points", "regret") if has_regret else ("points",)
    figure = figures.bare_figure(9, 1.5 + 2.4 * len(values))
    panels = figure.subplots(len(values), 2, sharex="col", sharey="row", squeeze=False)
    for row, value in zip(panels, values, strict=True):
        for axes, place in zip(row, ("steps", "cpu_minutes"), strict=True):
            figures.style(axes)
            for number, (name, curve) in enumerate(curves.items()):
                _draw(axes, number, name, curve, place, value)
            axes.set_ylim(bottom=0)
        row[0].set_ylabel(_LABELS[value])
    for axes in panels[0]:
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")
    for axes, place in zip(panels[-1], ("steps", "cpu_minutes"), strict=True):
        axes.set_xlabel(_LABELS[place])
        axes.set_xlim(left=0)
    # A root leaves room for trainings of few steps beside those of many, and has a place for 0.
    panels[-1][0].set_xscale("function", functions=(_root, np.square))
    panels[-1][0].xaxis.set_major_locator(MaxNLocator(4))
    panels[-1][0].xaxis.set_major_formatter(lambda step, _: figures.short_count(step))
    figures.legend(figure, panels[0][0], title="line: mean over seeds; band: worst to best")
    figures.headline(figure, f"Learning curves in {subject}")
    figures.save(figure, path)


def _root(steps: Any) -> Any:
    """Square root, 0 for what an axis asks beyond its end."""
    return np.sqrt(np.maximum(steps, 0))


def _draw(
    axes: Axes, number: int, name: str, curve: Sequence[Point], place: str, value: str
) -> None:
    known = [point for point in curve if getattr(point, value)]
    places = [float(np.mean(getattr(point, place))) for point in known]
    values = [getattr(point, value) for point in known]
    colour = figures.COLOURS[number % len(figures.COLOURS)]
    axes.fill_between(places, [min(seeds) for seeds in values], [max(seeds) for seeds in values],
                      color=colour, alpha=0.18, linewidth=0)
    axes.plot(places, [float(np.mean(seeds)) for seeds in values], color=colour, linewidth=2,
              markersize=4, marker=figures.MARKERS[number % len(figures.MARKERS)],
              linestyle=figures.LINES[number % len(figures.LINES)], label=figures.shown(name))
