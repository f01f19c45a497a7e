"""The batched Gymnasium environment: many games at once, the rules in single compiled calls."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from castle_env.board import PASS
from castle_env.errors import CastleError, IllegalActionError, OptionError
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
from castle_env.spaces import LegalDiscrete, LegalMultiDiscrete

Observations = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


class CastleVectorEnv(VectorEnv[Observations, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """`num_envs` games of `CastleEnv`, or of self-play, stepped together.

    With an `opponent` each game is one of `CastleEnv`: the same spaces, rewards, seats and ends,
    and the opponent is called once for all games. With `opponent=None` the caller plays both
    seats: every step is one turn of the player to move, observations are relative to that player,
    and the reward at the end belongs to the player who made the last move (the other's is its
    negative), whom `info["seat"]` names.

    Shapes: observations (n, 18, 6, 6) of `observation_dtype`, rewards (n,) float64, terminations
    and truncations (n,) bool, actions (n,) integers. `info["action_mask"]` is (n, num_actions)
    int8. When games end, `info` holds `outcome` (arrays of shape (n, ...), winner -1 for a draw),
    `final_state` (n,) positions and `seat` (n,), each with a boolean mask `_outcome`,
    `_final_state`, `_seat` of the games that ended.

    `autoreset_mode` is declared in `metadata` and follows Gymnasium: NEXT_STEP (the action given
    to a finished game is ignored and its next step starts a new one), SAME_STEP (what belongs to
    the finished game is in `info["final_obs"]` and `info["final_info"]`) or DISABLED (reset
    finished games with `options={"reset_mask": ...}`). An action that is illegal in any game
    raises as in `CastleEnv` and changes no game.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": list(RENDER_MODES), "render_fps": 2,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        ruleset: RulesetSource = "storm",
        opponent: OpponentSource | None = "random",
        seat: Seat = "random",
        reward: Reward = "outcome",
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        observation_dtype: ObservationDtype = "float32",
    ) -> None:
        self._renderers: list[Renderer] = []  # what is closed also if one of the options is wrong
        check_environment_options(seat, reward, render_mode, observation_dtype)
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise OptionError(f"num_envs is {num_envs!r}; allowed: an integer from 1 on")
        self.game = load_game(ruleset)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.opponent = None if opponent is None else load_opponent(opponent, self.game)
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = type(self).metadata | {"autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space(self.game, observation_dtype)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = LegalDiscrete(self.game.num_actions)
        self._legal_actions = LegalMultiDiscrete(num_envs, self.game.num_actions)
        self.action_space = self._legal_actions
        self.states: PositionArray = self.game.initial_states(num_envs)
        self.seats = np.zeros(num_envs, dtype=np.int64)
        self._seat_rule = seat
        self._reward = reward
        self._dtype: ObservationDtype = observation_dtype
        self._episodes = np.zeros(num_envs, dtype=np.int64)
        self._over = np.zeros(num_envs, dtype=np.bool_)
        self._unheard = np.zeros(num_envs, dtype=np.bool_)
        self._masks: npt.NDArray[np.int8] | None = None
        self._renderers = [Renderer(self.game, render_mode, self.metadata["render_fps"])
                           for _ in range(num_envs if render_mode else 0)]

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Legal action masks, shape (n, num_actions), int8."""
        return self._current_masks().copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Start new games everywhere, or where `options["reset_mask"]`, (n,) bool, is true."""
        chosen = self._chosen(options)
        super().reset(seed=seed)
        if seed is not None:
            self._episodes[chosen] = 0
        self._start(np.flatnonzero(chosen))
        return self._observe({})

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Observations, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Play one action in each game and, with an opponent, its replies."""
        self._current_masks()
        numbers = self.game.action_array(actions, self.num_envs)
        waiting = self._over & ~self._unheard
        if self.autoreset_mode == AutoresetMode.DISABLED and waiting.any():
            raise IllegalActionError(f"game {np.flatnonzero(waiting)[0]} is over; reset it with "
                                     'options={"reset_mask": ...} before the next step')
        before = self.states.copy(), self._over.copy(), self._unheard.copy()
        try:
            self._take_turns(np.flatnonzero(~waiting), numbers)
        except CastleError:
            self.states, self._over, self._unheard = before
            raise
        ended = self._over & ~waiting
        rewards = self._rewards(ended)
        info = self._final_info(ended) if ended.any() else {}
        if waiting.any():
            self._start(np.flatnonzero(waiting))
        if self.autoreset_mode == AutoresetMode.SAME_STEP and info:
            info = self._with_final_observations(info, ended)
            self._start(np.flatnonzero(ended))
        observations, info = self._observe(info)
        return observations, rewards, ended, np.zeros_like(ended), info

    def render(self) -> tuple[Any, ...] | None:
        """One frame for each game, in the render mode of `CastleEnv`."""
        self._current_masks()
        return tuple(renderer.render(self.states[index:index + 1])
                     for index, renderer in enumerate(self._renderers)) or None

    def close_extras(self, **kwargs: Any) -> None:
        """Close the windows."""
        for renderer in self._renderers:
            renderer.close()

    def _chosen(self, options: dict[str, Any] | None) -> npt.NDArray[np.bool_]:
        if options is None or "reset_mask" not in options:
            return np.ones(self.num_envs, dtype=np.bool_)
        self._current_masks()
        chosen = np.asarray(options["reset_mask"])
        if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_:
            raise OptionError(f"reset_mask has shape {chosen.shape} and dtype {chosen.dtype}; "
                              f"allowed: bool of shape ({self.num_envs},)")
        return chosen

    def _take_turns(self, playing: Indices, numbers: npt.NDArray[np.int64]) -> None:
        unheard = self._unheard[playing]
        if unheard.any():
            self._check_passes(playing[unheard], numbers)
            playing = playing[~unheard]
        states, over = self.game.advance(self.states[playing], numbers[playing])
        self._record(playing, numbers[playing])
        self._unheard[:] = False
        self.states[playing], self._over[playing] = states, over
        if self.opponent is not None:
            self._reply(playing[~over])

    def _check_passes(self, indices: Indices, numbers: npt.NDArray[np.int64]) -> None:
        for index in indices[numbers[indices] != PASS]:
            raise self.game.illegal(Position(*self.states[index].item()),
                                    self.game.check_action(numbers[index]))

    def _reply(self, indices: Indices) -> None:
        if len(indices) == 0:
            return
        actions = self._opponent_actions(indices)
        states, over = self.game.advance(self.states[indices], actions)
        self._record(indices, actions)
        self.states[indices], self._over[indices] = states, over

    def _first_states(self, count: int) -> PositionArray:
        return self.game.initial_states(count)

    def _opponent_actions(self, indices: Indices) -> npt.NDArray[np.int64]:
        assert self.opponent is not None
        return self.opponent.select_actions(self.states[indices], self.np_random)

    def _start(self, indices: Indices) -> None:
        for index in indices if self._renderers else ():
            self._renderers[index].start()
        self.states[indices] = self._first_states(len(indices))
        self._over[indices] = False
        if self.opponent is not None:
            seats = choose_seats(self._seat_rule, self._episodes[indices], self.np_random)
            self.seats[indices] = seats
            self._reply(indices[(self.states["ply"][indices] & 1) != seats])
            self._unheard[indices] = self._over[indices]
        self._episodes[indices] += 1

    def _rewards(self, ended: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        rewards = np.zeros(self.num_envs)
        if ended.any():
            margins = self.game.margins(self.states[ended])
            margins = np.where(self._rewarded(ended) == 1, -margins, margins)
            rewards[ended] = rewards_of(self.game, margins, self._reward)
        return rewards

    def _rewarded(self, ended: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Seats whose rewards are given; in self-play of those who have just moved."""
        if self.opponent is None:
            return 1 - (self.states["ply"][ended] & 1)
        return self.seats[ended]

    def _final_info(self, ended: npt.NDArray[np.bool_]) -> dict[str, Any]:
        outcomes = self.game.outcomes(self.states[ended])
        fields = {"outcome": outcomes, "final_state": self.states[ended],
                  "seat": self._rewarded(ended)}
        info = {key: _scatter(value, ended) for key, value in fields.items()}
        return info | {f"_{key}": ended.copy() for key in fields}

    def _with_final_observations(
        self, info: dict[str, Any], ended: npt.NDArray[np.bool_]
    ) -> dict[str, Any]:
        observations, masks = self.game.encode(self.states[ended], self._viewers(ended),
                                                self._dtype)
        final = np.full(self.num_envs, None, dtype=object)
        for index, observation in zip(np.flatnonzero(ended), observations, strict=True):
            final[index] = observation
        info |= {"action_mask": _scatter(masks, ended), "_action_mask": ended.copy()}
        return {"final_obs": final, "_final_obs": ended.copy(),
                "final_info": info, "_final_info": ended.copy()}

    def _observe(self, info: dict[str, Any]) -> tuple[Observations, dict[str, Any]]:
        observations, masks = self.game.encode(self.states, self._viewers(slice(None)), self._dtype)
        masks[self._unheard, PASS] = 1
        self._masks = self._legal_actions.legal_action_masks = masks
        info["action_mask"] = masks.copy()
        info["_action_mask"] = np.ones(self.num_envs, dtype=np.bool_)
        if self.render_mode == "human":
            self.render()
        return observations, info

    def _viewers(self, chosen: Any) -> npt.NDArray[np.int64] | None:
        """Seats that observe: the learners'; in self-play those to move, which None stands for."""
        return None if self.opponent is None else self.seats[chosen]

    def _record(self, indices: Indices, actions: npt.NDArray[np.int64]) -> None:
        for index, action in zip(indices, actions, strict=True) if self._renderers else ():
            self._renderers[index].record(self.states[index:index + 1].copy(), int(action))

    def _current_masks(self) -> npt.NDArray[np.int8]:
        if self._masks is None:
            raise ResetNeeded("the environment is used before its first reset()")
        return self._masks


def _autoreset_mode(value: object) -> AutoresetMode:
    try:
        return AutoresetMode(value)
    except ValueError:
        allowed = ", ".join(mode.value for mode in AutoresetMode)
        raise OptionError(f"autoreset_mode is {value!r}; allowed: {allowed}") from None


def _scatter(values: Any, chosen: npt.NDArray[np.bool_]) -> Any:
    """Arrays of the chosen games, also inside a dict, as arrays of all games (zero elsewhere)."""
    if isinstance(values, dict):
        return {key: _scatter(value, chosen) for key, value in values.items()}
    spread = np.zeros((len(chosen), *values.shape[1:]), dtype=values.dtype)
    spread[chosen] = values
    return spread
