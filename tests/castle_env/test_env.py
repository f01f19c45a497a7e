"""The Gymnasium environment as tools see it: checkers, masks, bad actions, options, copies."""

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import DeprecatedEnv, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FlattenObservation, TimeLimit
from narrow import narrow, present
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from scripted import BLOCKED, QUICK_DEATH, make_with_torch
from stable_baselines3.common.env_checker import check_env as check_env_for_sb3
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from castle_env import (
    ActionError,
    AgentError,
    CastleError,
    Game,
    IllegalActionError,
    OptionError,
    RulesetError,
    load_ruleset,
)
from castle_env.board import PASS
from castle_env.env import CastleEnv
from castle_env.options import RulesetSource, Seat

IDS = ("castle_env/Storm-v1", "castle_env/SuddenDeath-v1", "castle_env/Castle-v1")
MODES = (None, "human", "rgb_array", "ansi", "svg")
NO_ACTIONS = (
    -1, 25, 10**100, -(2**63), np.int64(169), True, np.True_, 3.0, np.float64(3), np.float32(2),
    None, float("nan"), np.nan, float("inf"), "Nc", b"Nc", "3", 3 + 0j, [3], (3,), {3}, ...,
    np.array([3]), np.array([[3]]), np.array([3, 4]), np.array(3.0), np.array(True), np.array([]),
)
WRAPPINGS: dict[str, Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]] = {
    "make": lambda env: env,
    "time-limit": lambda env: TimeLimit(env, 50),
    "monitor": Monitor,
    "all": lambda env: Monitor(FlattenObservation(TimeLimit(env, 50))),
}


@pytest.fixture(autouse=True)
def _quick_and_without_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(CastleEnv.metadata, "render_fps", 1000)


def inside(env: gym.Env[Any, Any]) -> CastleEnv:
    return narrow(env.unwrapped, CastleEnv)


def state_of(env: gym.Env[Any, Any]) -> tuple[Any, ...]:
    """Everything that a refused action must leave alone."""
    inner = inside(env)
    return (inner.position, inner.seat, inner.action_masks().tolist(),
            inner.np_random.bit_generator.state,
            present(inner.action_space.legal_action_mask).tolist())


def play_on(env: gym.Env[Any, Any]) -> list[Any]:
    """Play to the end with the first legal action; everything that was seen on the way."""
    seen: list[Any] = []
    over = False
    while not over:
        mask = env.get_wrapper_attr("action_masks")()
        observation, reward, terminated, truncated, info = env.step(int(np.argmax(mask)))
        over = terminated or truncated
        seen.append((observation.tolist(), reward, terminated, truncated,
                     info["action_mask"].tolist(), inside(env).position))
    return seen


# Checkers


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_checker(env_id: str, dtype: str, mode: str | None) -> None:
    env = gym.make(env_id, render_mode=mode, observation_dtype=dtype)
    check_env(env.unwrapped)
    with pytest.warns(UserWarning, match="different from the unwrapped version") as caught:
        check_env(env, skip_render_check=True)
    assert len(caught) == 1
    env.close()


@pytest.mark.parametrize("seat", [0, 1, "random", "alternate"])
@pytest.mark.parametrize("ruleset", ["storm-towers", "sudden-death-step"])
def test_gymnasium_checker_in_every_seat(ruleset: str, seat: Seat) -> None:
    for opponent in ("random", "greedy"):
        env = gym.make("castle_env/Castle-v1", ruleset=ruleset, seat=seat, opponent=opponent)
        for _ in range(5):
            check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("env_id", IDS)
def test_sb3_checker(env_id: str) -> None:
    check_env_for_sb3(FlattenObservation(gym.make(env_id)))


def test_sb3_checker_takes_planes_for_an_image_and_says_no_more() -> None:
    with pytest.warns(UserWarning, match="image") as caught:
        check_env_for_sb3(gym.make("castle_env/Storm-v1"))
    starts = ("It seems that your observation  is an image but its `dtype`",
              "It seems that your observation space  is an image but the upper and lower bounds",
              "Treating image space as channels-last",
              "The minimal resolution for an image is 36x36")
    for warning, start in zip(caught, starts, strict=True):
        assert str(warning.message).startswith(start)


@pytest.mark.filterwarnings("ignore:.*is out of date")
@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_ids_of_the_first_version_name_the_present_one(make: Any, env_id: str) -> None:
    with pytest.raises(DeprecatedEnv, match=f"use `{env_id}`"):
        make(env_id.replace("v1", "v0"))


# Masks


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
def test_masks_are_found_through_wrappers(
    wrap: Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]
) -> None:
    env = wrap(gym.make("castle_env/SuddenDeath-v1"))
    _, info = env.reset(seed=3)
    for _ in range(20):
        mask = get_action_masks(env)
        assert is_masking_supported(env)
        assert np.array_equal(mask, info["action_mask"])
        assert np.array_equal(mask, inside(env).action_masks())
        assert np.array_equal(mask, inside(env).game.legal_action_mask(inside(env).state))
        assert mask.shape == (169,)
        assert mask.dtype == np.int8
        _, _, terminated, _, info = env.step(env.action_space.sample())
        if terminated:
            _, info = env.reset()


