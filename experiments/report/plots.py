"""Pictures of results, one per question, written as PNG files whole or not at all."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from experiments.measure.intervals import Interval
from experiments.report.figures import (
    BLACK,
    BLUE,
    COLOURS,
    GREY,
    LINES,
    MARKERS,
    RED,
    bare_figure,
    headline,
    legend,
    name_rows,
    new_figure,
    only_grid,
    save,
    share_axis,
    short_count,
    shown,
    style,
)
from experiments.report.tables import percent

_HATCHES: Final = ("", "///", "...")

# From losing to winning, through white at an even share.
_SHARES: Final = LinearSegmentedColormap.from_list("shares", [RED, "#FFFFFF", BLUE])

# For each agent and each source of positions: (ply, value) in the order of plies.
PlyCurves: TypeAlias = dict[str, dict[str, list[tuple[int, Interval]]]]

_MAX_BINS: Final = 49


def learning_curve(
    curves: Mapping[str, Sequence[tuple[int, Interval]]], path: Path, subject: str
) -> None:
    """How an agent's win rate against each opponent grew while it learned.

    curves: for each opponent (training steps, win rate) in the order of steps. subject: the agent
    and the mode, for the title. Raises `RunError` where the file cannot be written.
    """
    figure, axes = new_figure(f"Win rate of {subject} while it learns",
                              "band: 95% Wilson interval; a draw counts as half a win", 7.5, 4.2)
    for number, (opponent, curve) in enumerate(curves.items()):
        _curve(axes, number, curve, f"against {shown(opponent)}")
    axes.axhline(0.5, color=GREY, linewidth=1, zorder=0.9)
    axes.set_ylim(0, 1)
    share_axis(axes, "y", "win rate")
    axes.set_xlabel("training steps")
    axes.xaxis.set_major_formatter(lambda step, _: short_count(step))
    legend(figure, axes)
    save(figure, path)


def regret_curve(curve: Sequence[tuple[int, Interval]], path: Path, subject: str) -> None:
    """How much less an agent throws away while it learns: regret in VP per move over steps.

    curve: (training steps, mean regret). Raises `RunError` where the file cannot be written.
    """
    figure, axes = new_figure(f"Regret of {subject} while it learns",
                              "VP thrown away per move, by exact values; band: 95% interval",
                              7.5, 3.6)
    _curve(axes, 0, curve, "regret")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("VP per move")
    axes.set_xlabel("training steps")
    axes.xaxis.set_major_formatter(lambda step, _: short_count(step))
    save(figure, path)


def _curve(
    axes: Axes, number: int, curve: Sequence[tuple[int, Interval]], label: str
) -> None:
    """A line with the band of its intervals; `number` tells it from the others of the picture."""
    places = [place for place, _ in curve]
    values = [value for _, value in curve]
    colour = COLOURS[number % len(COLOURS)]
    axes.fill_between(places, [value.low for value in values], [value.high for value in values],
                      color=colour, alpha=0.15, linewidth=0)
    axes.plot(places, [value.estimate for value in values], color=colour, linewidth=2,
              markersize=5, linestyle=LINES[number % len(LINES)],
              marker=MARKERS[number % len(MARKERS)], label=label, clip_on=False, zorder=3)


def regret_by_ply(curves: PlyCurves, path: Path, subject: str) -> None:
    """How much agents throw away at each ply: mean regret in Victory Points per move.

    Raises `RunError` where the file cannot be written.
    """
    figure, panels = _ply_panels(curves, f"Regret by ply in {subject}", "VP thrown away per move")
    panels[0].set_ylim(bottom=0)
    save(figure, path)


def optimal_by_ply(curves: PlyCurves, path: Path, subject: str) -> None:
    """How often agents choose an optimal move at each ply.

    Raises `RunError` where the file cannot be written.
    """
    figure, panels = _ply_panels(curves, f"Share of optimal moves by ply in {subject}",
                                 "optimal moves")
    panels[0].set_ylim(0, 1)
    for axes in panels:
        share_axis(axes, "y", axes.get_ylabel())
    save(figure, path)


def _ply_panels(curves: PlyCurves, title: str, label: str) -> tuple[Figure, Sequence[Axes]]:
    """A panel for each agent, with a curve for each source of positions; all on the same scales."""
    columns = min(3, len(curves))
    rows = -(-len(curves) // columns)
    figure = bare_figure(max(6.5, 3.3 * columns), 1.5 + 2.2 * rows)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels: list[Axes] = list(grid.flat)
    for axes, (agent, by_source) in zip(panels, curves.items(), strict=False):
        style(axes)
        for number, (source, curve) in enumerate(by_source.items()):
            _curve(axes, number, curve, source)
        axes.set_title(shown(agent), loc="left", fontsize=9.5, color=BLACK)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in panels[len(curves):]:
        axes.set_visible(False)
    for axes in panels[:len(curves)][-columns:]:
        axes.set_xlabel("ply (even: first player)")
        axes.tick_params(labelbottom=True)
    for axes in panels[::columns]:
        axes.set_ylabel(label)
    legend(figure, panels[0], title="positions from (band: 95% bootstrap interval):")
    headline(figure, title)
    return figure, panels[:len(curves)]


def win_rates(
    rates: Mapping[str, Mapping[str, Interval]], path: Path, title: str, rows: str = "opponent"
) -> None:
    """How often agents win, by row and seat.

    rates: for each row, from top to bottom, the win rate by the seat of the agent ("first",
    "second", "both"). rows: what the names of the rows are. Raises `RunError` where the file cannot
    be written.
    """
    seats = list(dict.fromkeys(seat for by_seat in rates.values() for seat in by_seat))
    figure, axes = new_figure(title, "line: 95% Wilson interval; a draw counts as half a win",
                              7.5, 1.7 + 0.34 * len(rates) * (len(seats) + 0.5))
    height = 0.8 / len(seats)
    for number, seat in enumerate(seats):
        found = [(row, by_seat[seat]) for row, by_seat in enumerate(rates.values())
                 if seat in by_seat]
        places = [row - 0.4 + height * (number + 0.5) for row, _ in found]
        _rate_bars(axes, places, [rate for _, rate in found], 0.88 * height, number, seat)
    axes.axvline(0.5, color=GREY, linewidth=1, zorder=0.9)
    name_rows(axes, [shown(name) for name in rates], rows)
    axes.set_xlim(0, 1)
    share_axis(axes, "x", "win rate")
    legend(figure, axes, title="seat of the agent:")
    save(figure, path)


def _rate_bars(
    axes: Axes, places: Sequence[float], rates: Sequence[Interval], height: float, number: int,
    seat: str,
) -> BarContainer:
    """Horizontal bars of one seat, with intervals and, right of the axis, numbers."""
    colour = COLOURS[number % len(COLOURS)]
    for place, rate in zip(places, rates, strict=True):
        axes.plot([rate.low, rate.high], [place, place], color=BLACK, linewidth=1.4, marker="|",
                  markersize=5, clip_on=False, zorder=3)
        axes.text(1.03, place, percent(rate), va="center", fontsize=8, color=BLACK)
    return axes.barh(places, [rate.estimate for rate in rates], height=height, color=colour,
                     alpha=0.85, edgecolor="white", hatch=_HATCHES[number % len(_HATCHES)],
                     label=seat)


def margin_distribution(
    margins: Mapping[str, Mapping[str, Sequence[int]]], path: Path, subject: str
) -> None:
    """By how many Victory Points an agent wins and loses, a panel per opponent.

    margins: for each opponent the final margins from the agent's view, by the seat of the agent.
    Raises `RunError` where the file cannot be written.
    """
    everything = [margin for by_seat in margins.values() for values in by_seat.values()
                  for margin in values]
    edges = _bin_edges(min(everything, default=0), max(everything, default=0))
    figure = bare_figure(7.5, 1.6 + 1.6 * len(margins))
    panels = figure.subplots(len(margins), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, (opponent, by_seat) in zip(panels, margins.items(), strict=True):
        style(axes)
        _margin_panel(axes, by_seat, edges)
        axes.set_title(f"against {shown(opponent)}", loc="left", fontsize=9, color=BLACK)
    panels[-1].set_xlabel("own Victory Points minus the opponent's "
                          "(line: draw; ◆ mean)")
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[-1].yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    legend(figure, panels[0], title="seat of the agent:")
    headline(figure, f"Final margin of {subject} by opponent and seat")
    save(figure, path)


def _margin_panel(
    axes: Axes, by_seat: Mapping[str, Sequence[int]], edges: npt.NDArray[np.float64]
) -> None:
    """Outlines of the seats over each other; heights are shares of the seat's games."""
    for number, (seat, values) in enumerate(by_seat.items()):
        shares = np.histogram(values, edges)[0] / max(1, len(values))
        colour = COLOURS[number % len(COLOURS)]
        axes.stairs(shares, edges, fill=True, color=colour, alpha=0.25)
        axes.stairs(shares, edges, color=colour, linewidth=1.8, label=seat,
                    linestyle=LINES[number % len(LINES)])
        if values:
            axes.plot([np.mean(values)], [1], marker="D", markersize=6, color=colour,
                      markeredgecolor=BLACK, clip_on=False, zorder=3,
                      transform=axes.get_xaxis_transform())
    axes.axvline(0, color=GREY, linewidth=1, zorder=0.9)
    share_axis(axes, "y", "games")


