"""Pictures: drawn without a display, whole or not at all, and fit to be read, whatever the data."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from figure_faults import faults, kept_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from places import ROOT

from agents.runs import RunError
from experiments.measure.intervals import Interval, rate_interval
from experiments.report import figures, plots
from experiments.studies import restrictions
from experiments.studies.played import pictures as played
from experiments.studies.played.findings import Match, PlayedCost
from experiments.studies.rulesets.study import Axis
from experiments.studies.solved import pictures as solved
from experiments.studies.solved.findings import Cost, Fairness
from experiments.studies.trained import pictures as trained

ODD_NAME = "ppo:runs/$a$_" + "long/" * 30 + "model.pt"
UNKNOWN = Interval(0.5, float("nan"), float("nan"))


def draw_learning_curve(path: Path) -> None:
    plots.learning_curve({
        "random": [(0, rate_interval((3, 0, 7))), (2_000_000, rate_interval((10, 0, 0)))],
        ODD_NAME: [(500, UNKNOWN)],
    }, path, "ppo (storm)")


def draw_win_rates(path: Path) -> None:
    plots.win_rates({"random": {"first": rate_interval((10, 0, 0)), "second": UNKNOWN},
                     ODD_NAME: {"both": rate_interval((0, 0, 4))}}, path, "ppo (storm) " * 20)


def draw_margins(path: Path) -> None:
    plots.margin_distribution({"random": {"first": [3, 3, -1], "second": []},
                               ODD_NAME: {"first": [-300, 200], "second": [0]}}, path, "$x$")


def draw_cross_table(path: Path) -> None:
    shares = np.array([[np.nan, 0.9, np.nan], [0.1, np.nan, 0.5], [np.nan, 0.5, np.nan]])
    games = np.array([[0, 20, 0], [20, 0, 4], [0, 4, 0]])
    plots.cross_table(["a", "b", ODD_NAME], shares, games, path, "storm")


def draw_ratings(path: Path) -> None:
    plots.ratings_plot({"a": Interval(120, 80, 170), "b": Interval(100, 90, float("inf")),
                        ODD_NAME: Interval(-120, -170, -80)}, path, "storm")


PLY_CURVES = {name: {"own games": [(4, Interval(0.5, 0.2, 0.8)), (5, UNKNOWN)],
                     "random play": [(0, UNKNOWN)]} for name in ("a", "b", "c", ODD_NAME)}


def draw_regret(path: Path) -> None:
    plots.regret_by_ply(PLY_CURVES, path, "storm")


def draw_regret_curve(path: Path) -> None:
    plots.regret_curve([(0, UNKNOWN), (1000, Interval(0.5, 0.2, 0.8))], path, "ppo (storm)")


def draw_optimal_moves(path: Path) -> None:
    plots.optimal_by_ply(PLY_CURVES, path, "storm")


# Studies

AXES = (Axis("factions_per_player", {"3": 3, "4": 4}),
        Axis("victory_points", {"default": 1, "captures-only": 2, "$\\frac$": 3}),
        Axis("strongholds", {"one": 1, ODD_NAME: 2}))
LABELS = [(factions, points, layout) for factions in AXES[0].values for points in AXES[1].values
          for layout in AXES[2].values]
# Several share a point, and others stand close to it.
RULESETS = [Fairness(labels, "digest", "cell", place - 8, {"Na": -3, "Wc": 2, "Ea": 0},
                     0.48 + 0.01 * (place // 2), 0.8 - 0.01 * (place // 3))
            for place, labels in enumerate(LABELS)]


def draw_values(path: Path) -> None:
    solved.values_map(AXES, RULESETS, path, "small")


def draw_values_of_one_axis(path: Path) -> None:
    two = [Fairness((name,), "digest", "cell", 0, {}, 0.5, 1.0) for name in AXES[0].values]
    solved.values_map(AXES[:1], two, path, "small")


def draw_balance(path: Path) -> None:
    solved.balance_and_decision(RULESETS, RULESETS[:5], path, "small")


def draw_first_moves(path: Path) -> None:
    boards = {f"{ODD_NAME} {place}": (["......"] * 3 + ["..##.."] * 3, {"Na": -3, "E2": 11})
              for place in range(5)}
    solved.first_moves_map(boards, path, "small")


def draw_first_moves_of_one(path: Path) -> None:
    solved.first_moves_map({"": (["......"] * 6, {"pass": -3})}, path, "a-study-with-a-long-name")


def draw_exact_costs(path: Path) -> None:
    costs = [Cost((str(place),), "cell", name, seat, 0.0, float(place % 3))
             for place in range(6) for name in ("never-captures", "never-pushes-strongholds")
             for seat in (0, 1)]
    restrictions.draw_costs(costs, path, "small")


def draw_played_costs(path: Path) -> None:
    costs = [PlayedCost((str(place),), "cell", "never-captures", seat, 0.0, lost)
             for place, lost in enumerate((Interval(1, 0.5, 1.4), Interval(2, 1.8, 2.4), UNKNOWN))
             for seat in (0, 1)]
    restrictions.draw_costs(costs, path, ODD_NAME, "the unrestricted search")


def matches(count: int, leads: tuple[str, ...] = ("first", "second"),
            rulesets: bool = True) -> list[Match]:
    """Made-up matches of agents with themselves; many of them come out alike."""
    curve = [[ply, 40, 1.5 - ply % 2, -3.0, 6.0] for ply in range(4, 20)]
    return [Match((f"home_edge slide {place // 2}",) if rulesets else (), "cell",
                  (f"alphabeta:{place % 2}",) * 2, {
        "margins": {"0": {"-3": 5, "0": 9, "4": 7}}, "leads": dict.fromkeys(leads, curve),
        "quality": {"duration": {"estimate": 20.0, "low": 18.0, "high": 21.0},
                    "time-outs": {"estimate": 0.3 * (place == 3), "low": None, "high": None},
                    "entries": {"estimate": 0.49 + 0.01 * (place % 4), "low": 0.4, "high": 0.6}},
    }) for place in range(count)]


def draw_margins_by_ruleset(path: Path) -> None:
    played.margins_by_ruleset(matches(10), path, "sudden-death-readings-of-mine")


def draw_leads(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(played, "LEADS", 4)
        played.leads_over_time(matches(6), path, "readings")


def draw_exact_leads(path: Path) -> None:
    played.leads_over_time(matches(2, ("exact",), rulesets=False), path, "readings")


def draw_readings(path: Path) -> None:
    played.races_and_sieges(matches(10), path, "readings")


def draw_learning_curves(path: Path) -> None:
    curve = [trained.Point((step, step), (step / 7, step / 6), (0.1, 0.2), (2.0, 1.5))
             for step in (0, 1000, 2000)]
    trained.learning_curves({"one": curve, "$other$": curve[:2], ODD_NAME: curve}, path, "storm")


def draw_points_alone(path: Path) -> None:
    curve = [trained.Point((step,), (step / 7,), (0.1,), ()) for step in (0, 1000)]
    trained.learning_curves({"one": curve}, path, "sudden-death")


DRAWERS: list[Callable[[Path], None]] = [
    draw_learning_curve, draw_win_rates, draw_margins, draw_cross_table, draw_ratings, draw_regret,
    draw_regret_curve, draw_optimal_moves, draw_values, draw_values_of_one_axis, draw_balance,
    draw_first_moves, draw_first_moves_of_one, draw_exact_costs, draw_played_costs,
    draw_margins_by_ruleset, draw_leads, draw_exact_leads, draw_readings, draw_learning_curves,
    draw_points_alone]


@pytest.mark.parametrize("draw", DRAWERS)
def test_a_picture_is_fit_to_be_read(draw: Callable[[Path], None], tmp_path: Path) -> None:
    """Nothing overlaps or is cut, type is large enough, and every axis says what it is."""
    settings = dict(matplotlib.rcParams)
    with kept_figures() as kept:
        draw(tmp_path / "one.png")
    (figure,) = kept
    assert faults(figure) == []
    assert figure.get_figwidth() <= 12
    assert [path.name for path in tmp_path.iterdir()] == ["one.png"]
    assert dict(matplotlib.rcParams) == settings


def test_every_picture_is_among_those_above() -> None:
    """Each function that writes a figure has been called by a test of this file."""
    writers: set[str] = set()
    for file in (ROOT / "experiments").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if "save(figure" not in text and "savefig" not in text:
            continue
        tree = ast.parse(text)
        assert file.name == "figures.py" or not _calls(tree, "savefig"), file
        writers |= {node.name for node in ast.walk(tree)
                    if isinstance(node, ast.FunctionDef) and file.name != "figures.py"
                    and any(_is_figure(call) for call in _calls(node, "save"))}
    drawn = {name for draw in DRAWERS for name in draw.__code__.co_names}
    assert len(writers) > 12
    assert writers <= drawn


def _calls(tree: ast.AST, name: str) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)
            and name == getattr(node.func, "attr", getattr(node.func, "id", None))]


def _is_figure(call: ast.Call) -> bool:
    return bool(call.args) and getattr(call.args[0], "id", None) == "figure"


def faulty(change: Callable[[Figure, Any], None]) -> list[str]:
    """The faults of a good picture after a change."""
    figure, axes = figures.new_figure("Title", "explained", 6, 4)
    axes.plot([0.2, 0.4], [0.1, 0.9], marker="o")
    axes.set_xlabel("share")
    axes.set_ylabel("size")
    change(figure, axes)
    figure.draw_without_rendering()
    return faults(figure)


def plot_too_much(figure: Figure, axes: Axes) -> None:
    figures.share_axis(axes, "x", "share")
    axes.plot([0.3, 1.2], [0, 1])


@pytest.mark.parametrize(("change", "fault"), [
    (lambda figure, axes: axes.annotate("here", (0.4, 0.9)), "covers a point"),
    (lambda figure, axes: [axes.text(0.3, 0.5, word) for word in "ab"], "overlap"),
    (lambda figure, axes: axes.text(0.38, 0.5, "b" * 90).set_in_layout(False), "cut at the edge"),
    (lambda figure, axes: axes.set_xlabel(""), "axis x without a title"),
    (lambda figure, axes: axes.text(0.3, 0.2, "tiny", fontsize=5), "type of 5 points"),
    (plot_too_much, "120.0% of all")])
def test_faults_are_found(change: Callable[[Figure, Any], None], fault: str) -> None:
    assert faulty(lambda figure, axes: None) == []
    assert any(fault in line for line in faulty(change))


def test_a_picture_is_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    draw_regret_curve(tmp_path / "one.png")
    draw_regret_curve(tmp_path / "two.png")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    with Image.open(tmp_path / "one.png") as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[0] > 500
    assert pixels.shape[1] == 1125
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20


def test_a_rating_without_a_limit_ends_in_an_arrow(tmp_path: Path) -> None:
    with kept_figures() as kept:
        draw_ratings(tmp_path / "one.png")
    lines = [(line.get_marker(), float(np.asarray(line.get_ydata())[0]))
             for line in kept[0].axes[0].lines]
    assert lines.count((">", 1.0)) == lines.count(("|", 1.0)) == 1
    assert lines.count(("|", 0.0)) == lines.count(("|", 2.0)) == 2


def test_unwritable_place_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot write"):
        draw_regret_curve(tmp_path / "missing" / "one.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("lowest", "highest"), [(0, 0), (-8, 9), (-300, 200), (5, 80)])
def test_bins_cover_all_margins_and_centre_one_on_zero(lowest: int, highest: int) -> None:
    edges = plots._bin_edges(lowest, highest)
    widths = np.diff(edges)
    assert edges[0] < lowest
    assert edges[-1] > highest
    assert len(widths) <= 51
    assert (widths == widths[0]).all()
    assert widths[0] % 2 == 1
    assert ((edges / widths[0]) % 1 == 0.5).all()


def test_nothing_is_drawn_through_pyplot() -> None:
    """It would keep every figure until somebody closes it."""
    for source in (ROOT / "experiments").rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_bytes())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                named = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                assert not any("pyplot" in name for name in named), source
