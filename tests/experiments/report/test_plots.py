"""Pictures: drawn without a display, whole or not at all, also from little or odd data."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from PIL import Image

from agents.runs import RunError
from experiments.measure.intervals import Interval, rate_interval
from experiments.report import plots

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
    plots.ratings_plot({"a": Interval(120, 80, 170), ODD_NAME: Interval(-120, -170, -80)}, path,
                       "storm")


PLY_CURVES = {name: {"own games": [(4, Interval(0.5, 0.2, 0.8)), (5, UNKNOWN)],
                     "random play": [(0, UNKNOWN)]} for name in ("a", "b", "c", ODD_NAME)}


def draw_regret(path: Path) -> None:
    plots.regret_by_ply(PLY_CURVES, path, "storm")


def draw_regret_curve(path: Path) -> None:
    plots.regret_curve([(0, UNKNOWN), (1000, Interval(0.5, 0.2, 0.8))], path, "ppo (storm)")


def draw_optimal_moves(path: Path) -> None:
    plots.optimal_by_ply(PLY_CURVES, path, "storm")


DRAWERS = [draw_learning_curve, draw_win_rates, draw_margins, draw_cross_table, draw_ratings,
           draw_regret, draw_regret_curve, draw_optimal_moves]


@pytest.mark.parametrize("draw", DRAWERS)
def test_picture_is_drawn_and_repeatable(
    draw: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    settings = dict(matplotlib.rcParams)
    draw(tmp_path / "one.png")
    draw(tmp_path / "two.png")
    with Image.open(tmp_path / "one.png") as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[0] > 250
    assert pixels.shape[1] > 900
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.png", "two.png"]
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize("draw", DRAWERS)
def test_unwritable_place_is_one_clear_error(draw: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot write"):
        draw(tmp_path / "missing" / "one.png")
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


def test_no_global_figure_is_kept() -> None:
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules[
        "matplotlib.pyplot"].get_fignums()
