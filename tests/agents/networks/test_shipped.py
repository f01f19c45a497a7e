"""The agents that come with the package: small, whole, and far better than before they learned."""

import re
import subprocess
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from narrow import narrow

from agents.networks import load_policy
from agents.networks.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from agents.networks.shipped import SHIPPED, shipped_path
from agents.training.config import CONFIGS
from agents.training.learners import make_learner
from castle_env import Agent, AgentError, Game, load_ruleset, make_agent
from castle_env.env import CastleEnv
from castle_env.position import stack
from castle_env.vector_env import CastleVectorEnv
from experiments.measure.match import PANEL, play_match
from experiments.measure.panel import RegretMeter
from experiments.measure.records import summarise

GAMES = {mode: Game(load_ruleset(mode)) for mode in ("storm", "sudden-death")}
IDS = {"storm": "castle_env/Storm-v1", "sudden-death": "castle_env/SuddenDeath-v1"}
# Least gain in points against greedy, and in storm in VP of regret; least score against random.
POINTS = {"storm": 0.35, "sudden-death": 0.30}
LESS_REGRET = 1.0
AGAINST_RANDOM = 0.95


def mode_of(name: str) -> str:
    return name.partition("-")[2]


def checkpoint_of(name: str) -> Checkpoint:
    return load_checkpoint(shipped_path(name), GAMES[mode_of(name)])


def untrained(name: str) -> Agent:
    """The agent as it was before its first step: from the seed and config of its card."""
    card = checkpoint_of(name).card
    config = CONFIGS[card["algorithm"]].from_dict(card["config"])
    assert config.seed == card["seed"]
    learner = make_learner(GAMES[mode_of(name)], replace(config, device="cpu", num_envs=16))
    return learner.current_agent()


def score(agent: Agent, opponent: str, mode: str, games: int) -> float:
    """Share of the points from both seats after four random plies."""
    game = GAMES[mode]
    records = play_match(game, (agent, make_agent(opponent, game)), games, 4, seed=1)
    return summarise(records, agent.name, opponent).rows[-1].win_rate.estimate


@pytest.mark.parametrize("name", SHIPPED)
def test_files_are_small_and_hold_weights_alone(name: str) -> None:
    """At most 2 MB; `load_checkpoint` reads without pickles and checks the SHA-256."""
    checkpoint = checkpoint_of(name)
    assert checkpoint.path.stat().st_size <= 2_000_000
    assert list(checkpoint.tensors) == ["policy"]


def check_rows(rows: list[dict[str, Any]]) -> None:
    """Results against the whole panel."""
    assert {row["opponent"] for row in rows} == set(PANEL)


def runs_of(card: dict[str, Any]) -> list[dict[str, Any]]:
    """The run that ended with a network, and back to the one that began with an untrained one."""
    return [card, *(runs_of(card["init_from"]) if "init_from" in card else ())]


@pytest.mark.parametrize("name", SHIPPED)
def test_cards_say_how_the_agents_were_made(name: str) -> None:
    """Command, commit, seed, hours, results, and those of the untrained network beside them."""
    card = checkpoint_of(name).card
    assert card["command"].startswith("castle train --")
    assert "/" not in card["command"]
    assert card["hours"] > 0  # with the time in which other programs held the cores
    assert 0 < sum(run["cpu_minutes"] for run in runs_of(card)) <= 120
    assert card["algorithm"] == name.partition("-")[0]
    assert re.fullmatch("[0-9a-f]{40}", card["environment"]["git_commit"])
    assert card["ruleset_digest"] == GAMES[mode_of(name)].rules.digest
    assert card["steps"] >= card["config"]["steps"]
    assert card["device"] != "auto"
    check_rows(card["results"])
    assert all(row["agent"] == name for row in card["results"])
    first, last = runs_of(card)[-1]["evaluations"][0], card["evaluations"][-1]
    assert (first["steps"], last["steps"]) == (0, card["steps"])
    for evaluation in (first, last):
        check_rows(evaluation["rows"])
        assert (evaluation["regret"] is not None) == (mode_of(name) == "storm")


