"""`Solver`: exact values of storm positions, each with the best line and the value of each move."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Final, TypeAlias

import numpy as np

from agents.search.board import board_of
from agents.search.null_window import Window, narrowed, next_beta
from agents.search.restriction import Restriction
from agents.solve.slides import ROWS
from agents.solve.storm_search import (
    MAX_PLIES,
    WORK_DTYPE,
    ask,
    known_bounds,
    new_arrays,
    stored_line,
)
from agents.solve.threads import SECONDS_BETWEEN_REPORTS, checked_threads, run_threads
from agents.solve.transposition import HIGHEST, LOWEST, filled
from castle_env.board import ENTRIES
from castle_env.errors import AgentError, OptionError
from castle_env.game import Game
from castle_env.kernels import captures
from castle_env.position import Position
from castle_env.ruleset import STORM, Ruleset

DEFAULT_MEMORY: Final = 1 << 28

# Searches up to so deep take a few milliseconds: they run in the calling thread.
_QUICK_DEPTH: Final = 7
_UNKNOWN: Final = Window(LOWEST, HIGHEST, 0)


class SearchStoppedError(Exception):
    """A solver was told to stop, and has no answer."""


@dataclass(frozen=True)
class SearchProgress:
    """How far a search has come.

    It looks `depth` plies ahead, of `plies_left`; the mover's margin at that depth lies from `low`
    to `high` (None: no bound yet). Only where the two are equal are the bounds proven for the game.
    line: best play as the table has it now, as action indices. table_fill: share of it in use.
    """

    depth: int
    plies_left: int
    low: int | None
    high: int | None
    nodes: int
    seconds: float
    table_fill: float
    line: tuple[int, ...]

    @property
    def nodes_per_second(self) -> float:
        """Positions visited per second so far."""
        return self.nodes / self.seconds if self.seconds > 0 else 0.0


def captured_margin(rules: Ruleset, position: Position) -> int:
    """The mover's margin from captures made so far, which searches leave out."""
    own, opposing = captures(rules.factions_per_player, position)
    return rules.victory_points.captured * (own - opposing)


Report: TypeAlias = Callable[[SearchProgress], None]


