"""What games are like: measures of balance and quality from the literature, on games as played.

"Ludii" is the module Evaluation of github.com/Ludeme/Ludii, in which Piette, Stephenson, Soemers
and Browne compute the concepts of "General Board Game Concepts", IEEE CoG 2021; many go back to
Browne, "Automatic Generation and Evaluation of Recombination Games", PhD thesis, QUT 2008.

Ludii judges positions by UCT; here the lead is player 0's VP margin after best play, the mean of
what it is after two plies and after three. Each of the two is better for whoever moves last in it,
which is why curves show them apart, and show exact values where there are any.
Everything is counted from the end of the opening, which the players did not choose.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from castle_env import make_agent
from castle_env.board import ENTRIES, SQUARES
from castle_env.game import TURN_LIMIT, Game
from castle_env.game_record import GameRecord
from castle_env.position import PositionArray
from experiments.measure.intervals import (
    RESAMPLES,
    Interval,
    bootstrap_mean_interval,
    percentile_intervals,
    rate_interval,
    share_interval,
)

LEAD_PLIES: Final = (2, 3)
# Of a win, a draw and a loss.
_RESULTS: Final = np.array([1.0, 0.0, -1.0])


class Metric(NamedTuple):
    """What a measure says, and where its formula comes from."""

    meaning: str
    source: str


METRICS: Final[Mapping[str, Metric]] = MappingProxyType({
    "advantage": Metric("share of games that the first player wins", "Ludii, AdvantageP1"),
    "balance": Metric("1 minus the difference of the players' shares of wins", "Ludii, Balance"),
    "completion": Metric("share of games with a winner before the turn limit",
                         "Ludii, Completion"),
    "drawishness": Metric("share of games drawn before the turn limit", "Ludii, Drawishness"),
    "time-outs": Metric("share of games that reach the turn limit", "Ludii, Timeouts"),
    "outcome uniformity": Metric("1 minus the variance of a player's result (+1, 0, -1), mean of "
                                 "both players", "Ludii, OutcomeUniformity"),
    "decisiveness": Metric("share of plies left when the winner first leads by more than the loser "
                           "ever does, the lead being the mean margin after two and after three "
                           "plies of best play; decided games", "Ludii, DecisivenessMoves"),
    "drama": Metric("VP by which the later winner is behind in this lead, mean over positions; "
                    "decided games",
                    "Ludii, Drama; Browne's takes square roots"),
    "lead changes": Metric("changes of who has this lead, per ply; from or to equality too",
                           "Ludii, LeadChange"),
    "score difference": Metric("VP between winner and loser at the end", "Ludii, ScoreDifference"),
    "branching factor": Metric("legal moves per position", "Ludii, BranchingFactor"),
    "duration": Metric("plies of the whole game", "Ludii, DurationTurns"),
    "board coverage": Metric("share of squares that a token stands on at some time",
                             "Ludii, BoardCoverageDefault"),
    "entries": Metric("share of plies in which a faction enters; the others are steps and passes",
                      "this project"),
})


@dataclass(frozen=True)
class Trace:
    """A finished game, judged ply by ply after its opening.

    winner: 0, 1 or None. leads: (plies + 1,), player 0's lead in VP before each ply and at the end.
    after: (2, plies + 1), player 0's margin after two or three plies of best play, of which player
    0 or player 1 makes the last.
    choices: (plies,), legal moves. entries and coverage are shares; plies counts the opening too.
    """

    winner: int | None
    margin: int
    timed_out: bool
    plies: int
    leads: npt.NDArray[np.float64]
    after: npt.NDArray[np.float64]
    choices: npt.NDArray[np.int64]
    entries: float
    coverage: float

    @property
    def winners_leads(self) -> npt.NDArray[np.float64]:
        """Leads of the player who won, before each ply; of player 0 in a draw."""
        return self.leads[:-1] * (-1 if self.winner == 1 else 1)


def trace_games(game: Game, records: Sequence[GameRecord]) -> list[Trace]:
    """Replay finished games of one length of opening, all at once."""
    longest = max(record.plies for record in records)
    states = game.initial_states(len(records))
    margins = np.zeros((longest + 1, 2, len(records)))
    choices, tokens = np.zeros((2, longest + 1, len(records)), dtype=np.int64)
    for ply in range(longest + 1):
        for plies in LEAD_PLIES:
            margins[ply, (ply + plies + 1) & 1] = leads(game, states, plies)
        choices[ply] = game.legal_action_masks(states).sum(axis=1)
        tokens[ply] = states["own"] | states["opposing"] | states["strongholds"]
        going_on = np.array([index for index, record in enumerate(records) if ply < record.plies],
                            dtype=np.int64)
        chosen = np.array([records[index].actions[ply] for index in going_on], dtype=np.int64)
        states[going_on] = game.apply_actions(states[going_on], chosen)
    return [_trace(record, margins[:, :, index], choices[:, index], tokens[:, index])
            for index, record in enumerate(records)]


def leads(game: Game, states: PositionArray, plies: int) -> npt.NDArray[np.int64]:
    """Shape (n,): player 0's margin in VP after that many plies of best play, or an earlier end."""
    states, rng = states.copy(), np.random.default_rng(0)
    for depth in range(plies, 0, -1):
        going_on = np.flatnonzero(~game.terminals(states))
        search = make_agent(f"alphabeta:{depth}", game)
        states[going_on] = game.apply_actions(
            states[going_on], search.select_actions(states[going_on], rng))
    return game.margins(states)


