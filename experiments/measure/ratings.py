"""Results of many players against each other: cross-table, Bradley–Terry ratings, cycles.

Everything here is computed from counts of distinct games per pair and seat, with the players in
alphabetical order. The order in which games were played or are given cannot matter.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import networkx as nx
import numpy as np
import numpy.typing as npt

from castle_env.errors import OptionError
from castle_env.game_record import GameRecord
from experiments.measure.intervals import Interval, rate_interval
from experiments.measure.records import distinct_games
from experiments.measure.strengths import dispersion, fit, limits, with_prior

# Points of strength on the Elo scale per unit of Bradley–Terry log-strength: a lead of 400 points
# means odds of 10 to 1.
ELO_SCALE: Final = 400 / math.log(10)


@dataclass(frozen=True, eq=False)
class CrossTable:
    """Counts of distinct games under one ruleset.

    players: alphabetical, n of them. counts: (n, n, 3) int64; counts[i, j] are the wins of i, the
    draws and the wins of j in the games with i in seat 0 and j in seat 1.
    """

    ruleset: str
    players: tuple[str, ...]
    counts: npt.NDArray[np.int64]

    def games(self) -> npt.NDArray[np.int64]:
        """Distinct games of each pair from both seats, (n, n) int64, symmetric, diagonal 0."""
        from_seat_0 = self.counts.sum(axis=2)
        games: npt.NDArray[np.int64] = from_seat_0 + from_seat_0.T
        return games

    def points(self) -> npt.NDArray[np.float64]:
        """Points of row against column from both seats, a draw being 0.5 to each, (n, n)."""
        return _points(self.counts.astype(np.float64))

    def shares(self) -> npt.NDArray[np.float64]:
        """Share of the points of row against column, (n, n) in [0, 1]; NaN without games."""
        games = self.games()
        shares = np.full(games.shape, np.nan)
        np.divide(self.points(), games, out=shares, where=games > 0)
        return shares

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a share without games is None."""
        shares = [[None if math.isnan(share) else share for share in row]
                  for row in self.shares().tolist()]
        return {"ruleset": self.ruleset, "players": list(self.players), "shares": shares,
                "points": self.points().tolist(), "games": self.games().tolist(),
                "counts_seat_0": self.counts.tolist()}


@dataclass(frozen=True)
class Rating:
    """Strength of one player: Elo scale, the mean of all players being 0.

    lead: how far it is ahead of the next player; None for the last. points and games are those of
    its distinct games against all others.
    """

    player: str
    rating: Interval
    lead: Interval | None
    points: float
    games: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"player": self.player, "rating": self.rating.to_dict(),
                "lead": self.lead and self.lead.to_dict(), "points": self.points,
                "games": self.games}


@dataclass(frozen=True)
class Cycle:
    """Players who each took over half of the points from the next, the last from the first.

    shares: the share of points of each against the next, with its interval.
    """

    players: tuple[str, ...]
    shares: tuple[Interval, ...]

    @property
    def is_certain(self) -> bool:
        """Whether every share's 95% interval lies above one half."""
        return all(share.low > 0.5 for share in self.shares)

    def __str__(self) -> str:
        return " beats ".join((*self.players, self.players[0]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"players": list(self.players), "certain": self.is_certain,
                "shares": [share.to_dict() for share in self.shares]}


def cross_table(records: Iterable[GameRecord]) -> CrossTable:
    """Count the distinct games of each pair; games of a player against itself are left out.

    Raises `OptionError` unless the records are of two players or more under one ruleset.
    """
    games = [game for game in distinct_games(records) if game.players[0] != game.players[1]]
    rulesets = sorted({game.rules.name for game in games})
    if len(rulesets) != 1:
        raise OptionError(f"games under {len(rulesets)} rulesets ({', '.join(rulesets)}) between "
                          "different players; allowed: exactly one ruleset")
    players = tuple(sorted({player for game in games for player in game.players}))
    index = {player: number for number, player in enumerate(players)}
    counts = np.zeros((len(players), len(players), 3), dtype=np.int64)
    for game in games:
        column = {0: 0, None: 1, 1: 2}[game.final.winner]
        counts[index[game.players[0]], index[game.players[1]], column] += 1
    return CrossTable(rulesets[0], players, counts)


def rate(table: CrossTable) -> tuple[Rating, ...]:
    """Bradley–Terry ratings with their intervals, the strongest player first.

    A draw is half a win and half a loss. Estimates are the likeliest with Jeffreys' prior, which
    keeps them finite; intervals are those of the profile likelihood, without an end where the games
    set none, see `experiments.measure.strengths`. Names do not matter.
    """
    points = table.points()
    estimates = fit(with_prior(points[np.newaxis]))[0]
    order = sorted(range(len(points)), key=lambda i: (-round(float(estimates[i]), 9),
                                                      table.players[i]))
    own = np.eye(len(points)) - 1 / len(points)
    contrasts = np.concatenate([own[order], own[order[:-1]] - own[order[1:]]])
    ends = limits(points, _spread(table), contrasts)
    found = [_interval(float(contrast @ estimates), *map(float, end))
             for contrast, end in zip(contrasts, ends, strict=True)]
    leads = [*found[len(order):], None]
    totals, games = points.sum(axis=1), table.games().sum(axis=1)
    return tuple(Rating(table.players[i], rating, lead, float(totals[i]), int(games[i]))
                 for i, rating, lead in zip(order, found, leads, strict=False))


def _interval(estimate: float, low: float, high: float) -> Interval:
    """On the Elo scale; unknown where both ends are open."""
    if math.isinf(low) and math.isinf(high):
        low = high = math.nan
    return Interval(*(ELO_SCALE * value for value in (
        estimate, min(low, estimate), max(high, estimate))))


def _spread(table: CrossTable) -> float:
    """The `dispersion` of all games."""
    counts = table.counts.astype(np.float64)
    sizes = counts.sum(axis=2)
    points, squares = counts @ (1.0, 0.5, 0.0), counts @ (1.0, 0.25, 0.0)
    several = sizes > 1
    variances = (squares - points**2 / np.maximum(sizes, 1)) / np.maximum(sizes - 1, 1)
    within = np.array([(sizes * variances)[several].sum()])
    results = table.points()[np.newaxis]
    return float(dispersion(results, within, fit(results))[0])


def _points(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Points of row against column, (n, n), from counts (n, n, 3)."""
    wins, draws, losses = np.moveaxis(counts, 2, 0)
    points: npt.NDArray[np.float64] = wins + losses.T + (draws + draws.T) / 2
    return points


def find_cycles(table: CrossTable) -> tuple[Cycle, ...]:
    """Cycles A beats B beats C beats A, where to beat is to take over half of the points.

    Only the shortest are listed (those without chords): any longer one holds one of them. Each
    starts with the player who comes first in the alphabet.
    """
    beats = nx.DiGraph()
    beats.add_edges_from(np.argwhere(table.points() * 2 > table.games()).tolist())
    cycles = []
    for nodes in nx.chordless_cycles(beats):
        first = nodes.index(min(nodes))
        cycles.append(tuple(nodes[first:] + nodes[:first]))
    return tuple(_cycle(table, cycle) for cycle in sorted(cycles))


def _cycle(table: CrossTable, cycle: tuple[int, ...]) -> Cycle:
    pairs = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    return Cycle(tuple(table.players[i] for i in cycle),
                 tuple(rate_interval(table.counts[i, j], table.counts[j, i, ::-1])
                       for i, j in pairs))
