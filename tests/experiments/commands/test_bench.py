"""`castle bench`: what it takes and writes; how fast anything is has no test."""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from small_runs import POOL, ROLLOUT, config

from agents.runs import RunError
from agents.training import config as train_config
from castle_env import Game, load_ruleset
from castle_env.errors import OptionError
from experiments.bench import learning, measurements, peers, runs
from experiments.bench.measurements import MEASUREMENTS
from experiments.bench.peers import COMPARISONS, PEERS
from experiments.bench.rows import choose, measure
from experiments.bench.runs import Measurement, usable_threads
from experiments.commands.bench import Bench, run

SMALL_TRAINING = f"""
from agents.training import config as train_config
from experiments.bench import learning
train_config.PRESETS = {{"standard": train_config.{config()!r}}}
learning.TRAINING_THREADS = 1
"""


def constant(*values: Any) -> Any:
    """A measurement whose runs have these values."""
    @contextmanager
    def prepare() -> Iterator[Any]:
        left = iter(values)
        yield lambda seconds: next(left)

    return Measurement("plies/s", prepare)


@pytest.fixture
def untouchable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test if anything is measured."""
    @contextmanager
    def prepare() -> Iterator[Any]:
        raise AssertionError("measured")
        yield

    for name in MEASUREMENTS:
        monkeypatch.setitem(MEASUREMENTS, name, Measurement("s", prepare))


def test_json_has_rows_versions_and_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bench.json"
    run(Bench(json=path, only=("core", "gym.storm"), runs=2, seconds=0))
    result = json.loads(path.read_text())
    assert set(result) == {"rows", "environment"}
    assert [row["name"] for row in result["rows"]] == [
        "core.random_play.storm", "core.random_play.sudden_death", "gym.storm"]
    for row in result["rows"]:
        assert list(row) == ["name", "unit", "median", "runs", "threads"]
        assert len(row["runs"]) == 2
        assert min(row["runs"]) > 0
        assert row["median"] == pytest.approx(sum(row["runs"]) / 2)
        assert row["threads"] == 1
    assert {"python", "packages", "machine"} <= set(result["environment"])
    assert "pinned_to_core" not in result["environment"]["machine"]
    assert "core.random_play.sudden_death" in capsys.readouterr().out


# Programs of which other tests see that they are run, and how.
PROGRAMS = ("first_step.cold", "first_step.warm", "ppo.sudden_death.peak_memory")


@pytest.mark.parametrize("name", [name for name in MEASUREMENTS if name not in PROGRAMS])
def test_each_row_gives_a_number(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With little work; where it trains, here or in a process of its own, in small rollouts."""
    for work, amount in (("GAMES", 16), ("WEB_GAMES", 2), ("STEPS", 20), ("VALUED", 1)):
        monkeypatch.setattr(measurements, work, amount)
    monkeypatch.setattr(runs, "WARM_UP_SECONDS", 0)
    monkeypatch.setattr(learning, "POSITIONS", 16)
    monkeypatch.setattr(learning, "TRAINING_THREADS", 1)
    monkeypatch.setattr(train_config, "PRESETS", {"standard": config()})
    monkeypatch.setattr(train_config, "AZ_PRESETS", {"standard": train_config.AZConfig(
        num_envs=16, channels=4, hidden=8, visits=4, device="cpu")})
    monkeypatch.setattr(learning, "PEAK_MEMORY", SMALL_TRAINING + learning.PEAK_MEMORY)
    small = tmp_path / "small.toml"
    small.write_text("mode = 'storm'\nfactions_per_player = 3\n")
    monkeypatch.setattr(measurements, "_small_storm", lambda _: Game(load_ruleset(small)))
    measurement = MEASUREMENTS[name]
    if name.endswith(".sb3"):
        measurement = Measurement(measurement.unit, partial(
            learning.plain_training, 16, updates="rollouts" not in name))
    if "rollouts" in name:
        monkeypatch.setattr(MaskablePPO, "train", None)
    if name == "solver.storm.solve":
        measurement = Measurement(measurement.unit, partial(measurements.solver_solve, str(small)))
    row = measure(name, measurement, runs=1, seconds=0)
    assert row.runs == (row.median,)
    assert row.median > 0


