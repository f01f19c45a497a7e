"""Options of all environments: illegal actions, dicts, starts, threads, and what tools ask for."""

import copy
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from scripted import ONE_FACTION, QUICK_DEATH, name_of
from small_runs import ROLLOUT, config, run
from stable_baselines3 import A2C, DQN, PPO

from castle_env import (
    Game,
    IllegalActionError,
    OptionError,
    PositionError,
    castle_v1,
    load_ruleset,
    shared_work,
    slices,
)
from castle_env.board import PASS
from castle_env.env import CastleEnv
from castle_env.info import END_REASONS
from castle_env.options import Reward, RulesetSource, Seat
from castle_env.ruleset import Ruleset
from castle_env.vector_env import CastleVectorEnv

MODES = tuple(AutoresetMode)
A_TO_MOVE = "A5/6/2##B1/1A#A2/3#2/B5 A e4 4,6 1,0 10"
B_TO_MOVE = "A5/6/2##B1/1A#A2/3#2/B5 B b3 4,6 1,0 9"
OVER = "6/6/2A#2/2B##1/2#3/6 A c3 0,0 7,7 16"


def illegal_in(mask: Any) -> int:
    return int(np.flatnonzero(mask == 0)[0])


# Illegal actions


@pytest.mark.parametrize("ruleset", ["storm", QUICK_DEATH, ONE_FACTION], ids=name_of)
def test_a_legal_action_takes_the_place_of_an_illegal_one(ruleset: RulesetSource) -> None:
    env, twin = (CastleEnv(ruleset, illegal="random") for _ in range(2))
    for seed in range(10):
        (_, info), _ = env.reset(seed=seed), twin.reset(seed=seed)
        over = False
        while not over:
            wrong = illegal_in(info["action_mask"])
            mask = info["action_mask"]
            seen, reward, over, _, info = env.step(np.int64(wrong))
            assert (info["illegal_action"], mask[info["played_action"]]) == (1, 1)
            again = twin.step(np.int64(wrong))
            assert np.array_equal(seen, again[0])
            assert (reward, info["played_action"]) == (again[1], again[4]["played_action"])
        with pytest.raises(IllegalActionError, match="after the end"):
            env.step(np.int64(0))


@pytest.mark.parametrize("reward", ["outcome", "margin"])
@pytest.mark.parametrize("seat", [0, 1])
def test_an_illegal_action_loses(seat: Literal[0, 1], reward: Reward) -> None:
    env = CastleEnv("storm", seat=seat, reward=reward, illegal="lose")
    _, info = env.reset(seed=0)
    _, _, over, _, info = env.step(np.int64(np.argmax(info["action_mask"])))
    assert (over, info["illegal_action"]) == (False, 0)
    ply, wrong = env.state.ply, illegal_in(info["action_mask"])
    seen, given, over, truncated, info = env.step(np.int64(wrong))
    assert (given, over, truncated, env.state.ply) == (-1.0, True, False, ply)
    assert END_REASONS[info["end_reason"]] == "illegal_action"
    assert (info["winner"], info["illegal_action"], info["played_action"]) == (1 - seat, 1, wrong)
    assert not info["action_mask"].any()
    assert not seen[4:8].any()
    with pytest.raises(IllegalActionError):
        env.step(np.int64(np.argmax(env.action_masks())))
    _, info = env.reset()
    assert info["end_reason"] == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opponent", ["positional", None])
@pytest.mark.parametrize("illegal", ["random", "lose"])
@pytest.mark.parametrize("ruleset", ["storm", QUICK_DEATH, ONE_FACTION], ids=name_of)
def test_batches_take_any_action(
    ruleset: RulesetSource, illegal: Any, opponent: Any, mode: Any
) -> None:
    envs = CastleVectorEnv(6, ruleset, opponent, "alternate", illegal=illegal, autoreset_mode=mode)
    _, info = envs.reset(seed=1)
    rng = np.random.default_rng(0)
    seen = 0
    waiting = np.zeros(6, dtype=np.bool_)
    for _ in range(100):
        masks, actions = info["action_mask"], rng.integers(envs.game.num_actions, size=6)
        wrong = (masks[np.arange(6), actions] == 0) & ~waiting
        movers = envs.states["ply"] & 1 if opponent is None else envs.seats.copy()
        _, rewards, ended, _, info = envs.step(actions)
        told = info["illegal_action"] == 1
        if mode == AutoresetMode.SAME_STEP and ended.any():
            told |= info["final_info"]["illegal_action"] == 1
        assert np.array_equal(told, wrong)
        if illegal == "lose":
            assert ended[wrong].all()
            assert (rewards[wrong] == -1).all()
            last = info["final_info"] if mode == AutoresetMode.SAME_STEP and ended.any() else info
            assert (last["winner"][wrong] == 1 - movers[wrong]).all()
            assert (last["end_reason"][wrong] == 4).all()
        elif mode != AutoresetMode.SAME_STEP:
            played = info["played_action"]
            assert masks[np.arange(6), played][~waiting].all()
            assert (played == actions)[~wrong & ~waiting].all()
        seen += int(wrong.sum())
        waiting = ended & (mode == AutoresetMode.NEXT_STEP)
        if mode == AutoresetMode.DISABLED and ended.any():
            _, info = envs.reset(options={"reset_mask": ended})
    assert seen > 50


