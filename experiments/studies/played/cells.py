"""What played cells hold: matches of agents, plain ones and restricted ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.search.restricted_alphabeta import restricted_alphabeta
from castle_env import Agent, Game, make_agent
from experiments.measure.intervals import RESAMPLES, Interval, percentile_intervals
from experiments.measure.match import play_match
from experiments.measure.quality import Trace, quality, trace_games
from experiments.measure.records import distinct_games, summarise

# Of a lead's distribution over games, by ply.
QUANTILES: Final = (0.1, 0.9)


def match_cell(game: Game, params: Mapping[str, Any], seed: int | None) -> dict[str, Any]:
    """`params["agents"]`, two names, play each other; see `match_result`."""
    one, other = params["agents"]
    return match_result(game, (make_agent(one, game), make_agent(other, game)), params, seed or 0)


def restricted_match_cell(
    game: Game, params: Mapping[str, Any], seed: int | None
) -> dict[str, Any]:
    """Alphabeta of `params["depth"]` under `params["restriction"]` plays the same without it."""
    depth = params["depth"]
    agents = (restricted_alphabeta(game, params["restriction"], depth),
              make_agent(f"alphabeta:{depth}", game))
    return match_result(game, agents, params, seed or 0)


def match_result(
    game: Game, agents: tuple[Agent, Agent], params: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Play `params["games"]` games after `params["opening_plies"]` random plies each.

    rows: of `experiments.measure.records.summarise`, for the first agent. margins: player 0's, as
    counts, by the seat of the first agent. quality: see there. leads: [ply, games, mean, quantiles]
    of player 0's lead; plies that not every game reaches too. komi: for an agent against itself.
    """
    records = play_match(game, agents, params["games"], params["opening_plies"], seed)
    one, other = agents[0].name, agents[1].name
    games = distinct_games(records)
    traces = trace_games(game, games)
    result: dict[str, Any] = {
        "rows": [row.to_dict() for row in summarise(records, one, other, seed).rows],
        "margins": {str(seat): _counts(record.final.margin for record in games
                                       if record.players[seat] == one) for seat in (0, 1)},
        "quality": {name: value.to_dict() for name, value in quality(traces, seed).items()},
        "leads": _leads_by_ply(traces, params["opening_plies"]),
    }
    if one == other:
        result["komi"] = komi_of([record.final.margin for record in games], seed)
    return result


def _counts(margins: Any) -> dict[str, int]:
    return {str(margin): count for margin, count in sorted(Counter(margins).items())}


def _leads_by_ply(traces: Sequence[Trace], first: int) -> list[list[float]]:
    rows = []
    for index in range(max(len(trace.leads) for trace in traces)):
        values = [trace.leads[index] for trace in traces if index < len(trace.leads)]
        low, high = np.quantile(values, QUANTILES)
        rows.append([first + index, len(values), round(float(np.mean(values)), 3),
                     float(low), float(high)])
    return rows


def komi_of(margins: Sequence[int], seed: int) -> dict[str, Any]:
    """The VP in steps of a half that, given to player 0, bring the seats nearest to 50%.

    komi: with its bootstrap interval. score: player 0's share of the points with it. Of two equally
    good values the smaller is taken.
    """
    values, counts = np.unique(np.array(margins), return_counts=True)
    komis = np.arange(-2 * values.max() - 1, -2 * values.min() + 2) / 2
    komis = komis[np.argsort(np.abs(komis), kind="stable")]
    scores = (np.sign(values + komis[:, np.newaxis]) + 1) / 2
    again = np.random.default_rng(seed).multinomial(len(margins), counts / len(margins), RESAMPLES)
    (interval,) = percentile_intervals(np.array([_best(komis, scores, counts)]),
                                       np.array([[_best(komis, scores, drawn)] for drawn in again]))
    points = scores[list(komis).index(interval.estimate)] @ counts
    return {"komi": interval.to_dict(), "score": float(points / len(margins))}


def _best(
    komis: npt.NDArray[np.float64], scores: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]
) -> float:
    return float(komis[np.argmin(np.abs(scores @ counts / counts.sum() - 0.5))])


def margin_cost(
    restricted: Mapping[str, int], free: Mapping[str, int], seat: int, seed: int
) -> Interval:
    """VP of margin that the player in `seat` loses by a restriction, from counts of margins."""
    rng = np.random.default_rng(seed)
    sign = -1 if seat else 1
    (mean, means), (free_mean, free_means) = (_resampled(counts, rng)
                                              for counts in (restricted, free))
    (interval,) = percentile_intervals(np.array([sign * (free_mean - mean)]),
                                       sign * (free_means - means)[:, np.newaxis])
    return interval


def _resampled(
    counts: Mapping[str, int], rng: np.random.Generator
) -> tuple[float, npt.NDArray[np.float64]]:
    """The mean of margins, and its bootstrap resamples (RESAMPLES,)."""
    values, times = np.array([int(margin) for margin in counts]), np.array(list(counts.values()))
    again = rng.multinomial(times.sum(), times / times.sum(), RESAMPLES)
    return float(values @ times / times.sum()), again @ values / times.sum()
