"""The Gymnasium environment: one learner against an opponent that plays inside the env."""

from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from castle_env.game import Action, Game
from castle_env.info import END_REASONS, no_end_info, one_end_info
from castle_env.observation import (
    CELLS,
    OBSERVATION_SHAPE,
    Divisors,
    Eights,
    ObservationDtype,
)
from castle_env.options import (
    RENDER_MODES,
    Illegal,
    ObservationKind,
    OpponentSource,
    Reward,
    RulesetSource,
    Seat,
    check_options,
    check_reset_options,
    choose_seat,
    load_game,
    load_opponent,
    observation_space,
    rewards_of,
    start_states,
)
from castle_env.position import POSITION_DTYPE, Position, PositionArray
from castle_env.renderer import Renderer
from castle_env.spaces import LegalDiscrete
from castle_env.turn import ILLEGAL, OVER, answer_and_see, see, take_turn

Observation = Any  # planes (18, 6, 6), or a dict of them and of a mask
# Planes (CELLS,) and mask (num_actions,), as compiled code writes them.
Seen = tuple[npt.NDArray[Any], npt.NDArray[np.int8]]


class CastleEnv(gym.Env[Observation, Action]):
    """A game from the seat of one learner; `step` plays its action and the opponent's reply.

    ## Action space
    `Discrete(25)` in storm, `Discrete(169)` in sudden death, numbered in `castle_env.board`.
    `sample()` draws legal actions. An illegal action raises `IllegalActionError` and changes
    nothing; with `illegal="random"` a random legal action is played in its place, with
    `illegal="lose"` the game ends and the learner has lost. Anything but an integer in range always
    raises `ActionError`, and a step after the end `IllegalActionError`.

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
    great each can be. With `observation="dict"` it is {"observation": the planes,
    "action_mask": (num_actions,) int8}.

    ## Rewards
    0 until the game ends. Then with `reward="outcome"` +1, 0 or -1, with `reward="margin"` the
    learner's VP margin / (2 x factions per player); a game lost by an illegal action is -1 in
    both. The step that ends the game carries it, also when the opponent's reply ends the game.

    ## Starting state
    The empty board, in which the opponent has moved once if the learner is player 1. `reset` takes
    `options={"position": text}` to start elsewhere; the opponent moves first where the learner is
    not to move. Unknown options raise `OptionError`.

    ## Episode end
    Terminated when the game is over by its rules, the turn limit among them; never truncated. If
    the opponent's first move ends the game before a learner in seat 1 has moved, the learner's
    only legal action is `pass`, and its step ends the episode.

    ## Info
    Numbers under the same keys at every step, listed in `castle_env.info`: `action_mask`, `seat`
    (the learner's), `played_action`, `illegal_action`, `end_reason`, `winner`, `margin`,
    `victory_points` and `points_by_row`; with `text_info=True` also `position` and
    `end_reason_text`.

    ## Arguments
    ruleset: a preset's name, a TOML file's path, a dict of keys or a `Ruleset`. opponent: an
    agent or its name. seat: 0, 1, "random" or "alternate" (from 0 on, also after a reset with a
    seed). reward: "outcome" or "margin". render_mode: "human", "rgb_array", "ansi" or "svg".
    observation: "planes" or "dict". observation_dtype: "float32" or "uint8". illegal: "raise",
    "random" or "lose". text_info: whether `info` has texts.

    ## Version history
    v1: planes 10 and 11 count the factions beside each stronghold; `info` is numbers, with the
    same keys at every step. v0: planes 10 and 11 said by 0 and 1 who controls it; the last `info`
    had `outcome` and `final_position`.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012
    action_space: LegalDiscrete

    def __init__(
        self,
        ruleset: RulesetSource = "storm",
        opponent: OpponentSource = "random",
        seat: Seat = "random",
        reward: Reward = "outcome",
        render_mode: str | None = None,
        observation: ObservationKind = "planes",
        observation_dtype: ObservationDtype = "float32",
        illegal: Illegal = "raise",
        text_info: bool = False,
    ) -> None:
        check_options(seat=seat, reward=reward, render_mode=render_mode, observation=observation,
                      observation_dtype=observation_dtype, illegal=illegal, text_info=text_info)
        self.game: Game = load_game(ruleset)
        self.renderer = Renderer(self.game, render_mode, self.metadata["render_fps"])
        self.render_mode = render_mode
        self.opponent = load_opponent(opponent, self.game)
        self.observation_space = observation_space(self.game, observation_dtype, observation)
        self.action_space = self._legal_actions = LegalDiscrete(self.game.num_actions)
        self.seat = 0
        self._seat_rule = seat
        self._reward = reward
        self._dtype: ObservationDtype = observation_dtype
        self._as_dict = observation == "dict"
        self._illegal = illegal
        self._text_info = text_info
        self._episodes = 0
        # Arrays of positions are never changed in place, so that several names may share one.
        self._first: Final = self.game.initial_states(1)
        self._states: PositionArray = self._first
        self._over = False
        # Whether the game was over before the learner had a turn, which is a pass.
        self._unheard = False
        self._loser = -1
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
        """Start a new game; the opponent moves first when the learner is not to move.

        options: {"position": text} for another start than the empty board.
        """
        check_reset_options(options, ("position",))
        start = start_states(self.game, options, 1)
        super().reset(seed=seed)
        if seed is not None:
            self._episodes = 0
        states = self._first if start is None else start
        self.renderer.start()
        seat = choose_seat(self._seat_rule, self._episodes, self.np_random)
        self._episodes += 1
        seen, over = self._blank(), False
        if states["ply"][0] & 1 != seat:
            states, over = self._answer(states, seat, seen)
        self._states, self.seat, self._loser = states, seat, -1
        self._over = self._unheard = over
        see(self.game.table, states, seat, over, True, *self._code, *seen)
        self._legal_actions.begin(seen[1], seed)
        return self._shown(seen), self._info(-1, 0, no_end_info())

    def step(
        self, action: Action
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play the learner's action and, while the game goes on, the opponent's reply."""
        number, wrong = self._legalised(self.game.check_action(action))
        seen = self._blank()
        if wrong and self._illegal == "lose":
            self._loser, self._over = self.seat, True
        elif not self._over:
            self._states, self._over = self._take_turns(number, seen)
        self._unheard = False
        reward, ends = 0.0, no_end_info()
        if self._over:
            see(self.game.table, self._states, self.seat, True, False, *self._code, *seen)
            ends = one_end_info(self.game, self._states, self._loser)
            reward = self._final_reward(ends["margin"])
        self._legal_actions.go_on(seen[1])
        return (self._shown(seen), reward, self._over, False,
                self._info(number, int(wrong), ends))

    def render(self) -> Any:
        """The current frame: an array, text, SVG text, or None when shown in a window."""
        self._current_mask()
        return self.renderer.render(self._states)

    def close(self) -> None:
        """Close the window, if there is one."""
        self.renderer.close()

    def _legalised(self, number: int) -> tuple[int, bool]:
        """The action to play, and whether the one that was given is illegal."""
        mask = self._current_mask()
        if mask[number]:
            return number, False
        if self._illegal == "raise" or (self._over and not self._unheard):
            raise self.game.illegal(self.state, number)
        if self._illegal == "random":
            number = int(self.np_random.choice(mask.nonzero()[0]))
        return number, True

    def _take_turns(self, action: int, out_seen: Seen) -> tuple[PositionArray, bool]:
        """The position after a legal action and the opponent's answer, and whether that is the end.
        """
        after = np.empty(1, dtype=POSITION_DTYPE)
        over = take_turn(self.game.table, self._states, action, after) == OVER
        self.renderer.record(self._states, action)
        return (after, True) if over else self._answer(after, self.seat, out_seen)

    def _answer(
        self, states: PositionArray, seat: int, out_seen: Seen
    ) -> tuple[PositionArray, bool]:
        """The position after the opponent's action, and whether that is the end.

        `out_seen` is what the learner in `seat` sees then.
        """
        # Opponents may write into the positions that they are given.
        chosen = self.opponent.select_actions(states.copy(), self.np_random)[0]
        action, after = self.game.check_action(chosen), np.empty(1, dtype=POSITION_DTYPE)
        found = answer_and_see(self.game.table, states, action, seat, *self._code, after, *out_seen)
        if found == ILLEGAL:
            raise self.game.illegal(Position(*states[0].item()), action)
        self.renderer.record(states, action)
        return after, found == OVER

    @property
    def _code(self) -> tuple[Divisors, Eights]:
        """How numbers are written into planes."""
        return self.game.divisors[self._dtype], self.game.eights[self._dtype]

    def _blank(self) -> Seen:
        """Arrays for what is seen next."""
        return (np.empty(CELLS, dtype=self._dtype),
                np.empty(self.game.num_actions, dtype=np.int8))

    def _shown(self, seen: Seen) -> Observation:
        """The observation, and the frame in a window."""
        planes, self._mask = seen
        if self.render_mode == "human":
            self.render()
        observation = planes.reshape(OBSERVATION_SHAPE)
        if self._as_dict:
            return {"observation": observation, "action_mask": self._mask.copy()}
        return observation

    def _info(self, action: int, illegal: int, ends: dict[str, Any]) -> dict[str, Any]:
        info = {"action_mask": self._current_mask().copy(), "seat": self.seat,
                "played_action": action, "illegal_action": illegal, **ends}
        if self._text_info:
            info["position"] = self.position
            info["end_reason_text"] = END_REASONS[ends["end_reason"]]
        return info

    def _final_reward(self, margin: int) -> float:
        if self._loser >= 0:
            return -1.0
        margins = np.array([-margin if self.seat else margin])
        return float(rewards_of(self.game, margins, self._reward)[0])

    def _current_mask(self) -> npt.NDArray[np.int8]:
        if self._mask is None:
            raise ResetNeeded("the environment is used before its first reset()")
        return self._mask
