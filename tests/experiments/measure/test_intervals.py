"""Intervals against values known from elsewhere."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from castle_env.errors import OptionError
from experiments.measure.intervals import (
    Interval,
    bootstrap_mean_interval,
    clustered_mean_intervals,
    percentile_intervals,
    wilson_interval,
)

Z = 1.959963984540054


def test_intervals_survive_json_with_unknown_ends():
    for interval in (Interval(0.5, 0.25, 0.75), Interval(0.0, 0.0, 0.0)):
        assert Interval.from_dict(json.loads(json.dumps(interval.to_dict()))) == interval
    unknown = Interval.from_dict(json.loads(json.dumps(
        Interval(0.5, math.nan, math.nan).to_dict(), allow_nan=False)))
    assert unknown.estimate == 0.5
    assert not unknown.is_known


@pytest.mark.parametrize(("wins", "games", "low", "high"), [
    (0, 10, 0.0, 0.277533),
    (8, 10, 0.490162, 0.943318),
    (10, 10, 0.722467, 1.0),
    (50, 100, 0.403832, 0.596168),
    (1, 1, 0.206549, 1.0),
])
def test_wilson_gives_the_published_values(wins, games, low, high):
    interval = wilson_interval(wins, games)
    assert interval.estimate == wins / games
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize("games", [1, 7, 40, 5000])
def test_wilson_of_whole_points_is_scipys(games):
    for wins in {0, 1, games // 2, games}:
        expected = stats.binomtest(wins, games).proportion_ci(method="wilson")
        interval = wilson_interval(wins, games)
        assert (interval.low, interval.high) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize(("points", "games"), [(0.5, 1), (10.5, 21), (3.5, 10), (99.5, 100)])
def test_wilson_of_half_points_is_the_formula(points, games):
    share = points / games
    centre = (share + Z**2 / (2 * games)) / (1 + Z**2 / games)
    half_width = (Z * math.sqrt(share * (1 - share) / games + Z**2 / (4 * games**2))
                  / (1 + Z**2 / games))
    interval = wilson_interval(points, games)
    assert (interval.low, interval.high) == pytest.approx((centre - half_width,
                                                           centre + half_width), abs=1e-12)


@pytest.mark.parametrize(("points", "games"), [
    (0, 0), (-0.5, 3), (3.5, 3), (0.25, 3), (1, -1), (math.nan, 3)])
def test_wilson_refuses_points_that_cannot_be(points, games):
    with pytest.raises(OptionError, match="points from 0 to games"):
        wilson_interval(points, games)


def test_bootstrap_agrees_with_the_normal_approximation():
    values = np.random.default_rng(5).normal(3.0, 2.0, 400)
    interval = bootstrap_mean_interval(values, np.random.default_rng(0))
    error = Z * values.std() / 20
    assert interval.estimate == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - error, abs=0.03)
    assert interval.high == pytest.approx(values.mean() + error, abs=0.03)


def test_bootstrap_depends_on_the_seed_and_not_on_the_order():
    values = np.random.default_rng(5).integers(-9, 10, 60)
    first = bootstrap_mean_interval(values, np.random.default_rng(1))
    assert bootstrap_mean_interval(values, np.random.default_rng(1)) == first
    assert bootstrap_mean_interval(values[::-1], np.random.default_rng(1)) == first
    assert bootstrap_mean_interval(values, np.random.default_rng(2)) != first


def test_bootstrap_of_little_data():
    rng = np.random.default_rng(0)
    alone = bootstrap_mean_interval([4], rng)
    assert alone.estimate == 4
    assert not alone.is_known
    assert alone.to_dict() == {"estimate": 4.0, "low": None, "high": None}
    assert bootstrap_mean_interval([2, 2, 2], rng) == Interval(2.0, 2.0, 2.0)
    assert bootstrap_mean_interval([0, 4], rng) == Interval(2.0, 0.0, 4.0)
    with pytest.raises(OptionError, match="at least 1"):
        bootstrap_mean_interval([], rng)


def test_percentile_intervals_of_each_column():
    resampled = np.stack([np.arange(1001.0), -np.arange(1001.0)], axis=1)
    first, second = percentile_intervals(np.array([500.0, -400.0]), resampled)
    assert (first.estimate, first.low, first.high) == pytest.approx((500, 25, 975))
    assert (second.estimate, second.low, second.high) == pytest.approx((-400, -975, -25))


def test_clustered_bootstrap_of_clusters_of_one_is_the_plain_one():
    values = np.random.default_rng(5).normal(3.0, 2.0, (400, 2))
    found = clustered_mean_intervals(values, np.arange(400), np.random.default_rng(0))
    for column, interval in zip(values.T, found, strict=True):
        plain = bootstrap_mean_interval(column, np.random.default_rng(0))
        assert interval.estimate == pytest.approx(plain.estimate)
        assert (interval.low, interval.high) == pytest.approx((plain.low, plain.high), abs=0.03)


def test_copies_within_a_cluster_are_no_evidence():
    values, clusters = np.random.default_rng(5).normal(size=(50, 1)), np.arange(50)
    once, = clustered_mean_intervals(values, clusters, np.random.default_rng(0))
    often, = clustered_mean_intervals(np.repeat(values, 9, axis=0), np.repeat(clusters, 9),
                                      np.random.default_rng(0))
    assert (often.estimate, often.low, often.high) == pytest.approx(
        (once.estimate, once.low, once.high))


def test_clustered_bootstrap_of_little_data():
    rng = np.random.default_rng(0)
    alone, = clustered_mean_intervals(np.array([[1.0], [2.0]]), np.array([7, 7]), rng)
    assert alone.estimate == 1.5
    assert not alone.is_known
    equal, = clustered_mean_intervals(np.full((3, 1), 2.0), np.array([0, 0, 1]), rng)
    assert equal == Interval(2.0, 2.0, 2.0)
    with pytest.raises(OptionError, match="at least 1"):
        clustered_mean_intervals(np.empty((0, 1)), np.empty(0, dtype=np.int64), rng)
