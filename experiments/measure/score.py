"""The score of an agent by one fixed protocol for each mode, so that figures can be compared.

Games: against each agent of `PANEL`, from the openings in `experiments/data/openings-*.txt`, each
from both seats. Storm has 48 openings of two plies, each played `ROUNDS` times, Sudden Death 624 of
four plies. Truth (storm): one move in each position of the shipped truth set. A group of openings
or positions has a random stream of its own, which follows from `SEED` alone. What changes any
figure changes `VERSION`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.tasks import MapTasks
from castle_env import Game, Ruleset
from castle_env.game_record import GameRecord
from castle_env.ruleset import STORM
from experiments.measure.intervals import (
    Interval,
    stratified_mean_interval,
    stratified_share_interval,
)
from experiments.measure.match import GROUP, PANEL, agent_of, play_out
from experiments.measure.records import SummaryRow, summarise
from experiments.measure.truth_set import TruthSet, shipped_truth_set

VERSION: Final = "score v1"
SEED: Final = 1
# How often each opening is played from each seat, by mode: most players settle ties by lot.
ROUNDS: Final[Mapping[str, int]] = MappingProxyType({"storm": 13, "sudden_death": 1})

# Plies over which moves are summed up, the first and the last; each ply counts alike.
ALL_PLIES: Final = (2, 15)
LATER_PLIES: Final = (6, 15)
BANDS: Final = ((2, 5), (6, 8), (9, 11), (12, 13), (14, 15))

# Positions of the truth set that a task holds.
_AT_ONCE: Final = 512

# What streams of random numbers are for.
_GAMES, _MOVES = range(2)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MoveRow:
    """How well moves were chosen in the truth set's positions from ply `first` to ply `last`.

    regret: mean VP thrown away per move. optimal: share of moves that throw nothing away. Every ply
    has the same weight, however many positions it has.
    """

    first: int
    last: int
    moves: int
    regret: Interval
    optimal: Interval

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {"regret": self.regret.to_dict(), "optimal": self.optimal.to_dict()}


@dataclass(frozen=True)
class Score:
    """What the protocol gives for an agent.

    points: a row against each other agent of the panel, both seats together. moves: rows over
    `ALL_PLIES`, `LATER_PLIES` and `BANDS`, in this order; empty outside storm.
    """

    agent: str
    points: tuple[SummaryRow, ...]
    moves: tuple[MoveRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"protocol": VERSION, "agent": self.agent,
                "points": [row.to_dict() for row in self.points],
                "moves": [row.to_dict() for row in self.moves]}

    def against(self, opponent: str) -> SummaryRow | None:
        """The row against an agent of the panel; None for itself."""
        return next((row for row in self.points if row.opponent == opponent), None)


@dataclass(frozen=True)
class GamesTask:
    """Games of an agent from a group of openings, whose number `first` begins it."""

    rules: Ruleset
    agent: str
    opponent: str
    first: int
    openings: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class MovesTask:
    """Moves of an agent in positions of the truth set, from row `first` on."""

    rules: Ruleset
    agent: str
    first: int


def score(
    game: Game, agent: str, map_tasks: MapTasks,
    advance: Callable[[int], None] = lambda done: None,
) -> Score:
    """The score of an agent by its name; `advance` is told of tasks done, see `task_count`.

    Raises what making the agent raises.
    """
    name = agent_of(game.rules, agent).name
    results = map_tasks(_work, _tasks(game, agent), lambda index, result: advance(1))
    records = [record for result in results if isinstance(result, list) for record in result]
    points = tuple(summarise(records, name, opponent, SEED).rows[-1]
                   for opponent in PANEL if opponent != name)
    if game.rules.mode != STORM:
        return Score(name, points, ())
    actions = np.concatenate([result for result in results if not isinstance(result, list)])
    truth = shipped_truth_set()
    regrets = truth.regrets[np.arange(len(truth)), actions]
    return Score(name, points, move_rows(truth, regrets, (regrets == 0).astype(np.float64)))


def task_count(game: Game, agent: str) -> int:
    """How many tasks the score of an agent is made of."""
    return len(_tasks(game, agent))


def _tasks(game: Game, agent: str) -> list[GamesTask | MovesTask]:
    name = agent_of(game.rules, agent).name
    openings = load_openings(game) * ROUNDS[game.rules.mode]
    tasks: list[GamesTask | MovesTask] = [
        GamesTask(game.rules, agent, opponent, first, openings[first:first + GROUP])
        for opponent in PANEL if opponent != name for first in range(0, len(openings), GROUP)]
    if game.rules.mode == STORM:
        tasks += [MovesTask(game.rules, agent, first)
                  for first in range(0, len(shipped_truth_set()), _AT_ONCE)]
    return tasks


def _work(task: GamesTask | MovesTask) -> list[GameRecord] | Ints:
    return play_games(task) if isinstance(task, GamesTask) else choose_moves(task)


def play_games(task: GamesTask) -> list[GameRecord]:
    """The games of a group of openings, from both seats."""
    game = Game(task.rules)
    agents = agent_of(task.rules, task.agent), agent_of(task.rules, task.opponent)
    rng = np.random.default_rng([SEED, _GAMES, PANEL.index(task.opponent), task.first])
    states, opening = game.initial_states(len(task.openings)), []
    for actions in zip(*task.openings, strict=True):
        opening.append(np.array(actions, dtype=np.int64))
        states = game.apply_actions(states, opening[-1])
    return [record for seats in (agents, agents[::-1])
            for record in play_out(game, seats, states, opening, rng)]


def choose_moves(task: MovesTask) -> Ints:
    """The agent's moves in the positions of a task, (n,)."""
    states = shipped_truth_set().states[task.first:task.first + _AT_ONCE]
    rng = np.random.default_rng([SEED, _MOVES, task.first])
    actions: Ints = agent_of(task.rules, task.agent).select_actions(states, rng)
    return actions


def chance(truth: TruthSet) -> tuple[MoveRow, ...]:
    """The moves' rows of a player who draws each legal move alike, in expectation."""
    regrets = truth.regrets
    optimal = np.where(np.isnan(regrets), np.nan, regrets == 0)
    return move_rows(truth, np.nanmean(regrets, axis=1), np.nanmean(optimal, axis=1))


def move_rows(truth: TruthSet, regrets: Floats, optimal: Floats) -> tuple[MoveRow, ...]:
    """Rows of `Score.moves` from what each position cost, (n,), and how optimal it was, (n,)."""
    plies = truth.states["ply"]

    def row(first: int, last: int) -> MoveRow:
        rows = [np.flatnonzero(plies == ply) for ply in range(first, last + 1)]
        rows = [found for found in rows if len(found)]
        return MoveRow(first, last, sum(map(len, rows)),
                       stratified_mean_interval([regrets[found] for found in rows]),
                       stratified_share_interval([optimal[found] for found in rows]))

    return tuple(row(*span) for span in (ALL_PLIES, LATER_PLIES, *BANDS))


def load_openings(game: Game) -> tuple[tuple[int, ...], ...]:
    """The shipped openings of a mode as action indices."""
    name = f"openings-{game.rules.mode.replace('_', '-')}.txt"
    text = (resources.files("experiments") / "data" / name).read_text(encoding="utf-8")
    return tuple(tuple(map(game.parse_action, line.split())) for line in text.splitlines()
                 if not line.startswith("#"))
