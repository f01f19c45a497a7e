"""Work on all games of a batch, by one thread or by several at the same time."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from castle_env.compiled import COMPILED
from castle_env.errors import OptionError
from castle_env.kernels import RuleTable
from castle_env.observation import Divisors, Eights

# Games in a piece, at least: it takes some ten microseconds, and handing it over one.
FEWEST: Final = 64
# Pieces for each thread, at most: so little is left to wait for when no more are open.
MAX_EACH: Final = 16
# Looks for work after which a thread goes to sleep: about half a millisecond, as long as waking it
# takes. A step of an environment finds it awake when the last one is not longer ago.
PATIENCE: Final = 100_000


class Slices:
    """Does work on `count` games in pieces that up to `num_threads` threads take.

    The other threads wait for work in compiled code, so that nothing has to wake them while steps
    follow each other quickly, and sleep soon after. Threads start when they are first needed, anew
    in copies, in forked processes and after `close`; no more than there are cores for.
    """

    def __init__(
        self, count: int, num_threads: int, table: RuleTable, divisors: Divisors, eights: Eights
    ) -> None:
        if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
            raise OptionError(f"num_threads is {num_threads!r}; allowed: an integer from 1 on")
        self._count: Final = count
        self._threads: Final = max(1, min(num_threads, usable_cores(), count // FEWEST))
        self._rules: Final = table, divisors, eights
        self._team: _Team | None = None

    def run(self, function: Callable[..., None], *arrays: Any) -> None:
        """Call a function of `shared_work.FUNCTIONS` for all games, with these arrays of theirs."""
        if self._threads == 1 or not COMPILED or not self._awake_team().run(function, arrays):
            function(0, self._count, *arrays)

    def close(self) -> None:
        """End the threads."""
        if self._team is not None:
            self._team.close()
        self._team = None

    def _awake_team(self) -> "_Team":
        if self._team is None or self._team.process != os.getpid():
            self._team = _Team(self._count, self._threads, self._rules)
        return self._team

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_team": None}


class _Team:
    """Threads of one process, and what they share."""

    def __init__(self, count: int, threads: int, rules: tuple[Any, Any, Any]) -> None:
        # Imported here, since most environments have one thread.
        from castle_env import shared_work

        self.process: Final = os.getpid()
        self._work: Final = shared_work
        self._examples: Final = shared_work.example_arrays(*rules)
        each = min(MAX_EACH, count // (FEWEST * threads))
        self._board: Final = shared_work.new_board(count, threads, each)
        # Compiled here: a process that is forked while another thread compiles never could.
        shared_work.follow(self._board, 0, 0, *self._examples)
        self._pool: Final = ThreadPoolExecutor(threads - 1, "castle-env")
        self._helpers: Final[list[Future[None] | None]] = [None] * (threads - 1)

    def run(self, function: Callable[..., None], arrays: tuple[Any, ...]) -> bool:
        """Lead the work; False, and nothing done, while another thread leads."""
        for number, helper in enumerate(self._helpers):
            if helper is None or helper.done():
                if helper is not None:
                    helper.result()
                self._helpers[number] = self._pool.submit(
                    self._work.follow, self._board, number + 1, PATIENCE, *self._examples)
        work = self._work.FUNCTIONS.index(function)
        known = [*self._examples]
        known[work] = arrays
        return self._work.lead(self._board, work, *known)

    def close(self) -> None:
        if self.process == os.getpid():
            self._pool.shutdown()


def usable_cores() -> int:
    """Cores that this process may use, where the system tells; else all of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
