"""The agents that come with the package: small, whole, and stronger than before their training."""

import subprocess
from functools import cache
from importlib import resources
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

from agents.networks import load_policy
from agents.networks.agent import NetworkAgent
from agents.networks.checkpoint import CheckpointError, load_checkpoint
from agents.networks.network import NetworkConfig, build_network
from agents.networks.policy import Policy
from agents.networks.shipped import SHIPPED, shipped_path
from castle_env import AgentError, Game, load_ruleset, make_agent
from castle_env.agent import Agent
from castle_env.position import stack
from experiments.measure.match import play_match
from experiments.measure.records import summarise
from experiments.measure.truth_set import shipped_truth_set

PROJECT = Path(__file__).parents[1]
GAMES = {name: Game(load_ruleset("storm" if name.endswith("storm") else "sudden-death"))
         for name in SHIPPED}
STORM_AGENTS = [name for name in SHIPPED if name.endswith("storm")]


@cache
def card(name: str) -> dict:
    return load_checkpoint(shipped_path(name)).card


def untrained(name: str) -> Agent:
    """The agent's network before training: the same shape, weights of the same seed."""
    torch.manual_seed(card(name)["seed"])
    network = build_network(GAMES[name], NetworkConfig(**card(name)["network"]))
    return NetworkAgent("untrained", Policy(GAMES[name], network, card(name)["reward"]))


@pytest.mark.parametrize("name", SHIPPED)
def test_files_are_small_and_hold_weights_alone(name):
    """At most 2 MB; `load_checkpoint` reads without pickles and checks the SHA-256."""
    checkpoint = load_checkpoint(shipped_path(name))
    assert checkpoint.path.stat().st_size <= 2_000_000
    assert list(checkpoint.tensors) == ["policy"]


@pytest.mark.parametrize("name", SHIPPED)
def test_cards_say_how_the_agents_were_made(name):
    found = card(name)
    assert found["command"].startswith("castle train ")
    assert "/" not in found["command"]
    assert found["algorithm"] == name.partition("-")[0]
    assert 0 < found["hours"] <= 1
    assert found["ruleset_digest"] == GAMES[name].rules.digest
    panel = {"random", "greedy", "alphabeta:2", "alphabeta:4"}
    assert {row["opponent"] for row in found["results"]} == panel
    assert {row["opponent"] for row in found["untrained"]["rows"]} == panel
    assert found["untrained"]["steps"] == 0


@pytest.mark.parametrize("name", SHIPPED)
def test_cards_name_a_commit_of_the_history_and_a_clean_tree(name):
    commit = card(name)["environment"]["git_commit"]
    if not (PROJECT / ".git").exists():
        pytest.skip("no git history here")
    known = subprocess.run(["git", "-C", PROJECT, "merge-base", "--is-ancestor", commit, "HEAD"],
                           check=False, capture_output=True)
    assert known.returncode == 0, commit


def points(game: Game, agent: Agent, opponent: str) -> float:
    """Share of the points in 400 games, with a standard error of at most 2.5 percent."""
    records = play_match(game, (agent, make_agent(opponent, game)), 400, 4)
    return summarise(records, agent.name, opponent).rows[-1].win_rate.estimate


@pytest.mark.parametrize("name", SHIPPED)
def test_training_gained_much_against_random_and_greedy(name):
    game = GAMES[name]
    agent, before = make_agent(name, game), untrained(name)
    assert points(game, agent, "random") >= 0.95
    gain = 0.35 if name in STORM_AGENTS else 0.3
    assert points(game, agent, "greedy") - points(game, before, "greedy") >= gain


@pytest.mark.parametrize("name", STORM_AGENTS)
def test_training_gained_a_point_of_regret(name):
    truth, rng = shipped_truth_set(), np.random.default_rng(0)
    regrets = [truth.regrets[np.arange(len(truth)), agent.select_actions(truth.states, rng)].mean()
               for agent in (untrained(name), make_agent(name, GAMES[name]))]
    assert regrets[0] - regrets[1] >= 1.0


@pytest.mark.parametrize("name", SHIPPED)
def test_the_plain_loop_of_gymnasium_plays_the_same_moves(name):
    """From `gym.make`, `make_vec` and positions alike."""
    game, policy, agent = GAMES[name], load_policy(name), make_agent(name, GAMES[name])
    env = gym.make("castle_env/Castle-v1", ruleset=game.rules, opponent="random", seat="random")
    observation, info = env.reset(seed=3)
    ended, rng = False, np.random.default_rng(0)
    while not ended:
        action, _ = policy.predict(observation, action_masks=info["action_mask"])
        state = game.parse_position(env.unwrapped.position)
        assert action == agent.select_actions(stack([state]), rng)[0]
        observation, _, ended, _, info = env.step(action)
    envs = gym.make_vec("castle_env/Castle-v1", num_envs=8, ruleset=game.rules, opponent=None)
    observations, info = envs.reset(seed=3)
    for _ in range(6):
        actions, _ = policy.predict(observations, action_masks=info["action_mask"])
        assert np.array_equal(actions, agent.select_actions(envs.unwrapped.states, rng))
        observations, _, _, _, info = envs.step(envs.action_space.sample())


@pytest.mark.parametrize("suffix", ["", ":sample", "+search:8"])
@pytest.mark.parametrize("name", SHIPPED)
def test_names(name, suffix):
    game = GAMES[name]
    agent = make_agent(name + suffix, game)
    assert agent.name == name + suffix
    assert len(play_match(game, (agent, make_agent("random", game)), 4, 2)) == 4


@pytest.mark.parametrize("suffix", [":best", ":sample+search:8", "+search:0", "+search", "+tree:8"])
def test_other_names_are_refused(suffix):
    with pytest.raises(AgentError, match="allowed"):
        make_agent("ppo-storm" + suffix, GAMES["ppo-storm"])


def test_an_agent_plays_its_own_rules_only():
    with pytest.raises(CheckpointError, match=r"'storm'.*'sudden-death'"):
        make_agent("ppo-storm", GAMES["ppo-sudden-death"])


def test_every_weight_file_has_an_entry_point_and_a_card():
    files = {file.name for file in (resources.files("agents") / "data").iterdir()}
    assert {name.removesuffix(".pt") for name in files if name.endswith(".pt")} == set(GAMES)
    assert {f"{name}.json" for name in GAMES} <= files
