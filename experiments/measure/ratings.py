"""Results of many players against each other: cross-table, Bradley–Terry ratings, cycles.

Everything here is computed from counts of distinct games per pair and seat, with the players in
alphabetical order. The order in which games were played or are given cannot matter.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import choix
import networkx as nx
import numpy as np
import numpy.typing as npt

from castle_env.errors import OptionError
from castle_env.game_record import GameRecord
from experiments.measure.intervals import Interval, percentile_intervals, wilson_interval
from experiments.measure.records import distinct_games

# Points of strength on the Elo scale per unit of Bradley–Terry log-strength: a lead of 400 points
# means odds of 10 to 1.
ELO_SCALE: Final = 400 / math.log(10)
RESAMPLES: Final = 1000

# Each player is taken to have won this much of a game, and lost as much, from each seat against
# each other player: 0.4 of a drawn game per pair. Without it, a player who won all games would have
# no finite rating, and neither would players who are not linked by games. Much more of it draws
# ratings that lie far apart together, and their intervals miss the truth more often than they say.
PRIOR_WINS: Final = 0.1

_MAX_ITERATIONS: Final = 10_000


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

    points and games are those of its distinct games against all others.
    """

    player: str
    rating: Interval
    points: float
    games: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"player": self.player, "rating": self.rating.to_dict(), "points": self.points,
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


def rate(table: CrossTable, rng: np.random.Generator) -> tuple[Rating, ...]:
    """Bradley–Terry ratings with bootstrap intervals, the strongest player first.

    Maximum likelihood of all games together (choix; Hunter 2004, Maystre and Grossglauser 2015),
    where a draw is half a win and half a loss, and `PRIOR_WINS` is added to keep ratings finite.
    Resamples draw the games of each pair and seat anew, as many as were played; the prior takes
    part in the drawing, since otherwise a pair with one winner only would show no uncertainty.
    """
    strengths = _fit(table.counts.astype(np.float64))
    resampled = np.stack([_fit(counts, strengths) for counts in _resamples(table.counts, rng)])
    intervals = percentile_intervals(strengths * ELO_SCALE, resampled * ELO_SCALE)
    points, games = table.points().sum(axis=1), table.games().sum(axis=1)
    ratings = [Rating(player, intervals[i], float(points[i]), int(games[i]))
               for i, player in enumerate(table.players)]
    return tuple(sorted(ratings, key=lambda rating: (-rating.rating.estimate, rating.player)))


def _points(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Points of row against column, (n, n), from counts (n, n, 3)."""
    wins, draws, losses = np.moveaxis(counts, 2, 0)
    points: npt.NDArray[np.float64] = wins + losses.T + (draws + draws.T) / 2
    return points


def _fit(
    counts: npt.NDArray[np.float64], start: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float64]:
    """Log-strengths (n,) with mean 0 for counts (n, n, 3)."""
    wins = _points(counts) + 2 * PRIOR_WINS
    np.fill_diagonal(wins, 0.0)
    strengths: npt.NDArray[np.float64] = choix.ilsr_pairwise_dense(
        wins, initial_params=start, max_iter=_MAX_ITERATIONS)
    strengths -= strengths.mean()
    return strengths


def _resamples(
    counts: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Counts of `RESAMPLES` tournaments like the given one, (resamples, n, n, 3)."""
    weights = counts + np.array([PRIOR_WINS, 0.0, PRIOR_WINS])
    chances = weights / weights.sum(axis=2, keepdims=True)
    drawn = rng.multinomial(counts.sum(axis=2), chances, size=(RESAMPLES, *counts.shape[:2]))
    return drawn.astype(np.float64)


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
    points, games = table.points(), table.games()
    pairs = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    return Cycle(tuple(table.players[i] for i in cycle),
                 tuple(wilson_interval(float(points[i, j]), int(games[i, j])) for i, j in pairs))
