"""Backends: tasks run in this process, in processes of this machine, or on a Ray cluster.

Each has a `map` as `agents.tasks.MapTasks` describes, with the same results: a task is a pure
function of what it is given, random streams included. A task whose worker dies is tried again. An
error of this project is raised as it was, any other as a `TaskError`, which every process can read.
"""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing import get_context, parent_process, set_forkserver_preload
from multiprocessing.context import BaseContext
from multiprocessing.synchronize import Event
from socket import create_connection
from threading import Thread
from traceback import extract_tb, format_exception, format_exception_only
from typing import Any, Final, Generic, Protocol

from agents.tasks import MapTasks, Result, Task, ignore, map_here
from castle_env.errors import CastleError
from castle_env.imports import OUR_PACKAGES

MAX_WORKERS: Final = 256
# How often a task is tried again after the death of its worker.
RETRIES: Final = 3
# How long the machine of a cluster may take until it answers.
ANSWER_SECONDS: Final = 5.0
LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
# See `preload`.
_preloaded: Final = ["experiments.worker_start", __name__]


class BackendError(CastleError):
    """A backend is not there, or its workers keep dying."""


class TaskError(CastleError):
    """A task has failed by an error of other code, such as an agent's; its text and its place."""


class Backend(Protocol):
    """Where tasks run."""

    @property
    def map(self) -> MapTasks:
        """Run tasks; raises `BackendError` once all others are done, if some killed each worker."""


def call(function: Callable[[Task], Result], task: Task) -> Result:
    """`function(task)`; raises `TaskError` for all errors but those of this project."""
    try:
        return function(task)
    except (Exception, SystemExit) as error:
        if isinstance(error, CastleError) and _is_ours(type(error)):
            raise
        raise TaskError(told(error)) from error


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in OUR_PACKAGES


def told(error: BaseException) -> str:
    """Text of an error, the place where it was raised, and its traceback."""
    place = extract_tb(error.__traceback__)[-1]
    what = "".join(format_exception_only(error)).strip()
    trace = "".join(format_exception(error)).strip()
    return f"{what}, in {place.name}, line {place.lineno} of {place.filename}\n{trace}"


@dataclass(frozen=True)
class LocalBackend:
    """New processes of this machine; with one worker, this process itself."""

    workers: int = 1

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        on_done: Callable[[int, Result], None] = ignore,
    ) -> list[Result]:
        """See `Backend`. Ctrl-C ends the workers, whatever they are at."""
        if self.workers == 1:
            return map_here(partial(call, function), tasks, on_done)
        return _Lanes(function, tasks, on_done).run(min(self.workers, len(tasks)))


class _Lanes(Generic[Task, Result]):
    """Worker processes, each with a pool of its own, so that its death is that of one task."""

    def __init__(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        on_done: Callable[[int, Result], None],
    ) -> None:
        self._function, self._tasks, self._on_done = function, tasks, on_done
        self._todo = deque(range(len(tasks)))
        self._deaths = [0] * len(tasks)
        self._results: dict[int, Result] = {}
        self._running: dict[Future[Result], tuple[int, ProcessPoolExecutor]] = {}
        self._context = _context_for(function)
        self._stop = self._context.Event()

    def run(self, workers: int) -> list[Result]:
        """All results in the order of tasks; see `LocalBackend.map`."""
        with ExitStack() as pools:
            idle = [pools.enter_context(self._pool()) for _ in range(workers)]
            try:
                while self._todo or self._running:
                    while self._todo and idle:
                        self._begin(idle.pop())
                    for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                        pool = self._end(future)
                        idle.append(pool or pools.enter_context(self._pool()))
            except BaseException:
                self._stop.set()  # a search would go on to its end before its pool could close
                raise
        if len(self._results) < len(self._tasks):
            raise _deaths(len(self._tasks) - len(self._results))
        return [self._results[index] for index in range(len(self._tasks))]

    def _pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, self._context, _begin_worker,
                                   (self._stop, dict(os.environ)))

    def _begin(self, pool: ProcessPoolExecutor) -> None:
        index = self._todo.popleft()
        self._running[_submit(pool, self._function, self._tasks[index])] = index, pool

    def _end(self, future: "Future[Result]") -> ProcessPoolExecutor | None:
        """Keep the result of a task, or try it again later; its pool, if that is still there."""
        index, pool = self._running.pop(future)
        try:
            self._results[index] = future.result()
        except BrokenProcessPool:
            self._deaths[index] += 1
            if self._deaths[index] <= RETRIES:
                self._todo.append(index)
            return None
        self._on_done(index, self._results[index])
        return pool


def _context_for(function: Callable[[Task], Result]) -> BaseContext:
    """How workers start: as copies of a new process that has imported what they need, once for all.

    It imports nothing of anybody else, whose module of the same name may be another one later. On
    other systems than Linux libraries may not be used in a copy: there each worker imports all.
    """
    if sys.platform != "linux":
        return get_context("spawn")
    module = getattr(function, "func", function).__module__  # also of a `functools.partial`
    preload(*[module] if module.partition(".")[0] in OUR_PACKAGES else [])
    return get_context("forkserver")


def preload(*modules: str) -> None:
    """Have these modules too imported by the process whose copies are workers, when it starts."""
    _preloaded.extend(module for module in modules if module not in _preloaded)
    set_forkserver_preload(_preloaded)


def _submit(
    pool: ProcessPoolExecutor, function: Callable[[Task], Result], task: Task
) -> "Future[Result]":
    """Begin a task; one whose worker has died before counts as one that killed it."""
    try:
        return pool.submit(call, function, task)
    except BrokenProcessPool as error:
        failed: Future[Result] = Future()
        failed.set_exception(error)
        return failed


def _begin_worker(stop: Event, environment: dict[str, str]) -> None:
    """Leave Ctrl-C to the parent, end when it says so, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(environment)
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
        if self.address is not None:
            _check_answer(ray, self.address)
        local = {} if self.address else {"num_cpus": self.workers, "include_dashboard": False}
        try:
            ray.init(address=self.address or "local", log_to_driver=False, logging_level="error",
                     **local)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise BackendError(f"no Ray cluster at address {self.address!r}: {error}") from error


def _check_answer(ray: Any, address: str) -> None:
    """Raise `BackendError` where nobody listens; Ray itself would wait for minutes."""
    place = _place_of(address)
    host, _, port = place.removeprefix("ray://").rpartition(":")
    if not port.isdigit() or int(port) >= 1 << 16:
        return  # Ray says what is wrong with it
    # Ray takes these names for the address by which other machines know this one.
    hosts = (host, ray.util.get_node_ip_address()) if host in LOCAL_HOSTS else (host.strip("[]"),)
    failed = ""
    for name in hosts:
        try:
            with create_connection((name, int(port)), timeout=ANSWER_SECONDS):
                return
        except OSError as error:
            failed = error.strerror or str(error)
    raise BackendError(f"no Ray cluster at address {address!r}: nobody answers at {place} "
                       f"({failed}); allowed: the address that ray start has printed")


def _place_of(address: str) -> str:
    """The host and port that `auto` stands for, where Ray tells it."""
    if address != "auto":
        return address
    try:
        services = import_module("ray._private.services")
        return str(services.get_ray_address_from_environment("auto", None))
    except (ImportError, AttributeError, TypeError, ConnectionError):
        return address


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
    remote = ray.remote(num_cpus=1, max_retries=RETRIES)(call)
    waiting = {remote.remote(function, task): index for index, task in enumerate(tasks)}
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
