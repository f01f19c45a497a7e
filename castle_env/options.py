"""What all environments share: how their options are read, their spaces and their rewards."""

from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from castle_env.agent import Agent, as_agent, make_agent
from castle_env.errors import OptionError
from castle_env.game import Game
from castle_env.observation import (
    MOST,
    OBSERVATION_DTYPES,
    OBSERVATION_SHAPE,
    ObservationDtype,
    plane_maxima,
)
from castle_env.ruleset import Ruleset, load_ruleset

RulesetSource: TypeAlias = Ruleset | str | Path | dict[str, Any]
OpponentSource: TypeAlias = Agent | str
Seat: TypeAlias = Literal[0, 1, "random", "alternate"]
Reward: TypeAlias = Literal["outcome", "margin"]

SEATS: Final = (0, 1, "random", "alternate")
REWARDS: Final = ("outcome", "margin")
RENDER_MODES: Final = ("human", "rgb_array", "ansi", "svg")


def load_game(source: RulesetSource) -> Game:
    """Game of a `Ruleset`, a preset's name, a TOML file's path, or a dict of its keys."""
    if isinstance(source, dict):
        source = Ruleset.from_dict(source)
    return Game(source if isinstance(source, Ruleset) else load_ruleset(source))


def load_opponent(source: OpponentSource, game: Game) -> Agent:
    """The agent itself, or the one that a name such as "greedy" stands for.

    Raises `AgentError` for what is neither.
    """
    return make_agent(source, game) if isinstance(source, str) else as_agent(source, "opponent")


def check_environment_options(
    seat: object, reward: object, render_mode: object, observation_dtype: object
) -> None:
    """Raise `OptionError` for a value that an environment does not know."""
    _check_choice("seat", seat, SEATS)
    _check_choice("reward", reward, REWARDS)
    _check_choice("render_mode", render_mode, (None, *RENDER_MODES))
    _check_choice("observation_dtype", observation_dtype, OBSERVATION_DTYPES)


def _check_choice(option: str, value: object, allowed: tuple[object, ...]) -> None:
    if isinstance(value, bool) or value not in allowed:
        raise OptionError(f"{option} is {value!r}; allowed: "
                          f"{', '.join(repr(choice) for choice in allowed)}")


def choose_seats(
    rule: Seat, episodes: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """The learner's seat in its next game, shape (n,), where `episodes` (n,) were played before."""
    if rule == "random":
        return rng.integers(2, size=len(episodes))
    if rule == "alternate":
        return episodes % 2
    return np.full(len(episodes), rule)


def observation_space(game: Game, dtype: ObservationDtype) -> "spaces.Box[Any]":
    """Planes as listed in `castle_env.observation`: 0 to 1, or counts as uint8."""
    if dtype == "float32":
        return spaces.Box(0.0, 1.0, OBSERVATION_SHAPE, np.float32)
    high = np.empty(OBSERVATION_SHAPE, dtype=np.uint8)
    high[:] = np.minimum(plane_maxima(game.rules), MOST)[:, None, None]
    return spaces.Box(np.zeros_like(high), high, dtype=np.uint8)


def margin_scale(game: Game) -> float:
    """What a VP margin is divided by under `reward="margin"`: twice the factions per player.

    16 in the default rulesets, where well-played games end within one or two tenths of a reward.
    """
    return 2.0 * game.rules.factions_per_player


def rewards_of(
    game: Game, margins: npt.NDArray[np.int64], reward: Reward
) -> npt.NDArray[np.float64]:
    """Rewards of the players from whose viewpoint games ended with these margins."""
    if reward == "margin":
        return margins / margin_scale(game)
    return np.sign(margins).astype(np.float64)
