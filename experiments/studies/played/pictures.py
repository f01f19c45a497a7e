"""Pictures of what agents played under the rulesets of a study; see `experiments.report.plots`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from agents.solve.exact_values import LAST_PLIES
from castle_env.ruleset import SUDDEN_DEATH
from experiments.report import plots
from experiments.report.tables import SEAT_NAMES
from experiments.studies.played.cells import EXACT_GAMES
from experiments.studies.played.findings import RACES, Match, PlayedFindings
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
# Colours of curves by their names in cells.
_CURVES: Final = {"exact": plots.BLUE, "first": plots.BLUE, "second": plots.RED}
# Matches whose leads are drawn.
_LEADS: Final = 12
_MARKERS: Final = ("o", "s", "^", "D", "v", "P")
_CHARACTERS: Final = {"race": plots.BLUE, "siege": plots.GREEN, "stall": plots.RED}


def draw(folder: Path, study: RulesetStudy, found: PlayedFindings) -> list[str]:
    """Draw what there is to draw; Markdown that shows it."""
    alone, shown = found.alone, []
    if alone:
        margins_by_ruleset(alone, folder / "margins.png", study.name)
        shown.append("## Who wins when equals play, and by how much?\n\n"
                     "![Margins of the first player](margins.png)\n")
        leads_over_time(alone[:_LEADS], folder / "leads.png", study.name)
        left_out = (f"{_LEADS} of {len(alone)} matches are drawn, the first ones; the tables have "
                    "all of them.\n\n" if len(alone) > _LEADS else "")
        shown.append(f"## When is a game decided?\n\n![Lead over time](leads.png)\n\n{left_out}"
                     f"{EXACT_READING if 'exact' in alone[0].result['leads'] else LEADS_READING}")
    if study.mode == SUDDEN_DEATH and len(alone) > 1:
        races_and_sieges(alone, folder / "readings.png", study.name)
        shown.append("## Race, siege or stall?\n\n![Length and entries](readings.png)\n")
    if found.ladders:
        plots.win_rates({f"{match.agents[1]} {match.name}".strip(): {
            SEAT_NAMES[seat]: match.points(seat) for seat in (0, 1)}
            for ladder in found.ladders.values() for match in ladder},
            folder / "skill.png", "the search with the next larger budget")
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
    figure, axes = plots.new_figure(
        f"First player's margin when agents play themselves, {subject}",
        "thin: 5% to 95% of games, thick: the middle half, ◆ mean; right of 0 the first player won",
        7.5, 1.8 + 0.26 * len(matches))
    for row, match in enumerate(matches):
        counts = match.result["margins"]["0"]
        margins = np.repeat([int(margin) for margin in counts], list(counts.values()))
        low, first, third, high = np.quantile(margins, [0.05, 0.25, 0.75, 0.95])
        axes.plot([low, high], [row, row], color=plots.BLUE, linewidth=1)
        axes.plot([first, third], [row, row], color=plots.BLUE, linewidth=5, alpha=0.5,
                  solid_capstyle="butt")
        axes.plot([margins.mean()], [row], marker="D", color=plots.BLUE, markersize=5,
                  markeredgecolor=plots.BLACK)
    axes.axvline(0, color=plots.GREY, linewidth=1, zorder=0.9)
    axes.set_yticks(range(len(matches)), [_title(match) for match in matches], fontsize=8)
    axes.set_ylim(len(matches) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x", color="#E4E4E4", linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("first player's Victory Points minus the second's")
    plots.save(figure, path)


def leads_over_time(matches: Sequence[Match], path: Path, subject: str) -> None:
    """Who leads during games of equals: a panel for each match, all on the same scales.

    Raises `RunError` where the file cannot be written.
    """
    columns = min(_PANELS_PER_ROW, len(matches))
    rows = -(-len(matches) // columns)
    figure = plots.bare_figure(max(6.0, 3.1 * columns), 1.2 + 1.9 * rows)
    panels: list[Axes] = list(figure.subplots(rows, columns, sharey=True, squeeze=False).flat)
    for axes, match in zip(panels, matches, strict=False):
        for name, curve in match.result["leads"].items():
            # What a few long games do alone says little of the others.
            plies, _, means, lows, highs = zip(
                *(row for row in curve if row[1] >= curve[0][1] / 4), strict=True)
            colour = _CURVES[name]
            axes.fill_between(plies, lows, highs, color=colour, alpha=0.15, linewidth=0)
            axes.plot(plies, means, color=colour, linewidth=2)
        axes.axhline(0, color=plots.GREY, linewidth=1, zorder=0.9)
        axes.set_title(_title(match), loc="left", fontsize=8, color=plots.BLACK)
        axes.tick_params(labelsize=8)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.set_xlabel("ply", fontsize=8)
    for axes in panels[len(matches):]:
        axes.set_visible(False)
    for axes in panels[::columns]:
        axes.set_ylabel("lead in VP", fontsize=8)
    exact = "exact" in matches[0].result["leads"]
    said = ("exact margin under best play from there on" if exact else
            "its margin after two or three plies of best play, the last of them its own (blue) or "
            "the second's (orange)")
    plots.headline(figure, f"First player's lead over time, {subject}: {said} (mean; band: 10% to "
                           "90% of games)")
    plots.save(figure, path)


def races_and_sieges(matches: Sequence[Match], path: Path, subject: str) -> None:
    """Which readings make a race, which a siege, which stall: a numbered point for each match.

    Raises `RunError` where the file cannot be written.
    """
    figure, axes = plots.new_figure(
        f"Race, siege or stall, {subject}",
        f"blue: race (factions enter in {RACES:.0%} of plies), green: siege, orange: stall; "
        "marker: agent; number: ruleset", 8.5, 4.8)
    agents = list(dict.fromkeys(match.agents[0] for match in matches))
    names = list(dict.fromkeys(match.name for match in matches))
    longest = max(match.result["quality"]["duration"]["estimate"] for match in matches)
    labels: list[tuple[tuple[float, float], set[int]]] = []
    for match in matches:
        point = match.result["quality"]["entries"]["estimate"], \
            match.result["quality"]["duration"]["estimate"]
        _label(labels, point, names.index(match.name) + 1, longest)
        axes.plot(*point, marker=_MARKERS[agents.index(match.agents[0]) % len(_MARKERS)],
                  color=_CHARACTERS[match.character], markersize=7, linestyle="none",
                  markeredgecolor=plots.BLACK, clip_on=False)
    for point, numbers in labels:
        axes.annotate(",".join(map(str, sorted(numbers))), point, xytext=(5, 4), fontsize=7,
                      textcoords="offset points")
    for agent, marker in zip(agents, _MARKERS, strict=False):
        axes.plot([], [], marker=marker, color="white", markeredgecolor=plots.BLACK,
                  linestyle="none", label=agent)
    axes.text(1.02, 1, "\n".join(f"{number}: {name}" for number, name in enumerate(names, 1)),
              transform=axes.transAxes, va="top", fontsize=7, color=plots.BLACK)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.1 * longest)
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("plies in which a faction enters")
    axes.set_ylabel("mean length in plies")
    plots.legend(figure, axes)
    plots.save(figure, path)


def _label(
    out_labels: list[tuple[tuple[float, float], set[int]]], point: tuple[float, float],
    number: int, longest: float,
) -> None:
    """Number a point; those so close that their numbers would overlap share one label."""
    for (entries, plies), numbers in out_labels:
        if abs(entries - point[0]) < 0.04 and abs(plies - point[1]) < 0.045 * longest:
            numbers.add(number)
            return
    out_labels.append((point, {number}))
