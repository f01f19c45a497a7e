"""Estimates with 95% intervals: Wilson for shares, bootstrap or Student's t for means.

Tests in `tests/experiments/measure/` simulate that they hold the truth in about 95 of 100 cases.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from castle_env.errors import OptionError

Values: TypeAlias = Sequence[float] | npt.NDArray[Any]  # (n,)

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2000

# An interval needs so many clusters with a value other than 0.
FEWEST: Final = 5
TAIL: Final = (1 - CONFIDENCE) / 2
_Z: Final = float(stats.norm.isf(TAIL))
# Points of a win, a draw and a loss.
_POINTS: Final = np.array([1.0, 0.5, 0.0])
# Resampled values that the bootstrap holds in memory at once.
_BATCH_VALUES: Final = 1_000_000


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95% interval; `low` and `high` are NaN where the data give none.

    One of them is infinite where the data set a limit on the other side only.
    """

    estimate: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether the data were enough for an interval."""
        return not math.isnan(self.low)

    def to_dict(self) -> dict[str, float | None]:
        """Plain values for JSON; None stands for an end that there is not."""
        low, high = (end if math.isfinite(end) else None for end in (self.low, self.high))
        return {"estimate": self.estimate, "low": low, "high": high}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "Interval":
        """The interval that `to_dict` gave, also after JSON."""
        low, high = value["low"], value["high"]
        if low is None and high is None:
            return cls(value["estimate"], math.nan, math.nan)
        return cls(value["estimate"], -math.inf if low is None else low,
                   math.inf if high is None else high)


def rate_interval(*seats: Sequence[int] | npt.NDArray[np.int64]) -> Interval:
    """Share of the points and its score interval (Wilson 1927), all in [0, 1].

    seats: wins, draws and losses in the distinct games from each seat, or of games of one kind; a
    repeated game adds no evidence and is not to be counted. A draw is half a point. Wilson's
    formula takes the variance of a game at the share p to be p (1 - p), that of win or loss.
    Draws, and seats that are not alike, make it less: by as much as the games show, part of which
    is left out, like the z^2 games that the formula adds. Without draws, from one seat, the formula
    is Wilson's. Raises `OptionError` for counts that cannot be.
    """
    counts = np.array(seats, dtype=np.float64).reshape(-1, 3)
    sizes = counts.sum(axis=1)
    if not len(counts) or (counts < 0).any() or not sizes.sum():
        raise OptionError(f"wins, draws and losses are {seats!r}; allowed: counts of at least 1 "
                          "game")
    counts, sizes = counts[sizes > 0], sizes[sizes > 0]
    games, points = sizes.sum(), counts @ _POINTS
    share = float(points.sum() / games)
    within = float((counts @ _POINTS**2 - points**2 / sizes).sum() / games)
    spared = max(0.0, share * (1 - share) - within) * games / (games + _Z**2)
    return _score_interval(share, games, spared)


def share_interval(values: npt.ArrayLike) -> Interval:
    """Share of those `values` (n,) that are true, with its Wilson interval."""
    found = np.asarray(values, dtype=np.bool_)
    hits = int(found.sum())
    return rate_interval((hits, 0, len(found) - hits))


def _score_interval(share: float, size: float, spared: float = 0.0) -> Interval:
    """Where the share of `size` values of variance p (1 - p) - spared is within z of p."""
    weight = _Z**2 / size
    centre = 2 * share + weight
    root = centre**2 - 4 * (1 + weight) * (share**2 + weight * spared)
    half = math.sqrt(max(0.0, root))
    low, high = ((centre + sign * half) / (2 * (1 + weight)) for sign in (-1, 1))
    return Interval(share, max(0.0, min(low, share)), min(1.0, max(high, share)))


def bootstrap_mean_interval(
    values: Values, rng: np.random.Generator, *others: Values
) -> Interval:
    """Mean of `values` (n,) and its percentile bootstrap interval, in the unit of the values.

    Values of `others`, from another seat or source, are resampled apart and counted in. The order
    does not matter. The percentiles lie further out than 2.5 and 97.5 by what the spread of a
    sample falls short of the truth's (Hesterberg, The American Statistician 69, 2015, 5.3): where
    values are normal, the interval is Student's. Values that are all equal do not tell how they
    vary: then there is no interval (NaN). Raises `OptionError` where there is no value.
    """
    groups = [np.sort(np.asarray(group, dtype=np.float64)) for group in (values, *others)]
    groups = [group for group in groups if len(group)]
    if len(groups) > 1 and min(map(len, groups)) == 1:  # one value alone does not vary
        groups = [np.sort(np.concatenate(groups))]
    count = sum(map(len, groups))
    if count == 0:
        raise OptionError("no values to take the mean of; allowed: at least 1")
    mean = float(sum(group.sum() for group in groups) / count)
    if count == len(groups) or all(group[0] == group[-1] for group in groups):
        return Interval(mean, math.nan, math.nan)
    result = stats.bootstrap(
        groups, lambda *parts, axis: sum(part.sum(axis=axis) for part in parts) / count,
        n_resamples=RESAMPLES, confidence_level=1 - 2 * bootstrap_tail(count, len(groups)),
        method="percentile", batch=max(1, _BATCH_VALUES // count), rng=rng,
    )
    ends = result.confidence_interval
    return Interval(mean, float(ends.low), float(ends.high))


@cache
def bootstrap_tail(count: int, groups: int = 1) -> float:
    """Share of the resamples beyond each end of an interval of `count` values in groups."""
    freedom = count - groups
    return float(stats.norm.sf(_t(freedom) * math.sqrt(count / freedom)))


@cache
def _t(freedom: float) -> float:
    """What Student's t exceeds with the probability `TAIL`; SciPy takes its time to find it."""
    return float(stats.t.isf(TAIL, freedom))


