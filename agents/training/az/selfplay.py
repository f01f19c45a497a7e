"""Self-play of many games at once, in which each position is searched or, near the end, solved."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.endgame import ILLEGAL, write_exact_margins
from agents.search.gumbel import Sigma, gather_halving, halving_plan, write_results
from agents.search.moves import MAX_MOVES
from agents.search.puct import Evaluator, search_weights, value_factor
from agents.search.puct_tree import Nodes, expand, new_trees, reset
from agents.training.az.replay import Samples, most_actions, pack
from agents.training.config import AZConfig
from agents.training.resuming import check_boards, check_positions
from castle_env.game import Game
from castle_env.options import rewards_of
from castle_env.position import POSITION_DTYPE, Position, PositionArray

Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# Exact margins are told apart within so many VP of the best; what is worse has no probability.
SLACK: Final = 3


class Findings(NamedTuple):
    """What is known of positions: policies (n, num_actions), values in rewards and actions (n,)."""

    policies: Floats
    values: Floats
    actions: Ints


class SelfPlay:
    """Games under way, and the samples that those which ended have left behind.

    Each game starts after 0 to `opening_plies` random plies. `evaluate` is the network.
    """

    def __init__(
        self, game: Game, config: AZConfig, opening_plies: int, evaluate: Evaluator,
        rng: np.random.Generator,
    ) -> None:
        self.game: Final = game
        self.rng: Final = rng
        self.ended = 0
        self._config: Final = config
        self._opening_plies: Final = opening_plies
        self._evaluate: Final = evaluate
        self._factor: Final = value_factor(game, config.reward_kind)
        self._weights: Final = search_weights(
            config.reward_kind, exact_plies=max(0, config.exact_plies - 1))
        self._sigma: Final = Sigma(config.visit_offset, config.value_scale)
        self._plan: Final = halving_plan(config.considered, config.visits)
        games, plies = config.num_envs, game.rules.max_plies
        nodes = 1 + min(game.num_actions, most_actions(game)) * (config.visits + 1)
        self._trees: Final = new_trees(games, nodes)
        self._states: Final = game.initial_states(games)
        self._lengths: Final = np.zeros(games, dtype=np.int64)
        # What was found in each game so far, by the number of the move.
        self._past: Final = np.zeros((games, plies), dtype=POSITION_DTYPE)
        self._policies: Final = np.zeros((games, plies, most_actions(game)), dtype=np.uint16)
        self._values: Final = np.zeros((games, plies), dtype=np.float32)
        self._start(np.arange(games))

    def play(self, plies: int) -> Samples:
        """Play so many plies in each game; what was found in all games that ended meanwhile."""
        left_behind = [self._play_ply() for _ in range(plies)]
        return Samples(*map(np.concatenate, zip(*left_behind, strict=True)))

    def _play_ply(self) -> Samples:
        states = self._states.copy()
        found = self._find(states)
        games = np.arange(len(states))
        masks = self.game.legal_action_masks(states)
        self._past[games, self._lengths] = states
        self._policies[games, self._lengths] = pack(self.game, found.policies, masks)
        self._values[games, self._lengths] = found.values
        self._lengths[:] += 1
        self._states[:], over = self.game.advance(states, found.actions)
        ended = np.flatnonzero(over)
        samples = self._finish(ended)
        self._start(ended)
        return samples

    def _find(self, states: PositionArray) -> Findings:
        solved = self._near_end(states)
        found = Findings(np.zeros((len(states), self.game.num_actions), dtype=np.float32),
                         np.zeros(len(states), dtype=np.float32),
                         np.zeros(len(states), dtype=np.int64))
        for chosen, find in ((solved, self.solve), (~solved, self.search)):
            if chosen.any():
                part = find(states[chosen])
                found.policies[chosen], found.values[chosen], found.actions[chosen] = part
        return found

    def _near_end(self, states: PositionArray) -> Bools:
        near: Bools = states["ply"] >= self.game.rules.max_plies - self._config.exact_plies
        return near

    def solve(self, states: PositionArray) -> Findings:
        """The exact truth about positions near the turn limit; actions are drawn from a policy that
        takes what is a VP worse with 1 / e of the probability.
        """
        margins = np.empty((len(states), self.game.num_actions), dtype=np.int64)
        write_exact_margins(self.game.table, states, self._config.exact_plies, SLACK, margins)
        best = margins.max(axis=1)
        behind = margins - best[:, None]
        behind = np.where((margins == ILLEGAL) | (behind < -SLACK), -np.inf, behind)
        if self._config.reward == "outcome":
            behind = np.where(np.isfinite(behind), np.sign(margins) - np.sign(best)[:, None],
                              behind)
        policies = np.exp(self._config.exact_scale * behind)
        policies /= policies.sum(axis=1, keepdims=True)
        noisy = behind + self.rng.gumbel(size=behind.shape)
        values = rewards_of(self.game, best, self._config.reward_kind)
        return Findings(policies.astype(np.float32), values.astype(np.float32),
                        noisy.argmax(axis=1))

    def search(self, states: PositionArray) -> Findings:
        """What searches find in positions, none of them over."""
        count = len(states)
        found = Findings(np.empty((count, self.game.num_actions), dtype=np.float32),
                         np.empty(count, dtype=np.float32), np.empty(count, dtype=np.int64))
        write_results(*self.grow(states), self._sigma, found.policies, found.values,
                      found.actions)
        return found._replace(values=found.values / self._factor)

    def grow(self, states: PositionArray) -> tuple[Nodes, Doubles]:
        """Grown trees (n, nodes) of positions, and the noise (n, MAX_MOVES) of root actions.

        The trees are good until the next call.
        """
        count, table = len(states), self.game.table
        trees = self._trees[:count]
        reset(trees)
        gumbels = self.rng.gumbel(size=(count, MAX_MOVES))
        sizes = np.ones(count, dtype=np.int64)
        visits_left = np.full(count, self._config.visits + 1)
        leaves, places = np.empty_like(states), np.empty((count, 2), dtype=np.int64)
        while visits_left.any():
            waiting = gather_halving(table, trees, states, visits_left, self._plan, gumbels,
                                     self._sigma, self._weights, leaves, places)
            if waiting:
                logits, values = self._evaluate(leaves[:waiting])
                expand(table, trees, sizes, leaves[:waiting], places[:waiting], logits,
                       values * self._factor)
        return trees, gumbels

    def _finish(self, games: Ints) -> Samples:
        """The samples of games that are over, with targets of values from their ends backwards."""
        lengths = self._lengths[games]
        margins = self.game.margins(self._states[games])
        targets = np.zeros((len(games), int(lengths.max(initial=0))), dtype=np.float32)
        # Of player 0 at the end; then always of the player who moves next.
        later = rewards_of(self.game, margins, self._config.reward_kind).astype(np.float32)
        later = np.where(self._states[games]["ply"] & 1, -later, later)
        for ply in range(targets.shape[1] - 1, -1, -1):
            share = np.where(self._near_end(self._past[games, ply]), 0.0,
                             self._config.outcome_share).astype(np.float32)
            mixed = (1 - share) * self._values[games, ply] - share * later
            later = np.where(ply < lengths, mixed, later)
            targets[:, ply] = later
        played = np.arange(targets.shape[1]) < lengths[:, None]
        rows, plies = np.nonzero(played)
        rows = games[rows]
        return Samples(self._past[rows, plies], self._policies[rows, plies], targets[played])

    def _start(self, games: Ints) -> None:
        self.ended += int((self._lengths[games] > 0).sum())
        states = self.game.initial_states(len(games))
        plies = self.rng.integers(self._opening_plies + 1, size=len(games))
        for ply in range(self._opening_plies):
            chosen = plies > ply
            actions = self.game.random_actions(states[chosen], self.rng)
            states[chosen] = self.game.apply_actions(states[chosen], actions)
        self._states[games], self._lengths[games] = states, 0

    def get_state(self) -> dict[str, Any]:
        """All that changes while games go on, as plain values and arrays."""
        played = np.arange(self._values.shape[1]) < self._lengths[:, None]
        return {
            "states": _plain(self._states),
            "lengths": self._lengths.copy(),
            "past": _plain(self._past[played]),
            "policies": self._policies[played].view(np.int16),
            "values": self._values[played],
            "ended": self.ended,
            "rng": self.rng.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Take up what `get_state` gave."""
        self._states[:] = _positions(state["states"])
        self._lengths[:] = state["lengths"]
        played = np.arange(self._values.shape[1]) < self._lengths[:, None]
        self._past[played] = _positions(state["past"])
        check_boards(self._past[played])
        self._policies[played] = state["policies"].view(np.uint16)
        self._values[played] = state["values"]
        self.ended = state["ended"]
        self.rng.bit_generator.state = state["rng"]
        check_positions(self.game, self._states)


def _plain(states: PositionArray) -> Ints:
    return np.ascontiguousarray(states).view(np.int64).reshape(-1, len(Position._fields)).copy()


def _positions(numbers: Ints) -> PositionArray:
    return np.ascontiguousarray(numbers, dtype=np.int64).view(POSITION_DTYPE).reshape(-1)