@pytest.mark.parametrize("illegal", ["random", "lose"])
def test_agents_take_any_action(illegal: Any) -> None:
    env = castle_v1.env(mode="storm", illegal=illegal)
    env.reset(seed=3)
    mover = env.agent_selection
    mask = env.last()[0]["action_mask"]
    env.step(illegal_in(mask))
    info = env.infos[mover]
    assert info["illegal_action"] == 1
    if illegal == "random":
        assert mask[info["played_action"]] == 1
        assert not env.terminations[mover]
        return
    assert all(env.terminations.values())
    assert env.rewards == {"player_0": -1.0, "player_1": 1.0}
    assert (info["winner"], info["end_reason"]) == (1, 4)
    for agent in env.agents:
        seen = env.observe(agent)
        assert not seen["action_mask"].any()
        assert not seen["observation"][4:8].any()


@pytest.mark.parametrize("algorithm", [DQN, A2C, PPO])
@pytest.mark.parametrize("illegal", ["random", "lose"])
def test_learners_without_masks_run(algorithm: Any, illegal: Any) -> None:
    env = gym.wrappers.FlattenObservation(gym.make("castle_env/Storm-v1", illegal=illegal))
    kwargs = {DQN: {"learning_starts": 20, "buffer_size": 100}, A2C: {"n_steps": 8},
              PPO: {"n_steps": 32, "batch_size": 32}}[algorithm]
    model = algorithm("MlpPolicy", env, seed=0, device="cpu", **kwargs)
    model.learn(64)
    assert model.num_timesteps >= 64


@pytest.mark.parametrize("vectorization_mode", ["sync", "async"])
def test_samples_of_plain_spaces_are_taken(vectorization_mode: str) -> None:
    envs = gym.make_vec("castle_env/Storm-v1", 2, vectorization_mode=vectorization_mode,
                        illegal="random")
    envs.reset(seed=0)
    envs.action_space.seed(0)
    wrong = sum(envs.step(envs.action_space.sample())[4]["illegal_action"].sum()
                for _ in range(20))
    envs.close()
    assert wrong > 0


# Observations and infos


@pytest.mark.parametrize("illegal", ["raise", "random", "lose"])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_dicts_hold_planes_and_mask(dtype: Any, illegal: Any) -> None:
    kwargs = {"observation": "dict", "observation_dtype": dtype, "illegal": illegal}
    check_env(CastleEnv(**kwargs), skip_render_check=True)
    env = gym.make("castle_env/Storm-v1", seat=0, **kwargs)
    plain = gym.make("castle_env/Storm-v1", seat=0, observation_dtype=dtype)
    (seen, info), (planes, _) = env.reset(seed=1), plain.reset(seed=1)
    for _ in range(4):
        assert seen in env.observation_space
        assert np.array_equal(seen["observation"], planes)
        assert np.array_equal(seen["action_mask"], info["action_mask"])
        action = np.argmax(seen["action_mask"])
        (seen, *_, info), (planes, *_) = env.step(action), plain.step(action)


