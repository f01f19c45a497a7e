"""What played cells hold: matches of agents, plain ones and restricted ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.search.restricted_alphabeta import restricted_alphabeta
from agents.solve.exact_values import LAST_PLIES
from agents.solve.perfect_play import exact_move_values
from castle_env import Agent, Game, make_agent
from castle_env.game_record import GameRecord
from castle_env.position import stack
from castle_env.ruleset import STORM
from experiments.measure.intervals import (
    RESAMPLES,
    TAIL,
    Interval,
    bootstrap_tail,
    percentile_intervals,
)
from experiments.measure.match import play_match
from experiments.measure.quality import LEAD_PLIES, Trace, quality, trace_games
from experiments.measure.records import distinct_games, summarise

# Of a lead's distribution over games, by ply.
QUANTILES: Final = (0.1, 0.9)
# So many games of a match have their exact values shown.
EXACT_GAMES: Final = 100


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
    counts, by the seat of the first agent. quality: see there. leads: for an agent against itself,
    [ply, games, mean, quantiles] of player 0's margin: in storm the "exact" one under best play
    from there on, near the end; elsewhere after two or three plies of best play, apart by who makes
    the last of them, "first" or "second".
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
    }
    if one == other:
        result["leads"] = (_exact_leads(game, games) if game.rules.mode == STORM
                           else _searched_leads(traces, params["opening_plies"]))
    return result


def _counts(margins: Any) -> dict[str, int]:
    return {str(margin): count for margin, count in sorted(Counter(margins).items())}


def _exact_leads(game: Game, records: Sequence[GameRecord]) -> dict[str, list[list[float]]]:
    """Of the first `EXACT_GAMES` games, from `LAST_PLIES` before the end on."""
    rows, end = [], game.rules.max_plies
    games = [record.states() for record in records[:EXACT_GAMES]]
    for ply in range(max(records[0].opening_plies, end - LAST_PLIES), end):
        states = stack([positions[ply] for positions in games])
        values = exact_move_values(game, states).max(axis=1)
        rows.append(_lead_row(ply, -values if ply & 1 else values))
    rows.append(_lead_row(end, [record.final.margin for record in records[:EXACT_GAMES]]))
    return {"exact": rows}


def _searched_leads(traces: Sequence[Trace], first: int) -> dict[str, list[list[float]]]:
    """Up to where a search reaches the end of the game."""
    return {name: [_lead_row(first + index, values) for index in range(
        max(len(trace.leads) for trace in traces)) if (values := [
            trace.after[seat, index] for trace in traces
            if index < len(trace.leads) - max(LEAD_PLIES)])]
        for seat, name in enumerate(("first", "second"))}


def _lead_row(ply: int, values: Sequence[float] | npt.NDArray[Any]) -> list[float]:
    margins = np.asarray(values, dtype=np.float64)
    low, high = np.quantile(margins, QUANTILES)
    return [ply, len(margins), round(float(np.mean(margins)), 3), float(low), float(high)]


def komi_of(margins: Mapping[str, int], seed: int) -> Interval:
    """The VP that, given to player 0, bring the seats to 50%; from counts of player 0's margins.

    Shares of the points under komis in steps of a half are joined by straight lines, as whole
    margins leave open what is between. With its bootstrap interval.
    """
    values, counts = np.array([int(margin) for margin in margins]), np.array([*margins.values()])
    komis = np.arange(-2 * values.max() - 1, -2 * values.min() + 2) / 2
    scores = (np.sign(values + komis[:, np.newaxis]) + 1) / 2
    total = counts.sum()
    again = np.random.default_rng(seed).multinomial(total, counts / total, RESAMPLES)
    (interval,) = percentile_intervals(_even(komis, scores, counts[np.newaxis]),
                                       _even(komis, scores, again)[:, np.newaxis],
                                       bootstrap_tail(total) if total > 1 else TAIL)
    return interval


def _even(
    komis: npt.NDArray[np.float64], scores: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Where the share of each row of counts is one half; the middle, where it is so for a while."""
    shares = counts @ scores.T / counts.sum(axis=1, keepdims=True)
    above = np.argmax(shares >= 0.5, axis=1)
    below = len(komis) - 1 - np.argmax(shares[:, ::-1] <= 0.5, axis=1)
    rows, ends = np.arange(len(shares)), np.zeros(len(shares))
    for place in (above - 1, below):
        low, high = shares[rows, place], shares[rows, place + 1]
        ends += komis[place] + (0.5 - low) / (high - low) / 2
    even: npt.NDArray[np.float64] = ends / 2
    return even


def margin_cost(
    restricted: Mapping[str, int], free: Mapping[str, int], seat: int, seed: int
) -> Interval:
    """VP of margin that the player in `seat` loses by a restriction, from counts of margins."""
    rng = np.random.default_rng(seed)
    sign = -1 if seat else 1
    (mean, means), (free_mean, free_means) = (_resampled(counts, rng)
                                              for counts in (restricted, free))
    games = sum(restricted.values()) + sum(free.values())
    (interval,) = percentile_intervals(np.array([sign * (free_mean - mean)]),
                                       sign * (free_means - means)[:, np.newaxis],
                                       bootstrap_tail(games, 2) if games > 2 else TAIL)
    return interval


def _resampled(
    counts: Mapping[str, int], rng: np.random.Generator
) -> tuple[float, npt.NDArray[np.float64]]:
    """The mean of margins, and its bootstrap resamples (RESAMPLES,)."""
    values, times = np.array([int(margin) for margin in counts]), np.array(list(counts.values()))
    again = rng.multinomial(times.sum(), times / times.sum(), RESAMPLES)
    return float(values @ times / times.sum()), again @ values / times.sum()
