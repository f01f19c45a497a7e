"""Finished games written to a file, and what they say of one agent against another."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from castle_env.errors import OptionError
from castle_env.game_record import GameRecord
from experiments.measure.intervals import Interval, bootstrap_mean_interval, rate_interval
from experiments.play.games_file import new_games_file


@contextmanager
def records_file(
    path: Path | None, seed: int
) -> Iterator[Callable[[list[GameRecord]], None]]:
    """A function that adds games, played with `seed`, to a new file; see `new_games_file`."""
    with new_games_file(path) as save:
        yield lambda records: save(_as_filed(record, seed) for record in records)


def _as_filed(record: GameRecord, seed: int) -> GameRecord:
    opening = (f"The first {record.opening_plies} plies were played at random."
               if record.opening_plies else "")
    return replace(record, seed=seed, date=date.today().isoformat(), comment=opening)


@dataclass(frozen=True)
class SummaryRow:
    """How an agent did against an opponent under one ruleset, from one seat or from both.

    seat: 0, 1, or None for both together. games: all that were played. Everything else rests on the
    distinct ones among them: wins, draws, losses; the share of points won; the mean VP margin from
    the agent's view; the mean length in plies; how many ended for which reason.
    """

    agent: str
    opponent: str
    ruleset: str
    mode: str
    seat: int | None
    games: int
    distinct_games: int
    wins: int
    draws: int
    losses: int
    win_rate: Interval
    margin: Interval
    mean_plies: float
    reasons: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "win_rate": self.win_rate.to_dict(),
                "margin": self.margin.to_dict()}


@dataclass(frozen=True)
class Summary:
    """All rows of one agent against one opponent: per ruleset seat 0, seat 1, both."""

    agent: str
    opponent: str
    rows: tuple[SummaryRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"agent": self.agent, "opponent": self.opponent,
                "rows": [row.to_dict() for row in self.rows]}


def distinct_games(records: Iterable[GameRecord]) -> list[GameRecord]:
    """One record of each game, in an order that does not depend on theirs.

    Two records are the same game when the same agents in the same seats made the same moves from
    the same start under the same ruleset, as two deterministic agents do over and over.
    """
    by_identity = {(record.rules.name, record.rules.mode, record.players, record.start or (),
                    record.actions): record for record in records}
    return [by_identity[identity] for identity in sorted(by_identity)]


def summarise(
    records: Iterable[GameRecord], agent_a: str, agent_b: str, seed: int = 0
) -> Summary:
    """Results of `agent_a` in its games against `agent_b`; games of other pairs are passed over.

    The order of the records does not matter. `seed` is that of the bootstrap. Seats without games
    have no row. An agent against itself has a row per seat and none for both, which would be even
    by construction. Raises `OptionError` if the two have no game.
    """
    ours = [record for record in records if sorted(record.players) == sorted((agent_a, agent_b))]
    if not ours:
        raise OptionError(f"no games between {agent_a!r} and {agent_b!r} to summarise")
    rows: list[SummaryRow] = []
    for rules in sorted({(record.rules.name, record.rules.mode) for record in ours}):
        games = [record for record in ours if (record.rules.name, record.rules.mode) == rules]
        by_seat = [[record for record in games if record.players[seat] == agent_a]
                   for seat in (0, 1)]
        rows.extend(_row(by_seat, seat, seed) for seat in (0, 1) if by_seat[seat])
        if agent_a != agent_b:
            rows.append(_row(by_seat, None, seed))
    return Summary(agent_a, agent_b, tuple(rows))


def _row(by_seat: Sequence[Sequence[GameRecord]], seat: int | None, seed: int) -> SummaryRow:
    """Row of the agent that sat in seat s in the games `by_seat[s]`; `seat` None takes both."""
    seats = (0, 1) if seat is None else (seat,)
    by_view = [[(game, s) for game in distinct_games(by_seat[s])] for s in seats]
    views = list(chain(*by_view))
    points = [[game.points_of(s) for game, s in group] for group in by_view]
    results = [(group.count(1.0), group.count(0.5), group.count(0.0)) for group in points]
    wins, draws, losses = map(sum, zip(*results, strict=True))
    margins = [[game.margin_of(s) for game, s in group] for group in by_view]
    (game, s), count = views[0], len(views)
    return SummaryRow(
        agent=game.players[s], opponent=game.players[1 - s],
        ruleset=game.rules.name, mode=game.rules.mode, seat=seat,
        games=sum(len(by_seat[s]) for s in seats), distinct_games=count,
        wins=wins, draws=draws, losses=losses,
        win_rate=rate_interval(*results),
        margin=bootstrap_mean_interval(margins[0], np.random.default_rng(seed), *margins[1:]),
        mean_plies=sum(game.plies for game, _ in views) / count,
        reasons=dict(sorted(Counter(game.final.reason for game, _ in views).items())),
    )