class Solver:
    """Perfect play in any storm ruleset; its table keeps what it finds for later questions.

    Values are Victory Point margins under best play by both, seen from the player to move in the
    position asked about. All are exact and do not depend on memory, threads or earlier questions:
    entries of the table hold whole positions, so there are no hash collisions (with more than one
    thread see `agents.solve.transposition` about torn entries).

    `memory_bytes` bounds the table, `threads` that share it, and `report` is called now and then.
    Ctrl-C (KeyboardInterrupt) ends a search within milliseconds; `progress()` then tells what is
    proven, and the same question again makes use of the table. Raises `AgentError` for other modes.
    """

    def __init__(
        self,
        game: Game,
        memory_bytes: int = DEFAULT_MEMORY,
        threads: int = 1,
        report: Report | None = None,
        use_symmetries: bool = True,
    ) -> None:
        if game.rules.mode != STORM:
            raise AgentError(f"the exact solver cannot play mode {game.rules.mode!r} of ruleset "
                             f"{game.rules.name!r}; allowed: {STORM!r}")
        if memory_bytes < 1:
            raise OptionError(f"memory is {memory_bytes!r} bytes; allowed: an integer from 1 on")
        self.game: Final = game
        self._report: Final = report
        self._restriction: Restriction | None = None
        self._work: Final = np.zeros(checked_threads(threads), dtype=WORK_DTYPE)
        self._work["shared"] = threads > 1
        self._arrays: Final = new_arrays(game, memory_bytes, use_symmetries)
        self._started = perf_counter()
        self._reported = self._started
        self._seconds = 0.0
        self._stopped = False
        self._asked: Position = game.initial_state()
        self._depth, self._window = 0, _UNKNOWN

    @property
    def nodes(self) -> int:
        """Positions visited since the solver was made; ends of games are not counted."""
        return int(self._work["nodes"].sum())

    # Questions

    def solve(self, position: Position) -> int:
        """The mover's margin under best play by both; in a finished game, its margin."""
        plies_left = self._begin(position)
        low, high = self._known(position, plies_left)
        value = low if low == high else 0
        if low != high:
            for depth in _depths(plies_left):
                value = self._narrow(depth, plies_left, value)
        return value + captured_margin(self.game.rules, position)

    def at_least(self, position: Position, margin: int) -> bool:
        """Whether the mover can force a margin: `solve(position) >= margin`, but found sooner."""
        plies_left = self._begin(position)
        beta = margin - captured_margin(self.game.rules, position)
        low, high = self._known(position, plies_left)
        if low >= beta or high < beta:
            return low >= beta
        bound = LOWEST
        for depth in _depths(plies_left):
            self._depth, self._window = depth, _UNKNOWN
            bound = self._ask(depth, plies_left, beta)
        return bound >= beta

    def wdl(self, position: Position) -> int:
        """1, 0 or -1: the mover wins, draws or loses under best play by both."""
        if self.at_least(position, 1):
            return 1
        return 0 if self.at_least(position, 0) else -1

    def each_move_value(self, position: Position) -> Iterator[tuple[int, int]]:
        """Each legal action with its exact value for the mover, as they are found."""
        for action in self._choices(position):
            yield action, -self.solve(self.game.apply(position, action))

    def move_values(self, position: Position) -> dict[int, int]:
        """The exact value of each legal action for the mover."""
        return dict(self.each_move_value(position))

    def principal_variation(self, position: Position) -> list[int]:
        """One line of best play by both to the end of the game, as actions."""
        value = self.solve(position)
        line: list[int] = []
        while not self.game.is_terminal(position):
            action, position = self._best_move(position, value)
            line.append(action)
            value = -value
        return line

    def progress(self) -> SearchProgress:
        """How far the latest search has come."""
        captured = captured_margin(self.game.rules, self._asked)
        return SearchProgress(
            self._depth,
            self.game.rules.max_plies - self._asked.ply,
            None if self._window.low == LOWEST else self._window.low + captured,
            None if self._window.high == HIGHEST else self._window.high + captured,
            self.nodes,
            self._seconds,
            filled(self._arrays.table),
            tuple(self._stored_line(self._asked)),
        )

    def stop(self) -> None:
        """Make all questions raise `SearchStoppedError`, for good; other threads may call this.

        A search that is going on ends within milliseconds.
        """
        self._stopped = True
        self._work["stop"] = 1

    # Inside

    def _begin(self, position: Position) -> int:
        """Start with a new question; returns the number of plies left."""
        self._asked = position
        self._depth, self._window = 0, _UNKNOWN
        return self.game.rules.max_plies - position.ply

    def _known(self, position: Position, plies_left: int) -> tuple[int, int]:
        """Bounds of a position's value, captures left out, without any search."""
        if plies_left == 0:
            points = self.game.victory_points(position)
            mover = position.ply & 1
            margin = points[mover] - points[1 - mover] - captured_margin(self.game.rules, position)
            return margin, margin
        low, high = known_bounds(self._arrays, board_of(position), plies_left)
        return int(low), int(high)

    def _narrow(self, depth: int, plies_left: int, guess: int) -> int:
        """The exact value at a depth."""
        self._depth, self._window = depth, Window(LOWEST, HIGHEST, guess)
        while self._window.low < self._window.high:
            beta = next_beta(self._window)
            self._window = narrowed(self._window, beta, self._ask(depth, plies_left, beta))
        self._tell(depth == plies_left)
        return self._window.last

    def _ask(self, depth: int, plies_left: int, beta: int) -> int:
        """A bound that tells whether the position asked about is worth at least `beta`."""
        self._work["stop"] = 0
        self._check_stopped()
        self._arrays.busy[:] = 0
        board = board_of(self._asked)
        results: list[int] = []

        def search(index: int) -> None:
            arrays = self._arrays._replace(work=self._work[index:index + 1])
            bound = int(ask(arrays, self._restriction, board, plies_left, depth, beta))
            if not self._work["stop"][index]:
                results.append(bound)
                self._work["stop"] = 1

        started, before = perf_counter(), self._seconds
        if depth <= _QUICK_DEPTH:
            search(0)
        else:
            run_threads([partial(search, index) for index in range(len(self._work))], self._work,
                        partial(self._note_time, started - before))
        self._note_time(started - before)
        self._check_stopped()
        return results[0]

    def _check_stopped(self) -> None:
        if self._stopped:
            raise SearchStoppedError

    def _choices(self, position: Position) -> list[int]:
        """The actions that the mover may choose from."""
        return self.game.legal_actions(position)

    def _note_time(self, started: float) -> None:
        self._seconds = perf_counter() - started
        self._tell(False)

    def _tell(self, in_any_case: bool) -> None:
        """Report, if a report is wanted and the last one was not made just now."""
        now = perf_counter()
        if self._report and (in_any_case or now - self._reported >= SECONDS_BETWEEN_REPORTS):
            self._reported = now
            self._report(self.progress())

    def _stored_line(self, position: Position) -> list[int]:
        """Best play as far as the table knows it; not proven."""
        lanes = np.zeros(MAX_PLIES, dtype=np.int64)
        plies_left = self.game.rules.max_plies - position.ply
        count = stored_line(self._arrays, board_of(position), plies_left,
                            np.zeros((ROWS, ENTRIES), dtype=np.int64), lanes)
        actions: list[int] = lanes[:count].tolist()
        return actions

    def _best_move(self, position: Position, value: int) -> tuple[int, Position]:
        """A move that keeps `value`, the position's exact value, and the position after it."""
        likely = self._stored_line(position)[:1]
        for action in sorted(self._choices(position), key=lambda action: action not in likely):
            after = self.game.apply(position, action)
            if not self.at_least(after, 1 - value):
                return action, after
        raise AssertionError(f"no move keeps {value} in {self.game.format_position(position)!r}")


def _depths(plies_left: int) -> range:
    """Depths to search one after the other, the last of them to the end of the game.

    All are odd or all are even: whoever moves last is ahead, and it is always the same player.
    """
    return range(2 - plies_left % 2, plies_left + 1, 2)
