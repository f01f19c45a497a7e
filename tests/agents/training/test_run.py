"""Training runs: on schedule, reproducible, resumable from any end, and what they leave behind."""

import errno
import os
import re
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from narrow import narrow
from small_runs import (
    POOL,
    ROLLOUT,
    SMALL_OPTIONS,
    Castle,
    checkpoint_steps,
    config,
    run,
    run_castle,
    same,
    start_castle,
    training_state,
    wait_until,
)
from stable_baselines3.common.callbacks import BaseCallback
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.summary.writer.record_writer import RecordWriter
from torch import nn

from agents.networks.agent import NetworkAgent
from agents.networks.checkpoint import (
    Checkpoint,
    CheckpointError,
    load_checkpoint,
    newest_checkpoint,
)
from agents.networks.network import NetworkConfig, build_network
from agents.runs import RunError
from agents.training.config import PPOConfig
from castle_env import Game, OptionError, load_ruleset, make_agent
from castle_env.vector_env import CastleVectorEnv

GAMES = {name: Game(load_ruleset(name)) for name in ("storm", "sudden-death")}
STORM = GAMES["storm"]
OPPONENTS: dict[str, dict[str, Any]] = {"self": {}, "pool": POOL}

# Schedule


@pytest.mark.parametrize("num_envs", [1, 8, 64])
def test_everything_happens_every_so_many_steps_not_calls(tmp_path: Path, num_envs: int) -> None:
    """At the first pause after each multiple of the number asked for."""
    settings = config(num_envs=num_envs, steps=1000, snapshot_every=200, evaluate_every=300,
                      checkpoint_every=500, pool_size=99, **POOL)
    shown: list[int] = []
    steps, evaluations = run(STORM, settings, tmp_path,
                             show=lambda progress: shown.append(progress.steps))
    pool = load_checkpoint(tmp_path).card["results"]["pool"]
    assert steps == 1024
    assert [row["name"] for row in pool[3:]] == ["step-256", "step-512", "step-640", "step-896",
                                                 "step-1024"]
    assert [evaluation["steps"] for evaluation in evaluations] == [0, 384, 640, 1024]
    assert checkpoint_steps(tmp_path) == [0, 512, 1024]
    assert shown == list(range(0, 1025, ROLLOUT))


def events(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """All scalars by tag, as TensorBoard shows them: (step, value) in the order of writing."""
    accumulator = EventAccumulator(str(folder / "tensorboard"), {"scalars": 0})
    accumulator.Reload()
    return {tag: [(event.step, event.value) for event in accumulator.Scalars(tag)]
            for tag in accumulator.Tags()["scalars"]}


def test_tensorboard_has_the_usual_scalars(tmp_path: Path) -> None:
    """No episode statistics reach TensorBoard without a monitor."""
    run(STORM, config(evaluate_every=2 * ROLLOUT, **POOL), tmp_path)
    scalars = events(tmp_path)
    assert {"rollout/ep_rew_mean", "rollout/ep_len_mean", "time/fps", "train/approx_kl",
            "train/entropy_loss", "train/value_loss", "train/explained_variance",
            "train/entropy", "train/learning_rate", "eval/nobody/win_rate", "time/total_timesteps",
            "eval/nobody/margin", "pool/self/average_result",
            "pool/past_selves/average_result", "pool/random/average_result", "games/length",
            "games/captures_per_ply"} <= set(scalars)
    assert {f"games/{opponent}/{seat}/{what}" for opponent in ("self", "random", "greedy")
            for seat in ("first", "second") for what in ("win_rate", "draw_rate", "margin")
            } <= set(scalars)
    for tag in ("rollout/ep_rew_mean", "train/value_loss", "pool/self/average_result"):
        assert [step for step, _ in scalars[tag] if step] == [128, 256, 384, 512]
    assert [step for step, _ in scalars["eval/nobody/win_rate"]] == [0, 256, 512]
    assert {(step, value) for step, value in scalars["time/total_timesteps"]
            } == {(step, step) for step in (0, 128, 256, 384, 512)}
    assert not [tag for tag in scalars if re.search(r"\s", tag)]
    assert all(-1 <= value <= 1 for _, value in scalars["rollout/ep_rew_mean"])
    assert all(4 <= value <= 8 for _, value in scalars["rollout/ep_len_mean"])
    assert all(value == 16 for _, value in scalars["games/length"])


@pytest.mark.parametrize("failing", ["write", "flush"])
def test_a_full_disk_under_tensorboard_is_one_error_that_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    failing: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(RecordWriter, failing, full)
    with pytest.raises(RunError, match=r"cannot write '.*tensorboard': No space left on device"):
        run(STORM, config(), tmp_path / "run")
    assert capsys.readouterr().err == ""


def test_tensorboard_in_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "tensorboard").write_text("a file")
    with pytest.raises(RunError, match=r"cannot write '.*tensorboard'"):
        run(STORM, config(), tmp_path / "run")


