"""Intervals against values known from elsewhere."""

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from castle_env.errors import OptionError
from experiments.measure.intervals import (
    Interval,
    bootstrap_mean_interval,
    clustered_mean_interval,
    clustered_share_interval,
    percentile_intervals,
    rate_interval,
)

Z = 1.959963984540054


def test_intervals_survive_json_with_unknown_ends() -> None:
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
def test_wilson_gives_the_published_values(wins: int, games: int, low: float, high: float) -> None:
    interval = rate_interval((wins, 0, games - wins))
    assert interval.estimate == wins / games
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize("games", [1, 7, 40, 5000])
def test_wilson_is_scipys(games: int) -> None:
    for wins in {0, 1, games // 2, games}:
        expected = stats.binomtest(wins, games).proportion_ci(method="wilson")
        interval = rate_interval((wins, 0, games - wins))
        assert (interval.low, interval.high) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize("seats", [(), ((0, 0, 0),), ((1, -1, 2),)])
def test_rates_of_counts_that_cannot_be_are_refused(seats: tuple[Any, ...]) -> None:
    with pytest.raises(OptionError, match="at least 1 game"):
        rate_interval(*seats)


def test_bootstrap_agrees_with_the_normal_approximation() -> None:
    values = np.random.default_rng(5).normal(3.0, 2.0, 400)
    interval = bootstrap_mean_interval(values, np.random.default_rng(0))
    error = Z * values.std() / 20
    assert interval.estimate == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - error, abs=0.03)
    assert interval.high == pytest.approx(values.mean() + error, abs=0.03)


def test_bootstrap_depends_on_the_seed_and_not_on_the_order() -> None:
    values = np.random.default_rng(5).integers(-9, 10, 60)
    first = bootstrap_mean_interval(values, np.random.default_rng(1))
    assert bootstrap_mean_interval(values, np.random.default_rng(1)) == first
    assert bootstrap_mean_interval(values[::-1], np.random.default_rng(1)) == first
    assert bootstrap_mean_interval(values, np.random.default_rng(2)) != first


def test_bootstrap_of_little_data() -> None:
    rng = np.random.default_rng(0)
    alone = bootstrap_mean_interval([4], rng)
    assert alone.estimate == 4
    assert not alone.is_known
    assert alone.to_dict() == {"estimate": 4.0, "low": None, "high": None}
    alike = bootstrap_mean_interval([2, 2, 2], rng)
    assert alike.estimate == 2
    assert not alike.is_known
    assert bootstrap_mean_interval([0, 4], rng) == Interval(2.0, 0.0, 4.0)
    with pytest.raises(OptionError, match="at least 1"):
        bootstrap_mean_interval([], rng)


def test_percentile_intervals_of_each_column() -> None:
    resampled = np.stack([np.arange(1001.0), -np.arange(1001.0)], axis=1)
    first, second = percentile_intervals(np.array([500.0, -400.0]), resampled)
    assert (first.estimate, first.low, first.high) == pytest.approx((500, 25, 975))
    assert (second.estimate, second.low, second.high) == pytest.approx((-400, -975, -25))


def test_copies_within_a_cluster_are_no_evidence() -> None:
    values, clusters = np.random.default_rng(5).normal(size=50), np.arange(50)
    for found in (clustered_mean_interval, lambda values, clusters, _: clustered_share_interval(
            values > 0, clusters)):
        once, often = (found(np.repeat(values, times), np.repeat(clusters, times),
                             np.random.default_rng(0)) for times in (1, 9))
        assert (often.estimate, often.low, often.high) == pytest.approx(
            (once.estimate, once.low, once.high))


def test_clusters_of_little_data() -> None:
    rng = np.random.default_rng(0)
    alone = clustered_mean_interval(np.array([1.0, 2.0]), np.array([7, 7]), rng)
    assert alone.estimate == 1.5
    for values in ([1.0, 2.0], [2.0] * 9, [0.0] * 20 + [1.0] * 4):
        assert not clustered_mean_interval(np.array(values), np.arange(len(values)), rng).is_known
    assert not clustered_share_interval(np.array([True, False]), np.array([7, 7])).is_known
    never = clustered_share_interval(np.zeros(40, dtype=np.bool_), np.arange(40) // 4)
    assert never.high > rate_interval((0, 0, 40)).high
    with pytest.raises(OptionError, match="at least 1"):
        clustered_mean_interval(np.empty(0), np.empty(0, dtype=np.int64), rng)


def test_draws_and_seats_that_are_not_alike_narrow_the_interval() -> None:
    def width(*seats: Any) -> Any:
        interval = rate_interval(*seats)
        return interval.high - interval.low

    assert width((50, 0, 50)) == pytest.approx(width((25, 0, 25), (25, 0, 25)))
    assert width((25, 50, 25)) < 0.8 * width((50, 0, 50))
    assert width((45, 0, 5), (5, 0, 45)) < 0.8 * width((50, 0, 50))
    assert 0 < width((0, 100, 0)) < width((50, 0, 50))


def test_an_interval_with_one_limit_survives_json() -> None:
    for interval in (Interval(3.0, 1.0, math.inf), Interval(3.0, -math.inf, 5.0)):
        assert Interval.from_dict(json.loads(json.dumps(interval.to_dict(), allow_nan=False))
                                  ) == interval
