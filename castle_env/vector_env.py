"""The batched Gymnasium environment: many games at once, the rules in single compiled calls."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from castle_env.batch_turns import TOLD, observe, take_turns, tell_ends
from castle_env.errors import IllegalActionError, OptionError
from castle_env.info import final_infos, infos_of, tell_starts, text_infos, with_flags
from castle_env.observation import CELLS, OBSERVATION_SHAPE, ObservationDtype
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
    choose_seats,
    games_to_reset,
    legalised,
    load_autoreset_mode,
    load_game,
    load_opponent,
    margin_scale,
    observation_space,
    start_states,
)
from castle_env.position import PositionArray
from castle_env.renderer import Renderer
from castle_env.slices import Slices
from castle_env.spaces import LegalDiscrete, LegalMultiDiscrete

Observations = Any  # planes (n, 18, 6, 6), or a dict of them and of masks
Seen = tuple[npt.NDArray[Any], npt.NDArray[np.int8]]  # planes (n, CELLS) and masks
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class CastleVectorEnv(VectorEnv[Observations, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """`num_envs` games of `CastleEnv`, or of self-play, stepped together.

    With an `opponent` each game is one of `CastleEnv`: the same spaces, rewards, seats and ends,
    and the opponent is called once for all games. With `opponent=None` the caller plays both
    seats: every step is one turn of the player to move, observations are relative to that player,
    and the reward at the end belongs to the player who made the last move (the other's is its
    negative), whom `info["seat"]` names.

    ## Action space
    `MultiDiscrete` of (n,) integers; `sample()` draws a legal action for each game. The
    environments that Gymnasium makes of n `CastleEnv` (`vectorization_mode="sync"` or "async")
    have a plain space, which knows nothing of legal actions: use `info["action_mask"]` there, or
    `illegal="random"`. An action that is illegal in any game raises as in `CastleEnv` and changes
    no game; `illegal="random"` and `"lose"` do in each game what they do there.

    ## Observation space
    (n, 18, 6, 6) of `observation_dtype`, the planes of `CastleEnv`; with `observation="dict"`
    {"observation": these, "action_mask": (n, num_actions) int8}. Every array that a step returns
    is a new one, which later steps leave alone.

    ## Rewards
    (n,) float64, as in `CastleEnv`.

    ## Starting state
    As in `CastleEnv`. `reset` takes `options={"position": text}`, or n texts, for games that
    start elsewhere, and `{"reset_mask": mask}`, (n,) bool, to start some games anew and leave the
    others alone. Games that `step` starts begin with the empty board.

    ## Episode end
    Terminations (n,) bool as in `CastleEnv`; truncations are all false. `autoreset_mode` is
    declared in `metadata` and follows Gymnasium: NEXT_STEP (the action given to a finished game
    is ignored and its next step starts a new one), SAME_STEP (what belongs to the finished game
    is in `info["final_obs"]` and `info["final_info"]`) or DISABLED (reset finished games with
    `options={"reset_mask": ...}`).

    ## Info
    The keys of `castle_env.info` as arrays of all games, at every step, each with its boolean
    `_key`, which is true for all games. In SAME_STEP mode `final_info` holds them for the games
    that ended, and `final_obs` a list with an observation for each of these and None for others.

    ## Arguments
    num_envs: how many games. opponent: as in `CastleEnv`, or None for self-play. autoreset_mode:
    see above. num_threads: on how many threads, and no more than cores, compiled code runs; results
    are the same. On free cores it pays from about 1,000 games on, while steps follow each other
    quickly: threads that have waited for half a millisecond sleep, and the others do without them
    until they are awake. The others are those of `CastleEnv`.

    ## Version history
    As in `CastleEnv`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": list(RENDER_MODES), "render_fps": 2,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    # Whether more than the empty board belongs to a new game: see `_start`.
    _own_starts = False

    def __init__(
        self,
        num_envs: int = 1,
        ruleset: RulesetSource = "storm",
        opponent: OpponentSource | None = "random",
        seat: Seat = "random",
        reward: Reward = "outcome",
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        observation: ObservationKind = "planes",
        observation_dtype: ObservationDtype = "float32",
        illegal: Illegal = "raise",
        text_info: bool = False,
        num_threads: int = 1,
    ) -> None:
        # What `close` ends, also where one of the options is wrong.
        self._parts: list[Slices | Renderer] = []
        check_options(seat=seat, reward=reward, render_mode=render_mode, observation=observation,
                      observation_dtype=observation_dtype, illegal=illegal, text_info=text_info)
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise OptionError(f"num_envs is {num_envs!r}; allowed: an integer from 1 on")
        self.game = load_game(ruleset)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.opponent = None if opponent is None else load_opponent(opponent, self.game)
        self.autoreset_mode = load_autoreset_mode(autoreset_mode)
        self.metadata = type(self).metadata | {"autoreset_mode": self.autoreset_mode}
        self._code = self.game.divisors[observation_dtype], self.game.eights[observation_dtype]
        self._slices = Slices(num_envs, num_threads, self.game.table, *self._code)
        self._parts.append(self._slices)
        self.single_observation_space = observation_space(self.game, observation_dtype, observation)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = LegalDiscrete(self.game.num_actions)
        self._legal_actions = LegalMultiDiscrete(num_envs, self.game.num_actions, self._slices)
        self.action_space = self._legal_actions
        self._seat_rule = seat
        self._reward_divisor = np.array([margin_scale(self.game) if reward == "margin" else 0.0])
        self._dtype: ObservationDtype = observation_dtype
        self._as_dict = observation == "dict"
        self._illegal = illegal
        self._text_info = text_info
        self._make_games()
        # The start of a new game, where compiled code starts them.
        plain = opponent is None and render_mode is None and not self._own_starts
        self._new_game: PositionArray = self.game.initial_states(
            int(plain and self.autoreset_mode == AutoresetMode.NEXT_STEP))
        self._both = np.full(num_envs, -1, dtype=np.int64)
        self._none = np.zeros(num_envs, dtype=np.bool_)
        self._all = ~self._none
        self._renderers = [Renderer(self.game, render_mode, self.metadata["render_fps"])
                           for _ in range(num_envs if render_mode else 0)]
        self._parts += self._renderers

    def _make_games(self) -> None:
        """All that changes while games go on; `states` (n,) are the positions."""
        count = self.num_envs
        self.states: PositionArray = self.game.initial_states(count)
        self.seats = np.zeros(count, dtype=np.int64)
        self._episodes = np.zeros(count, dtype=np.int64)
        self._over = np.zeros(count, dtype=np.bool_)
        # Games that were over before their learner had a turn, which is a pass.
        self._unheard = np.zeros(count, dtype=np.bool_)
        # Who has lost by an illegal action, or -1.
        self._losers = np.full(count, -1, dtype=np.int64)
        self._masks: npt.NDArray[np.int8] | None = None

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Legal action masks, shape (n, num_actions), int8."""
        return self._current_masks().copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Start new games everywhere, or where `options["reset_mask"]`, (n,) bool, is true."""
        check_reset_options(options, ("position", "reset_mask"))
        if options and "reset_mask" in options:
            self._current_masks()
        chosen = games_to_reset(options, self.num_envs)
        states = start_states(self.game, options, self.num_envs)
        super().reset(seed=seed)
        if seed is not None:
            self._episodes[chosen] = 0
        self._start(np.flatnonzero(chosen), None if states is None else states[chosen])
        told, rewards = self._told_room()
        info = infos_of(told, self.num_envs)
        tell_starts(info, np.arange(self.num_envs), self._players)
        self._tell_ends(self._over & ~self._unheard, told, rewards)
        self._add_texts(info)
        return self._observe(info, self._encode())

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Observations, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Play one action in each game and, with an opponent, its replies."""
        waiting = self._waiting()
        numbers, wrong = self.game.action_array(actions, self.num_envs), self._none
        if self._illegal != "raise":
            numbers, wrong = legalised(self.game, numbers, self._current_masks(), waiting,
                                       self._illegal, self.np_random)
        ended, told, rewards, seen = self._take_turns(numbers, wrong, waiting)
        info: dict[str, Any] = infos_of(told, self.num_envs)
        self._add_texts(info)
        any_ended = np.count_nonzero(ended) > 0
        if any_ended:
            self._on_end(np.flatnonzero(ended), info, rewards)
        if seen is None:
            self._restart(np.flatnonzero(waiting), info)
            if any_ended and self.autoreset_mode == AutoresetMode.SAME_STEP:
                info = self._with_final(info, ended)
            seen = self._encode()
        observations, info = self._observe(info, seen)
        return observations, rewards, ended, np.zeros(self.num_envs, dtype=np.bool_), info

    def render(self) -> tuple[Any, ...] | None:
        """One frame for each game, in the render mode of `CastleEnv`."""
        self._current_masks()
        return tuple(renderer.render(self.states[index:index + 1])
                     for index, renderer in enumerate(self._renderers)) or None

    def close_extras(self, **kwargs: Any) -> None:
        """Close the windows and end the threads."""
        for part in self._parts:
            part.close()

    # Turns

    def _waiting(self) -> Flags:
        """Games that are over and whose end their learner has been told."""
        self._current_masks()
        waiting: Flags = self._over & ~self._unheard
        if self.autoreset_mode == AutoresetMode.DISABLED and waiting.any():
            raise IllegalActionError(f"game {np.flatnonzero(waiting)[0]} is over; reset it with "
                                     'options={"reset_mask": ...} before the next step')
        return waiting

    def _take_turns(
        self, numbers: Indices, wrong: Flags, waiting: Flags
    ) -> tuple[Flags, Indices, npt.NDArray[np.float64], Seen | None]:
        """Play the actions and the replies; errors of both change nothing.

        Gives which games have ended, what is told of all, rewards and, where neither replies nor
        starts in Python follow, what is seen.
        """
        count, states = self.num_envs, np.empty_like(self.states)
        over, ended, faults = np.empty((3, count), dtype=np.bool_)
        losers, told, rewards = np.empty_like(self._losers), *self._told_room()
        whole = (self.opponent is None and self.autoreset_mode != AutoresetMode.SAME_STEP
                 and (len(self._new_game) > 0 or not np.count_nonzero(waiting)))
        seen = self._room(count if whole else 0)
        losing = wrong if self._illegal == "lose" else self._none
        self._slices.run(take_turns, self.game.table, self.states, numbers, wrong, losing,
                         self._over, self._unheard, self._losers, self._players, self._new_game,
                         self._reward_divisor, *self._code, states, over, ended, losers, faults,
                         told, rewards, *seen)
        if np.count_nonzero(faults):
            raise self.game.illegal_in_batch(self.states, numbers, int(faults.argmax()))
        if self._renderers:
            playing = np.flatnonzero(~(self._over | losing))
            self._record(playing, self.states[playing], numbers[playing])
        if self.opponent is not None:
            self._reply(states, over, np.flatnonzero(~over))
            ended = over & ~waiting
            self._unheard[:] = False
        self.states, self._over, self._losers = states, over, losers
        if not whole:
            self._tell_ends(ended, told, rewards)
        return ended, told, rewards, seen if whole else None

    def _reply(self, states: PositionArray, over: Flags, games: Indices) -> None:
        """The opponents' turns in some games, in place."""
        if len(games) == 0:
            return
        before = states[games]
        # Opponents may write into the positions that they are given.
        actions = self._opponent_actions(before.copy(), games)
        states[games], over[games] = self.game.advance(before, actions)
        self._record(games, before, actions)

    def _opponent_actions(self, states: PositionArray, games: Indices) -> Indices:
        """Actions of the opponents in positions, shape (k,), of the games with these numbers."""
        assert self.opponent is not None
        return self.opponent.select_actions(states, self.np_random)

    # Ends

    def _told_room(self) -> tuple[Indices, npt.NDArray[np.float64]]:
        """Arrays for what is told of all games, and for rewards."""
        return np.empty(TOLD * self.num_envs, dtype=np.int64), np.empty(self.num_envs)

    def _tell_ends(self, ended: Flags, told: Indices, rewards: npt.NDArray[np.float64]) -> None:
        """Write how games have ended, and the rewards."""
        tell_ends(0, self.num_envs, self.game.table, self.states, ended, self._losers,
                  self._reward_divisor, told, rewards)

    def _on_end(
        self, games: Indices, info: dict[str, Any], rewards: npt.NDArray[np.float64]
    ) -> None:
        """Note games that have just ended, before others start; `rewards` of all may be changed."""

    def _with_final(self, info: dict[str, Any], ended: Flags) -> dict[str, Any]:
        """Put what belongs to finished games aside, start others and tell of these."""
        games = np.flatnonzero(ended)
        planes, masks = self._encode(games)
        planes = planes.reshape(len(games), *OBSERVATION_SHAPE)
        told = final_infos(planes, masks, info, ended, self._as_dict)
        self._restart(games, info)
        return info | told

    # Starts

    def _first_states(self, count: int) -> PositionArray:
        """Positions in which new games begin, unless `reset` is told others."""
        return self.game.initial_states(count)

    def _start(self, games: Indices, states: PositionArray | None = None) -> None:
        """Start the games with these numbers, with the opponents' turns where these come first.

        In self-play compiled code starts games after NEXT_STEP's ends, without a call of this,
        except where there are frames, or a class has `_own_starts`.
        """
        after, over, seats = self.states.copy(), self._over.copy(), self.seats.copy()
        after[games] = self._first_states(len(games)) if states is None else states
        over[games] = False
        for game in games if self._renderers else ():
            self._renderers[game].start()
        if self.opponent is not None:
            seats[games] = choose_seats(self._seat_rule, self._episodes[games], self.np_random)
            self._reply(after, over, games[(after["ply"][games] & 1) != seats[games]])
        self.states, self._over, self.seats = after, over, seats
        self._unheard[games] = over[games]
        self._losers[games] = -1
        self._episodes[games] += 1

    def _restart(self, games: Indices, info: dict[str, Any]) -> None:
        """Start new games and tell of these in `info`."""
        if len(games) == 0:
            return
        self._start(games)
        tell_starts(info, games, self._players[games])
        self._add_texts(info)

    # What the caller sees

    def _add_texts(self, info: dict[str, Any]) -> None:
        if self._text_info:
            info |= text_infos(self.game, self.states, info["end_reason"])

    def _observe(self, info: dict[str, Any], seen: Seen) -> tuple[Observations, dict[str, Any]]:
        planes, masks = seen[0].reshape(self.num_envs, *OBSERVATION_SHAPE), seen[1]
        self._masks = self._legal_actions.legal_action_masks = masks
        final = {key: info.pop(key) for key in
                 ("final_obs", "_final_obs", "final_info", "_final_info") if key in info}
        info = with_flags({"action_mask": masks.copy()} | info, self._all) | final
        if self.render_mode == "human":
            self.render()
        if self._as_dict:
            return {"observation": planes, "action_mask": masks.copy()}, info
        return planes, info

    def _encode(self, games: Indices | None = None) -> Seen:
        """Planes and masks, in new arrays, of all games or some as they stand."""
        shown: list[Any] = [self.states, self._over, self._unheard, self._players]
        if games is None:
            seen = self._room(self.num_envs)
            self._slices.run(observe, self.game.table, *shown, *self._code, *seen)
        else:
            seen = self._room(len(games))
            shown = [values[games] for values in shown]
            observe(*[0, len(games), self.game.table, *shown, *self._code, *seen])
        return seen

    def _room(self, count: int) -> Seen:
        """Arrays for planes and masks of so many games."""
        return (np.empty((count, CELLS), dtype=self._dtype),
                np.empty((count, self.game.num_actions), dtype=np.int8))

    @property
    def _players(self) -> Indices:
        """Who sees each game, (n,): the seats of the learner, or -1 for those who are to move."""
        return self._both if self.opponent is None else self.seats

    def _record(self, games: Indices, before: PositionArray, actions: Indices) -> None:
        """Remember moves for the frames; `before` and `actions` belong to these games."""
        for row, game in enumerate(games if self._renderers else ()):
            self._renderers[game].record(before[row:row + 1].copy(), int(actions[row]))

    def _current_masks(self) -> npt.NDArray[np.int8]:
        if self._masks is None:
            raise ResetNeeded("the environment is used before its first reset()")
        return self._masks
