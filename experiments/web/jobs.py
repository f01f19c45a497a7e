"""Work in threads that the server does not wait for, and that can be stopped."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic, sleep
from typing import Any, Final, Generic, TypeVar

Result = TypeVar("Result")

MAX_THREADS: Final = 256
# Searches that take much memory and time; more of them wait for their turn.
MAX_HEAVY: Final = 4
_SECONDS_BETWEEN_LOOKS: Final = 0.05
# After so long without a question about it, work for a page is given up: the page is gone.
_SECONDS_REMEMBERED: Final = 5.0
_THREADS: Final = "castle-web"
_SECONDS_TO_END: Final = 1.0


class JobStoppedError(Exception):
    """A job was stopped before it had a result."""


class Job(Generic[Result]):
    """One piece of work; `partial` is what it has reported so far, `seconds` its age.

    `work` gets the job, asks `stopped()` now and then, and may give `on_stop` something to call.
    Made, asked and stopped in the thread of the event loop.
    """

    def __init__(self, pool: ThreadPoolExecutor, work: Callable[["Job[Result]"], Result]) -> None:
        self.partial: Any = None
        self.on_stop: Callable[[], None] | None = None
        self._stop: Final = threading.Event()
        self._started: Final = monotonic()
        self._asked = self._started
        self._future: Final[Future[Result]] = pool.submit(work, self)

    @property
    def seconds(self) -> float:
        """Seconds since the job was made."""
        return monotonic() - self._started

    @property
    def done(self) -> bool:
        """Whether it has a result or an error."""
        return self._future.done()

    def stopped(self) -> bool:
        """Whether the work was told to end."""
        return self._stop.is_set()

    def unwanted(self) -> bool:
        """Whether the work should end: it was told to, or nobody has waited for it lately."""
        if monotonic() - self._asked > _SECONDS_REMEMBERED:
            self._stop.set()
        return self.stopped()

    def stop(self) -> None:
        """Ask the work to end; what it finds no longer matters."""
        self._stop.set()
        self._future.cancel()
        if (on_stop := self.on_stop) is not None:
            on_stop()

    async def wait(self, seconds: float) -> bool:
        """Wait for the end without holding up anybody; whether it has come."""
        self._asked = monotonic()
        if not self.done:
            ended = asyncio.wrap_future(self._future)
            ended.add_done_callback(lambda future: future.cancelled() or future.exception())
            await asyncio.wait([ended], timeout=seconds)
        return self.done

    def result(self) -> Result:
        """What the work returned; raises what it raised, `JobStoppedError` once it was stopped.

        Work that would end the program is an error like others.
        """
        if self._stop.is_set():
            raise JobStoppedError
        try:
            return self._future.result()
        except SystemExit as error:
            raise RuntimeError(f"SystemExit: {error}").with_traceback(error.__traceback__) from None


class Jobs:
    """Starts jobs; every one has a thread, so that none waits for another's search."""

    def __init__(self) -> None:
        self._pool: Final = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix=_THREADS)
        self._heavy: Final = threading.BoundedSemaphore(MAX_HEAVY)

    def start(
        self, work: Callable[[Job[Result]], Result], heavy: bool = False
    ) -> Job[Result]:
        """A job that does `work`; with `heavy`, as soon as few enough others do."""
        return Job(self._pool, self._in_turn(work) if heavy else work)

    def _in_turn(self, work: Callable[[Job[Result]], Result]) -> Callable[[Job[Result]], Result]:
        def wait_and_work(job: Job[Result]) -> Result:
            while not self._heavy.acquire(timeout=_SECONDS_BETWEEN_LOOKS):
                if job.unwanted():
                    raise JobStoppedError
            try:
                return work(job)
            finally:
                self._heavy.release()

        return wait_and_work

    def close(self) -> None:
        """Take no more jobs."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def leave_if_busy() -> None:
    """End the process as Ctrl-C does, if work goes on that nothing can stop, such as a compilation.

    Python would wait for its threads.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end = monotonic() + _SECONDS_TO_END
    while any(thread.name.startswith(_THREADS) for thread in threading.enumerate()):
        if monotonic() > end:
            print("castle: stopped", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(128 + signal.SIGINT)
        sleep(_SECONDS_BETWEEN_LOOKS)
