"""What all environments share: how their options are read, their spaces and their rewards."""

from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from castle_env.agent import Agent, PlainAgent, as_agent, make_agent
from castle_env.batch import choose_from_masks
from castle_env.errors import OptionError
from castle_env.game import Game
from castle_env.observation import (
    MOST,
    OBSERVATION_DTYPES,
    OBSERVATION_SHAPE,
    ObservationDtype,
    plane_maxima,
)
from castle_env.position import Position, PositionArray, stack
from castle_env.ruleset import Ruleset, load_ruleset

RulesetSource: TypeAlias = Ruleset | str | Path | dict[str, Any]
OpponentSource: TypeAlias = PlainAgent | str
Seat: TypeAlias = Literal[0, 1, "random", "alternate"]
Reward: TypeAlias = Literal["outcome", "margin"]
Illegal: TypeAlias = Literal["raise", "random", "lose"]
ObservationKind: TypeAlias = Literal["planes", "dict"]

SEATS: Final = (0, 1, "random", "alternate")
REWARDS: Final = ("outcome", "margin")
RENDER_MODES: Final = ("human", "rgb_array", "ansi", "svg")
ILLEGAL: Final = ("raise", "random", "lose")
OBSERVATIONS: Final = ("planes", "dict")
CHOICES: Final[dict[str, tuple[object, ...]]] = {
    "seat": SEATS,
    "reward": REWARDS,
    "render_mode": (None, *RENDER_MODES),
    "observation": OBSERVATIONS,
    "observation_dtype": OBSERVATION_DTYPES,
    "illegal": ILLEGAL,
    "text_info": (False, True),
}


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


def load_autoreset_mode(value: object) -> AutoresetMode:
    """Gymnasium's mode itself, or the one with this name; raises `OptionError`."""
    try:
        return AutoresetMode(value)
    except ValueError:
        allowed = ", ".join(mode.value for mode in AutoresetMode)
        raise OptionError(f"autoreset_mode is {value!r}; allowed: {allowed}") from None


def check_options(**values: object) -> None:
    """Raise `OptionError` for a value that environments do not know, by the option's name."""
    for option, value in values.items():
        allowed = CHOICES[option]
        if not any(value == choice and isinstance(value, bool) == isinstance(choice, bool)
                   for choice in allowed):
            raise OptionError(f"{option} is {value!r}; allowed: "
                              f"{', '.join(repr(choice) for choice in allowed)}")


def check_reset_options(options: dict[str, Any] | None, allowed: tuple[str, ...]) -> None:
    """Raise `OptionError` for an option of `reset` that there is not."""
    for option in options or ():
        if option not in allowed:
            raise OptionError(f"reset option {option!r} is unknown; allowed: {', '.join(allowed)}")


def games_to_reset(options: dict[str, Any] | None, count: int) -> npt.NDArray[np.bool_]:
    """Which of so many games start anew, shape (n,): those in `reset_mask`, or all without it."""
    if options is None or "reset_mask" not in options:
        return np.ones(count, dtype=np.bool_)
    chosen = np.asarray(options["reset_mask"])
    if chosen.shape != (count,) or chosen.dtype != np.bool_:
        raise OptionError(f"reset_mask has shape {chosen.shape} and dtype {chosen.dtype}; "
                          f"allowed: bool of shape ({count},)")
    return chosen


def start_states(game: Game, options: dict[str, Any] | None, count: int) -> PositionArray | None:
    """Positions of `options["position"]`, shape (count,); None without this option.

    It is one text for all games, or a list, tuple or array of `count` texts. Raises `OptionError`
    for another thing or a game that is over, and `PositionError` for a text that is no position.
    """
    if options is None or "position" not in options:
        return None
    texts = options["position"]
    if isinstance(texts, np.ndarray):
        texts = texts.tolist()
    if isinstance(texts, str):
        return np.repeat(stack([_start_position(game, texts)]), count)
    if not isinstance(texts, list | tuple) or len(texts) != count:
        raise OptionError(f"position is {texts!r}; allowed: a text, or {count} texts")
    return stack([_start_position(game, text) for text in texts])


def _start_position(game: Game, text: object) -> Position:
    if not isinstance(text, str):
        raise OptionError(f"position is {text!r}; allowed: a text such as "
                          f"{game.format_position(game.initial_state())!r}")
    position = game.parse_position(text)
    if game.is_terminal(position):
        raise OptionError(f"position is {text!r}, where the game is over; allowed: one in which "
                          "it goes on")
    return position


def legalised(
    game: Game, actions: npt.NDArray[np.int64], masks: npt.NDArray[np.int8],
    waiting: npt.NDArray[np.bool_], illegal: Illegal, rng: np.random.Generator,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The actions to play, and where those given were illegal; new arrays, all of shape (n,).

    illegal: "random", which puts legal actions in the place of illegal ones, or "lose". What
    `waiting` games are given is ignored. Raises `ActionError` for what is out of range elsewhere.
    """
    numbers = actions.copy()
    for index in np.flatnonzero((numbers < 0) | (numbers >= game.num_actions)):
        if not waiting[index]:
            game.check_action(numbers[index])
        numbers[index] = 0
    wrong = (masks[np.arange(len(masks)), numbers] == 0) & ~waiting
    count = int(np.count_nonzero(wrong))
    if illegal == "random" and count:
        chosen = np.empty(count, dtype=np.int64)
        choose_from_masks(0, count, masks[wrong], rng.random(count), chosen)
        numbers[wrong] = chosen
    return numbers, wrong


def choose_seats(
    rule: Seat, episodes: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """The learner's seat in its next game, shape (n,), where `episodes` (n,) were played before."""
    if rule == "random":
        return rng.integers(2, size=len(episodes))
    if rule == "alternate":
        return episodes % 2
    return np.full(len(episodes), rule)


def choose_seat(rule: Seat, episode: int, rng: np.random.Generator) -> int:
    """`choose_seats` of one game, with the same numbers of the generator."""
    if rule == "random":
        return int(rng.integers(2))
    return episode % 2 if rule == "alternate" else int(rule)


def observation_space(
    game: Game, dtype: ObservationDtype, kind: ObservationKind
) -> "spaces.Space[Any]":
    """Planes as listed in `castle_env.observation`, 0 to 1 or counts as uint8.

    As "dict" also the mask: {"observation": planes, "action_mask": (num_actions,) int8}.
    """
    planes: spaces.Box[Any]
    if dtype == "float32":
        planes = spaces.Box(0.0, 1.0, OBSERVATION_SHAPE, np.float32)
    else:
        high = np.empty(OBSERVATION_SHAPE, dtype=np.uint8)
        high[:] = np.minimum(plane_maxima(game.rules), MOST)[:, None, None]
        planes = spaces.Box(np.zeros_like(high), high, dtype=np.uint8)
    if kind == "planes":
        return planes
    mask = spaces.Box(0, 1, (game.num_actions,), np.int8)
    return spaces.Dict({"observation": planes, "action_mask": mask})


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
