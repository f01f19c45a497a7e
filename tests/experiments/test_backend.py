"""Backends: the same results in the same order anywhere, and none lost with a worker."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from places import TESTS
from tasks import (
    always_die,
    die_once,
    environment,
    leave,
    raise_awkward,
    raise_usual,
    refuse_three,
    square,
)

from castle_env import Game, OptionError, load_ruleset, make_agent
from castle_env.errors import CastleError
from castle_env.game_record import GameRecord
from experiments import backend as backends
from experiments.backend import Backend, BackendError, LocalBackend, RayBackend, TaskError
from experiments.measure.match import play_match, play_matches
from experiments.options import BackendOptions

BACKENDS: dict[str, Backend] = {
    "one": LocalBackend(1), "two": LocalBackend(2), "ray": RayBackend(2)}


@pytest.fixture(scope="module")
def ray() -> Any:
    """Ray, imported when a test first needs it: that takes seconds of each process of tests."""
    return pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster(ray: Any) -> Iterator[None]:
    """A real Ray cluster of two workers, which all `map` calls of this module share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS / "helpers"))  # where the workers find this module
        start_cluster(ray)
        yield
        ray.shutdown()


def start_cluster(ray: Any, attempts: int = 5) -> None:
    """Ray gives its parts half a minute to start, which a busy machine may need more than once."""
    try:
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False,
                 logging_level="error")
    except Exception:
        ray.shutdown()
        if attempts == 1:
            raise
        start_cluster(ray, attempts - 1)


@pytest.mark.parametrize("name", BACKENDS)
def test_results_are_in_the_order_of_tasks(name: str, cluster: None) -> None:
    told: dict[int, int] = {}
    results = BACKENDS[name].map(square, range(20), told.__setitem__)
    assert results == [number * number for number in range(20)]
    assert told == dict(enumerate(results))
    assert BACKENDS[name].map(square, []) == []


@pytest.mark.parametrize("name", BACKENDS)
def test_an_error_of_a_task_is_raised_as_it_was(name: str, cluster: None) -> None:
    with pytest.raises(CastleError, match=r"^no 3$"):
        BACKENDS[name].map(refuse_three, range(6))


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize(("function", "text"), [
    (raise_awkward, "tasks.AwkwardError: this and that"),
    (raise_usual, "ZeroDivisionError: integer division or modulo by zero"),
    (leave, "SystemExit: enough")])
def test_an_error_of_other_code_is_told_with_its_place(
    name: str, function: Any, text: str, cluster: None
) -> None:
    """The same everywhere, also where pickle cannot make the error again."""
    if name == "two" and function is not raise_awkward:
        pytest.skip("new processes each time; the kinds differ in nothing but the text there")
    with pytest.raises(TaskError) as raised:
        BACKENDS[name].map(function, range(4))
    first, *trace = str(raised.value).splitlines()
    assert re.fullmatch(rf"{re.escape(text)}, in {function.__name__}, line \d+ of .*tasks\.py",
                        first)
    assert trace[0] == "Traceback (most recent call last):"
    assert trace[-1] == text


def test_workers_see_the_environment_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that are copies of a process that was started before."""
    for value in ("one", "other"):
        monkeypatch.setenv("CASTLE_TEST", value)
        assert BACKENDS["two"].map(environment, ["CASTLE_TEST"] * 2) == [value] * 2


@pytest.mark.parametrize("name", ["two", "ray"])
def test_a_killed_worker_loses_no_result(name: str, cluster: None, tmp_path: Path) -> None:
    tasks = [(tmp_path / "killed", number) for number in range(12)]
    told: dict[int, int] = {}
    results = BACKENDS[name].map(die_once, tasks, told.__setitem__)
    assert (tmp_path / "killed").exists()
    assert results == [number * number for number in range(12)]
    assert told == dict(enumerate(results))


@pytest.mark.parametrize("name", ["two", "ray"])
def test_a_task_that_kills_every_worker_does_not_stop_the_others(
    name: str, cluster: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker's death is that of its own task alone, whatever others are doing."""
    monkeypatch.setattr(backends, "RETRIES", 2)
    told: dict[int, int] = {}
    with pytest.raises(BackendError, match="tasks not done: 1"):
        BACKENDS[name].map(always_die, range(6), told.__setitem__)
    assert told == {number: number for number in range(1, 6)}


@pytest.mark.parametrize("name", BACKENDS)
def test_matches_are_the_same_everywhere(name: str, cluster: None) -> None:
    game = Game(load_ruleset("sudden-death"))
    pairs = [("random", "greedy"), ("mcts:4", "random")]
    alone = [record for pair in pairs for record in play_match(
        game, (make_agent(pair[0], game), make_agent(pair[1], game)), 140, 2, 5)]
    kept: list[GameRecord] = []
    played: list[int] = []
    records = play_matches(game, pairs, 140, 2, 5, BACKENDS[name].map, played.append, kept.extend)
    assert records == kept == alone
    assert sum(played) == 280


def test_games_that_are_finished_are_kept_when_others_fail() -> None:
    game = Game(load_ruleset("storm"))
    kept: list[GameRecord] = []

    def second_then_stop(function: Any, tasks: Any, on_done: Any = None) -> Any:
        on_done(1, function(tasks[1]))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_matches(game, [("random", "greedy")], 256, 0, 0, second_then_stop, keep=kept.extend)
    assert len(kept) == 128


def test_options() -> None:
    assert BackendOptions().start() == LocalBackend(1)
    assert BackendOptions(workers=3).start() == LocalBackend(3)
    assert BackendOptions(backend="ray", workers=3).start() == RayBackend(3)
    assert BackendOptions(backend="ray", address="auto").start() == RayBackend(1, "auto")
    for options in ({"workers": 0}, {"workers": 257}, {"address": "auto"},
                    {"backend": "ray", "address": "auto", "workers": 2}):
        with pytest.raises(OptionError, match="allowed"):
            BackendOptions(**options).start()


@contextmanager
def dead_port() -> Iterator[int]:
    """A port of this machine on which nobody listens, and which nobody else gets meanwhile."""
    with socket.socket() as taken:
        taken.bind(("", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "localhost:{}", "ray://127.0.0.1:{}", "auto"])
def test_a_dead_cluster_is_refused_in_seconds(
    ray: Any, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray would try for minutes, by the address of a cluster that has gone, too."""
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **options: pytest.fail("Ray would wait"))
    with dead_port() as port:
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
        with pytest.raises(BackendError, match=rf"no Ray cluster at address .*{port}.*refused"):
            RayBackend(1, address.format(port)).map(square, [1])


def test_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(backends, "import_module", missing)
    with pytest.raises(BackendError, match="pip install"):
        RayBackend(1).map(square, [1])