def _trace(
    record: GameRecord, margins: npt.NDArray[np.float64], choices: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.int64]
) -> Trace:
    """Of one game: player 0's margins by who moves last, legal moves and all tokens (bits) by ply.
    """
    first, end = record.opening_plies, record.plies
    occupied = int(np.bitwise_or.reduce(tokens[first:end + 1]))
    return Trace(
        winner=record.final.winner,
        margin=record.final.margin,
        timed_out=record.final.reason == TURN_LIMIT,
        plies=end,
        leads=margins[first:end + 1].mean(axis=1),
        after=margins[first:end + 1].T,
        choices=choices[first:end],
        entries=sum(action < ENTRIES for action in record.actions[first:]) / (end - first),
        coverage=occupied.bit_count() / SQUARES,
    )


# Measures of one game; None where it says nothing


def _decisiveness(trace: Trace) -> float | None:
    if trace.winner is None:
        return None
    ahead = trace.winners_leads
    decided = np.flatnonzero(ahead > -ahead.min())
    return (len(ahead) - int(decided[0])) / len(ahead) if len(decided) else 0.0


def _drama(trace: Trace) -> float | None:
    if trace.winner is None:
        return None
    return float(np.maximum(-trace.winners_leads, 0).mean())


def _lead_changes(trace: Trace) -> float:
    leaders = np.sign(trace.leads[:-1])
    return float((leaders[1:] != leaders[:-1]).sum() / len(leaders))


_OF_A_GAME: Final[Mapping[str, Callable[[Trace], float | None]]] = MappingProxyType({
    "decisiveness": _decisiveness,
    "drama": _drama,
    "lead changes": _lead_changes,
    "score difference": lambda trace: float(abs(trace.margin)),
    "branching factor": lambda trace: float(trace.choices.mean()),
    "duration": lambda trace: float(trace.plies),
    "board coverage": lambda trace: trace.coverage,
    "entries": lambda trace: trace.entries,
})


# Shares of games

_SHARES: Final[Mapping[str, Callable[[Trace], bool]]] = MappingProxyType({
    "advantage": lambda trace: trace.winner == 0,
    "completion": lambda trace: trace.winner is not None and not trace.timed_out,
    "drawishness": lambda trace: trace.winner is None and not trace.timed_out,
    "time-outs": lambda trace: trace.timed_out,
})


# Measures of many games


def _balance(points: Interval) -> Interval:
    """From the first player's share of the points, whose distance from 1/2 counts twice."""
    ends = [abs(2 * end - 1) for end in (points.low, points.high)]
    nearest = 0.0 if points.low <= 0.5 <= points.high else min(ends)
    return Interval(1 - abs(2 * points.estimate - 1), 1 - max(ends), 1 - nearest)


def _uniformity(wins: int, draws: int, losses: int) -> Interval:
    """It has no interval, since the bootstrap of a variance near its maximum misses the truth."""
    decided = (wins + losses) / (wins + draws + losses)
    mean = (wins - losses) / (wins + draws + losses)
    return Interval(1 - (decided - mean**2), math.nan, math.nan)


def quality(traces: Sequence[Trace], seed: int) -> dict[str, Interval]:
    """Every measure of `METRICS` that the games say something about, with its interval.

    seed: of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    found = {}
    for name, measure in _OF_A_GAME.items():
        values = [value for value in map(measure, traces) if value is not None]
        if values:
            found[name] = bootstrap_mean_interval(values, rng)
    for name, is_so in _SHARES.items():
        found[name] = share_interval([is_so(trace) for trace in traces])
    results = [trace.winner for trace in traces]
    wins, draws, losses = (results.count(winner) for winner in (0, None, 1))
    found["balance"] = _balance(rate_interval((wins, draws, losses)))
    found["outcome uniformity"] = _uniformity(wins, draws, losses)
    return {name: found[name] for name in METRICS if name in found}


def skill_trace(matches: Sequence[Sequence[Sequence[int]]], seed: int = 0) -> Interval:
    """How far skill goes, in [0, 1]: Ludii, SkillTrace, by Stephenson and Soemers.

    matches: of a search against the same with half its budget, the budget growing, each as wins,
    draws and losses from each seat. With y the next mean result (+1 win, 0 draw, -1 loss) by linear
    regression, held within [0, 1], and a the mean result, losses counting 0, it is y + (1 - y) a.
    At least two matches are needed. The interval is that of the bootstrap over games.
    """
    rng = np.random.default_rng(seed)
    means, again = [], []
    for match in matches:
        counts = np.array([seat for seat in match if sum(seat)], dtype=np.float64)
        sizes = counts.sum(axis=1)
        drawn = rng.multinomial(sizes.astype(np.int64), counts / sizes[:, np.newaxis],
                                size=(RESAMPLES, len(sizes)))
        means.append(float((counts @ _RESULTS).sum() / sizes.sum()))
        again.append((drawn @ _RESULTS).sum(axis=1) / sizes.sum())
    (interval,) = percentile_intervals(_skill(np.array([means])), _skill(np.stack(again, axis=1))
                                       [:, np.newaxis])
    return interval


def _skill(results: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The skill trace of each row of mean results, (n, matches)."""
    slope, start = np.polyfit(np.arange(results.shape[1]), results.T, 1)
    following = np.clip(start + slope * results.shape[1], 0, 1)
    skill: npt.NDArray[np.float64] = following + (1 - following) * np.maximum(results, 0).mean(
        axis=1)
    return skill