@pytest.mark.parametrize(("opponents", "active"), [({}, 0), ({**POOL, "pool_size": 3}, 6)],
                         ids=["self", "pool"])
def test_training_is_measured_over_whole_iterations_of_the_learner(
    monkeypatch: pytest.MonkeyPatch, opponents: dict[str, Any], active: int
) -> None:
    """Every decision that counts was learned from, against a pool that is full."""
    monkeypatch.setattr(train_config, "PRESETS", {"standard": config(**opponents)})
    learned = []
    learn = MaskablePPO.train

    def watched(model: Any) -> None:
        learned.append(model.rollout_buffer.pos * model.n_envs)
        pool = model.get_env().env.pool
        assert (len(pool.active()) if pool else 0) == active
        learn(model)

    monkeypatch.setattr(MaskablePPO, "train", watched)
    monkeypatch.setattr("experiments.bench.runs.time.perf_counter", lambda: float(len(learned)))
    threads: list[int] = []  # told, not taken: two of them wait for each other in so small work
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    with learning.training("storm") as take:
        del learned[:]
        assert take(2) == ROLLOUT  # an iteration takes a second by this clock
        assert learned == [ROLLOUT] * 2
        assert threads == [usable_threads(2)]
    assert threads == [usable_threads(2), torch.get_num_threads()]


def test_memory_is_that_of_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "PEAK_MEMORY", """
import os, sys
print({"storm": 1, "sudden-death": 2}[sys.argv[1]] if os.getppid() == PARENT else 0)
""".replace("PARENT", str(os.getpid())))
    for number, name in enumerate(("storm", "sudden_death"), start=1):
        measurement = MEASUREMENTS[f"ppo.{name}.peak_memory"]
        assert measure(name, measurement, 1, 0).median == number


def test_peak_memory_grows_with_what_is_held() -> None:
    status, before = Path("/proc/self/status"), learning.peak_megabytes()
    held_now = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else None
    now = int(held_now[1]) * 1024 / 1e6 if held_now else 0
    held = np.ones(int((before - now + 50) * 1e6) // 8)
    assert learning.peak_megabytes() > max(before, held.nbytes / 1e6)


def test_first_step_starts_with_an_empty_or_a_filled_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "FIRST_STEP", """
import os
from pathlib import Path
cache = Path(os.environ["NUMBA_CACHE_DIR"])
print(len(list(cache.iterdir())) if cache.exists() else 0)
cache.mkdir(exist_ok=True)
(cache / "code").touch()
""")
    rows = {name: measure(name, MEASUREMENTS[name], runs=2, seconds=0).runs
            for name in ("first_step.cold", "first_step.warm")}
    assert rows == {"first_step.cold": (0, 0), "first_step.warm": (1, 1)}


def test_what_rows_are_called() -> None:
    assert list(choose(())) == list(MEASUREMENTS)
    assert list(choose(("vector.sudden_death", "first_step", "vector.sudden_death"))) == [
        "vector.sudden_death", "first_step.cold", "first_step.warm"]


@pytest.mark.parametrize("name", ["speed", "cor", "core.", "", "gym.storm.x", "pgx"])
def test_unknown_row(name: str, untouchable: None) -> None:
    with pytest.raises(OptionError, match=rf"no row '{re.escape(name)}'; allowed: core\.random_"):
        run(Bench(only=("gym.storm", name)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 0}, "runs is 0; allowed"),
        ({"seconds": -1.0}, r"seconds is -1\.0; allowed"),
        ({"seconds": float("nan")}, "seconds is nan; allowed"),
        ({"seconds": float("inf")}, "seconds is inf; allowed"),
    ],
)
def test_numbers_with_which_nothing_can_be_measured(
    options: dict[str, Any], message: str, untouchable: None
) -> None:
    with pytest.raises(OptionError, match=message):
        run(Bench(**options))


