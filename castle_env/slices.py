"""Work on a batch, cut into slices that threads do at the same time."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final, TypeVar

from castle_env.errors import OptionError

Result = TypeVar("Result")


class Slices:
    """Cuts 0 .. count into as many slices as there are threads.

    The work must release Python's global lock, as compiled functions do. Threads start when they
    are first needed, anew in copies, in forked processes and after `close`.
    """

    def __init__(self, count: int, num_threads: int) -> None:
        if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
            raise OptionError(f"num_threads is {num_threads!r}; allowed: an integer from 1 on")
        cuts = [count * part // num_threads for part in range(num_threads + 1)]
        self._parts: Final = [slice(low, high)
                              for low, high in pairwise(cuts) if low < high]
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def run(self, work: Callable[[slice], Result]) -> list[Result]:
        """What `work` gives for each slice, in order; the first is done by the caller's thread."""
        if len(self._parts) == 1:
            return [work(self._parts[0])]
        pool = self._threads()
        others = [pool.submit(work, part) for part in self._parts[1:]]
        return [work(self._parts[0]), *(other.result() for other in others)]

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown()
        self._pool = None

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(len(self._parts) - 1, "castle-env")
            self._process = os.getpid()
        return self._pool

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_pool": None}
