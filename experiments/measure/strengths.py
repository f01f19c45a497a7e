"""Bradley–Terry log-strengths by maximum likelihood, and how far the games leave them open.

A player of strength a scores 1 / (1 + exp(b - a)) on average against one of strength b (Bradley and
Terry, Biometrika 39, 1952). Strengths have mean 0. Intervals are those of the profile likelihood:
all values that the games, and a weak prior, do not speak against at 95%, whatever the other
strengths. They have no end where the games alone set none, as after a clean sweep. All fits are
done at once, in batches (B,).
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from experiments.measure.intervals import CONFIDENCE

Floats = npt.NDArray[np.float64]

# So many units of log-strength, 5,211 points of Elo, beyond an estimate there is no end.
FARTHEST: Final = 30.0
LIMIT: Final = float(stats.chi2.ppf(CONFIDENCE, 1))
# Keeps fits finite without being felt: its weight in the likelihood is that of 1e-6 games.
_RIDGE: Final = 1e-6
_STEPS: Final = 300
_ROUNDS: Final = 30
_LONGEST_STEP: Final = 3.0
_HALVINGS: Final = 26


def fit(points: Floats, contrast: Floats | None = None, values: Floats | None = None) -> Floats:
    """Strengths (B, n) that make the results likeliest; Newton's method on a concave function.

    points: (n, n) or (B, n, n), of row against column. With a contrast (n,) or (B, n), whose sum
    is 0, only strengths whose product with it is `values` (B,) are allowed.
    """
    points = np.atleast_3d(points) if points.ndim == 3 else points[np.newaxis]
    count = points.shape[-1]
    fixed = [np.ones((1, count))] if contrast is None else [
        np.ones((len(np.atleast_2d(contrast)), count)), np.atleast_2d(contrast)]
    directions = _orthogonal(np.stack(np.broadcast_arrays(*fixed), axis=1))
    strengths = np.zeros((max(len(points), len(directions)), count))
    if contrast is not None and values is not None:
        wanted = np.atleast_2d(contrast)
        strengths = values[:, np.newaxis] * wanted / (wanted**2).sum(axis=1, keepdims=True)
    for _ in range(_STEPS):
        slope, curvature = _derivatives(points, strengths)
        slope = (slope[:, np.newaxis] @ directions)[:, 0]
        curvature = directions.transpose(0, 2, 1) @ curvature @ directions
        step = np.linalg.solve(curvature, slope[..., np.newaxis])
        move = (directions @ step)[..., 0]
        longest = np.abs(move).max(axis=1, initial=0.0)
        strengths = strengths + move * np.minimum(
            1.0, _LONGEST_STEP / np.maximum(longest, _LONGEST_STEP))[:, np.newaxis]
        if longest.max(initial=0.0) < 1e-9:
            break
    return strengths


def _orthogonal(fixed: Floats) -> Floats:
    """Directions (B, n, n - k) at right angles to the rows of (B, k, n)."""
    vectors: Floats = np.linalg.svd(fixed)[2][:, fixed.shape[1]:].transpose(0, 2, 1)
    return vectors


def _expected(strengths: Floats) -> Floats:
    """Share of the points of row against column, (B, n, n)."""
    lead = strengths[:, :, np.newaxis] - strengths[:, np.newaxis]
    share: Floats = special.expit(lead)
    return share


def _derivatives(points: Floats, strengths: Floats) -> tuple[Floats, Floats]:
    """Slope (B, n) and negative second derivative (B, n, n) of the log-likelihood."""
    games, share = points + points.transpose(0, 2, 1), _expected(strengths)
    slope = (points - games * share).sum(axis=2) - _RIDGE * strengths
    return slope, _laplacian(games * share * (1 - share))


def with_prior(points: Floats) -> Floats:
    """Results (B, n, n) with Jeffreys' prior added, in wins and losses of each pair.

    Most likely strengths are then almost unbiased, and finite after clean sweeps too (Firth,
    Biometrika 80, 1993): of each pair, half a win and half a loss for its share of what is known of
    the strengths, n - 1 games in all.
    """
    games = points + points.transpose(0, 2, 1)
    added = np.zeros_like(points)
    for _ in range(_ROUNDS):
        share = _expected(fit(points + added / 2))
        weights = games * share * (1 - share)
        known = np.linalg.inv(_laplacian(weights))
        spread = np.diagonal(known, axis1=1, axis2=2)
        before, added = added, weights * (
            spread[:, :, np.newaxis] + spread[:, np.newaxis] - 2 * known)
        if np.abs(added - before).max() < 1e-6:
            break
    return points + added / 2


def _laplacian(weights: Floats) -> Floats:
    matrix = -weights
    places = np.arange(weights.shape[-1])
    matrix[:, places, places] += weights.sum(axis=2) + _RIDGE
    return matrix


def log_likelihood(points: Floats, strengths: Floats) -> Floats:
    """Of results (n, n) or (B, n, n) under strengths (B, n), shape (B,)."""
    lead = strengths[:, :, np.newaxis] - strengths[:, np.newaxis]
    total: Floats = -(points * np.logaddexp(0, -lead)).sum(axis=(1, 2))
    return total


def dispersion(points: Floats, within: Floats, strengths: Floats) -> Floats:
    """Variance of the games as a share of what wins and losses by chance would have, (B,).

    It is below 1 where there are draws, or where a seat is worth much. within: (B,), the sum over
    all pairs and seats of games times the variance of their points. One game by chance is added to
    both, so that little evidence weighs little.
    """
    games, share = points + points.transpose(0, 2, 1), _expected(strengths)
    by_chance = (games * share * (1 - share)).sum(axis=(1, 2)) / 2
    found: Floats = np.minimum(1.0, (within + 0.25) / (by_chance + 0.25))
    return found


def deviance(points: Floats, best: Floats, contrast: Floats, values: Floats) -> Floats:
    """Twice the log-likelihood lost where a contrast has certain values, (B,); `best` is the fit.
    """
    return 2 * (log_likelihood(points, best)
                - log_likelihood(points, fit(points, contrast, values)))


def limits(points: Floats, spread: float, contrasts: Floats) -> Floats:
    """Ends (k, 2) of the 95% intervals of contrasts (k, n); infinite where there is none.

    points: (n, n). spread: their `dispersion`. Jeffreys' prior takes part in how far an interval
    reaches, but not in whether it ends.
    """
    points = points[np.newaxis]
    likely = with_prior(points)
    best = fit(likely)
    centres = contrasts @ best[0]
    signs = np.repeat([-1.0, 1.0], len(contrasts))
    wanted, middle = np.tile(contrasts, (2, 1)), np.tile(centres, 2)

    inner, outer = middle.copy(), middle + signs * FARTHEST
    endless = deviance(points, fit(points), wanted, outer) <= LIMIT * spread
    for _ in range(_HALVINGS):
        values = (inner + outer) / 2
        within = deviance(likely, best, wanted, values) <= LIMIT * spread
        inner, outer = np.where(within, values, inner), np.where(within, outer, values)
    ends = np.where(endless, signs * math.inf, (inner + outer) / 2)
    result: Floats = ends.reshape(2, -1).T
    return result