def student_mean_interval(values: Values) -> Interval:
    """Mean of `values` (n,) and its interval by Student's t; one value alone has none (NaN)."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, math.nan, math.nan)
    half = float(_t(len(values) - 1) * stats.sem(values))
    return Interval(mean, mean - half, mean + half)


def clustered_mean_interval(
    values: npt.NDArray[np.float64], clusters: npt.NDArray[np.int64], rng: np.random.Generator
) -> Interval:
    """Mean of `values` (n,) and its bootstrap interval, in which clusters are resampled as a whole.

    Values of one cluster, by its number in `clusters` (n,), belong together, as moves of one game
    do. The interval is Student's with the bootstrap's own quantiles of t (Efron and Tibshirani,
    1993, 12.5), which follow the skew of values that are mostly 0. Where fewer than `FEWEST`
    clusters hold anything but 0, they do not tell how the values vary, and there is no interval
    (NaN). Raises `OptionError` where there is no value.
    """
    sums, sizes = _clusters(values, clusters)
    mean = float(values.mean())
    if np.count_nonzero(sums) < FEWEST or (values == values[0]).all():
        return Interval(mean, math.nan, math.nan)
    count = len(sizes)
    times = rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    weights = times @ sizes
    means = (times @ sums) / weights
    residuals = sums - means[:, np.newaxis] * sizes
    spread = np.sqrt((times * residuals**2).sum(axis=1)) / weights
    known = spread > 0
    if not known.any():
        return Interval(mean, math.nan, math.nan)
    quantiles = np.quantile((means[known] - mean) / spread[known],
                            [1 - TAIL, TAIL])
    error = math.sqrt(((sums - mean * sizes)**2).sum()) / sizes.sum()
    low, high = mean - error * quantiles
    return Interval(mean, min(mean, float(low)), max(mean, float(high)))


def clustered_share_interval(
    values: npt.NDArray[np.bool_], clusters: npt.NDArray[np.int64]
) -> Interval:
    """Share of true `values` (n,) and its Wilson interval, as of so many values as they are worth.

    Values of one cluster belong together: n is divided by the design effect (Korn and Graubard,
    Survey Methodology 24, 1998, which also gives the correction for few clusters). Where all values
    are alike, each cluster counts as one. One cluster alone has no interval (NaN).
    """
    sums, sizes = _clusters(values.astype(np.float64), clusters)
    count, share = len(sizes), float(values.mean())
    if count == 1:
        return Interval(share, math.nan, math.nan)
    residuals = ((sums - share * sizes)**2).sum() * count / (count - 1)
    worth = share * (1 - share) * sizes.sum()**2 / residuals if residuals else float(count)
    return _score_interval(share, min(worth, float(sizes.sum())) * (_Z / _t(count - 1))**2)


def _clusters(
    values: npt.NDArray[np.float64], clusters: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Sum and number of the values of each cluster."""
    if len(values) == 0:
        raise OptionError("no values to take the mean of; allowed: at least 1")
    _, members = np.unique(clusters, return_inverse=True)
    sums, sizes = np.bincount(members, values), np.bincount(members)
    return sums.astype(np.float64), sizes.astype(np.int64)


def percentile_intervals(
    estimates: npt.NDArray[np.float64], resampled: npt.NDArray[np.float64], tail: float = TAIL
) -> list[Interval]:
    """Percentile interval of each estimate (n,) from its bootstrap resamples (resamples, n)."""
    lows, highs = np.quantile(resampled, [tail, 1 - tail], axis=0)
    return [Interval(float(estimate), float(low), float(high))
            for estimate, low, high in zip(estimates, lows, highs, strict=True)]


def stratified_mean_interval(strata: Sequence[npt.NDArray[np.float64]]) -> Interval:
    """Mean of the means of `strata`, arrays of independent values from 0 on, and its interval.

    Student's interval, from the variance within each stratum (Cochran, Sampling Techniques, 1977,
    5.4). A stratum of one value has no variance to go by: then the ends are not known. Raises
    `OptionError` where there is no value.
    """
    mean, parts = _strata(strata)
    if parts is None:
        return Interval(mean, math.nan, math.nan)
    variance = parts.sum()
    # Satterthwaite's degrees of freedom.
    freedom = variance**2 / sum(part**2 / (len(values) - 1)
                                for part, values in zip(parts, strata, strict=True))
    half = float(stats.t.isf(TAIL, freedom) * math.sqrt(variance))
    return Interval(mean, max(0.0, mean - half), mean + half)


def stratified_share_interval(strata: Sequence[npt.NDArray[np.float64]]) -> Interval:
    """The same for values from 0 to 1: Wilson's, as of so many values as the strata are worth."""
    mean, parts = _strata(strata)
    count = sum(map(len, strata))
    if min(map(len, strata)) == 1:
        return Interval(mean, math.nan, math.nan)
    return _score_interval(mean, count if parts is None else mean * (1 - mean) / parts.sum())


def _strata(
    strata: Sequence[npt.NDArray[np.float64]]
) -> tuple[float, npt.NDArray[np.float64] | None]:
    """Mean of means and what each stratum adds to its variance; None where nothing is known."""
    if not strata or min(map(len, strata)) == 0:
        raise OptionError("a stratum without values; allowed: one stratum or more, each with at "
                          "least 1 value")
    mean = float(np.mean([values.mean() for values in strata]))
    if min(map(len, strata)) == 1:
        return mean, None
    parts = np.array([values.var(ddof=1) / len(values) for values in strata]) / len(strata)**2
    return mean, parts if parts.any() else None