def test_tensorboard_in_games_against_itself(tmp_path: Path) -> None:
    """Games are those of the first player; a length counts the decisions of both."""
    run(STORM, config(evaluate_every=2 * ROLLOUT), tmp_path)
    scalars = events(tmp_path)
    assert {f"games/self/first/{what}" for what in ("win_rate", "draw_rate", "margin")} <= set(
        scalars)
    assert not [tag for tag in scalars if tag.startswith("pool/") or "/second/" in tag]
    assert [step for step, _ in scalars["train/value_loss"]] == [128, 256, 384, 512]
    assert all(4 <= value <= 16 for _, value in scalars["rollout/ep_len_mean"])
    assert all(value == 16 for _, value in scalars["games/length"])


# Same seed, resuming


@pytest.mark.parametrize("opponents", OPPONENTS)
def test_same_seed_same_weights(tmp_path: Path, opponents: str) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        run(STORM, config(seed=seed, **OPPONENTS[opponents]), tmp_path / name)
    a, b, c = (training_state(tmp_path / name) for name in "abc")
    assert same(a, b)
    assert not torch.equal(*(state["policy"]["policy.weight"] for state in (a, c)))


def halfway(folder: Path) -> Checkpoint:
    """The checkpoint of a run of four rollouts after the second."""
    return load_checkpoint(folder / "checkpoints" / "step-0000000256.pt")


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("changes", [
    {}, {"network": "lines", "reward": "margin"}, POOL,
    {**POOL, "pool_size": 1, "snapshot_every": ROLLOUT, "reward": "margin", "num_envs": 64,
     "network": "lines"}])
def test_resumed_run_is_the_straight_run(
    tmp_path: Path, name: str, changes: dict[str, Any]
) -> None:
    """Bit for bit: weights, optimizer, games, pool, past selves and random numbers."""
    game, settings = GAMES[name], config(steps=4 * ROLLOUT, **changes)
    run(game, settings, tmp_path / "straight")
    np.random.seed(99)  # noqa: NPY002
    torch.manual_seed(99)
    run(game, settings, tmp_path / "resumed", halfway(tmp_path / "straight"))
    assert same(*(training_state(tmp_path / kind) for kind in ("straight", "resumed")))
    pools = [load_checkpoint(tmp_path / kind).card["results"]["pool"]
             for kind in ("straight", "resumed")]
    assert pools[0] == pools[1]


def test_the_learning_rate_goes_on_falling_after_a_resume(tmp_path: Path) -> None:
    """Evenly over the steps of the whole run, down to the last rate in the last update."""
    settings = config(learning_rate=1e-2, last_learning_rate=2e-3)
    run(STORM, settings, tmp_path / "straight")
    run(STORM, settings, tmp_path / "resumed", halfway(tmp_path / "straight"))
    for name, first in (("straight", 1), ("resumed", 3)):
        rates = events(tmp_path / name)["train/learning_rate"]
        assert [step for step, _ in rates] == [ROLLOUT * n for n in range(first, 5)]
        assert [rate for _, rate in rates] == pytest.approx([8e-3, 6e-3, 4e-3, 2e-3][first - 1:])


def test_rates_are_never_negative() -> None:
    settings = config(steps=1000, learning_rate=0.01, last_learning_rate=0.002)
    rates = [settings.rate_after(steps) for steps in (0, 500, 1000, 1001, 10**9)]
    assert rates == pytest.approx([0.01, 0.006, 0.002, 0.002, 0.002])


def test_a_rollout_longer_than_the_run_is_learned_from_at_a_positive_rate(tmp_path: Path) -> None:
    """5,000 steps end in the middle of the first rollout of 512 games."""
    run(STORM, config(steps=5000, num_envs=512, n_steps=16, batch_size=2048), tmp_path)
    (found,) = events(tmp_path)["train/learning_rate"]
    assert found == pytest.approx((8192, 2e-5))


