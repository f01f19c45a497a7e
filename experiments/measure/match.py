"""Games between agents: from the same openings in both seats, many at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.openings import check_opening_plies
from agents.tasks import MapTasks
from castle_env.agent import Agent, make_agent
from castle_env.errors import OptionError, quoted
from castle_env.game import Game, Outcome
from castle_env.game_record import GameRecord
from castle_env.position import PositionArray
from castle_env.ruleset import Ruleset
from experiments.limits import MAX_GAMES, check_seed
from experiments.measure.intervals import Interval
from experiments.measure.records import records_file, summarise
from experiments.options import MatchOptions
from experiments.progress import progress_bar

# Every agent is measured against the same opponents, whatever it trained against.
PANEL: Final = ("random", "greedy", "alphabeta:2", "alphabeta:4")

# Games are played in groups of this many openings, each with a random stream of its own, so that
# they do not depend on how the groups are shared out.
GROUP: Final = 64

# Shape (n,): what was played in each of n games.
Actions = npt.NDArray[np.int64]


def play_match(
    game: Game,
    agents: tuple[Agent, Agent],
    games: int,
    opening_plies: int = 0,
    seed: int = 0,
    advance: Callable[[int], None] = lambda played: None,
    keep: Callable[[list[GameRecord]], None] = lambda records: None,
) -> list[GameRecord]:
    """Play `games` games, half with each agent in seat 0, both halves from the same openings.

    An opening is `opening_plies` uniformly random legal plies. `advance` is told how many games
    have been finished since it was last called, and `keep` is handed their records. The same seed
    gives the same games. Raises `OptionError` unless `games` is even, `opening_plies` shorter than
    any game and `seed` not negative.
    """
    check_match(game, games, opening_plies, seed)
    records = []
    for first, count in _groups(games):
        records += _play_group(game, agents, first, count, opening_plies, seed, advance, keep)
    return records


def points_against(
    game: Game, agent: Agent, opponent: str = "random", games: int = 200, opening_plies: int = 2
) -> Interval:
    """Share of the points of an agent against the one of another name, both seats together."""
    records = play_match(game, (agent, agent_of(game.rules, opponent)), games, opening_plies)
    return summarise(records, agent.name, opponent).rows[-1].win_rate


def _groups(games: int) -> list[tuple[int, int]]:
    """Number of the first opening of each group, and how many there are in it."""
    openings = games // 2
    return [(first, min(GROUP, openings - first)) for first in range(0, openings, GROUP)]


def _play_group(
    game: Game,
    agents: tuple[Agent, Agent],
    first: int,
    count: int,
    opening_plies: int,
    seed: int,
    advance: Callable[[int], None] = lambda played: None,
    keep: Callable[[list[GameRecord]], None] = lambda records: None,
) -> list[GameRecord]:
    rng = np.random.default_rng([seed, first])
    states, opening = open_games(game, count, opening_plies, rng)
    records = []
    for seats in (agents, agents[::-1]):
        finished = play_out(game, seats, states, opening, rng)
        keep(finished)
        records += finished
        advance(count)
    return records


@dataclass(frozen=True)
class MatchTask:
    """A group of games for a backend to play; agents by their names, as made in the worker."""

    rules: Ruleset
    agents: tuple[str, str]
    first: int
    count: int
    opening_plies: int
    seed: int


def play_matches(
    game: Game,
    pairs: Sequence[tuple[str, str]],
    games: int,
    opening_plies: int,
    seed: int,
    map_tasks: MapTasks,
    advance: Callable[[int], None] = lambda played: None,
    keep: Callable[[list[GameRecord]], None] = lambda records: None,
) -> list[GameRecord]:
    """The games of `play_match` for each pair of agent names, wherever `map_tasks` plays them.

    `keep` is handed them in that order too. Raises `OptionError` and what making agents raises.
    """
    check_match(game, games, opening_plies, seed)
    tasks = [MatchTask(game.rules, pair, first, count, opening_plies, seed)
             for pair in pairs for first, count in _groups(games)]
    early: dict[int, list[GameRecord]] = {}
    kept = 0

    def done(index: int, records: list[GameRecord]) -> None:
        nonlocal kept
        early[index] = records
        advance(len(records))
        while kept in early:
            keep(early.pop(kept))
            kept += 1

    try:
        return [record for group in map_tasks(_play_task, tasks, done) for record in group]
    finally:
        for index in sorted(early):
            keep(early[index])


def _play_task(task: MatchTask) -> list[GameRecord]:
    one, other = (agent_of(task.rules, name) for name in task.agents)
    return _play_group(Game(task.rules), (one, other), task.first, task.count, task.opening_plies,
                       task.seed)


def play_pairs(
    options: MatchOptions, game: Game, pairs: Sequence[tuple[str, str]], title: str
) -> list[GameRecord]:
    """Play as the options of a command say, with progress, saving the games if that is asked for.
    """
    with (records_file(options.save_games, options.seed) as keep,
          progress_bar(title, len(pairs) * options.games) as advance):
        return play_matches(game, pairs, options.games, options.opening_plies, options.seed,
                            options.start().map, advance, keep)


@lru_cache(maxsize=16)
def agent_of(rules: Ruleset, name: str) -> Agent:
    """The agent of that name, made once in a process; raises what `make_agent` raises."""
    return make_agent(name, Game(rules))


def check_match(game: Game, games: int, opening_plies: int, seed: int) -> None:
    """Raise `OptionError` for numbers with which no match can be played."""
    if games % 2 or not 2 <= games <= MAX_GAMES:
        raise OptionError(f"games is {quoted(games)}; allowed: an even number from 2 to "
                          f"{MAX_GAMES:,}, since each opening is played from both seats, and the "
                          "records of all games are held in memory")
    check_opening_plies(game, opening_plies)
    check_seed(seed)


def open_games(
    game: Game, count: int, plies: int, rng: np.random.Generator
) -> tuple[PositionArray, list[Actions]]:
    """Positions (count,) after random openings, and the actions (count,) of each of their plies."""
    states, moves = game.initial_states(count), []
    for _ in range(plies):
        moves.append(game.random_actions(states, rng))
        states = game.apply_actions(states, moves[-1])
    return states, moves


def play_out(
    game: Game,
    agents: tuple[Agent, Agent],
    states: PositionArray,
    opening: list[Actions],
    rng: np.random.Generator,
) -> list[GameRecord]:
    """Play games to their ends from `states` (n,), which the actions of `opening` have led to."""
    states = states.copy()
    moves = [[int(actions[index]) for actions in opening] for index in range(len(states))]
    going_on = np.arange(len(states))
    ply = len(opening)
    while len(going_on):
        actions = agents[ply & 1].select_actions(states[going_on], rng)
        states[going_on], over = game.advance(states[going_on], actions)
        for index, action in zip(going_on, actions, strict=True):
            moves[index].append(int(action))
        going_on = going_on[~over]
        ply += 1
    return _records(game, agents, states, moves, len(opening))


def _records(
    game: Game,
    agents: tuple[Agent, Agent],
    states: PositionArray,
    moves: list[list[int]],
    opening_plies: int,
) -> list[GameRecord]:
    outcomes = game.outcomes(states)
    players = agents[0].name, agents[1].name
    return [GameRecord(game.rules, tuple(actions), _outcome(outcomes, index), players,
                       opening_plies)
            for index, actions in enumerate(moves)]


def _outcome(outcomes: dict[str, Any], index: int) -> Outcome:
    """One game of those that `Game.outcomes` gives."""
    winner = int(outcomes["winner"][index])
    first, second = outcomes["victory_points"][index].tolist()
    return Outcome(
        winner=None if winner < 0 else winner,
        margin=int(outcomes["margin"][index]),
        victory_points=(first, second),
        by_row={row: tuple(points[index].tolist()) for row, points in outcomes["by_row"].items()},
        reason=str(outcomes["reason"][index]),
    )
