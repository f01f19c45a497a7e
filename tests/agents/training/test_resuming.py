"""A run goes on only from a checkpoint that holds all it needs, of the right kinds and shapes."""

import copy
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_runs import POOL, ROLLOUT, config, run
from stable_baselines3.common.logger import Logger

from agents.networks.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from agents.training.config import AZConfig, RunConfig
from agents.training.learners import make_learner
from agents.training.resuming import check_card, take_up
from castle_env import Game, load_ruleset

STORM = Game(load_ruleset("storm"))
GoingOn = tuple[Callable[[dict[str, Any], dict[str, Any]], None], Checkpoint]
WRONG: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda value: None,
    "a text": lambda value: "text",
    "a list": lambda value: [value],
    "another number": lambda value: -7 if isinstance(value, int) else 0.5,
    "another shape": lambda value: value[None] if isinstance(value, torch.Tensor) else {},
    "no number": lambda value: (value.double() * float("nan") if isinstance(value, torch.Tensor)
                                else float("nan")),
}


@pytest.fixture(scope="module", params=["pool", "az"])
def going_on(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> GoingOn:
    """A function that goes on from a changed checkpoint of a run, and the checkpoint."""
    settings: RunConfig = config(**POOL) if request.param == "pool" else small_az()
    folder = tmp_path_factory.mktemp("run")
    run(STORM, settings, folder)
    checkpoint = load_checkpoint(folder)

    def go_on(tensors: dict[str, Any], card: dict[str, Any]) -> None:
        learner = make_learner(STORM, settings)
        take_up(learner, Checkpoint(checkpoint.path, tensors, card))
        learner.learn(learner.steps + ROLLOUT, Logger(None, []), lambda: True)

    return go_on, checkpoint


def small_az() -> AZConfig:
    return AZConfig(steps=128, num_envs=8, batch_size=16, window=64, visits=2, considered=2,
                    channels=4, hidden=8, evaluate_every=10**9, regret_positions=0, device="cpu")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Of all parts of nested values, but the weights of one layer and past self for all."""
    found = [path] if path else []
    if isinstance(value, dict):
        keys = list(value)[:1] if path[-1:] in {("policy",), ("state",)} else list(value)
        found += [place for key in keys for place in places(value[key], (*path, key))]
    elif isinstance(value, list) and value:
        found += places(value[0], (*path, 0))
    return found


def changed(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any] | None) -> Any:
    """A copy with one part changed, or without it."""
    whole = copy.deepcopy(value)
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    if change is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = change(inner[path[-1]])
    return whole


def test_no_part_of_a_state_may_be_missing(going_on: GoingOn) -> None:
    go_on, checkpoint = going_on
    for path in places(checkpoint.tensors):
        if isinstance(path[-1], int) or path[0] in ("optimizer", "snapshots"):
            continue
        with pytest.raises(CheckpointError):
            go_on(changed(checkpoint.tensors, path, None), checkpoint.card)


def test_no_part_of_a_state_may_be_of_another_kind(going_on: GoingOn) -> None:
    """Each is refused by one kind of error, or does no harm; each part in one of the ways."""
    go_on, checkpoint = going_on
    kinds = list(WRONG.values())
    for index, path in enumerate(places(checkpoint.tensors)):
        crafted = changed(checkpoint.tensors, path, kinds[index % len(kinds)])
        with suppress(CheckpointError):
            go_on(crafted, checkpoint.card)


@pytest.mark.parametrize("key", ["command", "hours", "cpu_minutes", "results"])
def test_a_card_that_lacks_what_a_run_goes_on_with(going_on: GoingOn, key: str) -> None:
    _, checkpoint = going_on
    wrong: list[Any] = [None, [], {"evaluations": [{"steps": 0}]}]
    for value in wrong:
        card = checkpoint.card | {key: value}
        with pytest.raises(CheckpointError, match=key):
            check_card(Checkpoint(checkpoint.path, checkpoint.tensors, card))


@pytest.mark.parametrize(("part", "spoiled"), [
    ("states", lambda states: states + 1), ("seats", lambda seats: seats + 5)])
def test_games_that_cannot_be_are_refused(
    going_on: GoingOn, part: str, spoiled: Callable[[Any], Any]
) -> None:
    go_on, checkpoint = going_on
    where = "env" if "env" in checkpoint.tensors else "selfplay"
    if part not in checkpoint.tensors[where]:
        return
    with pytest.raises(CheckpointError):
        go_on(changed(checkpoint.tensors, (where, part), spoiled), checkpoint.card)


def test_weights_that_are_no_numbers_are_refused_to_begin_with(tmp_path: Path) -> None:
    run(STORM, config(steps=ROLLOUT), tmp_path / "first")
    begun = load_checkpoint(tmp_path / "first")
    next(iter(begun.tensors["policy"].values()))[:] = np.nan
    with pytest.raises(CheckpointError, match="not finite"):
        run(STORM, config(steps=ROLLOUT), tmp_path / "second", init_from=begun)
