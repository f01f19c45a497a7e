"""The Gymnasium environment: one learner against an opponent that plays inside the env."""

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from castle_env.board import PASS
from castle_env.game import Game
from castle_env.observation import ObservationDtype
from castle_env.options import (
    RENDER_MODES,
    OpponentSource,
    Reward,
    RulesetSource,
    Seat,
    check_environment_options,
    choose_seats,
    load_game,
    load_opponent,
    observation_space,
    rewards_of,
)
from castle_env.position import Position, PositionArray
from castle_env.renderer import Renderer
from castle_env.spaces import LegalDiscrete

Observation = npt.NDArray[Any]


class CastleEnv(gym.Env[Observation, np.int64]):
    """A game from the seat of one learner; `step` plays its action and the opponent's reply.

    ## Action space
    `Discrete(25)` in storm, `Discrete(169)` in sudden death, numbered in `castle_env.board`.
    `sample()` draws legal actions. An illegal action raises `IllegalActionError`, another thing
    than an integer in range `ActionError`; both change nothing.

    ## Observation space
    `Box(0, 1, (18, 6, 6), float32)`, relative to the learner, who is always to move:

        0      own factions                   10   own factions beside each stronghold / 4
        1      opposing factions              11   opposing factions beside each / 4
        2      strongholds                    12   own hand / factions per player
        3      bastion                        13   opposing hand / factions per player
        4 - 7  legal entries from north,      14   captured by the learner / factions per player
               south, west, east              15   captured by the opponent / factions per player
        8      own factions besieging         16   turns left / turns of a game
        9      opposing factions besieging    17   1 when the learner is player 1

    Planes 12 - 17 hold one number in all 36 squares. With `observation_dtype="uint8"` the numbers
    are not divided, but whole counts, turns left no more than 255; the space's `high` says how
    great each can be.

    ## Rewards
    0 until the game ends. Then with `reward="outcome"` +1, 0 or -1, with `reward="margin"` the
    learner's VP margin / (2 x factions per player). The step that ends the game carries it, also
    when the opponent's reply ends the game.

    ## Starting state
    The empty board, in which the opponent has moved once if the learner is player 1. `reset` takes
    no options.

    ## Episode end
    Terminated when the game is over by its rules, the turn limit among them; never truncated. If
    the opponent's first move ends the game before a learner in seat 1 has moved, the learner's
    only legal action is `pass`, and its step ends the episode.

    ## Info
    `action_mask`: (num_actions,) int8, 1 = legal, at every step. At the end also `outcome` (the
    fields of `castle_env.Outcome`, winner -1 for a draw), `final_position` (text) and `seat` (the
    learner's).

    ## Arguments
    ruleset: a preset's name, a TOML file's path, a dict of keys or a `Ruleset`. opponent: an
    agent or its name. seat: 0, 1, "random" or "alternate" (from 0 on, also after a reset with a
    seed). reward: "outcome" or "margin". render_mode: "human", "rgb_array", "ansi" or "svg".
    observation_dtype: "float32" or "uint8".

    ## Version history
    v1: planes 10 and 11 count the factions beside each stronghold, and `observation_dtype`. v0:
    they said by 0 and 1 who controls it.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        ruleset: RulesetSource = "storm",
        opponent: OpponentSource = "random",
        seat: Seat = "random",
        reward: Reward = "outcome",
        render_mode: str | None = None,
        observation_dtype: ObservationDtype = "float32",
    ) -> None:
        check_environment_options(seat, reward, render_mode, observation_dtype)
        self.game: Game = load_game(ruleset)
        self.renderer = Renderer(self.game, render_mode, self.metadata["render_fps"])
        self.render_mode = render_mode
        self.opponent = load_opponent(opponent, self.game)
        self.observation_space = observation_space(self.game, observation_dtype)
        self.action_space = self._legal_actions = LegalDiscrete(self.game.num_actions)
        self.seat = 0
        self._seats: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._seat_rule = seat
        self._reward = reward
        self._dtype: ObservationDtype = observation_dtype
        self._episodes = 0
        self._states: PositionArray = self.game.initial_states(1)
        self._over = False
        self._mask: npt.NDArray[np.int8] | None = None

    @property
    def state(self) -> Position:
        """The position at this moment."""
        return Position(*self._states[0].item())

    @property
    def position(self) -> str:
        """Text form of the position at this moment."""
        return self.game.format_position(self.state)

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Legal action mask, shape (num_actions,), int8, as sb3-contrib asks for it."""
        return self._current_mask().copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new game; the opponent moves first when the learner is player 1."""
        super().reset(seed=seed)
        if seed is not None:
            self._episodes = 0
        start = self.game.initial_states(1)
        self.renderer.start()
        episode = np.array([self._episodes])
        self._seats = choose_seats(self._seat_rule, episode, self.np_random)
        self.seat = int(self._seats[0])
        self._episodes += 1
        self._states, self._over = self._reply(start) if self.seat == 1 else (start, False)
        observation, mask = self._encode()
        if self._over:
            mask[PASS] = 1
        self._legal_actions.begin(mask, seed)
        return observation, {"action_mask": self._keep(mask)}

    def step(
        self, action: np.int64
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play the learner's action and, while the game goes on, the opponent's reply."""
        number = self.game.check_action(action)
        if not self._current_mask()[number]:
            raise self.game.illegal(self.state, number)
        if not self._over:
            states, over = self._play(self._states, number)
            self._states, self._over = (states, over) if over else self._reply(states)
        observation, mask = self._encode()
        self._legal_actions.go_on(mask)
        info = {"action_mask": self._keep(mask)}
        return observation, self._final(info) if self._over else 0.0, self._over, False, info

    def render(self) -> Any:
        """The current frame: an array, text, SVG text, or None when shown in a window."""
        self._current_mask()
        return self.renderer.render(self._states)

    def close(self) -> None:
        """Close the window, if there is one."""
        self.renderer.close()

    def _play(self, states: PositionArray, action: int) -> tuple[PositionArray, bool]:
        after, over = self.game.advance(states, np.array([action]))
        self.renderer.record(states, action)
        return after, bool(over[0])

    def _reply(self, states: PositionArray) -> tuple[PositionArray, bool]:
        return self._play(states, int(self.opponent.select_actions(states, self.np_random)[0]))

    def _encode(self) -> tuple[Observation, npt.NDArray[np.int8]]:
        observations, masks = self.game.encode(self._states, self._seats, self._dtype)
        return observations[0], masks[0]

    def _keep(self, mask: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
        self._mask = mask
        if self.render_mode == "human":
            self.render()
        return mask.copy()

    def _current_mask(self) -> npt.NDArray[np.int8]:
        if self._mask is None:
            raise ResetNeeded("the environment is used before its first reset()")
        return self._mask

    def _final(self, info: dict[str, Any]) -> float:
        outcome = self.game.outcome(self.state)
        assert outcome is not None
        info |= {"outcome": outcome.to_dict(), "final_position": self.position, "seat": self.seat}
        margin = -outcome.margin if self.seat else outcome.margin
        return float(rewards_of(self.game, np.array([margin]), self._reward)[0])
