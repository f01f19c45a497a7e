"""Pictures of what agents played under the rulesets of a study; see `experiments.report.plots`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from agents.solve.exact_values import LAST_PLIES
from castle_env.ruleset import SUDDEN_DEATH
from experiments.report import figures, plots
from experiments.report.tables import SEAT_NAMES
from experiments.studies.played.cells import EXACT_GAMES
from experiments.studies.played.findings import RACES, STALLS, Match, PlayedFindings
from experiments.studies.restrictions import draw_costs
from experiments.studies.rulesets.study import RulesetStudy

_PANELS_PER_ROW: Final = 3
EXACT_READING: Final = f"""\
The lead is the first player's exact margin under best play by both from there on, in up to
{EXACT_GAMES} games of each match, from {LAST_PLIES} plies before the end; at the last ply it is the
result.
"""
LEADS_READING: Final = """\
The lead is the first player's margin after two or three more plies of best play, as far as these do
not end the game. Who makes the last of them has just gained by it: hence a curve for each.
"""
# Of each curve in cells its colour, line and name.
_CURVES: Final = {
    "exact": (figures.BLUE, "-", "mean of the exact margins"),
    "first": (figures.BLUE, "-", "last of them by the first player"),
    "second": (figures.RED, "--", "last of them by the second player")}
# Matches whose leads are drawn.
LEADS: Final = 12
# Of each character its colour, its marker and what makes it.
_CHARACTERS: Final = {
    "race": (figures.BLUE, "o", f"factions enter in at least {RACES:.0%} of plies"),
    "siege": (figures.GREEN, "s", "in fewer"),
    "stall": (figures.RED, "^", f"at least {STALLS:.0%} of games reach the turn limit")}


def draw(folder: Path, study: RulesetStudy, found: PlayedFindings) -> list[str]:
    """Draw what there is to draw; Markdown that shows it."""
    alone, shown = found.alone, []
    if alone:
        margins_by_ruleset(alone, folder / "margins.png", study.name)
        shown.append("## Who wins when equals play, and by how much?\n\n"
                     "![Margins of the first player](margins.png)\n")
        leads_over_time(alone, folder / "leads.png", study.name)
        left_out = (f"{LEADS} of {len(alone)} matches are drawn, the first ones; the tables have "
                    "all of them.\n\n" if len(alone) > LEADS else "")
        shown.append(f"## When is a game decided?\n\n![Lead over time](leads.png)\n\n{left_out}"
                     f"{EXACT_READING if 'exact' in alone[0].result['leads'] else LEADS_READING}")
    if study.mode == SUDDEN_DEATH and len(alone) > 1:
        races_and_sieges(alone, folder / "readings.png", study.name)
        shown.append("## Race, siege or stall?\n\n![Length and entries](readings.png)\n")
    if found.ladders:
        plots.win_rates({f"{match.name} {more} against {less}".strip(): {
            SEAT_NAMES[seat]: match.points(seat) for seat in (0, 1)}
            for ladder in found.ladders.values() for match in ladder
            for more, less in [match.agents]}, folder / "skill.png",
            f"Each search against the next smaller budget, {study.name}", "searches")
        shown.append("## Does skill pay?\n\n![Deeper against shallower search](skill.png)\n")
    if found.costs:
        draw_costs(found.costs, folder / "played-restrictions.png", study.name,
                   "the unrestricted search")
        shown.append("## What are the parts of the game worth, as played?\n\n"
                     "![Cost of restricted play](played-restrictions.png)\n")
    return shown


def _title(match: Match) -> str:
    return f"{match.name}  {match.agents[0]}".strip()


def margins_by_ruleset(matches: Sequence[Match], path: Path, subject: str) -> None:
    """By how much the first player wins or loses against its like: a line for each match.

    Raises `RunError` where the file cannot be written.
    """
    figure, axes = figures.new_figure(
        f"First player's margin when agents play themselves, {subject}",
        "thin: 5% to 95% of games, thick: the middle half, ◆ mean; right of 0 the first player won",
        7.5, 1.8 + 0.26 * len(matches))
    for row, match in enumerate(matches):
        counts = match.result["margins"]["0"]
        margins = np.repeat([int(margin) for margin in counts], list(counts.values()))
        low, first, third, high = np.quantile(margins, [0.05, 0.25, 0.75, 0.95])
        axes.plot([low, high], [row, row], color=figures.BLUE, linewidth=1)
        axes.plot([first, third], [row, row], color=figures.BLUE, linewidth=5, alpha=0.5,
                  solid_capstyle="butt")
        axes.plot([margins.mean()], [row], marker="D", color=figures.BLUE, markersize=5,
                  markeredgecolor=figures.BLACK)
    axes.axvline(0, color=figures.GREY, linewidth=1, zorder=0.9)
    _name_matches(axes, matches)
    figures.only_grid(axes, "x")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("first player's Victory Points minus the second's")
    figures.save(figure, path)


def _name_matches(axes: Axes, matches: Sequence[Match]) -> None:
    """A row for each match; the ruleset is named where there are several."""
    figures.name_rows(axes, [figures.shown(_title(match), 50) for match in matches],
                      "ruleset and agent" if any(match.name for match in matches) else "agent")
    axes.tick_params(axis="y", labelsize=8)


def leads_over_time(matches: Sequence[Match], path: Path, subject: str) -> None:
    """Who leads during games of equals: a panel for each match, all on the same scales.

    Of many matches the first ones. Raises `RunError` where the file cannot be written.
    """
    drawn = matches[:LEADS]
    columns = min(_PANELS_PER_ROW, len(drawn))
    rows = -(-len(drawn) // columns)
    figure = figures.bare_figure(max(6.0, 3.1 * columns), 1.7 + 1.9 * rows)
    panels: list[Axes] = list(figure.subplots(rows, columns, sharey=True, squeeze=False).flat)
    for axes, match in zip(panels, drawn, strict=False):
        figures.style(axes)
        for name, curve in match.result["leads"].items():
            _lead(axes, name, curve)
        axes.axhline(0, color=figures.GREY, linewidth=1, zorder=0.9)
        axes.set_title(figures.shown(_title(match), 40), loc="left", fontsize=9,
                       color=figures.BLACK)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.set_xlabel("ply")
    for axes in panels[len(drawn):]:
        axes.set_visible(False)
    for axes in panels[::columns]:
        axes.set_ylabel("lead in VP")
    exact = "exact" in drawn[0].result["leads"]
    said = ("exact margin under best play by both from there on" if exact else
            "margin after two or three more plies of best play")
    figures.legend(figure, panels[0], f"{said}; line: mean; band: 10% to 90% of games")
    some = f" (the first {LEADS} of {len(matches)} matches)" if len(drawn) < len(matches) else ""
    figures.headline(figure, f"First player's lead over time, {subject}{some}")
    figures.save(figure, path)


def _lead(axes: Axes, name: str, curve: Sequence[Sequence[float]]) -> None:
    """A line for the mean, a band for most games; without what a few long games do alone."""
    plies, _, means, lows, highs = zip(
        *(row for row in curve if row[1] >= curve[0][1] / 4), strict=True)
    colour, line, label = _CURVES[name]
    axes.fill_between(plies, lows, highs, color=colour, alpha=0.15, linewidth=0)
    axes.plot(plies, means, color=colour, linestyle=line, linewidth=2, label=label)


def races_and_sieges(matches: Sequence[Match], path: Path, subject: str) -> None:
    """Which readings make a race, which a siege, which stall: a row for each match.

    Raises `RunError` where the file cannot be written.
    """
    figure = figures.bare_figure(9.0, 2.0 + 0.26 * len(matches))
    panels = figure.subplots(1, 2, sharey=True)
    _name_matches(panels[0], matches)
    for axes, metric in zip(panels, ("entries", "duration"), strict=True):
        figures.style(axes)
        figures.only_grid(axes, "x")
        axes.tick_params(axis="y", labelsize=8, length=0)
        for row, match in enumerate(matches):
            _draw_measure(axes, row, match, metric)
    for name, (colour, marker, _) in _CHARACTERS.items():
        panels[0].plot([], [], linestyle="none", marker=marker, color=colour, label=name,
                       markeredgecolor=figures.BLACK)
    panels[0].axvline(RACES, color=figures.GREY, linewidth=1, zorder=0.9)
    panels[0].set_xlim(0, 1)
    panels[0].xaxis.set_major_formatter(PercentFormatter(1))
    panels[0].set_xlabel("plies in which a faction enters")
    panels[1].set_xlim(left=0)
    panels[1].xaxis.set_major_locator(MaxNLocator(6, integer=True))
    panels[1].set_xlabel("mean length in plies")
    figures.legend(figure, panels[0], "; ".join(
        f"{name}: {meaning}" for name, (_, _, meaning) in _CHARACTERS.items())
        + "; line: 95% bootstrap interval")
    figures.headline(figure, f"Race, siege or stall, {subject}")
    figures.save(figure, path)


def _draw_measure(axes: Axes, row: int, match: Match, metric: str) -> None:
    """A measure of the games of one match, with its interval if there is one."""
    value = match.quality(metric)
    if value is None:
        return
    colour, marker, _ = _CHARACTERS[match.character]
    if value.is_known:
        axes.plot([value.low, value.high], [row, row], color=colour, linewidth=1.8)
    axes.plot([value.estimate], [row], marker=marker, color=colour, markersize=6, clip_on=False,
              linestyle="none", markeredgecolor=figures.BLACK, zorder=3)
