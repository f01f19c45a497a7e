"""The PettingZoo environment: the official tests, turns, rewards, ends, masks and copies."""

import copy
import pickle
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scripted import ONE_FACTION, QUICK_DEATH, game_of_source, name_of, named, random_game

import castle_env
from castle_env import ActionError, Game, IllegalActionError, OptionError, RulesetError, castle_v1
from castle_env.castle_v1 import AGENTS
from castle_env.options import Reward, RulesetSource
from castle_env.position import Position

with warnings.catch_warnings():
    # The tests import example environments of PettingZoo's own, in a way it warns about.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, render_test, seed_test

MODES = ("storm", "sudden_death")
RULESETS = ("storm", "sudden-death-step", QUICK_DEATH, ONE_FACTION)
DUEL = {"mode": "storm", "factions_per_player": 1}
NO_ACTIONS = (-1, 25, 10**100, True, np.True_, 3.0, np.float32(3), None, float("nan"), "Nc", [3],
              np.array([3]), np.array(3.0), ...)


@pytest.fixture(autouse=True)
def _quick_and_without_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(castle_v1.raw_env.metadata, "render_fps", 1000)


def position_of(env: Any) -> Position:
    position: Position = env.unwrapped.game.parse_position(env.unwrapped.position)
    return position


def snapshot(env: Any) -> tuple[Any, ...]:
    """Everything that a refused action must leave alone."""
    inner = env.unwrapped
    return (inner.position, inner.agent_selection, list(inner.agents), dict(inner.rewards),
            dict(inner._cumulative_rewards), dict(inner.terminations), dict(inner.truncations),
            [inner.observe(agent)["action_mask"].tolist() for agent in AGENTS],
            {agent: info["action_mask"].tolist() for agent, info in inner.infos.items()})


def played(source: RulesetSource, actions: list[int], **kwargs: Any) -> Any:
    """An env in which `actions` have been played."""
    env = castle_v1.env(ruleset=source, **kwargs)
    env.reset()
    for action in actions:
        env.step(action)
    return env


