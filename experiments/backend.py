"""Backends: tasks run in this process, in processes of this machine, or on a Ray cluster.

Each has a `map` as `agents.tasks.MapTasks` describes, with the same results: a task is a pure
function of what it is given, random streams included. A task whose worker dies is tried again.
"""

import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from threading import Thread
from typing import Any, Final, Protocol

from agents.tasks import MapTasks, Result, Task, ignore, map_here
from castle_env.errors import CastleError

MAX_WORKERS: Final = 256
# How often a task is tried again after the death of its worker.
RETRIES: Final = 3


class BackendError(CastleError):
    """A backend is not there, or its workers keep dying."""


class Backend(Protocol):
    """Where tasks run."""

    @property
    def map(self) -> MapTasks:
        """Run tasks; raises `BackendError` once all others are done, if some killed each worker."""


@dataclass(frozen=True)
class LocalBackend:
    """Spawned processes of this machine; with one worker, this process itself."""

    workers: int = 1

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        on_done: Callable[[int, Result], None] = ignore,
    ) -> list[Result]:
        """See `Backend`. Ctrl-C ends the workers, whatever they are at."""
        if self.workers == 1:
            return map_here(function, tasks, on_done)
        results: dict[int, Result] = {}
        todo, deaths = list(range(len(tasks))), 0
        while todo:
            try:
                self._run(function, tasks, todo, results, on_done)
            except BrokenProcessPool:
                deaths += 1
            left = [index for index in todo if index not in results]
            deaths = 0 if len(left) < len(todo) else deaths
            if deaths > RETRIES:
                raise _deaths(len(left))
            # Those that were running go last, as one of them may kill every worker.
            todo = left[self.workers:] + left[:self.workers]
        return [results[index] for index in range(len(tasks))]

    def _run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        todo: Sequence[int],
        out_results: dict[int, Result],
        on_done: Callable[[int, Result], None],
    ) -> None:
        context = get_context("spawn")
        stop = context.Event()
        with ProcessPoolExecutor(self.workers, context, _begin_worker, (stop,)) as pool:
            try:
                futures = {pool.submit(function, tasks[index]): index for index in todo}
                for future in as_completed(futures):
                    index = futures[future]
                    out_results[index] = future.result()
                    on_done(index, out_results[index])
            except BrokenProcessPool:
                raise
            except BaseException:
                stop.set()  # a search would go on to its end before the pool could close
                raise


def _begin_worker(stop: Event) -> None:
    """Leave Ctrl-C to the parent, end when it says so, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_when_told, args=(stop,), daemon=True).start()


def _end_when_told(stop: Event) -> None:
    parent = parent_process()
    while parent is not None and parent.is_alive():
        if stop.wait(0.2):
            break
    os._exit(1)


@dataclass(frozen=True)
class RayBackend:
    """A Ray cluster: the one at `address`, or one of `workers` processes started for each `map`.

    Where this process is connected to a cluster already, that one is used. Every machine of a
    cluster needs this package and the files that tasks name.
    """

    workers: int = 1
    address: str | None = None

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        on_done: Callable[[int, Result], None] = ignore,
    ) -> list[Result]:
        """See `Backend`. Ctrl-C cancels what is running and what is waiting."""
        ray = _import_ray()
        is_ours = not ray.is_initialized()
        if is_ours:
            self._connect(ray)
        try:
            return _map_on_ray(ray, function, tasks, on_done)
        finally:
            if is_ours:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        local = {} if self.address else {"num_cpus": self.workers, "include_dashboard": False}
        try:
            ray.init(address=self.address or "local", log_to_driver=False, logging_level="error",
                     **local)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise BackendError(f"no Ray cluster at address {self.address!r}: {error}") from error


def _import_ray() -> Any:
    try:
        return import_module("ray")
    except ImportError:
        raise BackendError("--backend ray needs the package ray; allowed without it: local. "
                           "Install it with pip install 'storm-the-castle[ray]'") from None


def _map_on_ray(
    ray: Any,
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    on_done: Callable[[int, Result], None],
) -> list[Result]:
    remote = ray.remote(num_cpus=1, max_retries=RETRIES)(function)
    waiting = {remote.remote(task): index for index, task in enumerate(tasks)}
    results: dict[int, Result] = {}
    try:
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            index = waiting.pop(done)
            try:
                results[index] = ray.get(done)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError:
                continue
            on_done(index, results[index])
    except BaseException:
        for reference in waiting:
            ray.cancel(reference, force=True)
        raise
    if len(results) < len(tasks):
        raise _deaths(len(tasks) - len(results))
    return [results[index] for index in range(len(tasks))]


def _deaths(count: int) -> BackendError:
    return BackendError(f"tasks not done: {count}, whose worker processes have died {RETRIES + 1} "
                        "times in a row; all others are done")