def test_masks_are_found_in_a_vec_env_of_sb3() -> None:
    envs = DummyVecEnv([lambda: Monitor(gym.make("castle_env/Storm-v1"))] * 3)
    envs.reset()
    assert is_masking_supported(envs)
    assert get_action_masks(envs).shape == (3, 25)


def test_what_a_caller_does_to_a_mask_stays_with_the_caller() -> None:
    env = CastleEnv(seat=0)
    _, info = env.reset(seed=1)
    info["action_mask"][:] = 0
    env.action_masks()[:] = 0
    assert env.action_masks().sum() == 8


@pytest.mark.parametrize("ruleset", ["storm", "sudden-death", QUICK_DEATH])
def test_samples_are_legal_and_passes_are_the_only_choice(ruleset: RulesetSource) -> None:
    env = CastleEnv(ruleset)
    env.action_space.seed(5)
    _, info = env.reset(seed=5)
    sampled = set()
    for _ in range(600):
        mask = info["action_mask"]
        assert mask.any()
        assert mask[PASS] == 0 or mask.sum() == 1
        action = env.action_space.sample()
        sampled.add(int(action))
        assert mask[action] == 1
        _, _, terminated, _, info = env.step(action)
        if terminated:
            assert not info["action_mask"].any()
            _, info = env.reset()
    assert len(sampled) > 20


def test_forced_passes_have_one_legal_action() -> None:
    env = CastleEnv(BLOCKED, seat=0)
    _, info = env.reset(seed=0)
    for turn in range(8):
        assert np.flatnonzero(info["action_mask"]).tolist() == [PASS]
        assert env.action_space.sample() == PASS
        _, reward, terminated, truncated, info = env.step(PASS)
        assert (reward, terminated, truncated) == (0.0, turn == 7, False)
    assert info["action_mask"].tolist() == [0] * 25


def test_a_space_can_be_sampled_with_a_mask_or_probabilities_of_ones_own() -> None:
    env = CastleEnv(seat=0)
    env.reset(seed=0)
    only = np.zeros(25, dtype=np.int8)
    only[7] = 1
    assert env.action_space.sample(only) == 7
    assert env.action_space.sample(probability=only.astype(np.float64)) == 7


# Actions that are none


@pytest.mark.parametrize("action", NO_ACTIONS, ids=repr)
def test_what_is_no_action_raises_and_changes_nothing(action: Any) -> None:
    env = CastleEnv(seat=1)
    env.reset(seed=2)
    before = state_of(env)
    with pytest.raises(ActionError, match="is no action; allowed: one integer from 0 to 24"):
        env.step(action)
    assert state_of(env) == before


@pytest.mark.parametrize("ruleset", ["storm", "sudden-death"])
@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
def test_illegal_actions_raise_and_change_nothing(
    ruleset: str, wrap: Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]
) -> None:
    env = wrap(gym.make("castle_env/Castle-v1", ruleset=ruleset))
    env.reset(seed=4)
    for _ in range(4):
        before = state_of(env)
        for action in np.flatnonzero(before[2] == np.int8(0)):
            with pytest.raises(IllegalActionError, match="illegal in position") as caught:
                env.step(action)
            assert repr(before[0]) in str(caught.value)
        assert state_of(env) == before
        env.step(env.action_space.sample())


@pytest.mark.parametrize("kind", [int, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.array])
def test_any_integer_is_an_action(kind: Callable[[int], Any]) -> None:
    env = CastleEnv(seat=0)
    env.reset(seed=0)
    env.step(kind(env.game.parse_action("Nc")))
    assert env.state.ply == 2


def test_a_step_after_the_end_raises_and_changes_nothing() -> None:
    env = CastleEnv(seat=1)
    env.reset(seed=0)
    play_on(env)
    before = state_of(env)
    for action in range(25):
        with pytest.raises(IllegalActionError, match="comes after the end of the game"):
            env.step(action)
    assert state_of(env) == before
    env.reset()
    assert env.state.ply == 1


@pytest.mark.parametrize("use", ["step", "render", "action_masks"])
def test_use_before_reset(use: str) -> None:
    env = CastleEnv(render_mode="ansi")
    with pytest.raises(ResetNeeded):
        env.step(0) if use == "step" else getattr(env, use)()


def test_an_opponent_that_breaks_the_rules_is_told_from_the_learner() -> None:
    class Cheat:
        name = "cheat"

        def select_actions(self, states: Any, rng: np.random.Generator) -> Any:
            return np.full(len(states), PASS)

    env = CastleEnv(opponent=Cheat(), seat=0)
    env.reset(seed=0)
    before = state_of(env)
    with pytest.raises(IllegalActionError, match="'pass'"):
        env.step(env.game.parse_action("Nc"))
    assert state_of(env) == before


