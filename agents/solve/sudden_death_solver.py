"""`SuddenDeathSolver`: exact values and proven bounds of sudden-death positions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from time import perf_counter
from typing import Final, TypeAlias

import numpy as np

from agents.search.hash_table import new_table
from agents.search.horizon_last import Ints, new_work
from agents.search.horizon_plies import MAX_PLIES, MOVER_ENDS, OPPONENT_ENDS, TURN_LIMIT
from agents.search.horizon_search import ask_value, key_of
from agents.search.horizon_table import HIGHEST, LOWEST
from agents.search.null_window import Window
from agents.search.position_key import symmetry_table
from agents.solve.threads import checked_threads, run_threads
from agents.tasks import MapTasks
from castle_env.errors import AgentError, OptionError
from castle_env.game import Game
from castle_env.position import Position
from castle_env.ruleset import SUDDEN_DEATH, Ruleset

DEFAULT_MEMORY: Final = 1 << 28
# Searches with fewer plies left than this are not worth sharing among processes.
_SHARED_PLIES: Final = 9
# Threads but the first start as if each action had had so many successes, or fewer, by lot.
_SPREAD: Final = 3


@dataclass(frozen=True)
class Proof:
    """What is proven of a position: its value for the mover lies from `low` to `high`.

    mover_within: the mover can force `low` and the game's end within so many plies, however the
    opponent delays; None when it takes the turn limit, or `low` says nothing. opponent_within: the
    same for the opponent and `high`. horizon: plies looked ahead. Where both are numbers, bounds
    are the same for every turn limit of at least `horizon` plies more.
    """

    low: int = LOWEST
    high: int = HIGHEST
    mover_within: int | None = None
    opponent_within: int | None = None
    horizon: int = 0
    nodes: int = 0
    seconds: float = 0.0

    @property
    def value(self) -> int | None:
        """The margin under best play by both; None while it is not known."""
        return self.low if self.low == self.high else None

    @property
    def length(self) -> int | None:
        """Plies to the end under best play: who is ahead hurries, who is behind delays.

        In a draw, whoever can force it sooner hurries. None while the value is not known.
        Where only the turn limit ends the game, the plies left until then, which is `horizon`.
        """
        if self.value is None:
            return None
        within = {1: [self.mover_within], -1: [self.opponent_within],
                  0: [self.mover_within, self.opponent_within]}[(self.low > 0) - (self.low < 0)]
        return min((plies for plies in within if plies is not None), default=self.horizon)


Report: TypeAlias = Callable[[Proof], None]
# Ruleset, bytes of the table, position, plies left, claim, window: see `SuddenDeathSolver.margin`.
MarginTask: TypeAlias = tuple[Ruleset, int, Position, int, int, Window]


class SuddenDeathSolver:
    """Perfect play where the game's length is up to the players; what it finds stays in its table.

    It looks 1, 2, 3 ... plies ahead and proves which margin each player can force by ending the
    game within them, with its last faction. These bounds hold for every later turn limit. Once they
    are equal they are the value; if that never happens, the search at the turn limit gives it.

    Values are Victory Point margins seen from the player to move. All are exact: entries of the
    table hold whole positions. `memory_bytes` bounds the table, `threads` that share it, and
    `report` is called now and then.
    With `map_tasks`, such as that of a cluster, it gives each first move to a process of its own,
    which keeps a table as large. Ctrl-C (KeyboardInterrupt) ends a search within milliseconds;
    `proof` then has what is proven.
    Raises `AgentError` for storm and for turn limits beyond 1,000 plies.
    """

    def __init__(
        self,
        game: Game,
        memory_bytes: int = DEFAULT_MEMORY,
        report: Report | None = None,
        use_symmetries: bool = True,
        map_tasks: MapTasks | None = None,
        threads: int = 1,
    ) -> None:
        rules = game.rules
        if rules.mode != SUDDEN_DEATH or rules.max_plies > MAX_PLIES:
            raise AgentError(
                f"the sudden-death solver cannot play ruleset {rules.name!r} with mode "
                f"{rules.mode!r} and max_plies {rules.max_plies}; allowed: mode {SUDDEN_DEATH!r} "
                f"and at most {MAX_PLIES} plies")
        if memory_bytes < 1:
            raise OptionError(f"memory is {memory_bytes!r} bytes; allowed: an integer from 1 on")
        self.game: Final = game
        self.proof = Proof()
        self.table: Final[Ints] = new_table(memory_bytes)
        self._memory_bytes: Final = memory_bytes
        self._map: Final = map_tasks
        self._report: Final = report
        self._symmetries: Final = symmetry_table(game, use_symmetries)
        self._work: Final = np.repeat(new_work(game), checked_threads(threads))
        for index in range(1, threads):
            # Threads that took moves in the same order would all do the same.
            self._work["history"][index] = np.random.default_rng(index).integers(
                _SPREAD, size=self._work["history"][index].shape)
        self._started, self._before = perf_counter(), 0

    @property
    def nodes(self) -> int:
        """Positions searched since the solver was made."""
        return int(self._work["nodes"].sum())

    def solve(
        self, position: Position, max_horizon: int = MAX_PLIES, known: Proof | None = None,
        max_nodes: int = 0,
    ) -> Proof:
        """The value, or bounds of it where looking `max_horizon` plies ahead does not settle it.

        A finished game has its margin, at horizon 0. `known` is what an earlier search has proven
        of the position: this one goes on at its horizon, which it may not have finished.
        `max_nodes` ends the search after so many positions, 0 not at all; those that are searched
        in tasks do not count.
        """
        self.proof = known or Proof()
        self._work["max_nodes"] = max_nodes and (
            self._work["nodes"] + -(-max_nodes // len(self._work)))
        self._started = perf_counter() - self.proof.seconds
        self._before = self.nodes - self.proof.nodes
        first = max(self.proof.horizon, 1)
        plies_left = self.game.rules.max_plies - position.ply
        if self.game.is_terminal(position):
            self._settle(self._margin_now(position))
            plies_left = 0
        for horizon in range(first, min(plies_left, max_horizon) + 1):
            if self.proof.low == self.proof.high or self._is_spent:
                break
            self.proof = replace(self.proof, horizon=horizon)
            self._look(position, horizon, horizon == plies_left)
            self._note()
        return self.proof

    @property
    def _is_spent(self) -> bool:
        """Whether the search that was asked for has had all its positions."""
        most = self._work["max_nodes"]
        return bool(np.all((most > 0) & (most <= self._work["nodes"])))

    def each_move_value(self, position: Position) -> Iterator[tuple[int, int]]:
        """Each legal action with its exact value for the mover, as they are found."""
        for action in self.game.legal_actions(position):
            value = self.solve(self.game.apply(position, action)).value
            if value is None:
                raise AssertionError(f"no value after {action} in "
                                     f"{self.game.format_position(position)!r}")
            yield action, -value

    # Inside

    def _look(self, position: Position, horizon: int, is_limit: bool) -> None:
        """Tighten the bounds with what each player can force within the horizon."""
        for claim in (MOVER_ENDS, OPPONENT_ENDS):
            self._tighten(position, horizon, claim)
        if is_limit and not self._is_spent:
            window = Window(self.proof.low, self.proof.high, self._guess(TURN_LIMIT))
            best = self._search(position, horizon, TURN_LIMIT, window)
            if not self._is_spent:
                self._settle(min(max(best, window.low), window.high))

    def _tighten(self, position: Position, horizon: int, claim: int) -> None:
        """Ask question after question; whatever is proven is in `proof` at once."""
        low, high = self.proof.low, self.proof.high
        last = self._guess(claim)
        while low < high:
            beta = last + 1 if last == low else last
            last = self._search(position, horizon, claim, Window(beta - 1, beta, beta - 1))
            if self._is_spent:
                return
            if last >= beta:
                low = last
            else:
                high = last
            if claim == MOVER_ENDS and low > self.proof.low:
                self.proof = replace(self.proof, low=low, mover_within=horizon)
            if claim == OPPONENT_ENDS and high < self.proof.high:
                self.proof = replace(self.proof, high=high, opponent_within=horizon)
            self._note()

    def _settle(self, value: int) -> None:
        """Set both bounds to the value at the turn limit.

        A bound that was the value already keeps the number of plies that force it.
        """
        proof = self.proof
        self.proof = replace(
            proof, low=value, high=value,
            mover_within=proof.mover_within if proof.low == value else None,
            opponent_within=proof.opponent_within if proof.high == value else None)

    def margin(self, position: Position, plies_left: int, claim: int, window: Window) -> int:
        """The mover's margin with a horizon and a claim, see `agents.search.horizon_search`.

        Exact where it lies in the window, else a bound of it. The game is not over. Means nothing
        once the positions that may be searched are spent.
        """
        margins: list[int] = []

        def search(index: int) -> None:
            works = self._work[index:index + 1]
            margin = int(ask_value(self.game.table, works, self._symmetries, self.table, position,
                                   plies_left, claim, window))
            if not works["stop"][0]:
                margins.append(margin)
                self._work["stop"] = 1

        self._work["stop"] = 0
        run_threads([partial(search, index) for index in range(len(self._work))], self._work,
                    self._note)
        return margins[0] if margins else 0

    def _guess(self, claim: int) -> int:
        """The margin is likely to be that of the last horizon."""
        low, high = self.proof.low, self.proof.high
        guess = {MOVER_ENDS: low, OPPONENT_ENDS: high, TURN_LIMIT: 0}[claim]
        return min(max(guess if LOWEST < guess < HIGHEST else 0, low), high)

    def _search(self, position: Position, plies_left: int, claim: int, window: Window) -> int:
        """`margin`, with each first move in a task of its own if that is wanted and pays."""
        if self._map is None or plies_left < _SHARED_PLIES:
            return self.margin(position, plies_left, claim, window)
        return self._best_of_moves(self._map, position, plies_left, claim, window)

    def _best_of_moves(
        self, map_tasks: MapTasks, position: Position, plies_left: int, claim: int, window: Window
    ) -> int:
        """`margin`, each first move in a task of its own; moves joined by symmetry count once."""
        after = (self.game.apply(position, action) for action in self.game.legal_actions(position))
        children = {key_of(self._symmetries[0], self._work[0], child, -claim)[0]: child
                    for child in after}
        ended = [-self._margin_now(child) for child in children.values()
                 if self.game.is_terminal(child)]
        turned = Window(-window.high, -window.low, -window.last)
        tasks = [(self.game.rules, self._memory_bytes, child, plies_left - 1, -claim, turned)
                 for child in children.values() if not self.game.is_terminal(child)]
        found = map_tasks(_margin_and_nodes, tasks)
        self._work["nodes"][0] += sum(nodes for _, nodes in found)
        return max(ended + [-margin for margin, _ in found])

    def _margin_now(self, position: Position) -> int:
        points = self.game.victory_points(position)
        mover = position.ply & 1
        return points[mover] - points[1 - mover]

    def _note(self) -> None:
        """Add nodes and time to the proof; report it, if a report is wanted."""
        self.proof = replace(self.proof, nodes=self.nodes - self._before,
                             seconds=perf_counter() - self._started)
        if self._report:
            self._report(self.proof)


@lru_cache(maxsize=1)
def _solver_of(rules: Ruleset, memory_bytes: int) -> SuddenDeathSolver:
    return SuddenDeathSolver(Game(rules), memory_bytes)


def _margin_and_nodes(task: MarginTask) -> tuple[int, int]:
    """The margin that a task asks for, and the positions searched for it.

    A process keeps the table that it fills.
    """
    rules, memory_bytes, position, plies_left, claim, window = task
    solver = _solver_of(rules, memory_bytes)
    before = solver.nodes
    return solver.margin(position, plies_left, claim, window), solver.nodes - before