# The official tests


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("mode", MODES)
def test_official_api(mode: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    env = castle_v1.env(mode=mode, observation_dtype=dtype)
    # The test knows by name the environments with dicts as observations and with all-zero masks.
    module = sys.modules["pettingzoo.test.api_test"]
    for known in ("env_obs_dicts", "env_obs_space", "env_all_zeros_obs"):
        monkeypatch.setattr(module, known, [*getattr(module, known), str(env.unwrapped)])
    api_test(env, num_cycles=400)


def test_planes_alone_leave_the_mask_to_the_info(monkeypatch: pytest.MonkeyPatch) -> None:
    """TorchRL's wrapper stops where observation and info both have a mask."""
    module = sys.modules["pettingzoo.test.api_test"]
    env, both = castle_v1.env(observation="planes"), castle_v1.env()
    monkeypatch.setattr(module, "env_all_zeros_obs",
                        [*module.env_all_zeros_obs, str(env.unwrapped)])
    api_test(env, num_cycles=100)
    env.reset(seed=1)
    both.reset(seed=1)
    for agent in env.agent_iter():
        assert env.observation_space(agent).contains(env.observe(agent))
        for seen in AGENTS:
            np.testing.assert_array_equal(env.observe(seen), both.observe(seen)["observation"])
        mask = env.infos[agent]["action_mask"]
        np.testing.assert_array_equal(mask, both.observe(agent)["action_mask"])
        action = int(mask.argmax()) if mask.any() else None
        env.step(action)
        both.step(action)


@pytest.mark.parametrize("mode", MODES)
def test_official_seeds(mode: str) -> None:
    seed_test(lambda: castle_v1.env(mode=mode))


@pytest.mark.parametrize("mode", MODES)
def test_official_rendering(mode: str) -> None:
    def make(render_mode: str) -> Any:
        return castle_v1.env(mode=mode, render_mode=render_mode)

    render_test(make, custom_tests={"svg": lambda text: text.startswith("<svg")})


def test_the_first_version_names_the_present_one() -> None:
    with pytest.raises(ImportError, match="use castle_v1"):
        from castle_env import castle_v0  # noqa: F401
    with pytest.raises(AttributeError, match="castle_v7"):
        castle_env.castle_v7  # noqa: B018


# Turns and what the agents see


@pytest.mark.parametrize("source", RULESETS, ids=name_of)
def test_games_are_those_of_the_rules_and_both_agents_see_them_at_any_time(
    source: RulesetSource
) -> None:
    game = game_of_source(source)
    for seed in range(5):
        env = played(source, [])
        position = game.initial_state()
        for action in random_game(game, seed):
            check_views(env, game, position)
            env.step(action)
            position = game.apply(position, action)
        assert all(env.terminations.values())
        check_views(env, game, position)


def check_views(env: Any, game: Game, position: Position) -> None:
    assert position_of(env) == position
    mover = AGENTS[game.current_player(position)]
    assert env.agent_selection == mover
    assert np.array_equal(env.unwrapped.state(), game.observation(position, 0))
    for player, agent in enumerate(AGENTS):
        seen = env.observe(agent)
        assert env.observation_space(agent).contains(seen)
        assert np.array_equal(seen["observation"], game.observation(position, player))
        legal = game.legal_action_mask(position)
        expected = legal if agent == mover else np.zeros_like(legal)
        assert np.array_equal(seen["action_mask"], expected)
        assert np.array_equal(env.infos[agent]["action_mask"], expected)
        assert not seen["observation"][4:8].any() or agent == mover


def test_what_a_caller_does_to_an_observation_stays_with_the_caller() -> None:
    env = played("storm", [])
    for values in (*env.observe(AGENTS[0]).values(), env.infos[AGENTS[0]]["action_mask"]):
        values[:] = 0
    assert env.observe(AGENTS[0])["observation"].any()
    assert env.observe(AGENTS[0])["action_mask"].sum() == 8
    env.step(np.argmax(env.observe(AGENTS[0])["action_mask"]))


def test_spaces_are_the_same_object_at_each_call_and_one_for_each_agent() -> None:
    env = castle_v1.env()
    for space in (env.action_space, env.observation_space):
        assert space(AGENTS[0]) is space(AGENTS[0])
        assert space(AGENTS[0]) is not space(AGENTS[1])


def test_same_seeds_same_samples_and_games() -> None:
    def games(seed: int) -> list[str]:
        env = castle_v1.env(mode="sudden_death")
        env.reset(seed=seed)
        for number, agent in enumerate(AGENTS):
            env.action_space(agent).seed(seed + number)
        positions = []
        for _ in range(60):
            mask = env.last()[0]["action_mask"]
            env.step(env.action_space(env.agent_selection).sample(mask))
            positions.append(env.unwrapped.position)
            if env.terminations[env.agent_selection]:
                env.reset()
        return positions

    assert games(1) == games(1)
    assert games(1) != games(2)


# Rewards and ends. "Nc W3" is 3:5 and "Nc Sd" 1:1, as worked out in test_env_games.


@pytest.mark.parametrize(("names", "reward", "of_player_0"), [
    ("Nc W3", "outcome", -1.0), ("Nc Sd", "outcome", 0.0), ("Nc W3", "margin", -1.0),
])
def test_the_last_move_is_rewarded_on_its_step(
    names: str, reward: Reward, of_player_0: float
) -> None:
    env = castle_v1.env(ruleset=DUEL, reward=reward)
    env.reset()
    first, second = named(env.unwrapped.game, names)
    env.step(first)
    assert list(env.rewards.values()) == [0.0, 0.0]
    env.step(second)
    assert env.rewards == {AGENTS[0]: of_player_0, AGENTS[1]: -of_player_0}
    assert list(env.terminations.values()) == [True, True]
    assert list(env.truncations.values()) == [False, False]


@pytest.mark.parametrize("source", RULESETS, ids=name_of)
def test_the_standard_loop_sees_both_final_rewards_once(source: RulesetSource) -> None:
    game = game_of_source(source)
    env = castle_v1.env(ruleset=source)
    for seed in range(6):
        actions = random_game(game, seed)
        env.reset()
        script = iter(actions)
        final: list[tuple[str, float]] = []
        for agent in env.agent_iter():
            _, reward, terminated, truncated, info = env.last()
            assert truncated is False
            if terminated:
                final.append((agent, reward))
                assert info["end_reason"] > 0
                assert game.is_terminal(position_of(env))
            else:
                assert reward == 0.0
                assert info["end_reason"] == 0
            env.step(None if terminated else next(script))
        assert env.agents == []
        assert [agent for agent, _ in final] == [AGENTS[len(actions) % 2],
                                                 AGENTS[1 - len(actions) % 2]]
        sign = np.sign(info["margin"])
        assert dict(final) == {AGENTS[0]: sign, AGENTS[1]: -sign}


def test_after_the_end() -> None:
    env = played(DUEL, named(game_of_source(DUEL), "Nc W3"))
    assert env.agent_selection == AGENTS[0]
    for left in (2, 1, 0):
        assert len(env.agents) == left
        for agent in AGENTS:
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            assert not seen["action_mask"].any()
            assert not seen["observation"][4:8].any()
        if left:
            before = snapshot(env)
            for action in (0, 2, 24):
                with pytest.raises(ValueError, match="None"):
                    env.step(action)
            assert snapshot(env) == before
            env.step(None)
    position = env.unwrapped.position
    env.step(None)
    env.step(2)
    assert (env.unwrapped.position, env.agents) == (position, [])
    env.reset()
    assert env.agents == list(AGENTS)
    assert position_of(env) == env.unwrapped.game.initial_state()


def test_two_shufflers_are_stopped_by_the_turn_limit() -> None:
    game = game_of_source("sudden-death-step")
    env = played("sudden-death-step", named(game, "Nb W5 " + "b6c6 a5a4 c6b6 a4a5 " * 30)[:119])
    assert not any(env.terminations.values())
    env.step(np.argmax(env.last()[0]["action_mask"]))
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    assert env.infos[AGENTS[0]]["end_reason"] == 3


# What is refused


@pytest.mark.parametrize("action", NO_ACTIONS, ids=repr)
def test_what_is_no_action_raises_and_changes_nothing(action: Any) -> None:
    env = played("storm", [2])
    before = snapshot(env)
    with pytest.raises(ActionError, match="is no action; allowed: one integer from 0 to 24"):
        env.step(action)
    assert snapshot(env) == before


@pytest.mark.parametrize("source", ["storm", "sudden-death"])
def test_illegal_actions_raise_and_change_nothing(source: str) -> None:
    game = game_of_source(source)
    env = played(source, [], render_mode="ansi")
    for action in random_game(game, 3)[:8]:
        before, frame = snapshot(env), env.render()
        for illegal in np.flatnonzero(env.last()[0]["action_mask"] == 0):
            with pytest.raises(IllegalActionError, match="illegal in position"):
                env.step(illegal)
        assert snapshot(env) == before
        assert env.render() == frame
        env.step(action)


def test_use_before_reset() -> None:
    env = castle_v1.env()
    for use in (lambda: env.step(2), env.render, lambda: env.observe(AGENTS[0]), env.state):
        with pytest.raises(AssertionError, match="reset"):
            use()


@pytest.mark.parametrize(("option", "value", "error"), [
    ("illegal", "win", OptionError), ("text_info", "yes", OptionError),
    ("mode", "chess", OptionError), ("mode", None, OptionError), ("mode", 0, OptionError),
    ("reward", "win", OptionError), ("render_mode", "4k", OptionError),
    ("observation_dtype", "f4", OptionError),
    ("ruleset", "chess", RulesetError), ("ruleset", {"mode": "chess"}, RulesetError),
])
def test_options_that_are_not_allowed(option: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        castle_v1.env(**{option: value})
    assert ("chess" if isinstance(value, dict) else str(value)) in str(caught.value)


# Copies


def through_pickle(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("mode", [None, "human", "rgb_array", "ansi", "svg"])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, through_pickle])
def test_copies_in_the_middle_of_a_game_live_apart(
    duplicate: Callable[[Any], Any], mode: str | None
) -> None:
    actions = random_game(game_of_source("sudden-death"), 5)
    env = played("sudden-death", actions[:9], render_mode=mode)
    for agent in AGENTS:
        env.action_space(agent).seed(1)
    frame: Any = env.render() if mode else None
    twin = duplicate(env)
    before = snapshot(env)
    assert snapshot(twin) == before
    for agent in AGENTS:
        assert twin.action_space(agent).sample() == env.action_space(agent).sample()
    if mode:
        assert np.array_equal(twin.render(), frame)
    for action in actions[9:]:
        twin.step(action)
    assert all(twin.terminations.values())
    assert snapshot(env) == before
    for action in actions[9:]:
        env.step(action)
    assert snapshot(env) == snapshot(twin)
    env.close()
    twin.close()
