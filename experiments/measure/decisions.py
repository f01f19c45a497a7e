"""Moves that agents choose in storm, each judged by the exact value of every legal move."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.solve.perfect_play import PerfectPlay
from castle_env import Game, Position
from castle_env.agent import Agent
from castle_env.position import PositionArray, unstack
from experiments.measure.intervals import (
    Interval,
    clustered_mean_interval,
    clustered_share_interval,
)
from experiments.progress import progress_bar

OWN_GAMES: Final = "own games"
RANDOM_PLAY: Final = "random play"
SOURCES: Final = (OWN_GAMES, RANDOM_PLAY)

# First part of the seeds of the random streams; those of an agent do not depend on the others.
_POSITIONS, _CHOICES, _GAMES = range(3)


@dataclass(frozen=True)
class Choice:
    """The action that an agent chose in a position.

    source: OWN_GAMES or RANDOM_PLAY, where the position comes from. game: number of the game; all
    positions of one source with one number were reached in one game.
    """

    agent: str
    source: str
    game: int
    position: Position
    action: int


@dataclass(frozen=True)
class Decision:
    """A choice as text, with the mover's exact margin after it and after the best move."""

    agent: str
    source: str
    game: int
    ply: int
    position: str
    action: str
    value: int
    best: int

    @property
    def regret(self) -> int:
        """Victory Points thrown away, from 0 on."""
        return self.best - self.value

    @property
    def loses_win(self) -> bool:
        """Whether a won position became a drawn or lost one."""
        return self.best > 0 >= self.value


@dataclass(frozen=True)
class RegretRow:
    """How well an agent chose in positions from one source.

    seat, ply: None for all together. moves: how many are judged; won: in how many of them the best
    move wins, lost_wins: and in how many of these the chosen one does not. regret: mean Victory
    Points thrown away per move; optimal: share of moves without any; loses_win: `lost_wins` as a
    share of all moves.
    """

    agent: str
    source: str
    seat: int | None
    ply: int | None
    moves: int
    won: int
    lost_wins: int
    regret: Interval
    optimal: Interval
    loses_win: Interval

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {name: getattr(self, name).to_dict()
                               for name in ("regret", "optimal", "loses_win")}


def random_positions(game: Game, count: int, ply: int, seed: int) -> PositionArray:
    """Positions (count,) after `ply` uniformly random plies, each from a game of its own."""
    rng = np.random.default_rng([_POSITIONS, seed, ply])
    states = game.initial_states(count)
    for _ in range(ply):
        states = game.apply_actions(states, game.random_actions(states, rng))
    return states


def choices_in_own_games(
    game: Game, agent: Agent, games: int, plies: range, seed: int
) -> list[Choice]:
    """What an agent chooses in games against itself, from random positions on to their ends.

    Its opponent is the agent itself, so that the positions are those its own play leads to in both
    seats, whoever else is measured. The games start with `plies.start` random plies.
    """
    states = random_positions(game, games, plies.start, seed)
    rng = np.random.default_rng([_GAMES, seed])
    choices = []
    for _ in plies:
        actions = agent.select_actions(states, rng)
        choices += _choices(agent, OWN_GAMES, range(games), states, actions)
        states = game.apply_actions(states, actions)
    return choices


def choices_in_random_play(
    game: Game, agent: Agent, count: int, plies: range, seed: int
) -> list[Choice]:
    """What an agent chooses in `count` random positions per ply, the same for all agents."""
    choices = []
    for ply in plies:
        states = random_positions(game, count, ply, seed)
        actions = agent.select_actions(states, np.random.default_rng([_CHOICES, seed, ply]))
        numbers = range(ply * count, (ply + 1) * count)
        choices += _choices(agent, RANDOM_PLAY, numbers, states, actions)
    return choices


def _choices(
    agent: Agent, source: str, games: Iterable[int], states: PositionArray,
    actions: npt.NDArray[np.int64],
) -> list[Choice]:
    return [Choice(agent.name, source, number, position, int(action)) for number, position, action
            in zip(games, unstack(states), actions, strict=True)]


def judge(play: PerfectPlay, choice: Choice) -> Decision:
    """What a choice is worth, and what the best was."""
    game, moves = play.game, play.move_values(choice.position)
    return Decision(choice.agent, choice.source, choice.game, choice.position.ply,
                    game.format_position(choice.position), game.format_action(choice.action),
                    moves.values[choice.action], moves.best_value)


def judge_all(
    play: PerfectPlay, choices: Iterable[Choice],
    advance: Callable[[int], None] = lambda done: None,
) -> list[Decision]:
    """Judge the first choice of each agent in each position of a source; the others are left out.

    Positions that are the same up to symmetry count as one. `advance` is told of each choice.
    """
    judged: dict[tuple[str, str, Position], Decision] = {}
    for choice in choices:
        key = choice.agent, choice.source, play.canonical(choice.position)[0]
        if key not in judged:
            judged[key] = judge(play, choice)
        advance(1)
    return list(judged.values())


def summarise_decisions(decisions: Sequence[Decision], seed: int) -> list[RegretRow]:
    """Rows of each agent and source: both seats, each seat, each ply. `seed` of the bootstrap."""
    rows = []
    for agent in dict.fromkeys(decision.agent for decision in decisions):
        for source in SOURCES:
            ours = [decision for decision in decisions
                    if (decision.agent, decision.source) == (agent, source)]
            plies = sorted({decision.ply for decision in ours})
            groups = [(None, None), (0, None), (1, None), *((ply & 1, ply) for ply in plies)]
            rows += [_row(found, seat, ply, seed) for seat, ply in groups
                     if (found := [decision for decision in ours
                                   if seat in (None, decision.ply & 1)
                                   and ply in (None, decision.ply)])]
    return rows


def _row(
    decisions: Sequence[Decision], seat: int | None, ply: int | None, seed: int
) -> RegretRow:
    regrets = np.array([decision.regret for decision in decisions], dtype=np.float64)
    lost = np.array([decision.loses_win for decision in decisions])
    games = np.array([decision.game for decision in decisions])
    regret = clustered_mean_interval(regrets, games, np.random.default_rng(seed))
    optimal = clustered_share_interval(regrets == 0, games)
    loses_win = clustered_share_interval(lost, games)
    return RegretRow(
        decisions[0].agent, decisions[0].source, seat, ply, len(decisions),
        sum(decision.best > 0 for decision in decisions),
        sum(decision.loses_win for decision in decisions), regret, optimal, loses_win)


def choose_and_judge(
    play: PerfectPlay, agents: Sequence[Agent], games: int, positions: int, from_ply: int,
    opening_plies: int, seed: int,
) -> list[Decision]:
    """Let the agents choose, then judge what they chose, ply by ply from `from_ply` on.

    Each agent plays `games` games against itself after random openings, and chooses in `positions`
    positions of random play at each ply.
    """
    game = play.game
    own = range(opening_plies, game.rules.max_plies)
    random = range(from_ply, game.rules.max_plies)
    choices: list[Choice] = []
    with progress_bar("agents choose", 2 * len(agents)) as advance:
        for agent in agents:
            choices += choices_in_own_games(game, agent, games, own, seed)
            advance(1)
            choices += choices_in_random_play(game, agent, positions, random, seed)
            advance(1)
    choices = [choice for choice in choices if choice.position.ply >= from_ply]
    choices.sort(key=lambda choice: choice.position.ply)
    with progress_bar("exact values", len(choices)) as advance:
        return judge_all(play, choices, advance)
