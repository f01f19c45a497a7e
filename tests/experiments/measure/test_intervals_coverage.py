"""Every interval that a report prints holds the truth in about 95 of 100 repeated experiments.

Each is simulated with 1,500 experiments or more. One that is right in 95% of them stays within 92%
and 98% with a probability above 1 - 1e-6, whatever the seed: 3% are more than five standard
deviations of the share.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from experiments.measure import strengths
from experiments.measure.intervals import (
    Interval,
    bootstrap_mean_interval,
    clustered_mean_interval,
    clustered_share_interval,
    rate_interval,
    share_interval,
    stratified_mean_interval,
    stratified_share_interval,
    student_mean_interval,
)
from experiments.measure.quality import skill_trace
from experiments.measure.ratings import ELO_SCALE, CrossTable, rate
from experiments.studies.played.cells import komi_of, margin_cost

EXPERIMENTS = 1_500
LEAST, MOST = 0.92, 0.98
MARGINS = np.arange(-9, 10)

Draw = Callable[[np.random.Generator], Interval]


@pytest.fixture(autouse=True)
def fewer_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for ends of intervals that are off by a few hundredths of their width."""
    for module in ("intervals", "quality"):
        monkeypatch.setattr(f"experiments.measure.{module}.RESAMPLES", 200)
    monkeypatch.setattr("experiments.studies.played.cells.RESAMPLES", 200)


def assert_holds(draw: Draw, truth: float, experiments: int = EXPERIMENTS) -> None:
    rng = np.random.default_rng(1)
    intervals = [draw(rng) for _ in range(experiments)]
    known = [one for one in intervals if one.is_known]
    assert len(known) > 0.9 * experiments
    share = np.mean([one.low - 1e-9 <= truth <= one.high + 1e-9 for one in known])
    assert LEAST <= share <= MOST, share


@pytest.mark.parametrize("seats", [
    [(40, 0.5, 0.0)], [(40, 0.9, 0.0)], [(100, 0.3, 0.4)], [(400, 0.03, 0.01)],
    [(50, 0.9, 0.05), (50, 0.1, 0.1)], [(200, 0.95, 0.02), (190, 0.05, 0.05)]])
def test_rates(seats: list[tuple[int, float, float]]) -> None:
    """Of win and draw, from each seat; what storm gives from its two seats is as far apart."""
    def draw(rng: np.random.Generator) -> Interval:
        return rate_interval(*(rng.multinomial(games, (win, tie, 1 - win - tie))
                               for games, win, tie in seats))

    points = sum(games * (win + tie / 2) for games, win, tie in seats)
    assert_holds(draw, points / sum(games for games, _, _ in seats), 4 * EXPERIMENTS)


def test_shares_of_games() -> None:
    assert_holds(lambda rng: share_interval(rng.random(200) < 0.1), 0.1, 4 * EXPERIMENTS)


@pytest.mark.parametrize("games", [(12,), (20, 20)])
def test_margins(games: tuple[int, ...]) -> None:
    """From both seats: means of +3 and -3 VP, as in storm."""
    def draw(rng: np.random.Generator) -> Interval:
        first, *others = (np.rint(rng.normal(mean, 3, count))
                          for count, mean in zip(games, (3, -3), strict=False))
        return bootstrap_mean_interval(first, rng, *others)

    assert_holds(draw, 0.0 if len(games) == 2 else 3.0)


def test_measures_of_games() -> None:
    """Skewed ones, such as drama."""
    assert_holds(lambda rng: bootstrap_mean_interval(rng.exponential(size=40), rng), 1.0)


def test_means_over_seeds() -> None:
    assert_holds(lambda rng: student_mean_interval(rng.normal(2, 5, 3)), 2.0)


