"""Finished games as plain values, and what they say of one agent against another."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from agents.runs import RunError
from castle_env.errors import OptionError
from castle_env.game import Game
from castle_env.game_file import SavedGame, SavedMove
from experiments.measure.intervals import Interval, bootstrap_mean_interval, wilson_interval
from experiments.play.games_file import new_games_file


@dataclass(frozen=True)
class GameRecord:
    """One finished game.

    players: names of the agents in seat 0 and seat 1. moves: action texts from the first ply on,
    the opening included; the first `opening_plies` of them were given and not chosen by the agents.
    winner: 0, 1 or None for a draw. margin: Victory Points of player 0 minus those of player 1.
    victory_points: (player 0, player 1), and `by_row` the same for rows of the table, where kept.
    reason: why it ended, as in `castle_env.Outcome`.
    """

    players: tuple[str, str]
    ruleset: str
    mode: str
    moves: tuple[str, ...]
    winner: int | None
    margin: int
    victory_points: tuple[int, int]
    reason: str
    opening_plies: int = 0
    by_row: Mapping[str, tuple[int, int]] | None = field(default=None, hash=False)

    @property
    def plies(self) -> int:
        """Length of the game, its opening included."""
        return len(self.moves)

    def points_of(self, seat: int) -> float:
        """1 for a win of the player in `seat`, 0.5 for a draw, 0 for a loss."""
        return 0.5 if self.winner is None else float(self.winner == seat)

    def margin_of(self, seat: int) -> int:
        """The margin from the view of the player in `seat`."""
        return -self.margin if seat else self.margin

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `GameRecord.from_dict` reads them back."""
        return {**asdict(self), "plies": self.plies}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "GameRecord":
        """Record from what `to_dict` gave, also after JSON; raises `RunError` if it is none."""
        try:
            first, second = data["players"]
            vp_first, vp_second = data["victory_points"]
            rows = data["by_row"]
            return cls(
                players=(first, second), ruleset=data["ruleset"], mode=data["mode"],
                moves=tuple(data["moves"]), winner=data["winner"], margin=data["margin"],
                victory_points=(vp_first, vp_second), reason=data["reason"],
                opening_plies=data["opening_plies"],
                by_row=None if rows is None else {row: (a, b) for row, (a, b) in rows.items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(f"not a game record ({error!r}): {data!r}") from error


@contextmanager
def records_file(
    path: Path | None, game: Game, seed: int
) -> Iterator[Callable[[list[GameRecord]], None]]:
    """A function that adds games to a new file of games; see `new_games_file`."""
    with new_games_file(path) as save:
        yield lambda records: save(_saved_game(game, record, seed) for record in records)


def _saved_game(game: Game, record: GameRecord, seed: int) -> SavedGame:
    moves = tuple(SavedMove(game.parse_action(text)) for text in record.moves)
    opening = (f"The first {record.opening_plies} plies were played at random."
               if record.opening_plies else "")
    return SavedGame(game.rules, moves, record.players, seed, date.today().isoformat(),
                     comment=opening)


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

    Two records are the same game when the same agents in the same seats made the same moves under
    the same ruleset, as two deterministic agents do over and over.
    """
    by_identity = {(record.ruleset, record.mode, record.players, record.moves): record
                   for record in records}
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
    for rules in sorted({(record.ruleset, record.mode) for record in ours}):
        games = [record for record in ours if (record.ruleset, record.mode) == rules]
        by_seat = [[record for record in games if record.players[seat] == agent_a]
                   for seat in (0, 1)]
        rows.extend(_row(by_seat, seat, seed) for seat in (0, 1) if by_seat[seat])
        if agent_a != agent_b:
            rows.append(_row(by_seat, None, seed))
    return Summary(agent_a, agent_b, tuple(rows))


def _row(by_seat: Sequence[Sequence[GameRecord]], seat: int | None, seed: int) -> SummaryRow:
    """Row of the agent that sat in seat s in the games `by_seat[s]`; `seat` None takes both."""
    seats = (0, 1) if seat is None else (seat,)
    views = [(game, s) for s in seats for game in distinct_games(by_seat[s])]
    points = [game.points_of(s) for game, s in views]
    margins = [game.margin_of(s) for game, s in views]
    (game, s), count = views[0], len(views)
    return SummaryRow(
        agent=game.players[s], opponent=game.players[1 - s], ruleset=game.ruleset, mode=game.mode,
        seat=seat, games=sum(len(by_seat[s]) for s in seats), distinct_games=count,
        wins=points.count(1.0), draws=points.count(0.5), losses=points.count(0.0),
        win_rate=wilson_interval(sum(points), count),
        margin=bootstrap_mean_interval(margins, np.random.default_rng(seed)),
        mean_plies=sum(game.plies for game, _ in views) / count,
        reasons=dict(sorted(Counter(game.reason for game, _ in views).items())),
    )
