"""The learner's environment in self-play: a batch of games against a pool of opponents."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from agents.openings import check_opening_plies
from agents.training.game_log import GameLog
from agents.training.opponent_pool import OpponentPool
from agents.training.resuming import StateError, check_positions
from agents.training.rewards import RewardFunction, load_reward
from castle_env.options import RulesetSource
from castle_env.position import PositionArray
from castle_env.vector_env import CastleVectorEnv, Indices

# Under this name games in which the learner plays both seats are logged, as seen by the first.
BOTH_SEATS: Final = "self"


class SelfPlayVectorEnv(CastleVectorEnv):
    """`CastleVectorEnv` in which the learner plays both seats, or each game has its own opponent.

    Without a pool the learner makes every move, and the reward at the end is that of the last
    mover. With one, a new game draws its opponent and the learner's seat (each half of the time),
    and at each step every opponent is called once, for all its games. Finished games are reported
    to the pool and to `game_log`. Games start after 0 to `opening_plies` random plies, so that the
    learner sees more than the positions which its own openings lead to.
    """

    _own_starts = True

    def __init__(
        self,
        num_envs: int,
        ruleset: RulesetSource,
        pool: OpponentPool | None,
        reward: str | RewardFunction,
        opening_plies: int = 0,
    ) -> None:
        super().__init__(num_envs, ruleset, opponent=pool.active()[0].agent if pool else None,
                         seat="random",
                         autoreset_mode=AutoresetMode.SAME_STEP)
        check_opening_plies(self.game, opening_plies)
        self.pool = pool
        self._reward_of = load_reward(reward) if isinstance(reward, str) else reward
        self.opening_plies = opening_plies
        self.game_log = GameLog(self.game)
        self.opponents: Indices = np.zeros(num_envs, dtype=np.int64)

    def _start(self, games: Indices, states: PositionArray | None = None) -> None:
        if self.pool is not None:
            self.opponents[games] = self.pool.sample(len(games), self.np_random)
        super()._start(games, states)

    def _first_states(self, count: int) -> PositionArray:
        states = self.game.initial_states(count)
        plies = self.np_random.integers(self.opening_plies + 1, size=count)
        for ply in range(self.opening_plies):
            chosen = plies > ply
            actions = self.game.random_actions(states[chosen], self.np_random)
            states[chosen] = self.game.apply_actions(states[chosen], actions)
        return states

    def _opponent_actions(self, states: PositionArray, games: Indices) -> Indices:
        assert self.pool is not None
        actions = np.empty(len(games), dtype=np.int64)
        numbers = self.opponents[games]
        for number in np.unique(numbers):
            theirs = numbers == number
            agent = self.pool.members[int(number)].agent
            actions[theirs] = agent.select_actions(states[theirs], self.np_random)
        return actions

    def _on_end(
        self, games: Indices, info: dict[str, Any], rewards: npt.NDArray[np.float64]
    ) -> None:
        margins, movers = info["margin"][games], info["seat"][games]
        rewards[games] = self._reward_of(self.game, self.states[games], margins * (1 - 2 * movers))
        states, seats, opponents = self.states[games], self.seats[games], self.opponents[games]
        margins = margins * (1 - 2 * seats)
        if self.pool is None:
            self.game_log.add(BOTH_SEATS, states, seats, margins)
            return
        points = (np.sign(margins) + 1) / 2
        for number in np.unique(opponents):
            theirs, member = opponents == number, self.pool.members[int(number)]
            member.record(points[theirs])
            self.game_log.add(member.kind, states[theirs], seats[theirs], margins[theirs])

    def get_state(self) -> dict[str, Any]:
        """All that changes while games go on, as plain values and arrays."""
        return {
            "states": self.states.view(np.int64).reshape(self.num_envs, -1),
            "seats": self.seats,
            "opponents": self.opponents,
            "episodes": self._episodes,
            "over": self._over,
            "unheard": self._unheard,
            "rng": self.np_random.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> npt.NDArray[np.float32]:
        """Take up what `get_state` gave; returns the current observations."""
        self.states[:] = np.ascontiguousarray(state["states"]).view(self.states.dtype).reshape(-1)
        self.seats[:] = state["seats"]
        self.opponents[:] = state["opponents"]
        self._episodes[:] = state["episodes"]
        self._over[:] = state["over"]
        self._unheard[:] = state["unheard"]
        self.np_random.bit_generator.state = state["rng"]
        check_positions(self.game, self.states)
        pool = self.pool
        if not np.isin(self.seats, (0, 1)).all() or (
                pool is not None and not set(self.opponents.tolist()) <= pool.members.keys()):
            raise StateError(f"seats {np.unique(self.seats).tolist()} and opponents "
                             f"{np.unique(self.opponents).tolist()}; allowed: 0 and 1, and members "
                             "of the pool")
        observations: npt.NDArray[np.float32] = self._observe({}, self._encode())[0]
        return observations
