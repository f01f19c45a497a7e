"""What restricted play costs, solved or played: in a sentence and in a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from experiments.report import plots
from experiments.report.tables import SEAT_NAMES


class Cost(Protocol):
    """What a restriction costs the player in a seat under one ruleset, in VP of margin."""

    @property
    def restriction(self) -> str: ...

    @property
    def seat(self) -> int: ...

    @property
    def cost(self) -> float: ...


def costs_sentence(costs: Sequence[Cost]) -> str:
    """The mean cost of each restriction from both seats, the dearest first."""
    names = dict.fromkeys(cost.restriction for cost in costs)
    means = {name: [float(np.mean(costs_from(costs, name, seat))) for seat in (0, 1)]
             for name in names}
    ranked = sorted(means, key=lambda name: -sum(means[name]))
    texts = [f"{name} {means[name][0]:.1f} and {means[name][1]:.1f}" for name in ranked]
    return ("Restricted play costs the first and the second player these VP on average: "
            + ", ".join(texts) + ".")


def costs_from(costs: Sequence[Cost], restriction: str, seat: int) -> list[float]:
    """What one restriction costs in one seat, ruleset by ruleset."""
    return [cost.cost for cost in costs if (cost.restriction, cost.seat) == (restriction, seat)]


def draw_costs(
    costs: Sequence[Cost], path: Path, subject: str, opponent: str = "perfect play"
) -> None:
    """What each restriction costs, from either seat: a point for each ruleset.

    Raises `RunError` where the file cannot be written.
    """
    names = list(dict.fromkeys(cost.restriction for cost in costs))
    figure, axes = plots.new_figure(
        f"What restricted play costs against {opponent}, {subject}",
        "a point: a ruleset; diamond: their mean; VP of margin that the restricted player loses",
        7.5, 2.0 + 0.6 * len(names))
    for seat, colour in ((0, plots.BLUE), (1, plots.RED)):
        for row, name in enumerate(names):
            height = row + 0.16 * (2 * seat - 1)
            lost = costs_from(costs, name, seat)
            axes.plot(lost, [height] * len(lost), marker="o", linestyle="none", color=colour,
                      markersize=6, alpha=0.4, markeredgewidth=0)
            axes.plot([float(np.mean(lost))], [height], marker="D", linestyle="none", markersize=7,
                      color=colour, markeredgecolor=plots.BLACK,
                      label=f"{SEAT_NAMES[seat]} player restricted" if row == 0 else None)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.axvline(0, color=plots.GREY, linewidth=1, zorder=0.9)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x", color="#E4E4E4", linewidth=0.8)
    axes.set_xlabel("VP lost")
    plots.legend(figure, axes)
    plots.save(figure, path)