@pytest.mark.parametrize("mode", MODES)
def test_dicts_in_batches_are_those_of_single_environments(mode: AutoresetMode) -> None:
    kwargs: dict[str, Any] = {"ruleset": QUICK_DEATH, "opponent": "positional", "seat": 0,
                              "observation": "dict"}
    ours = CastleVectorEnv(4, autoreset_mode=mode, **kwargs)
    theirs = SyncVectorEnv([lambda: CastleEnv(**kwargs)] * 4, autoreset_mode=mode)
    assert ours.observation_space == theirs.observation_space
    one, other = ours.reset()[0], theirs.reset()[0]
    for _ in range(20):
        for key in ("observation", "action_mask"):
            assert np.array_equal(one[key], other[key])
        actions = np.argmax(one["action_mask"], axis=1)
        (one, _, ended, _, info), (other, *_, their_info) = ours.step(actions), theirs.step(actions)
        assert ("final_obs" in info) == ("final_obs" in their_info)
        for index in np.flatnonzero(ended) if "final_obs" in info else ():
            for key, values in info["final_obs"][index].items():
                assert np.array_equal(values, their_info["final_obs"][index][key])
        if mode == AutoresetMode.DISABLED and ended.any():
            one, other = (envs.reset(options={"reset_mask": ended.copy()})[0]
                          for envs in (ours, theirs))


def numbers(info: dict[str, Any], prefix: str = "") -> dict[str, tuple[Any, ...]]:
    """Keys with the type and shape of what they hold; raises for what is no number."""
    found: dict[str, tuple[Any, ...]] = {}
    for key, value in info.items():
        array = np.asarray(value)
        assert array.dtype.kind in "iub", (key, value)
        found[prefix + key] = array.dtype, array.shape
    return found


@pytest.mark.parametrize("ruleset", ["storm", QUICK_DEATH, ONE_FACTION], ids=name_of)
def test_infos_are_numbers_under_the_same_keys_at_every_step(ruleset: RulesetSource) -> None:
    env = CastleEnv(ruleset)
    batches = CastleVectorEnv(3, ruleset), CastleVectorEnv(3, ruleset, opponent=None)
    expected = numbers(env.reset(seed=0)[1])
    expected_of_batches = [numbers(envs.reset(seed=0)[1]) for envs in batches]
    for _ in range(60):
        _, _, over, _, info = env.step(env.action_space.sample())
        assert numbers(info) == expected
        if over:
            assert numbers(env.reset()[1]) == expected
        for envs, keys in zip(batches, expected_of_batches, strict=True):
            assert numbers(envs.step(envs.action_space.sample())[4]) == keys
    assert set(expected_of_batches[0]) == {key for name in expected for key in (name, f"_{name}")}