# Options


@pytest.mark.parametrize(("option", "value", "error", "allowed"), [
    ("seat", 2, OptionError, "0, 1, 'random', 'alternate'"),
    ("seat", True, OptionError, "0, 1, 'random', 'alternate'"),
    ("seat", "0", OptionError, "0, 1, 'random', 'alternate'"),
    ("seat", None, OptionError, "0, 1, 'random', 'alternate'"),
    ("seat", [0], OptionError, "0, 1, 'random', 'alternate'"),
    ("reward", "win", OptionError, "'outcome', 'margin'"),
    ("reward", None, OptionError, "'outcome', 'margin'"),
    ("render_mode", "RGB", OptionError, "None, 'human', 'rgb_array', 'ansi', 'svg'"),
    ("observation_dtype", "float64", OptionError, "'float32', 'uint8'"),
    ("observation", "text", OptionError, "'planes', 'dict'"),
    ("illegal", "ignore", OptionError, "'raise', 'random', 'lose'"),
    ("text_info", 1, OptionError, "False, True"),
    ("observation_dtype", None, OptionError, "'float32', 'uint8'"),
    ("ruleset", "chess", RulesetError, "storm, storm-towers, sudden-death"),
    ("ruleset", None, RulesetError, "storm, storm-towers, sudden-death"),
    ("ruleset", 5, RulesetError, "storm, storm-towers, sudden-death"),
    ("ruleset", {"mode": "chess"}, RulesetError, "storm, sudden_death"),
    ("opponent", "nobody", AgentError, "greedy"),
    ("opponent", "", AgentError, "greedy"),
    ("opponent", None, AgentError, "select_actions"),
    ("opponent", 3, AgentError, "select_actions"),
    ("opponent", object(), AgentError, "select_actions"),
])
def test_options_that_are_not_allowed(
    option: str, value: Any, error: type[CastleError], allowed: str
) -> None:
    with pytest.raises(error) as caught:
        CastleEnv(**{option: value})
    assert (value["mode"] if isinstance(value, dict) else str(value)) in str(caught.value)
    assert allowed in str(caught.value)


def test_render_mode_that_is_not_allowed_through_make() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(OptionError, match="'4k'"):
            gym.make("castle_env/Storm-v1", render_mode="4k")


def test_rulesets_come_in_every_form() -> None:
    rules = load_ruleset("sudden-death-home")
    for source in ("sudden-death-home", rules.to_dict(), rules):
        assert CastleEnv(source).game.rules == rules
    assert inside(gym.make("castle_env/Castle-v1")).game.rules == load_ruleset("storm")
    assert inside(gym.make("castle_env/SuddenDeath-v1")).game.rules.mode == "sudden_death"


# Copies


def through_pickle(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


def wrapped_env(mode: str | None, wrap: str) -> gym.Env[Any, Any]:
    """An env in the middle of a game."""
    env = WRAPPINGS[wrap](gym.make("castle_env/SuddenDeath-v1", seat=1, render_mode=mode))
    env.reset(seed=7)
    env.action_space.seed(7)
    for _ in range(5):
        env.step(env.action_space.sample())
    return env


# Gymnasium's FlattenObservation holds a lambda, which pickle refuses.
@pytest.mark.parametrize(("duplicate", "wrap"), [
    (copy.deepcopy, "make"), (copy.deepcopy, "all"), (through_pickle, "make"),
    (through_pickle, "time-limit"), (through_pickle, "monitor"),
])
@pytest.mark.parametrize("mode", MODES)
def test_copies_in_the_middle_of_a_game_live_apart(
    duplicate: Callable[[Any], Any], mode: str | None, wrap: str
) -> None:
    env = wrapped_env(mode, wrap)
    frame: Any = env.render() if mode else None
    before = state_of(env)
    twin = duplicate(env)
    assert state_of(twin) == before
    assert twin.unwrapped.action_space.sample() == env.unwrapped.action_space.sample()
    if mode:
        assert np.array_equal(twin.render(), frame)
    before = state_of(env)
    seen = play_on(twin)
    assert state_of(env) == before
    assert play_on(env) == seen
    twin.reset()
    env.close()
    twin.close()


# Another process


def test_spawned_processes_finish_and_hold_boards_of_their_own() -> None:
    envs = gym.vector.AsyncVectorEnv([make_with_torch] * 2, context="spawn")
    try:
        envs.reset(seed=1)
        names = ["Nc", "W4"]
        game = Game(load_ruleset("storm"))
        envs.step_async(np.array([game.parse_action(name) for name in names]))
        _, _, _, _, infos = envs.step_wait(timeout=300)
        expected = []
        for name in names:
            env = make_with_torch()
            env.reset(seed=1)
            env.step(game.parse_action(name))
            expected.append(inside(env).position)
        assert list(envs.get_attr("position")) == expected
        assert expected[0] != expected[1]
        assert infos["action_mask"].shape == (2, 25)
    finally:
        envs.close(timeout=300)