def test_file_that_cannot_be_written_is_told_before_measuring(
    tmp_path: Path, untouchable: None
) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "missing" / "x.json", tmp_path / "file" / "x.json"):
        options = Bench(json=path)
        with (pytest.raises(RunError, match=f"cannot write '{re.escape(str(path))}'"),
              options.output()):
            run(options)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_interrupted_rows_are_shown_and_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def interrupted() -> Iterator[Any]:
        raise KeyboardInterrupt
        yield

    path = tmp_path / "bench.json"
    path.write_text("old")
    monkeypatch.setitem(MEASUREMENTS, "gym.storm", constant(7))
    monkeypatch.setitem(MEASUREMENTS, "aec.storm", Measurement("plies/s", interrupted))
    with pytest.raises(KeyboardInterrupt):
        run(Bench(json=path, only=("gym", "aec"), runs=1))
    assert "gym.storm" in capsys.readouterr().out
    assert path.read_text() == "old"


def test_missing_peers_are_lines_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("jax", "pgx", "pyspiel"):
        monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / "bench.json"
    run(Bench(json=path, peers=True, only=("game", "vector.storm"), runs=1, seconds=0))
    output = " ".join(capsys.readouterr().out.split())
    assert output.count("pgx is left out") == output.count("open_spiel is left out") == 1
    assert "pip install pgx jax" in output
    assert "pip install open_spiel" in output
    result = json.loads(path.read_text())
    assert [row["name"] for row in result["rows"]] == [
        "game.storm", "vector.storm", "vector.storm.large", "vector.storm.threads2"]
    assert [(row["ours"], row["theirs"]) for row in result["ratios"]] == [
        ("vector.storm.threads2", "vector.storm.large")]


def test_ratios_of_medians(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bench.json"
    monkeypatch.setitem(MEASUREMENTS, "gym.storm", constant(1, 60, 20))
    for name, value in zip(COMPARISONS["gym.storm"], (40, 5), strict=True):
        monkeypatch.setitem(PEERS, name, constant(value, value, value))
    run(Bench(json=path, peers=True, only=("gym",), runs=3))
    result = json.loads(path.read_text())
    assert result["ratios"] == [
        {"ours": "gym.storm", "theirs": theirs, "ratio": ratio}
        for theirs, ratio in zip(COMPARISONS["gym.storm"], (0.5, 4), strict=True)]
    assert len(result["rows"]) == 3
    assert "0.50" in capsys.readouterr().out


def test_comparisons_name_rows_that_exist() -> None:
    assert set(COMPARISONS) <= set(MEASUREMENTS)
    compared = {theirs for others in COMPARISONS.values() for theirs in others}
    assert set(PEERS) < compared <= set(PEERS) | set(MEASUREMENTS)


def test_training_is_compared_without_other_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, ours = tmp_path / "bench.json", "ppo.storm.learner_steps"
    monkeypatch.setitem(MEASUREMENTS, ours, constant(60))
    monkeypatch.setitem(MEASUREMENTS, f"{ours}.sb3", constant(5))
    run(Bench(json=path, only=(ours,), runs=1))
    assert json.loads(path.read_text())["ratios"] == [
        {"ours": ours, "theirs": f"{ours}.sb3", "ratio": 12}]
    output = capsys.readouterr().out
    assert "12.00" in output
    assert "Other games" not in output


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system pins no process")
def test_one_core_for_a_while() -> None:
    before = os.sched_getaffinity(0)
    with peers.one_core() as core:
        assert os.sched_getaffinity(0) == {core}
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("name", PEERS)
def test_peers_that_are_installed_give_a_number(name: str) -> None:
    for module in ("jax", "pgx") if name.startswith("pgx") else ("pyspiel",):
        pytest.importorskip(module)
    assert measure(name, PEERS[name], runs=1, seconds=0).median > 0
