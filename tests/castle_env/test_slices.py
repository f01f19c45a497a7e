"""Threads of the batched environment: what they give is the same, and they end when nobody asks."""

import gc
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from scripted import QUICK_DEATH, name_of

from castle_env import slices
from castle_env.board import PASS
from castle_env.options import Illegal, RulesetSource
from castle_env.vector_env import CastleVectorEnv

COUNT = 40
# Longer than any of this takes, unless it hangs.
LIMIT = 300


@pytest.fixture(autouse=True)
def few_games_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads start on any machine, and share a few games."""
    monkeypatch.setattr(slices, "FEWEST", 4)
    monkeypatch.setattr(slices, "usable_cores", lambda: 2)


def assert_same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.array_equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        assert_same(list(one.values()), list(other.values()))
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    else:
        assert one == other


@pytest.mark.parametrize("ruleset", ["storm", QUICK_DEATH], ids=name_of)
@pytest.mark.parametrize("illegal", ["lose", "random"])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_environments_with_threads_give_what_those_without_give(
    mode: AutoresetMode, illegal: Illegal, ruleset: RulesetSource
) -> None:
    """Two of them take their steps in turn; some games wait, some are lost, others start anew."""
    kwargs: dict[str, Any] = {"opponent": None, "autoreset_mode": mode, "illegal": illegal,
                              "reward": "margin"}
    alone = CastleVectorEnv(COUNT, ruleset, **kwargs)
    shared = [CastleVectorEnv(COUNT, ruleset, num_threads=2, **kwargs) for _ in range(2)]
    rng, ends = np.random.default_rng(0), 0

    def in_turn(*calls: Any) -> Any:
        results = [call() for call in calls]
        for result in results[1:]:
            assert_same(results[0], result)
        return results[0]

    every = [alone, *shared]
    for envs in every:
        envs.action_space.seed(0)
    in_turn(*[lambda envs=envs: envs.reset(seed=0) for envs in every])
    for _ in range(50):
        actions = in_turn(*[envs.action_space.sample for envs in every])
        actions[rng.random(COUNT) < 0.02] = PASS
        _, rewards, ended, _, info = in_turn(
            *[lambda envs=envs, given=actions: envs.step(given) for envs in every])
        assert not rewards[~ended].any()
        ends += int(ended.sum())
        if mode == AutoresetMode.DISABLED and ended.any():
            in_turn(*[lambda envs=envs, given=ended: envs.reset(options={"reset_mask": given})
                      for envs in every])
        assert info["action_mask"].shape == (COUNT, alone.game.num_actions)
    assert ends > COUNT
    for envs in shared:
        assert envs._slices._team is not None, "no threads were started"
        envs.close()


def test_threads_end_with_their_environment() -> None:
    envs = CastleVectorEnv(COUNT, opponent=None, num_threads=2)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    threads = list(envs._slices._awake_team()._pool._threads)
    assert [thread.is_alive() for thread in threads] == [True]
    del envs
    gc.collect()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()


EXIT = """
import gymnasium, castle_env
from castle_env import slices
slices.usable_cores = lambda: 2
envs = gymnasium.make_vec("castle_env/Storm-v1", num_envs=256, opponent=None, num_threads=2)
envs.reset(seed=0)
envs.step(envs.action_space.sample())
print(len(envs.unwrapped._slices._awake_team()._pool._threads))
"""


def test_a_program_ends_while_its_threads_are_awake() -> None:
    done = subprocess.run([sys.executable, "-c", EXIT], capture_output=True, text=True,
                          timeout=LIMIT, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