@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize("observation", ["planes", "dict"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_all_becomes_tensors(mode: AutoresetMode, observation: Any, opponent: Any) -> None:
    pytest.importorskip("array_api_compat", reason="Gymnasium needs it for tensors")
    inner = CastleVectorEnv(3, QUICK_DEATH, opponent, autoreset_mode=mode, observation=observation)
    envs = gym.wrappers.vector.NumpyToTorch(inner)
    envs.reset(seed=0)
    finals = 0
    for _ in range(40):
        actions = torch.as_tensor(inner.action_space.sample())
        _, rewards, ended, _, info = envs.step(actions)
        assert isinstance(rewards, torch.Tensor)
        assert isinstance(info["victory_points"], torch.Tensor)
        for index in np.flatnonzero(ended) if "final_obs" in info else ():
            final = info["final_obs"][int(index)]
            planes = final["observation"] if observation == "dict" else final
            assert isinstance(planes, torch.Tensor)
            finals += 1
    assert (finals > 0) == (mode == AutoresetMode.SAME_STEP)


@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize("mode", MODES)
def test_later_steps_leave_earlier_arrays_alone(mode: AutoresetMode, opponent: Any) -> None:
    def flat(value: Any) -> list[Any]:
        if isinstance(value, dict):
            return [item for key in sorted(value) for item in flat(value[key])]
        return [item for part in value for item in flat(part)] if isinstance(value, list | tuple) \
            else [value]

    envs = CastleVectorEnv(3, QUICK_DEATH, opponent, autoreset_mode=mode, observation="dict")
    kept: list[tuple[Any, ...]] = [envs.reset(seed=0)]
    before = copy.deepcopy(kept)
    for _ in range(30):
        kept.append(envs.step(envs.action_space.sample()))
        before.append(copy.deepcopy(kept[-1]))
        if mode == AutoresetMode.DISABLED and kept[-1][2].any():
            envs.reset(options={"reset_mask": kept[-1][2].copy()})
    for one, other in zip(flat(kept), flat(before), strict=True):
        assert np.array_equal(one, other)


# Starts


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("text", [A_TO_MOVE, B_TO_MOVE])
def test_games_start_where_they_are_told(text: str, seat: Seat) -> None:
    mover = "AB".index(text.split()[1])
    env = CastleEnv("sudden-death", seat=seat)
    _, info = env.reset(seed=0, options={"position": text})
    assert (env.position == text) == (mover == seat)
    assert env.state.ply & 1 == seat
    assert info["action_mask"].any()
    env.reset()
    assert env.state.ply == seat
    envs = CastleVectorEnv(3, "sudden-death", seat=seat)
    envs.reset(seed=0, options={"position": text})
    assert (envs.states["ply"] & 1 == seat).all()
    assert (envs.states["ply"] >= 9).all()
    aec = castle_v1.env(mode="sudden_death")
    aec.reset(options={"position": text})
    assert (aec.unwrapped.position, aec.agent_selection) == (text, f"player_{mover}")


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_a_batch_starts_in_many_places(kind: Any) -> None:
    envs = CastleVectorEnv(3, "sudden-death", opponent=None)
    start = envs.game.format_position(envs.game.initial_state())
    envs.reset(seed=0, options={"position": kind([A_TO_MOVE, B_TO_MOVE, start])})
    assert envs.states["ply"].tolist() == [10, 9, 0]
    only = np.array([False, True, True])
    envs.reset(options={"position": kind([start, A_TO_MOVE, B_TO_MOVE]), "reset_mask": only})
    assert envs.states["ply"].tolist() == [10, 10, 9]


@pytest.mark.parametrize(("options", "error"), [
    ({"position": "garbage"}, PositionError), ({"position": None}, OptionError),
    ({"position": 3}, OptionError), ({"position": OVER}, OptionError),
    ({"position": ["garbage"] * 3}, (PositionError, OptionError)),
    ({"position": [A_TO_MOVE] * 2}, OptionError), ({"pos": A_TO_MOVE}, OptionError),
    ({"positions": A_TO_MOVE}, OptionError), ({1: 2}, OptionError),
])
def test_reset_options_that_are_not_allowed(options: Any, error: Any) -> None:
    preset = "storm" if options == {"position": OVER} else "sudden-death"
    for env in (CastleEnv(preset, seat=0), CastleVectorEnv(3, preset, seat=0),
                castle_v1.env(ruleset=preset)):
        env.reset(seed=0)
        before = str(getattr(env.unwrapped, "position", getattr(env.unwrapped, "states", "")))
        with pytest.raises(error, match=r"position|option"):
            env.reset(seed=1, options=options)
        after = str(getattr(env.unwrapped, "position", getattr(env.unwrapped, "states", "")))
        assert after == before


# Threads and processes


@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize("num_threads", [2, 3, 50])
def test_threads_change_nothing_but_the_time(
    monkeypatch: pytest.MonkeyPatch, num_threads: int, opponent: Any
) -> None:
    monkeypatch.setattr(slices, "FEWEST", 4)
    monkeypatch.setattr(slices, "usable_cores", lambda: 6)
    kwargs: dict[str, Any] = {"ruleset": "sudden-death-step", "opponent": opponent,
                              "autoreset_mode": "SameStep"}
    one = CastleVectorEnv(33, **kwargs)
    many = CastleVectorEnv(33, num_threads=num_threads, **kwargs)
    for envs in (one, many):
        envs.action_space.seed(0)
        assert envs.reset(seed=0)[0].any()
    for step in range(60):
        actions = one.action_space.sample()
        assert np.array_equal(actions, many.action_space.sample())
        assert np.array_equal(one.step(actions)[0], many.step(actions)[0])
        assert np.array_equal(one.states, many.states)
        if step == 30:
            many = copy.deepcopy(many)
    wrong = one.action_masks().argmax(axis=1)
    wrong[20] = PASS
    for envs in (one, many):
        with pytest.raises(IllegalActionError, match="'pass'"):
            envs.step(wrong)
    many.close()


def test_threads_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "usable_cores", lambda: 2)
    envs = CastleVectorEnv(4096, opponent=None, num_threads=2)
    envs.reset(seed=0)
    team = envs._slices._awake_team()
    limit = time.monotonic() + 300
    while not team._board[shared_work.DONE]:
        assert time.monotonic() < limit, "nobody helps"
        envs.action_space.sample()
    envs.close()


def test_work_is_done_alone_while_another_thread_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "usable_cores", lambda: 2)
    one = CastleVectorEnv(128, opponent=None)
    two = CastleVectorEnv(128, opponent=None, num_threads=2)
    for envs in (one, two):
        envs.reset(seed=0)
        envs.action_space.seed(0)
    two._slices._awake_team()._board[shared_work.LED] = 1
    actions = one.action_space.sample()
    assert np.array_equal(actions, two.action_space.sample())
    assert np.array_equal(one.step(actions)[0], two.step(actions)[0])
    two.close()


