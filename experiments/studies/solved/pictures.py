"""Pictures of solved rulesets, one per question; see `experiments.report.plots`."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter

from castle_env.board import DIRECTIONS, SIZE
from experiments.report import figures
from experiments.studies.restrictions import draw_costs
from experiments.studies.rulesets.study import Axis, RulesetStudy
from experiments.studies.solved.findings import BEST, Cost, Fairness, most_balanced

_MARGINS: Final = LinearSegmentedColormap.from_list("margins",
                                                    [figures.RED, "#FFFFFF", figures.BLUE])
_MAX_COLUMNS: Final = 16
_BOARDS_PER_ROW: Final = 4
# Rulesets shown with their first moves.
_BOARDS: Final = 8


def draw(
    folder: Path, study: RulesetStudy, rulesets: Sequence[Fairness], costs: Sequence[Cost]
) -> list[str]:
    """Draw what there is to draw; Markdown that shows it."""
    shown = []
    if len(rulesets) > 1:
        values_map(study.axes, rulesets, folder / "values.png", study.name)
        shown.append("## Which rulesets are fair?\n\n![Value of each ruleset](values.png)\n")
        balance_and_decision(rulesets, most_balanced(rulesets)[:BEST],
                             folder / "balance.png", study.name)
        shown.append("## Which are balanced and still decisive?\n\n"
                     "![Balance and decisiveness](balance.png)\n")
    boards = _boards(study, rulesets)
    if boards:
        first_moves_map(boards, folder / "first-moves.png", study.name)
        shown.append("## Where does the first move matter?\n\nOf each layout the ruleset whose "
                     f"first moves differ most{_of_layouts(study, len(boards))}.\n\n"
                     "![First moves on the board](first-moves.png)\n")
    if costs:
        draw_costs(costs, folder / "restrictions.png", study.name)
        shown.append("## What are the parts of the game worth?\n\n"
                     "![Cost of restricted play](restrictions.png)\n")
    return shown


def _of_layouts(study: RulesetStudy, drawn: int) -> str:
    """What is left out, where something is."""
    layouts = len({rules.strongholds for rules in study.rulesets.values()})
    return f"; {drawn} of {layouts} layouts are drawn" if drawn < layouts else ""


def _boards(
    study: RulesetStudy, rulesets: Sequence[Fairness]
) -> dict[str, tuple[Sequence[str], Mapping[str, int]]]:
    """Boards for the picture of first moves: for each layout the ruleset where they differ most."""
    ranked = sorted(rulesets, key=lambda ruleset: min(ruleset.first_moves.values())
                    - max(ruleset.first_moves.values()))
    by_layout: dict[tuple[str, ...], Fairness] = {}
    for ruleset in ranked:
        by_layout.setdefault(study.rulesets[ruleset.labels].strongholds, ruleset)
    return {ruleset.name or study.name: (ranks, ruleset.first_moves)
            for ranks, ruleset in list(by_layout.items())[:_BOARDS]}


def values_map(
    axes: Sequence[Axis], rulesets: Sequence[Fairness], path: Path, subject: str
) -> None:
    """What each ruleset is worth: a field for each, with player 0's margin under best play.

    Raises `RunError` where the file cannot be written.
    """
    across = _axes_across(axes)
    down = [index for index in range(len(axes)) if index not in across]
    columns = sorted({_place(axes, ruleset, across) for ruleset in rulesets})
    rows = sorted({_place(axes, ruleset, down) for ruleset in rulesets})
    values = np.full((len(rows), len(columns)), np.nan)
    for ruleset in rulesets:
        place = (rows.index(_place(axes, ruleset, down)),
                 columns.index(_place(axes, ruleset, across)))
        values[place] = ruleset.value
    figure, picture = figures.new_figure(
        f"Exact value of each ruleset, {subject}",
        "first player's VP margin under best play; blue: wins, orange: loses",
        4 + 0.55 * len(columns), 2.2 + 0.24 * len(rows))
    _field(picture, values)
    picture.set_xticks(range(len(columns)), [figures.shown(_names(axes, across, place), 50)
                                              for place in columns],
                       rotation=30, ha="right", rotation_mode="anchor", fontsize=8)
    picture.set_yticks(range(len(rows)), [figures.shown(_names(axes, down, place), 50)
                                           for place in rows], fontsize=8)
    picture.set_xlabel(_keys(axes, across))
    picture.set_ylabel(_keys(axes, down))
    figures.save(figure, path)


def _keys(axes: Sequence[Axis], which: Sequence[int]) -> str:
    """The keys whose values stand along a side of the picture; where nothing varies, what it is."""
    return ", ".join(axes[index].key for index in which) or "ruleset"


def _axes_across(axes: Sequence[Axis]) -> list[int]:
    """Which axes run from left to right: as many as give no more than so many columns."""
    across: list[int] = []
    for index, axis in enumerate(axes):
        others = prod(len(axes[other].values) for other in across)
        if others * len(axis.values) <= _MAX_COLUMNS and len(across) + 1 < max(len(axes), 2):
            across.append(index)
    return across


def _place(axes: Sequence[Axis], ruleset: Fairness, which: Sequence[int]) -> tuple[int, ...]:
    return tuple(list(axes[index].values).index(ruleset.labels[index]) for index in which)


def _names(axes: Sequence[Axis], which: Sequence[int], place: tuple[int, ...]) -> str:
    return ", ".join(list(axes[index].values)[value]
                     for index, value in zip(which, place, strict=True))


def _field(picture: Axes, values: npt.NDArray[np.float64]) -> None:
    picture.imshow(np.ma.masked_invalid(values), cmap=_MARGINS, norm=_norm(values),
                   aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            picture.text(column, row, _signed(value), ha="center", va="center", fontsize=8,
                         color=figures.BLACK)
    picture.grid(visible=False)
    picture.tick_params(length=0)
    picture.spines[:].set_visible(False)


def _norm(values: npt.NDArray[np.float64]) -> TwoSlopeNorm:
    """Colours with white at 0, and pale enough for black writing at the far ends."""
    most = 1.6 * max(1.0, float(np.nanmax(np.abs(values))))
    return TwoSlopeNorm(0, -most, most)


def _signed(value: float) -> str:
    return f"{value:+g}".replace("-", "−") if value else "0"


def balance_and_decision(
    rulesets: Sequence[Fairness], best: Sequence[Fairness], path: Path, subject: str
) -> None:
    """Which rulesets are balanced and decisive: a point for each, the best ones numbered.

    Raises `RunError` where the file cannot be written.
    """
    figure, axes = figures.new_figure(
        f"Balance and decisiveness after random openings, {subject}",
        "a point: a ruleset (darker: several); best play after the opening; a draw is half a win",
        7.5, 4.8 + 0.1 * len(best))
    points = [(ruleset.first_score, ruleset.decided) for ruleset in rulesets]
    scores, decided = zip(*points, strict=True)
    axes.scatter(scores, decided, s=34, color=figures.BLUE, alpha=0.35, linewidths=0,
                 clip_on=False, zorder=3)
    places: dict[tuple[float, float], list[int]] = {}
    for place, ruleset in enumerate(best, start=1):
        places.setdefault((ruleset.first_score, ruleset.decided), []).append(place)
        axes.plot([], [], linestyle="none", label=f"{place}: {figures.shown(ruleset.name, 60)}")
    for point in places:
        axes.plot(*point, marker="o", markersize=9, zorder=4, color=figures.ORANGE,
                  markeredgecolor=figures.BLACK, clip_on=False, linestyle="none")
    axes.axvline(0.5, color=figures.GREY, linewidth=1, zorder=0.9)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.06)
    for axis, label in ((axes.xaxis, "points of the first player (line: even)"),
                        (axes.yaxis, "openings that are decided")):
        axis.set_major_formatter(PercentFormatter(1))
        axis.set_label_text(label)
    axes.grid(visible=True, axis="both", color=figures.FAINT, linewidth=0.8)
    figures.legend(figure, axes, "the most balanced decisive rulesets" if best else None)
    figures.label_points(figure, axes, {point: ", ".join(map(str, numbers))
                                        for point, numbers in places.items()}, points)
    figures.save(figure, path)


def first_moves_map(
    boards: Mapping[str, tuple[Sequence[str], Mapping[str, int]]], path: Path, subject: str
) -> None:
    """What each first move is worth, on the board: a field where the faction slides in.

    boards: for each ruleset its six ranks of strongholds and player 0's margin after each move.
    Raises `RunError` where the file cannot be written.
    """
    columns = min(_BOARDS_PER_ROW, len(boards))
    rows = -(-len(boards) // columns)
    figure = figures.bare_figure(max(6.0, 2.9 * columns), 1.0 + 2.9 * rows)
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    norm = _norm(np.array([margin for _, moves in boards.values() for margin in moves.values()],
                          dtype=np.float64))
    for panel, (name, (ranks, moves)) in zip(panels, boards.items(), strict=False):
        _board(panel, ranks)
        _moves(panel, moves, norm)
        panel.set_title(figures.shown(name, 36), fontsize=9, color=figures.BLACK)
    for panel in panels[len(boards):]:
        panel.set_axis_off()
    figures.footnote(figure, "beside the board: where the faction slides in (blue: the first "
                             "player wins, orange: loses); dark squares: strongholds")
    figures.headline(figure, f"First player's margin after each first move, {subject}")
    figures.save(figure, path)


def _board(panel: Axes, ranks: Sequence[str]) -> None:
    panel.set_axis_off()
    panel.set_aspect("equal")
    panel.set_xlim(-1.6, SIZE + 0.6)
    panel.set_ylim(SIZE + 0.6, -1.6)
    for rank, squares in enumerate(ranks):
        for file, square in enumerate(squares):
            colour = figures.BLACK if square == "#" else "#F4F4F4"
            panel.add_patch(Rectangle((file - 0.5, rank - 0.5), 1, 1, facecolor=colour,
                                      edgecolor="#CCCCCC", linewidth=0.6))


def _moves(panel: Axes, moves: Mapping[str, int], norm: TwoSlopeNorm) -> None:
    for name, margin in moves.items():
        if len(name) == 2:
            column, row = _door(name)
            panel.add_patch(Rectangle((column - 0.45, row - 0.45), 0.9, 0.9, linewidth=0.6,
                                      facecolor=_MARGINS(norm(margin)), edgecolor=figures.GREY))
            panel.text(column, row, _signed(margin), ha="center", va="center", fontsize=8,
                       color=figures.BLACK)


def _door(move: str) -> tuple[int, int]:
    """Column and row of the field just outside the board where a faction slides in."""
    side, lane = "NSWE".index(move[0]), move[1]
    assert side < DIRECTIONS
    if side < 2:
        return "abcdef".index(lane), (-1, SIZE)[side]
    return (-1, SIZE)[side - 2], SIZE - int(lane)