def _bin_edges(lowest: int, highest: int) -> npt.NDArray[np.float64]:
    """Edges of equal bins around whole margins, with 0 (a draw) in the middle of one."""
    width = 1
    while (highest - lowest) / width >= _MAX_BINS:
        width += 2
    first, last = (int(np.floor(end / width + 0.5)) for end in (lowest, highest))
    return np.arange(first - 0.5, last + 1, dtype=np.float64) * width


def cross_table(
    players: Sequence[str], shares: npt.NDArray[np.float64], games: npt.NDArray[np.int64],
    path: Path, subject: str,
) -> None:
    """Who beats whom in a tournament.

    players: n names, from top to bottom. shares: (n, n) points of row against column as a share of
    `games` (n, n), the distinct games of the pair; cells without games stay empty. Raises
    `RunError` where the file cannot be written.
    """
    count = len(players)
    figure, axes = new_figure(f"Tournament, {subject}: share of the points of row against column",
                              "below each share: distinct games, both seats together",
                              max(7.5, 2.8 + 0.95 * count), 2.2 + 0.7 * count)
    image = axes.imshow(np.ma.masked_invalid(shares), cmap=_SHARES, vmin=0, vmax=1, aspect="auto")
    for row, column in np.argwhere(games > 0):
        share = shares[row, column]
        axes.text(column, row - 0.12, f"{share:.0%}", ha="center", va="center", fontsize=11,
                  weight="bold", color=_ink(share))
        axes.text(column, row + 0.22, f"{games[row, column]}", ha="center", va="center",
                  fontsize=8, color=_ink(share))
    names = [shown(player) for player in players]
    axes.set_xticks(range(count), names, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(count), names)
    axes.set_xlabel("opponent")
    axes.set_ylabel("player")
    axes.set_xticks(np.arange(count - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(count - 1) + 0.5, minor=True)
    axes.set_facecolor("#E4E4E4")
    axes.grid(visible=False)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, format=PercentFormatter(1), fraction=0.05,
                          label="share of the player's points")
    bar.outline.set_visible(False)
    save(figure, path)


