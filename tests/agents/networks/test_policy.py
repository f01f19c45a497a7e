"""Policies: the same answers from environments and positions, in documented units."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from narrow import narrow
from scripted import game_of_source, positions_of
from torch import nn

from agents.networks import load_policy
from agents.networks.checkpoint import CheckpointError, save_checkpoint
from agents.networks.network import NetworkConfig, build_network
from agents.networks.policy import Policy
from castle_env import OptionError, make_agent
from castle_env.env import CastleEnv
from castle_env.observation import OBSERVATION_SHAPE
from castle_env.position import stack
from castle_env.vector_env import CastleVectorEnv

IDS = {"storm": "castle_env/Storm-v1", "sudden-death": "castle_env/SuddenDeath-v1"}
KINDS = ("lanes", "lines")


@pytest.fixture(scope="module", params=[(name, kind) for name in IDS for kind in KINDS],
                ids="-".join)
def saved(request: Any, tmp_path_factory: Any) -> tuple[str, Path]:
    """A ruleset's name and the file of a network with opinions of its own."""
    name, kind = request.param
    game, config = game_of_source(name), NetworkConfig(kind, 4, 1, 8)
    path: Path = tmp_path_factory.mktemp(name) / "network.pt"
    with torch.random.fork_rng():
        torch.manual_seed(1)
        network = build_network(game, config)
        nn.init.normal_(network.get_parameter("policy.weight"))
    save_checkpoint(path, {"policy": network.state_dict()}, game,
                    {"config": {}, "network": config._asdict(), "reward": "margin"})
    return name, path


def play(policy: Policy, agent: Any, name: str) -> int:
    """Play some games with `predict`; the number of moves, each of which is the agent's too."""
    env = narrow(gym.make(IDS[name], opponent="greedy").unwrapped, CastleEnv)
    moves, rng = 0, np.random.default_rng(0)
    for seed in range(4):
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            state = stack([env.state])
            action, _ = policy.predict(observation, action_masks=info["action_mask"])
            if policy.game.legal_action_masks(state).any():  # else a pass after the end
                assert action == agent.select_actions(state, rng)[0]
            observation, _, over, _, info = env.step(action)
            moves += 1
    return moves


def test_a_plain_loop_plays_the_moves_of_the_agent(saved: tuple[str, Path]) -> None:
    name, path = saved
    assert play(load_policy(path), make_agent(f"ppo:{path}", game_of_source(name)), name) >= 24


def test_batched_environments_and_positions_give_the_same(saved: tuple[str, Path]) -> None:
    name, path = saved
    policy = load_policy(path)
    agent, rng = make_agent(f"ppo:{path}", policy.game), np.random.default_rng(0)
    envs = narrow(gym.make_vec(IDS[name], num_envs=16, opponent=None, autoreset_mode="SameStep"),
                  CastleVectorEnv)
    observations, info = envs.reset(seed=3)
    for _ in range(20):
        masks, states = info["action_mask"], envs.states
        by_env, by_state = policy.evaluate(observations, masks), policy.evaluate_states(states)
        assert all(np.array_equal(*pair) for pair in zip(by_env, by_state, strict=True))
        actions, _ = policy.predict(observations, action_masks=masks)
        assert np.array_equal(actions, agent.select_actions(states, rng))
        assert masks[np.arange(16), actions].all()
        observations, _, _, _, info = envs.step(
            np.where(rng.random(16) < 0.5, actions, policy.game.random_actions(states, rng)))


def test_probabilities_are_those_of_legal_actions(saved: tuple[str, Path]) -> None:
    policy = load_policy(saved[1])
    observations, masks = policy.game.encode(stack(positions_of(policy.game, 50, 1, 0.3)))
    probabilities, values = policy.evaluate(observations, masks)
    assert probabilities.dtype == values.dtype == np.float32
    assert probabilities.shape == masks.shape
    assert values.shape == (50,)
    assert (probabilities[masks == 0] == 0).all()
    assert probabilities.sum(axis=1) == pytest.approx(1)
    best = policy.predict(observations, action_masks=masks)[0]
    assert probabilities[np.arange(50), best] == pytest.approx(probabilities.max(axis=1))
    # One position alone, as a batch of one or without the first axis.
    assert policy.predict(observations[7], action_masks=masks[7])[0] == best[7]
    assert policy.predict(observations[7:8], action_masks=masks[7:8])[0].tolist() == [best[7]]


def test_drawn_actions_follow_the_probabilities(saved: tuple[str, Path]) -> None:
    policy = load_policy(saved[1])
    observations, masks = policy.game.encode(stack(positions_of(policy.game, 1, 1, 0.3) * 10_000))
    probabilities = policy.evaluate(observations[:1], masks[:1])[0][0]
    rng = np.random.default_rng(2)
    drawn, _ = policy.predict(observations, deterministic=False, action_masks=masks, rng=rng)
    shares = np.bincount(drawn, minlength=len(probabilities)) / len(drawn)
    assert abs(shares - probabilities).max() < 0.03  # six standard deviations or more
    assert not shares[masks[0] == 0].any()


@pytest.mark.parametrize(("reward", "factor"), [("margin", 16), ("outcome", 1), ("own:reward", 1)])
def test_values_are_in_units_of_the_reward(reward: str, factor: int) -> None:
    """Victory Points for margins; other rewards are as the network gives them."""
    game = game_of_source("storm")
    policy = Policy(game, build_network(game, NetworkConfig()), reward)
    states = stack(positions_of(game, 20, 1, 0.3))
    _, values = policy.evaluate_states(states)
    assert values == pytest.approx(factor * policy.look_at(states)[1])
    assert values.any()


def test_what_cannot_be_evaluated_is_refused(saved: tuple[str, Path]) -> None:
    policy = load_policy(saved[1])
    planes, masks = policy.game.encode(policy.game.initial_states(2))
    for observations, legal in ((planes[:1], masks), (planes[:, :17], masks),
                                (planes.reshape(2, -1), masks), (planes, masks[:, :-1]),
                                (planes[0], masks[0]), (planes, masks[0])):
        with pytest.raises(OptionError, match=r"allowed: \(n, 18, 6, 6\) and \(n, "):
            policy.evaluate(observations, legal)
    with pytest.raises(OptionError, match="without a legal action"):
        policy.evaluate(planes, masks * [[1], [0]])
    with pytest.raises(OptionError, match="observations are uint8; allowed: float32"):
        policy.evaluate(planes.astype(np.uint8), masks)
    with pytest.raises(OptionError, match="action_masks is None"):
        policy.predict(planes[0])
    assert planes.shape[1:] == OBSERVATION_SHAPE


def test_a_policy_knows_its_rules(saved: tuple[str, Path]) -> None:
    name, path = saved
    assert load_policy(path).game.rules == game_of_source(name).rules
    other = next(other for other in IDS if other != name)
    with pytest.raises(CheckpointError, match=f"'{name}'.*'{other}'"):
        load_policy(path, game_of_source(other))