def test_beyond_its_end_a_run_goes_on_at_its_last_rate(tmp_path: Path) -> None:
    settings = config(steps=2 * ROLLOUT, learning_rate=1e-2, last_learning_rate=2e-3)
    run(STORM, settings, tmp_path)
    steps, _ = run(STORM, settings, tmp_path, load_checkpoint(tmp_path), until=4 * ROLLOUT)
    assert steps == 4 * ROLLOUT
    assert [rate for _, rate in events(tmp_path)["train/learning_rate"]] == pytest.approx(
        [6e-3, 2e-3, 2e-3, 2e-3])


# From Python


class Counting(BaseCallback):
    """Counts what Stable-Baselines3 calls."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[int] = []
        self.rollouts = 0

    def _on_rollout_end(self) -> None:
        self.rollouts += 1

    def _on_step(self) -> bool:
        self.steps.append(self.num_timesteps)
        return True


def small_network(game: Game) -> nn.Module:
    return build_network(game, NetworkConfig("dense", 3, 1, 5))


@pytest.mark.parametrize("kind", ["callbacks", "network", "init_from"])
def test_what_python_gives_keeps_snapshots_evaluations_and_checkpoints(
    tmp_path: Path, kind: str
) -> None:
    settings, counting = config(evaluate_every=2 * ROLLOUT, **POOL), Counting()
    run(STORM, config(seed=9), tmp_path / "other")
    before = load_checkpoint(tmp_path / "other")
    kinds: dict[str, Any] = {"callbacks": [counting], "network": small_network,
                             "init_from": before}
    given = {kind: kinds[kind]}
    steps, evaluations = run(STORM, settings, tmp_path / "run", **given)
    assert steps == 4 * ROLLOUT
    assert [evaluation["steps"] for evaluation in evaluations] == [0, 256, 512]
    assert checkpoint_steps(tmp_path / "run") == [0, 256, 512]
    checkpoint = load_checkpoint(tmp_path / "run")
    pool = checkpoint.card["results"]["pool"]
    assert [row["name"] for row in pool[3:]] == ["step-256", "step-512"]
    first = load_checkpoint(tmp_path / "run" / "checkpoints" / "step-0000000000.pt")
    if kind == "callbacks":
        assert counting.rollouts == 4
        assert counting.steps == list(range(16, 513, 16))
    elif kind == "network":
        assert checkpoint.card["network"]["kind"] == f"{__name__}:small_network"
        assert "dense.weight" in checkpoint.tensors["policy"]
        agent = narrow(make_agent(f"ppo:{tmp_path / 'run'}", STORM), NetworkAgent)
        assert same(agent.policy.network.state_dict(), checkpoint.tensors["policy"])
        run(STORM, settings, tmp_path / "resumed", halfway(tmp_path / "run"), **given)
        assert same(*(training_state(tmp_path / name) for name in ("run", "resumed")))
    else:
        assert same(first.tensors["policy"], before.tensors["policy"])
        assert not same(checkpoint.tensors["policy"], before.tensors["policy"])
        origin = checkpoint.card["init_from"]
        assert (origin["seed"], origin["steps"]) == (9, before.card["steps"])
        assert origin["evaluations"] == before.card["results"]["evaluations"]


class Ending(BaseCallback):
    """Ends the run in the middle of its third rollout."""

    def _on_step(self) -> bool:
        return self.num_timesteps < 2 * ROLLOUT + 32


def test_a_callback_that_ends_a_run_leaves_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    steps, _ = run(STORM, config(), tmp_path, callbacks=[Ending()])
    assert steps == 2 * ROLLOUT + 32
    assert checkpoint_steps(tmp_path)[-1] == steps
    steps, _ = run(STORM, config(), tmp_path, load_checkpoint(tmp_path))
    assert steps >= config().steps


def test_a_network_that_cannot_be_imported_is_told_when_it_is_asked_for(tmp_path: Path) -> None:
    run(STORM, config(), tmp_path, network=lambda game: small_network(game))
    with pytest.raises(CheckpointError, match=r"does not hold the network .*<lambda>"):
        make_agent(f"ppo:{tmp_path}", STORM)


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_ppo_baseline_stays_itself_in_a_resumed_run(tmp_path: Path, game: Game) -> None:
    """It may have another network than the learner, and plays its most probable action."""
    run(game, config(), tmp_path / "baseline")
    settings = {**POOL, "baselines": (f"ppo:{tmp_path / 'baseline'}",), "channels": 5, "blocks": 2}
    run(game, config(**settings), tmp_path / "straight")
    run(game, config(**settings), tmp_path / "resumed", halfway(tmp_path / "straight"))
    assert same(*(training_state(tmp_path / kind) for kind in ("straight", "resumed")))


def interrupting(env: Any, monkeypatch: pytest.MonkeyPatch, at: set[int]) -> None:
    """Let the n-th steps of the games each be hit by a Ctrl-C."""
    step, taken = env.step, [0]

    def interrupted(self: Any, actions: Any) -> Any:
        taken[0] += 1
        if taken[0] in at:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self, actions)

    monkeypatch.setattr(env, "step", interrupted)


@pytest.mark.parametrize(("step", "opponents"), [(1, "self"), (11, "pool"), (16, "self")])
def test_interrupt_saves_what_is_done_and_the_rest_follows_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    step: int, opponents: str
) -> None:
    """Wherever in a rollout of 8 steps it comes, the run ends after the next update."""
    settings = config(steps=4 * ROLLOUT, checkpoint_every=10**9, **OPPONENTS[opponents])
    run(STORM, settings, tmp_path / "straight")
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        interrupting(CastleVectorEnv, patch, {step})
        steps, _ = run(STORM, settings, tmp_path / "stopped")
    assert signal.getsignal(signal.SIGINT) is before
    assert steps == -(-step // 8) * ROLLOUT
    assert checkpoint_steps(tmp_path / "stopped") == [0, steps]
    steps, _ = run(STORM, settings, tmp_path / "stopped", load_checkpoint(tmp_path / "stopped"))
    assert steps == 4 * ROLLOUT
    assert same(*(training_state(tmp_path / kind) for kind in ("straight", "stopped")))


def test_second_interrupt_ends_the_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupting(CastleVectorEnv, monkeypatch, {11, 12})
    with pytest.raises(KeyboardInterrupt):
        run(STORM, config(), tmp_path)
    assert checkpoint_steps(tmp_path) == [0]


def test_a_run_that_is_done_resumes_to_nothing(tmp_path: Path) -> None:
    run(STORM, config(), tmp_path)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("checkpoints/*")}
    steps, evaluations = run(STORM, config(), tmp_path, load_checkpoint(tmp_path))
    assert (steps, len(evaluations)) == (512, 2)
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("checkpoints/*")}


# The command, killed and interrupted from outside


def check_curves(folder: Path, last: int) -> None:
    """Every curve has each of its steps once and in order, whatever was killed."""
    scalars = events(folder)
    played = [tag for tag in scalars if tag in ("pool/self/average_result", "games/length")]
    for tag in ("rollout/ep_rew_mean", "train/value_loss", *played):
        steps = [step for step, _ in scalars[tag] if step]
        assert played
        assert steps == list(range(ROLLOUT, last + 1, ROLLOUT))
    for points in scalars.values():
        steps = [step for step, _ in points]
        assert steps == sorted(set(steps))


def newest_steps(folder: Path) -> int:
    """Steps of the newest complete checkpoint, -1 before there is one."""
    cards = folder.glob("checkpoints/step-*.json")
    return max((int(card.stem.removeprefix("step-")) for card in cards), default=-1)


def has_steps(folder: Path, steps: int) -> bool:
    return newest_steps(folder) >= steps


@pytest.mark.parametrize("opponents", [
    (), ("--opponents", "prioritised", "--baselines", "random", "greedy")], ids=["self", "pool"])
def test_a_run_killed_again_and_again_goes_on_as_if_it_never_was(
    tmp_path: Path, opponents: tuple[Any, ...]
) -> None:
    """SIGKILL at any moment leaves no broken file, and in the end the straight run bit for bit."""
    folder, rng, done = tmp_path / "killed", np.random.default_rng(0), 0
    start: tuple[object, ...] = (
        *SMALL_OPTIONS, *opponents, "--runs", tmp_path, "--name", "killed", "--steps", 10**8,
        "--snapshot-every", 3 * ROLLOUT, "--checkpoint-every", ROLLOUT, "--evaluate-every", 10**9,
        "--learning-rate", 0.001, "--last-learning-rate", 0.001)
    for _ in range(3):
        process, wanted = Castle("train", *start), done + int(rng.integers(3, 12)) * ROLLOUT
        wait_until(partial(has_steps, folder, wanted), process)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.communicate()
        done = newest_steps(folder)
        assert checkpoint_steps(folder) == list(range(0, done + 1, ROLLOUT))
        start = ("--resume", folder)
    for lost in sorted(folder.glob("checkpoints/step-*.json"))[-2:]:
        lost.unlink()  # so that the curves have gone on after the last checkpoint
    done, end = newest_steps(folder), newest_steps(folder) + 2 * ROLLOUT
    process = Castle("train", "--resume", folder, "--until", end)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert f"resuming {folder} at {done:,} steps" in output
    assert checkpoint_steps(folder) == list(range(0, end + 1, ROLLOUT))
    assert not list(folder.glob("checkpoints/.*"))
    assert (folder / "report.md").is_file()
    check_curves(folder, end)
    settings = PPOConfig.from_dict(load_checkpoint(folder).card["config"])
    run(STORM, replace(settings, steps=end), tmp_path / "straight")
    assert same(*(training_state(tmp_path / kind) for kind in ("straight", "killed")))


def test_same_seed_same_weights_after_some_thousand_steps_in_two_processes(tmp_path: Path) -> None:
    options = dict(zip(SMALL_OPTIONS[::2], SMALL_OPTIONS[1::2], strict=True)) | {
        "--num-envs": 128, "--n-steps": 16, "--batch-size": 512, "--steps": 12_000, "--seed": 3,
        "--snapshot-every": 4000, "--checkpoint-every": 10**9, "--evaluate-every": 10**9}
    flat = [word for option in options.items() for word in option]
    # Processes from a common one would hash strings alike; this one and a new one do not.
    process = start_castle("train", *flat, "--runs", tmp_path, "--name", "a")
    run_castle("train", *flat, "--runs", tmp_path, "--name", "b")
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    a, b = (training_state(tmp_path / name) for name in "ab")
    assert a["steps"] == b["steps"] >= 12_000
    assert same(a, b)


def test_ctrl_c_saves_and_says_how_to_resume(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    process = Castle("train", *SMALL_OPTIONS, "--runs", tmp_path, "--name", folder.name,
                           "--steps", 10**8, "--checkpoint-every", 10**9)
    wait_until(lambda: list(folder.glob("checkpoints/step-*.json")) != [], process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1] == "castle: stopped"
    assert "Traceback" not in errors
    steps = load_checkpoint(folder).card["steps"]
    assert checkpoint_steps(folder)[0] == 0
    assert f"stopped at {steps:,} of 100,000,000 steps" in output
    assert f"castle train --resume '{folder}'" in output


# Configuration


def test_config_survives_json() -> None:
    settings = config(opponents="uniform", baselines=("random", "mcts:20"))
    assert PPOConfig.from_dict(settings.to_dict()) == settings
    with pytest.raises(OptionError, match="unknown training option 'hats'; allowed: steps, seed"):
        PPOConfig.from_dict({"hats": 3})


@pytest.mark.parametrize(("changes", "said"), [
    ({"steps": 0}, "steps is 0; allowed: an integer from 1 to"),
    ({"pool_size": -1}, "pool_size is -1"),
    ({"hidden": 0}, "hidden is 0"),
    ({"blocks": 0}, "blocks is 0"),
    ({"channels": 0}, "channels is 0; allowed: an integer from 1 to"),
    ({"threads": 0}, "threads is 0"),
    ({"evaluation_games": 0}, "evaluation_games is 0"),
    ({"regret_positions": -1}, "regret_positions is -1; allowed: an integer from 0 to"),
    ({"seed": -1}, "seed is -1; allowed: an integer from 0 to 4294967295"),
    ({"seed": 2**32}, "seed is 4294967296"),
    ({"learning_rate": 0.0}, "learning_rate is 0.0; allowed: a number above 0"),
    ({"learning_rate": float("nan")}, "learning_rate is nan"),
    ({"clip_range": float("inf")}, "clip_range is inf"),
    ({"gamma": 1.01}, "gamma is 1.01; allowed: a number from 0 to 1"),
    ({"gae_lambda": -0.1}, "gae_lambda is -0.1"),
    ({"opening_plies": -1}, "opening_plies is -1; allowed: an integer from 0"),
    ({"ent_coef": float("nan")}, "ent_coef is nan"),
    ({"vf_coef": float("nan")}, "vf_coef is nan; allowed: a number from 0"),
    ({"vf_coef": -1.0}, r"vf_coef is -1\.0"),
    ({"baselines": ("greedy",)}, "baselines are greedy and opponents is 'self'; allowed: .*pool"),
    ({"batch_size": 1}, "batch_size is 1"),
    ({"batch_size": 127}, "batch_size is 127.*128"),
])
def test_what_cannot_be_trained_with_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        config(**changes)


def test_a_last_minibatch_of_another_size_is_no_harm(tmp_path: Path) -> None:
    run(STORM, config(steps=2 * ROLLOUT, batch_size=60), tmp_path)
    weights = load_checkpoint(newest_checkpoint(tmp_path)).tensors["policy"]
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())
