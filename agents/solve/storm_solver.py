"""`Solver`: exact values of storm positions, each with the best line and the value of each move."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Thread
from time import perf_counter
from typing import Final, TypeAlias

import numpy as np

from agents.search.position_key import symmetry_table
from agents.solve.slides import ROWS, Board, board_of
from agents.solve.storm_search import (
    BUSY_SLOTS,
    MAX_PLIES,
    WORK_DTYPE,
    Records,
    ask,
    known_bounds,
    stored_line,
)
from agents.solve.transposition import HIGHEST, LOWEST, filled, new_table
from castle_env.board import ENTRIES
from castle_env.errors import AgentError, OptionError
from castle_env.game import Game
from castle_env.position import Position
from castle_env.ruleset import STORM, Ruleset

DEFAULT_MEMORY: Final = 1 << 28
MAX_THREADS: Final = 64

# Searches up to so deep take a few milliseconds: they run in the calling thread.
_QUICK_DEPTH: Final = 7
_SECONDS_BETWEEN_REPORTS: Final = 0.5


class SearchStoppedError(Exception):
    """A solver was told to stop, and has no answer."""


@dataclass(frozen=True)
class SearchProgress:
    """How far a search has come.

    It looks `depth` of the `left` plies ahead; the mover's margin at that depth lies from `low` to
    `high` (None: no bound yet). Only at `depth == left` are these bounds proven for the game. line:
    best play as the table has it now, as action indices. table_fill: share of the table in use.
    """

    depth: int
    left: int
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
    factions = rules.factions_per_player
    lost = factions - position.own_hand - position.own.bit_count() - position.own_forfeits
    won = (factions - position.opposing_hand - position.opposing.bit_count()
           - position.opposing_forfeits)
    return rules.victory_points.captured * (won - lost)


Report: TypeAlias = Callable[[SearchProgress], None]


class Solver:
    """Perfect play in any storm ruleset; what it finds stays in its table for later questions.

    Values are Victory Point margins under best play by both, seen from the player to move in the
    position asked about. All are exact and do not depend on memory, threads or earlier questions:
    entries of the table hold whole positions, so there are no hash collisions (with more than one
    thread see `agents.solve.transposition` about torn entries).

    `memory_bytes` bounds the table, `threads` that share it, and `report` is called now and then.
    Ctrl-C (KeyboardInterrupt) ends a search within milliseconds; `progress()` then tells what is
    proven, and asking again goes on from the table. Raises `AgentError` for other modes.
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
        if not 1 <= threads <= MAX_THREADS:
            raise OptionError(f"threads is {threads!r}; allowed: an integer from 1 to "
                              f"{MAX_THREADS}")
        if memory_bytes < 1:
            raise OptionError(f"memory is {memory_bytes!r} bytes; allowed: an integer from 1 on")
        self.game: Final = game
        self._report: Final = report
        self._table: Final = new_table(memory_bytes)
        self._symmetries: Final = symmetry_table(game, use_symmetries)
        self._work: Final = np.zeros(threads, dtype=WORK_DTYPE)
        self._work["shared"] = threads > 1
        self._busy: Final = np.zeros(BUSY_SLOTS, dtype=np.int64)
        self._started = perf_counter()
        self._reported = self._started
        self._seconds = 0.0
        self._stopped = False
        self._asked: Position = game.initial_state()
        self._depth, self._low, self._high = 0, LOWEST, HIGHEST

    @property
    def nodes(self) -> int:
        """Positions visited since the solver was made; ends of games are not counted."""
        return int(self._work["nodes"].sum())

    # Questions

    def solve(self, position: Position) -> int:
        """The mover's margin under best play by both; in a finished game, its margin."""
        left = self._begin(position)
        low, high = self._known(position, left)
        guess = low if low == high else 0
        if left and low != high:
            for depth in _depths(left):
                guess = self._narrow(depth, left, guess)
        return guess + captured_margin(self.game.rules, position)

    def at_least(self, position: Position, margin: int) -> bool:
        """Whether the mover can force a margin: `solve(position) >= margin`, but sooner known."""
        left = self._begin(position)
        beta = margin - captured_margin(self.game.rules, position)
        low, high = self._known(position, left)
        if low >= beta or high < beta:
            return low >= beta
        bound = LOWEST
        for depth in _depths(left):
            self._depth, self._low, self._high = depth, LOWEST, HIGHEST
            bound = self._ask(depth, left, beta)
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
            None if self._low == LOWEST else self._low + captured,
            None if self._high == HIGHEST else self._high + captured,
            self.nodes,
            self._seconds,
            filled(self._table),
            tuple(self._stored_line(self._asked)),
        )

    def stop(self) -> None:
        """From another thread, for good: questions raise `SearchStoppedError`, within milliseconds
        the one in hand too.
        """
        self._stopped = True
        self._work["stop"] = 1

    # Inside

    def _begin(self, position: Position) -> int:
        """Note what is asked; the number of plies left."""
        self._asked = position
        self._depth, self._low, self._high = 0, LOWEST, HIGHEST
        return self.game.rules.max_plies - position.ply

    def _known(self, position: Position, left: int) -> tuple[int, int]:
        """Bounds of a position's value, captures left out, without any search."""
        if left == 0:
            points = self.game.victory_points(position)
            mover = position.ply & 1
            margin = points[mover] - points[1 - mover] - captured_margin(self.game.rules, position)
            return margin, margin
        low, high = known_bounds(self._symmetries, self._table, board_of(position), left)
        return int(low), int(high)

    def _narrow(self, depth: int, left: int, guess: int) -> int:
        """The exact value at a depth: null windows, each next to the bound found before (MTD(f))"""
        self._depth, self._low, self._high = depth, LOWEST, HIGHEST
        while self._low < self._high:
            beta = guess + 1 if guess == self._low else guess
            guess = self._ask(depth, left, beta)
            if guess >= beta:
                self._low = guess
            else:
                self._high = guess
        self._tell(depth == left)
        return guess

    def _ask(self, depth: int, left: int, beta: int) -> int:
        """A bound of the value of the position asked about, on that side of `beta` where it is."""
        self._work["stop"] = 0
        self._check_stopped()
        self._busy[:] = 0
        board = board_of(self._asked)
        results: list[int] = []

        def search(index: int) -> None:
            bound = self._search(self._work[index:index + 1], board, left, depth, beta)
            if not self._work["stop"][index]:
                results.append(bound)
                self._work["stop"] = 1

        started, before = perf_counter(), self._seconds
        if depth <= _QUICK_DEPTH:
            search(0)
        else:
            threads = [Thread(target=search, args=(index,)) for index in range(len(self._work))]
            self._run(threads, started - before)
        self._seconds = before + perf_counter() - started
        self._check_stopped()
        return results[0]

    def _check_stopped(self) -> None:
        if self._stopped:
            raise SearchStoppedError

    def _search(self, work: Records, board: Board, left: int, depth: int, beta: int) -> int:
        """The bound that one thread finds; meaningless once its `stop` is set."""
        return int(ask(self.game.table, work, self._symmetries, self._table, self._busy, board,
                       left, depth, beta))

    def _choices(self, position: Position) -> list[int]:
        """The actions that the mover may choose from."""
        return self.game.legal_actions(position)

    def _run(self, threads: list[Thread], started: float) -> None:
        """Run threads to their end, reporting meanwhile; stop them when interrupted."""
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(_SECONDS_BETWEEN_REPORTS)
                    self._seconds = perf_counter() - started
                    self._tell(False)
        finally:
            self._work["stop"] = 1
            for thread in threads:
                if thread.ident is not None:
                    thread.join()

    def _tell(self, in_any_case: bool) -> None:
        """Report, if somebody listens and it was not done just now."""
        now = perf_counter()
        if self._report and (in_any_case or now - self._reported >= _SECONDS_BETWEEN_REPORTS):
            self._reported = now
            self._report(self.progress())

    def _stored_line(self, position: Position) -> list[int]:
        """Best play as far as the table knows it; not proven."""
        lanes = np.zeros(MAX_PLIES, dtype=np.int64)
        left = self.game.rules.max_plies - position.ply
        count = stored_line(self.game.table, self._symmetries, self._table, board_of(position),
                            left, np.zeros((ROWS, ENTRIES), dtype=np.int64), lanes)
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


def _depths(left: int) -> range:
    """Depths to search before the whole: all of one parity, since who moves last is ahead."""
    return range(2 - left % 2, left + 1, 2)