def moves(
    rng: np.random.Generator, games: int, share: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Regrets of moves and their games: so many throw away 1, 2, ... VP, more in some games."""
    sizes = rng.integers(2, 11, games)
    clusters = np.repeat(np.arange(games), sizes)
    chances = rng.beta(9 * share, 9 * (1 - share), games)[clusters]
    worse = rng.random(len(clusters)) < chances
    regrets = np.where(worse, rng.geometric(0.5, len(clusters)), 0)
    return regrets.astype(np.float64), clusters


@pytest.mark.parametrize(("games", "share"), [(24, 0.3), (40, 0.15)])
def test_regret_in_clusters(games: int, share: float) -> None:
    assert_holds(lambda rng: clustered_mean_interval(*moves(rng, games, share), rng), 2 * share)


@pytest.mark.parametrize(("games", "share"), [(24, 0.3), (60, 0.1)])
def test_shares_of_moves_in_clusters(games: int, share: float) -> None:
    def draw(rng: np.random.Generator) -> Interval:
        regrets, clusters = moves(rng, games, share)
        return clustered_share_interval(regrets > 0, clusters)

    assert_holds(draw, share, 2 * EXPERIMENTS)


@pytest.mark.parametrize("count", [4, 40])
def test_regret_in_strata(count: int) -> None:
    shares = np.linspace(0.1, 0.5, 10)

    def strata(rng: np.random.Generator) -> list[npt.NDArray[np.float64]]:
        return [(rng.random(count) < share) * rng.geometric(0.5, count).astype(np.float64)
                for share in shares]

    assert_holds(lambda rng: stratified_mean_interval(strata(rng)), 2 * shares.mean())
    assert_holds(lambda rng: stratified_share_interval([
        (values > 0).astype(np.float64) for values in strata(rng)]), shares.mean())


def drawn_margins(rng: np.random.Generator, games: int, mean: float) -> dict[str, int]:
    drawn = rng.multinomial(games, chances_of_margins(mean))
    return {str(margin): int(count) for margin, count in zip(MARGINS, drawn, strict=True) if count}


def chances_of_margins(mean: float) -> npt.NDArray[np.float64]:
    chances = np.exp(-((MARGINS - mean) / 2.5)**2 / 2)
    return np.asarray(chances / chances.sum())


@pytest.mark.parametrize(("games", "mean"), [(40, -2.3), (100, 0.4)])
def test_komi(games: int, mean: float) -> None:
    everybody = {str(margin): round(1e9 * chance) for margin, chance in zip(
        MARGINS, chances_of_margins(mean), strict=True)}
    truth = komi_of(everybody, 0).estimate
    assert_holds(lambda rng: komi_of(drawn_margins(rng, games, mean), int(rng.integers(10**9))),
                 truth)


def test_costs_of_restrictions_as_played() -> None:
    means = [float(MARGINS @ chances_of_margins(mean)) for mean in (-1.0, 1.0)]
    assert_holds(lambda rng: margin_cost(drawn_margins(rng, 100, -1.0),
                                         drawn_margins(rng, 200, 1.0), 0, int(rng.integers(10**9))),
                 means[1] - means[0])


def test_skill_traces() -> None:
    results = [(0.8, 0.05), (0.7, 0.1), (0.65, 0.1)]
    ladder = [[tuple(round(1e6 * chance) for chance in (win, tie, 1 - win - tie))]
              for win, tie in results]
    truth = skill_trace(ladder).estimate
    assert_holds(lambda rng: skill_trace(
        [[tuple(rng.multinomial(200, (win, tie, 1 - win - tie)))] for win, tie in results],
        int(rng.integers(10**9))), truth)


# Ratings: all at once


def ladder(
    rng: np.random.Generator, players: int, gap: float, games: int, count: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Strengths (n,) so many points of Elo apart, and wins of row against column, (count, n, n)."""
    truth = (-np.arange(players) * gap / ELO_SCALE).astype(np.float64)
    truth -= truth.mean()
    chance = 1 / (1 + np.exp(truth - truth[:, np.newaxis]))
    upper = np.triu(np.ones((players, players), dtype=np.bool_), 1)
    wins = rng.binomial(games, chance, (count, players, players)) * upper
    both = wins + ((games - wins) * upper).transpose(0, 2, 1)
    return truth, both.astype(np.int64)


@pytest.mark.parametrize(("players", "gap"), [(2, 100), (8, 200), (8, 300), (10, 400)])
def test_ratings_and_leads(players: int, gap: float) -> None:
    """With 40 games a pair. Of one player at a time, as those of one ladder hang together."""
    truth, wins = ladder(np.random.default_rng(1), players, gap, 40, EXPERIMENTS)
    likely = strengths.with_prior(wins.astype(np.float64))
    best = strengths.fit(likely)
    own = np.eye(players) - 1 / players
    for contrast in (own[0], own[players // 2], own[0] - own[1]):
        values = np.full(EXPERIMENTS, contrast @ truth)
        lost = strengths.deviance(likely, best, contrast[np.newaxis], values)
        share = np.mean(lost <= strengths.LIMIT)
        assert LEAST <= share <= MOST, (contrast, share)


def test_ends_of_ratings_are_where_the_games_speak_against_them() -> None:
    """That is, where the deviance, whose share of the truth is simulated above, is at its limit."""
    _, wins = ladder(np.random.default_rng(2), 6, 150, 40, 1)
    results = wins.astype(np.float64)
    likely = strengths.with_prior(results)
    best, own = strengths.fit(likely), np.eye(6) - 1 / 6
    for spread in (1.0, 0.5):
        ends = strengths.limits(results[0], spread, own)
        for contrast, pair in zip(own, ends, strict=True):
            lost = strengths.deviance(likely, best, contrast[np.newaxis], pair)
            assert lost == pytest.approx(strengths.LIMIT * spread, rel=1e-3)
            assert pair[0] < contrast @ best[0] < pair[1]


def test_draws_narrow_ratings_as_they_narrow_rates() -> None:
    """Two players, one seat: the interval of their lead is as wide as that of the rate, about."""
    for draws in (0, 200):
        half = (400 - draws) // 2
        counts = np.zeros((2, 2, 3), dtype=np.int64)
        counts[0, 1] = half, draws, half
        lead = rate(CrossTable("x", ("a", "b"), counts))[0].lead
        points = rate_interval(counts[0, 1])
        assert lead is not None
        expected = ELO_SCALE * math.log(points.high / points.low)
        assert lead.high == pytest.approx(expected, rel=0.03)
