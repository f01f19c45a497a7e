"""Opponents and games for the environment tests that depend on nothing but what is written here."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import torch

from castle_env import BaseAgent, Game, Position, Ruleset, load_ruleset, register_agent
from castle_env.options import RulesetSource
from castle_env.position import PositionArray, unstack

Indices = npt.NDArray[np.int64]

# Short games that end by the last entry or by the turn limit.
QUICK_DEATH = {
    "name": "quick-death",
    "mode": "sudden_death",
    "factions_per_player": 3,
    "max_plies": 24,
    "capture_credit": "enemy_only",
}
# Player 0 ends the game with its first move, before player 1 has ever moved.
ONE_FACTION = {
    "name": "one-faction",
    "mode": "sudden_death",
    "factions_per_player": 1,
    "victory_points": {"survivor": 1},
}
# Nobody can ever move: every turn is a pass.
BLOCKED = {"name": "blocked", "mode": "storm", "strongholds": ["######"] * 6}


class Positional(BaseAgent):
    """Plays a legal action that the position alone decides: no randomness, no memory."""

    name = "positional"

    def __init__(self, game: Game) -> None:
        self._game = game

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Indices:
        return np.array([self.choose(position) for position in unstack(states)], dtype=np.int64)

    def choose(self, position: Position) -> int:
        legal = self._game.legal_actions(position)
        mixed = position.own * 31 + position.opposing * 17 + position.strongholds * 7
        return legal[(mixed + position.bastion + position.ply * 13) % len(legal)]


register_agent("positional", lambda arguments, game: Positional(game))


class Scripted:
    """Plays given actions one after the other, in one game at a time."""

    name = "scripted"

    def __init__(self, actions: Iterable[int]) -> None:
        self._actions = list(actions)

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Indices:
        assert len(states) == 1
        return np.array([self._actions.pop(0)])


@dataclass
class Record:
    """What a learner was told in one game; `moves` are (action, reward, terminated, truncated)."""

    observations: list[npt.NDArray[np.float32]] = field(default_factory=list)
    masks: list[list[int]] = field(default_factory=list)
    moves: list[tuple[int, float, bool, bool]] = field(default_factory=list)
    end: dict[str, Any] | None = None

    def see(self, observation: npt.NDArray[np.float32], mask: npt.NDArray[np.int8]) -> None:
        assert observation.dtype == np.float32
        assert mask.dtype == np.int8
        self.observations.append(observation.copy())
        self.masks.append(mask.tolist())

    def choose(self, script: int) -> int:
        """The script's action for the mask seen last: the same in every kind of environment."""
        legal = np.flatnonzero(self.masks[-1])
        return int(legal[(script * 7 + len(self.moves) * 5 + script // 3) % len(legal)])

    def assert_equal(self, other: "Record") -> None:
        assert self.moves == other.moves
        assert self.masks == other.masks
        assert self.end == other.end
        assert np.array_equal(self.observations, other.observations)


def game_of_source(source: RulesetSource) -> Game:
    if isinstance(source, dict):
        return Game(Ruleset.from_dict(source))
    return Game(source if isinstance(source, Ruleset) else load_ruleset(source))


def name_of(source: RulesetSource) -> str:
    """Short id of a test's ruleset."""
    return source["name"] if isinstance(source, dict) else str(source)


def random_game(game: Game, seed: int) -> list[int]:
    """Actions of a whole game in which both players choose at random."""
    rng = np.random.default_rng(seed)
    position, actions = game.initial_state(), []
    while not game.is_terminal(position):
        actions.append(int(rng.choice(game.legal_actions(position))))
        position = game.apply(position, actions[-1])
    return actions


def named(game: Game, names: str) -> list[int]:
    """Actions from their names, separated by spaces."""
    return [game.parse_action(name) for name in names.split()]


def positions_of(game: Game, count: int, seed: int, share: float) -> list[Position]:
    """Positions from all over random games, none finished; `share` of those that are reached."""
    rng = np.random.default_rng(seed)
    positions: list[Position] = []
    while len(positions) < count:
        state = game.initial_state()
        while not game.is_terminal(state):
            if rng.random() < share:
                positions.append(state)
            state = game.apply(state, int(rng.choice(game.legal_actions(state))))
    return positions[:count]


def make_with_torch() -> gym.Env[Any, Any]:
    """An environment in a process that also uses PyTorch; spawned ones find it in this module."""
    assert torch.tensor([1]).item() == 1
    return gym.make("castle_env/Storm-v1", seat=0, opponent=Positional(Game(load_ruleset("storm"))))