def _ink(share: float) -> str:
    """Colour of writing that is read well on the colour of a share, by its luminance (WCAG 2)."""
    red, green, blue, _ = (channel ** 2.2 for channel in _SHARES(share))
    return "white" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.2 else BLACK


def ratings_plot(ratings: Mapping[str, Interval], path: Path, subject: str) -> None:
    """How strong the players of a tournament are, with what is uncertain about it.

    ratings: Elo scale with mean 0, from top to bottom. Raises `RunError` where the file cannot be
    written.
    """
    figure, axes = new_figure(f"Bradley–Terry ratings, {subject}",
                              "Elo scale, on average 0; line: 95% interval; arrow: no limit there",
                              7.5, 1.7 + 0.42 * len(ratings))
    known = [end for rating in ratings.values()
             for end in (rating.estimate, rating.low, rating.high) if math.isfinite(end)]
    for row, rating in enumerate(ratings.values()):
        low, high = (min(max(end, min(known) - 100), max(known) + 100)
                     for end in (rating.low, rating.high))
        axes.plot([low, high], [row, row], color=BLUE, linewidth=2.2)
        for end, place, arrow in ((rating.low, low, "<"), (rating.high, high, ">")):
            axes.plot([place], [row], color=BLUE, marker="|" if math.isfinite(end) else arrow,
                      markersize=8)
        axes.plot([rating.estimate], [row], marker="o", markersize=8, color=BLUE,
                  markeredgecolor="white")
        axes.annotate(f"{rating.estimate:+.0f}".replace("-", "−"), (rating.estimate, row),
                      xytext=(0, 7), textcoords="offset points", ha="center", fontsize=8,
                      color=BLACK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    axes.axvline(0, color=GREY, linewidth=1, zorder=0.9)
    name_rows(axes, [shown(player) for player in ratings], "player")
    axes.set_ylim(len(ratings) - 0.4, -0.7)
    only_grid(axes, "x")
    axes.set_xlabel("rating (400 points: odds of 10 to 1)")
    save(figure, path)