@pytest.mark.parametrize("name", SHIPPED)
def test_the_commit_of_a_card_is_in_the_history(name: str) -> None:
    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *arguments], cwd=Path(__file__).parent, text=True,
                              capture_output=True, check=False)

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("no checkout with its whole history")
    for run in runs_of(checkpoint_of(name).card):
        commit = run["environment"]["git_commit"]
        assert git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0


@pytest.mark.parametrize("name", SHIPPED)
def test_what_an_agent_has_learned(name: str) -> None:
    """Hundreds of games each, and bounds far from what is measured: luck does not decide."""
    mode = mode_of(name)
    agent, before = make_agent(name, GAMES[mode]), untrained(name)
    gain = score(agent, "greedy", mode, 400) - score(before, "greedy", mode, 400)
    assert gain >= POINTS[mode]
    assert score(agent, "random", mode, 600) >= AGAINST_RANDOM
    if mode == "storm":
        meter = RegretMeter(GAMES[mode], 12, 1)
        assert (meter.measure(before).estimate
                - meter.measure(agent).estimate) >= LESS_REGRET


@pytest.mark.parametrize("name", SHIPPED)
def test_a_plain_loop_plays_the_moves_of_the_agent(name: str) -> None:
    """From `gym.make`, `make_vec` and positions, with what the environment shows alone."""
    mode = mode_of(name)
    policy, agent, rng = load_policy(name), make_agent(name, GAMES[mode]), np.random.default_rng(0)
    env, moves = narrow(gym.make(IDS[mode], opponent="greedy").unwrapped, CastleEnv), 0
    for seed in range(2):
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            states = stack([env.state])
            action, _ = policy.predict(observation, action_masks=info["action_mask"])
            assert action == agent.select_actions(states, rng)[0]
            observation, _, over, _, info = env.step(action)
            moves += 1
    assert moves >= 12
    envs = narrow(gym.make_vec(IDS[mode], num_envs=8, opponent=None), CastleVectorEnv)
    observations, info = envs.reset(seed=1)
    for _ in range(10):
        masks, states = info["action_mask"], envs.states
        pairs = zip(policy.evaluate(observations, masks), policy.evaluate_states(states),
                    strict=True)
        assert all(np.array_equal(*pair) for pair in pairs)
        actions = policy.predict(observations, action_masks=masks)[0]
        assert np.array_equal(actions, agent.select_actions(states, rng))
        observations, _, _, _, info = envs.step(actions)


@pytest.mark.parametrize("suffix", ["", ":sample", "+search:8"])
@pytest.mark.parametrize("name", SHIPPED)
def test_names(name: str, suffix: str) -> None:
    game = GAMES[mode_of(name)]
    agent = make_agent(name + suffix, game)
    assert agent.name == name + suffix
    assert len(play_match(game, (agent, make_agent("random", game)), 4, 2)) == 4


@pytest.mark.parametrize("suffix", [":best", ":sample+search:8", "+search:0", "+search", "+tree:8"])
@pytest.mark.parametrize("name", SHIPPED)
def test_other_names_are_refused(name: str, suffix: str) -> None:
    with pytest.raises(AgentError, match="allowed"):
        make_agent(name + suffix, GAMES[mode_of(name)])


@pytest.mark.parametrize("name", ["ppo-storm", "az-storm"])
def test_an_agent_plays_its_own_rules_only(name: str) -> None:
    with pytest.raises(CheckpointError, match=r"'storm'.*'sudden-death'"):
        make_agent(name, GAMES["sudden-death"])


def test_every_weight_file_has_an_entry_point_and_a_card() -> None:
    files = {file.name for file in (resources.files("agents") / "data").iterdir()}
    assert {name.removesuffix(".pt") for name in files if name.endswith(".pt")} == set(SHIPPED)
    assert {f"{name}.json" for name in SHIPPED} <= files
