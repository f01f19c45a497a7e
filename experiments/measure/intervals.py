"""Estimates with 95% intervals: Wilson for win rates, bootstrap or Student's t for means."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from castle_env.errors import OptionError

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2000

# Resampled values that the bootstrap holds in memory at once.
_BATCH_VALUES: Final = 1_000_000


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95% interval; `low` and `high` are NaN where the data give none."""

    estimate: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether the data were enough for an interval."""
        return not math.isnan(self.low)

    def to_dict(self) -> dict[str, float | None]:
        """Plain values for JSON; None stands for an end that is not known."""
        low, high = (self.low, self.high) if self.is_known else (None, None)
        return {"estimate": self.estimate, "low": low, "high": high}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "Interval":
        """The interval that `to_dict` gave, also after JSON."""
        ends = (math.nan if value[end] is None else value[end] for end in ("low", "high"))
        return cls(value["estimate"], *ends)


def wilson_interval(points: float, games: int) -> Interval:
    """Share of the points and its Wilson score interval (Wilson 1927), all in [0, 1].

    points: wins plus half the draws, a multiple of 0.5 from 0 to `games`. games: how many distinct
    games they come from, at least 1; a repeated game adds no evidence and is not to be counted.
    With half points the interval is Wilson's formula at the share points / games. It takes the
    variance of a game to be that of win or loss, which draws only make smaller, so it is never too
    narrow for them. Raises `OptionError` for points and games that cannot be.
    """
    if games < 1 or not 0 <= points <= games or 2 * points % 1 != 0:
        raise OptionError(f"{points!r} points of {games!r} games; allowed: at least 1 game, and "
                          "points from 0 to games in steps of 0.5")
    # SciPy wants whole counts. Twice the points of twice the games would halve the variance; a
    # normal quantile z wider by the root of 2 restores it and gives the formula exactly. The
    # confidence level that belongs to this quantile is erf(z).
    quantile = stats.norm.isf((1 - CONFIDENCE) / 2)
    test = stats.binomtest(round(2 * points), 2 * games)
    ends = test.proportion_ci(confidence_level=special.erf(quantile), method="wilson")
    return Interval(points / games, float(ends.low), float(ends.high))


def bootstrap_mean_interval(
    values: Sequence[float] | npt.NDArray[Any], rng: np.random.Generator
) -> Interval:
    """Mean of `values` (n,) and its percentile bootstrap interval, in the unit of the values.

    Their order does not matter. One value alone has no interval (NaN); values that are all equal
    have one without width, as no resample differs. Raises `OptionError` where there is no value.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if len(ordered) == 0:
        raise OptionError("no values to take the mean of; allowed: at least 1")
    mean = float(ordered.mean())
    if len(ordered) == 1:
        return Interval(mean, math.nan, math.nan)
    if ordered[0] == ordered[-1]:
        return Interval(mean, mean, mean)
    result = stats.bootstrap(
        (ordered,), np.mean, n_resamples=RESAMPLES, confidence_level=CONFIDENCE,
        method="percentile", batch=max(1, _BATCH_VALUES // len(ordered)), rng=rng,
    )
    ends = result.confidence_interval
    return Interval(mean, float(ends.low), float(ends.high))


def student_mean_interval(values: Sequence[float]) -> Interval:
    """Mean of `values` (n,) and its interval by Student's t; one value alone has none (NaN)."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, math.nan, math.nan)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * stats.sem(values))
    return Interval(mean, mean - half, mean + half)


def clustered_mean_intervals(
    values: npt.NDArray[np.float64], clusters: npt.NDArray[np.int64], rng: np.random.Generator
) -> list[Interval]:
    """Mean of each column of `values` (n, k) and its percentile bootstrap interval.

    Values of one cluster, by its number in `clusters` (n,), belong together, as moves of one game
    do: whole clusters are resampled. One cluster alone has no interval (NaN). Raises `OptionError`
    where there is no value.
    """
    if len(values) == 0:
        raise OptionError("no values to take the mean of; allowed: at least 1")
    _, members = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(members)
    count, means = len(sizes), values.mean(axis=0)
    if count == 1:
        return [Interval(float(mean), math.nan, math.nan) for mean in means]
    sums = np.stack([np.bincount(members, column) for column in values.T], axis=1)
    times = rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    return percentile_intervals(means, (times @ sums) / (times @ sizes)[:, np.newaxis])


def percentile_intervals(
    estimates: npt.NDArray[np.float64], resampled: npt.NDArray[np.float64]
) -> list[Interval]:
    """Percentile interval of each estimate (n,) from its bootstrap resamples (resamples, n)."""
    tail = (1 - CONFIDENCE) / 2
    lows, highs = np.quantile(resampled, [tail, 1 - tail], axis=0)
    return [Interval(float(estimate), float(low), float(high))
            for estimate, low, high in zip(estimates, lows, highs, strict=True)]


def stratified_mean_interval(
    strata: Sequence[npt.NDArray[np.float64]], least: float = 0.0, most: float = math.inf
) -> Interval:
    """Mean of the means of `strata`, arrays of independent values, and its 95% interval.

    The interval is normal, from the variance within each stratum (Cochran, Sampling Techniques,
    1977, 5.4), cut to what a value may be. A stratum of one value has no variance to go by: then
    the ends are not known. Raises `OptionError` where there is no value.
    """
    if not strata or min(map(len, strata)) == 0:
        raise OptionError("a stratum without values; allowed: one stratum or more, each with at "
                          "least 1 value")
    mean = float(np.mean([values.mean() for values in strata]))
    if min(map(len, strata)) == 1:
        return Interval(mean, math.nan, math.nan)
    variance = sum(values.var(ddof=1) / len(values) for values in strata) / len(strata) ** 2
    half = float(stats.norm.isf((1 - CONFIDENCE) / 2) * math.sqrt(variance))
    return Interval(mean, max(least, mean - half), min(most, mean + half))