FORK = """
import os, sys, gymnasium, castle_env
envs = gymnasium.make_vec("castle_env/Storm-v1", num_envs=256, opponent=None, num_threads=2)
envs.reset(seed=0)
envs.step(envs.action_space.sample())
child = os.fork()
envs.step(envs.action_space.sample())
if child:
    sys.exit(os.waitpid(child, 0)[1])
"""
ASYNC = """
import numpy as np
import torch
torch.set_num_threads(2)
big = torch.rand(600, 600)
(big @ big).sum()
import gymnasium, castle_env
game = castle_env.Game(castle_env.load_ruleset("storm"))
gymnasium.make("castle_env/Storm-v1").reset()  # what all processes need is loaded once
for opponent, known in {opponents!r}:
    if known:
        agent = castle_env.make_agent(opponent, game)
        agent.select_actions(game.initial_states(known), np.random.default_rng(0))
    envs = gymnasium.make_vec("castle_env/Storm-v1", num_envs=2, vectorization_mode="async",
                              vector_kwargs={{"context": "fork"}}, opponent=opponent,
                              illegal="random")
    envs.reset(seed=0)
    for _ in range(3):
        envs.step(envs.action_space.sample())
    envs.close()
    print("done with", opponent, flush=True)
"""


def run_program(program: str, **environment: str) -> str:
    """What a program prints; it fails where that takes as long as only a hang does."""
    threads = {"OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=500, env=os.environ | threads | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_threads_survive_a_fork() -> None:
    run_program(FORK)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_agents_with_threads_play_in_forked_environments(tmp_path: Path) -> None:
    """Threads do not survive a fork, be they of PyTorch or of an agent that was asked before."""
    run(Game(load_ruleset("storm")), config(steps=ROLLOUT, channels=64, hidden=256), tmp_path)
    # Who plays, and in how many positions it was asked before the fork.
    opponents = [(f"ppo:{tmp_path}", 0), (f"ppo:{tmp_path}", 2000),
                 (f"ppo:{tmp_path}+search:4", 20), ("alphabeta:2:20ms", 2)]
    assert run_program(ASYNC.format(opponents=opponents)).count("done with") == len(opponents)


PLAIN_PYTHON = """
from castle_env import Game, load_ruleset
import numpy as np
for preset in ("storm", "sudden-death"):
    game, rng = Game(load_ruleset(preset)), np.random.default_rng(1)
    state = game.initial_state()
    while not game.is_terminal(state):
        legal = game.legal_actions(state)
        state = game.apply(state, legal[int(rng.random() * len(legal))])
        print(game.format_position(state), game.victory_points(state),
              int(game.observation(state, 0, "uint8").astype(int).sum()), game.legal_actions(state))
    print(game.outcome(state))
"""
PLAIN_ENVIRONMENTS = """
import gymnasium, castle_env
from castle_env import castle_v1
from castle_env.vector_env import CastleVectorEnv
for env in (gymnasium.make("castle_env/SuddenDeath-v1", opponent="greedy"),
            CastleVectorEnv(2), CastleVectorEnv(2, opponent=None)):
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(9):
        seen, reward, *_ = env.step(env.action_space.sample())
        print(float(seen.sum()), reward)
"""


@pytest.mark.parametrize("program", [PLAIN_PYTHON, PLAIN_ENVIRONMENTS])
def test_the_rules_run_as_plain_python(program: str) -> None:
    plain = run_program(program, NUMBA_DISABLE_JIT="1", PYTHONWARNINGS="error::RuntimeWarning")
    assert plain == run_program(program)
    assert len(plain.splitlines()) > 20


# Names of modes


@pytest.mark.parametrize("mode", ["sudden_death", "sudden-death"])
def test_modes_are_taken_in_both_spellings_and_told_in_one(mode: str) -> None:
    assert Ruleset.from_dict({"mode": mode}).mode == "sudden_death"
    assert load_ruleset(mode) == load_ruleset("sudden-death")
    assert castle_v1.env(mode=mode).unwrapped.game.rules.mode == "sudden_death"
    assert CastleEnv({"mode": mode}).game.rules.digest == Ruleset.from_dict(
        {"mode": "sudden_death"}).digest
