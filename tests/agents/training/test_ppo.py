"""The learner and its opponents in self-play: legal, measured by a fixed panel, and themselves."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from board_maps import moved
from narrow import narrow, present
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from scipy.stats import chisquare
from scripted import Indices, game_of_source, positions_of
from small_runs import POOL, ROLLOUT, config, quiet_learner, run, same, training_state
from stable_baselines3.common.monitor import Monitor

from agents.networks.agent import NetworkAgent
from agents.networks.checkpoint import load_checkpoint
from agents.networks.sb3_policy import LearnerPolicy
from agents.training.config import PPOConfig
from agents.training.opponent_pool import LEAST_WEIGHT, OpponentPool, Sampling
from agents.training.ppo import PPOLearner
from agents.training.sb3_env import SB3VecEnv
from castle_env import Agent, BaseAgent, Game, load_ruleset, make_agent
from castle_env.position import PositionArray, stack, unstack
from castle_env.vector_env import CastleVectorEnv
from experiments.measure.match import PANEL, play_match
from experiments.measure.panel import learn
from experiments.measure.records import summarise
from experiments.report.run_report import draw_learning

GAMES = {name: Game(load_ruleset(name)) for name in ("storm", "sudden-death")}
STORM = GAMES["storm"]
IDS = {"storm": "castle_env/Storm-v1", "sudden-death": "castle_env/SuddenDeath-v1"}

LONGER = config(steps=10_240, num_envs=64, n_steps=16, batch_size=256, n_epochs=4,
                learning_rate=5e-3, channels=8, hidden=16, vf_coef=8.0, reward="margin",
                snapshot_every=5120, checkpoint_every=5120)
SETTINGS = {"self": LONGER, "pool": replace(LONGER, **POOL)}


@dataclass(frozen=True)
class Trained:
    """A game and the folder of a run that has learned something, with the run's settings."""

    game: Game
    folder: Path
    settings: PPOConfig

    def resumed(self) -> PPOLearner:
        """The run in memory."""
        learner = quiet_learner(self.game, self.settings)
        learner.set_state(load_checkpoint(self.folder, self.game).tensors)
        return learner


@pytest.fixture(scope="module", params=zip(GAMES, SETTINGS, strict=True), ids="-".join)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    name, opponents = request.param
    done = Trained(GAMES[name], tmp_path_factory.mktemp(name), SETTINGS[opponents])
    run(done.game, done.settings, done.folder)
    return done


def positions(game: Game, count: int) -> PositionArray:
    """Positions of random games that are not over."""
    states, rng = game.initial_states(count), np.random.default_rng(0)
    plies = rng.integers(2 * game.rules.factions_per_player - 2, size=count)
    for ply in range(int(plies.max())):
        going_on = plies > ply
        actions = game.random_actions(states[going_on], rng)
        states[going_on] = game.apply_actions(states[going_on], actions)
    return states


# Evaluation


class Counting(BaseAgent):
    """An agent whose moves are counted, the illegal ones apart."""

    def __init__(self, agent: Agent, game: Game) -> None:
        self.name, self.moves, self.illegal = agent.name, 0, 0
        self._agent, self._game = agent, game

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Indices:
        actions = self._agent.select_actions(states, rng)
        masks = self._game.legal_action_masks(states)
        self.moves += len(actions)
        self.illegal += int((masks[np.arange(len(actions)), actions] != 1).sum())
        return actions


@pytest.mark.parametrize("suffix", ["", ":sample"])
def test_no_illegal_move_in_matches(trained: Trained, suffix: str) -> None:
    """An evaluation that forgets the masks draws illegal actions, and says nothing."""
    game = trained.game
    agent = Counting(make_agent(f"ppo:{trained.folder}{suffix}", game), game)
    play_match(game, (agent, make_agent("random", game)), 100, 2)
    assert agent.moves > 500
    assert agent.illegal == 0


def test_no_illegal_move_in_maskable_evaluate_policy(trained: Trained) -> None:
    """Through `gymnasium.make` and `Monitor`, and on the batched env."""
    name = "storm" if trained.game is STORM else "sudden-death"
    model, moves = trained.resumed().model, []

    def count(variables: dict[str, Any], _: dict[str, Any]) -> None:
        masks, actions = variables["action_masks"], variables["actions"]
        moves.extend(masks[np.arange(len(actions)), actions])

    for env in (Monitor(gymnasium.make(IDS[name], opponent="greedy")),
                SB3VecEnv(CastleVectorEnv(4, name, autoreset_mode="SameStep"))):
        del moves[:]
        found: tuple[Any, Any] = evaluate_policy(
            model, env, 20, deterministic=False, callback=count, return_episode_rewards=True,
            warn=isinstance(env, Monitor))
        rewards, lengths = found
        assert len(moves) >= sum(lengths) > 100
        assert moves.count(1) == len(moves)
        assert set(rewards) <= {-1, 0, 1}


def test_learner_gets_better_than_random_from_both_seats(trained: Trained) -> None:
    """The trained network and a past self of it do better in each seat than chance."""
    game, pool = trained.game, trained.resumed().pool
    chance = make_agent("random", game)
    past_selves = list(pool.past_selves().values())[-1:] if pool else []
    by_chance = summarise(play_match(game, (chance, chance), 800, 1), "random", "random").rows
    for agent in (make_agent(f"ppo:{trained.folder}", game), *past_selves):
        rows = summarise(play_match(game, (agent, chance), 400, 1), agent.name, "random").rows
        for row, even in zip(rows, by_chance, strict=False):
            assert row.seat == even.seat
            assert row.win_rate.low > even.win_rate.estimate


def test_panel_is_always_part_of_the_evaluation(tmp_path: Path) -> None:
    """Whoever is in the pool; in storm the exact regret as well."""
    game = game_of_source({"mode": "storm", "factions_per_player": 5})
    steps, evaluations = learn(game, config(evaluate_every=2 * ROLLOUT, evaluation_games=4,
                                            regret_positions=2), tmp_path)
    assert PANEL == ("random", "greedy", "alphabeta:2", "alphabeta:4")
    assert [evaluation["steps"] for evaluation in evaluations] == [0, 256, 512]
    for evaluation in evaluations:
        assert tuple(row["opponent"] for row in evaluation["rows"]) == PANEL
        assert all(row["distinct_games"] == 4 for row in evaluation["rows"])
        regret = evaluation["regret"]
        assert 0 <= regret["low"] <= regret["estimate"] <= regret["high"]
    assert evaluations[0]["regret"]["estimate"] > 0
    assert load_checkpoint(tmp_path).card["results"]["evaluations"] == evaluations
    assert steps == 512


def test_a_regret_whose_interval_is_not_known_is_reported(tmp_path: Path) -> None:
    """One position says nothing of how sure its regret is, and must not stop the report."""
    game = game_of_source({"mode": "storm", "factions_per_player": 1})
    settings = config(steps=ROLLOUT, evaluation_games=2, regret_positions=1)
    _, evaluations = learn(game, settings, tmp_path)
    assert evaluations[-1]["regret"]["low"] is None
    shown = draw_learning(tmp_path, "learning", "ppo", json.loads(json.dumps(evaluations)))
    assert re.search(r"its regret from \d+\.\d\d to \d+\.\d\d VP per move", shown)
    assert re.search(r"^\| before training \|.* \d+\.\d\d \|$", shown, re.MULTILINE)
    assert (tmp_path / "learning-regret.png").is_file()


@pytest.mark.parametrize("opponents", [{}, POOL], ids=["self", "pool"])
def test_evaluation_leaves_training_alone(tmp_path: Path, opponents: dict[str, Any]) -> None:
    """With and without evaluations the same weights, games, pool and random numbers."""
    for name, every in (("often", 1), ("rarely", 10**9)):
        (tmp_path / name).mkdir()
        learn(STORM, config(evaluate_every=every, evaluation_games=6, **opponents), tmp_path / name)
    assert same(training_state(tmp_path / "often"), training_state(tmp_path / "rarely"))
    assert len(load_checkpoint(tmp_path / "often").card["results"]["evaluations"]) == 5


# Opponents


def test_a_loaded_agent_has_the_weights_of_its_file(trained: Trained) -> None:
    """A model that is loaded without its weights plays on and says nothing."""
    for path in sorted((trained.folder / "checkpoints").glob("*.pt")):
        agent = narrow(make_agent(f"ppo:{path}", trained.game), NetworkAgent)
        assert same(dict(agent.policy.network.state_dict()),
                    dict(torch.load(path, weights_only=True)["policy"]))
    newest = narrow(make_agent(f"ppo:{trained.folder}", trained.game), NetworkAgent)
    assert same(newest.policy.network.state_dict(), agent.policy.network.state_dict())


def test_actions_vary_over_positions_and_are_the_most_probable_ones(trained: Trained) -> None:
    """Not one action everywhere, and what the model thinks best from all sides."""
    game, model = trained.game, trained.resumed().model
    states = positions(game, 300)
    agent = make_agent(f"ppo:{trained.folder}", game)
    actions = agent.select_actions(states, np.random.default_rng(0))
    seen = np.zeros((len(states), game.num_actions))
    for square_map, action_map in game.symmetries():
        images = stack([moved(state, square_map.tolist()) for state in unstack(states)])
        seen += np.log(probabilities_of(model, game, images) + 1e-30)[:, action_map]
    best = seen[np.arange(len(states)), actions]
    assert np.allclose(best, seen.max(axis=1), atol=1e-3)
    assert len(set(actions.tolist())) > 10


def probabilities_of(model: Any, game: Game, states: PositionArray) -> Any:
    """What a model of Stable-Baselines3 gives to each action, shape (n, num_actions)."""
    observations, masks = game.encode(states)
    with torch.no_grad():
        distribution = model.policy.get_distribution(torch.as_tensor(observations), masks)
    return distribution.distribution.probs.numpy().astype(np.float64)


def test_sampled_actions_follow_the_policy(trained: Trained) -> None:
    """In the position of which it is least sure."""
    game, states = trained.game, positions(trained.game, 50)
    agent = make_agent(f"ppo:{trained.folder}:sample", game)
    seen = probabilities_of(trained.resumed().model, game, states)
    unsure = int((seen ** 2).sum(axis=1).argmin())
    state, probabilities = states[unsure:unsure + 1], seen[unsure]
    masks = game.legal_action_masks(state)
    likely = probabilities > 0.005
    actions = agent.select_actions(np.repeat(state, 20_000), np.random.default_rng(1))
    counts = np.bincount(actions, minlength=game.num_actions)
    assert not counts[masks[0] == 0].any()
    assert likely.sum() > 1
    expected = probabilities[likely] / probabilities[likely].sum() * counts[likely].sum()
    assert chisquare(counts[likely], expected).pvalue > 1e-6


@pytest.mark.parametrize("masked", [True, False])
def test_gradients_are_those_of_the_distributions_of_sb3(masked: bool) -> None:
    """Values, log-probabilities, entropies, and what the network learns from each of them."""
    model = quiet_learner(STORM, config()).model
    policy = present(narrow(model.policy, LearnerPolicy))
    rng = np.random.default_rng(7)
    states = stack(positions_of(STORM, count=40, seed=7, share=0.2))
    planes, masks = STORM.encode(states)
    actions = torch.as_tensor(STORM.random_actions(states, rng))
    given: Any = masks if masked else None
    found = []
    for evaluate in (policy.evaluate_actions, super(LearnerPolicy, policy).evaluate_actions):
        outputs = evaluate(torch.as_tensor(planes), actions, given)
        found.append([*outputs, *(
            gradient for output in outputs for gradient in torch.autograd.grad(
                present(output).pow(2).sum(), list(policy.network.parameters()),
                retain_graph=True, materialize_grads=True))])
    for mine, its in zip(*found, strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-3, atol=3e-5)


def test_past_selves_are_copies_that_do_not_learn_on(tmp_path: Path) -> None:
    """A snapshot every two rollouts, each of them the learner of that moment."""
    run(STORM, config(steps=8 * ROLLOUT, checkpoint_every=ROLLOUT, pool_size=2, **POOL), tmp_path)
    tensors = load_checkpoint(tmp_path).tensors
    results = tensors["pool"]["results"]
    active = [results[number][0] for number in tensors["pool"]["active"]]
    assert active == ["self", "random", "greedy", "step-768", "step-1024"]
    assert set(tensors["pool"]["active"][3:]) <= set(tensors["snapshots"])
    for number, weights in tensors["snapshots"].items():
        steps = int(results[number][0].removeprefix("step-"))
        file = tmp_path / "checkpoints" / f"step-{steps:010d}.pt"
        assert same(dict(weights), dict(load_checkpoint(file).tensors["policy"]))
    one, other = (tensors["snapshots"][number] for number in tensors["pool"]["active"][3:])
    changed = [name for name in one if not torch.equal(one[name], other[name])]
    assert len(changed) >= len(one) - 1  # nobody passes in storm


def test_opponents_in_unfinished_games_outlive_their_place_in_the_pool() -> None:
    agents = [make_agent("random", STORM) for _ in range(6)]
    pool = OpponentPool(agents[:1], 2)
    for agent, in_use in zip(agents[1:5], ([], [], [1], [1]), strict=True):
        pool.add_snapshot(agent, np.array([0, *in_use]))
    assert sorted(pool.members) == [0, 1, 3, 4]
    assert [member.agent for member in pool.active()] == [agents[0], agents[3], agents[4]]
    assert set(pool.sample(1000, np.random.default_rng(0)).tolist()) == {0, 3, 4}
    pool.add_snapshot(agents[5], np.array([0]))
    assert sorted(pool.members) == [0, 4, 5]
    assert pool.past_selves() == {4: agents[4], 5: agents[5]}


def test_results_against_opponents_are_averaged_and_nobody_is_forgotten() -> None:
    pool = OpponentPool([make_agent(name, STORM) for name in ("random", "greedy")], 1)
    pool.members[0].record(np.array([1.0, 1.0, 0.5, 1.0]))
    assert pool.table()[0] == {"name": "random", "games": 4, "average": 0.875}
    pool.members[0].record(np.ones(5000))
    assert pool.members[0].average > 0.999
    probabilities = pool.probabilities()
    assert LEAST_WEIGHT / 2 < probabilities[0] < probabilities[1]


def pool_of(sampling: Sampling, averages: list[float], snapshots: int) -> OpponentPool:
    """Two baselines, some past selves, and the learner's average result against each of them."""
    agents = [make_agent("random", STORM) for _ in averages]
    pool = OpponentPool(agents[:len(agents) - snapshots], 3, sampling)
    for agent in agents[len(agents) - snapshots:]:
        pool.add_snapshot(agent, np.array([0]))
    for member, average in zip(pool.active(), averages, strict=True):
        member.average = average
    return pool


@pytest.mark.parametrize(("sampling", "averages", "snapshots", "weights"), [
    ("prioritised", [0.5, 0.9, 0.2, 1.0, 0.0], 3, [0.25, 0.09, 0.16, LEAST_WEIGHT, LEAST_WEIGHT]),
    ("uniform", [0.5, 0.9, 0.2, 1.0, 0.0], 3, [1, 1, 1, 1, 1]),
    ("latest", [0.5, 0.9, 0.2, 1.0, 0.0], 3, [0, 0, 0, 0, 1]),
    ("latest", [0.1, 0.9], 0, [1, 0]),
])
def test_opponents_are_drawn_as_the_sampling_says(
    sampling: Sampling, averages: list[float], snapshots: int, weights: list[float]
) -> None:
    pool = pool_of(sampling, averages, snapshots)
    expected = np.array(weights) / np.sum(weights)
    assert pool.probabilities() == pytest.approx(expected)
    drawn = np.bincount(pool.sample(20_000, np.random.default_rng(0)), minlength=len(averages))
    possible = expected > 0
    assert not drawn[~possible].any()
    assert possible.sum() == 1 or chisquare(drawn[possible],
                                            20_000 * expected[possible]).pvalue > 1e-6


def test_new_games_are_against_whom_the_pool_draws() -> None:
    """The newest past self alone once there is one, in games that start from then on."""
    learner = quiet_learner(STORM, config(opponents="latest"))
    learner.model.learn(ROLLOUT)
    assert not learner.env.opponents.any()
    learner.add_snapshot()
    newest = max(present(learner.pool).past_selves())
    learner.model.learn(2 * ROLLOUT, reset_num_timesteps=False)  # longer than any game of storm
    assert (learner.env.opponents == newest).all()


@pytest.mark.parametrize("name", ["storm", "sudden-death"])
@pytest.mark.parametrize("kind", ["lanes", "lines", "convolution", "dense"])
def test_the_same_is_played_in_all_images_of_a_position(name: str, kind: str) -> None:
    """Under a symmetry of the board, an agent's most probable action is the image of itself."""
    game = Game(load_ruleset(name))
    agent = quiet_learner(game, config(network=kind)).current_agent()
    states, rng = game.initial_states(64), np.random.default_rng(0)
    for ply in range(7):
        states[ply:] = game.apply_actions(states[ply:], game.random_actions(states[ply:], rng))
    chosen = agent.select_actions(states[6:], rng)
    for square_map, action_map in game.symmetries():
        images = stack([moved(position, square_map.tolist()) for position in unstack(states[6:])])
        same = agent.select_actions(images, rng) == action_map[chosen]
        assert same.mean() > 0.95  # float32 sums differ in their last digit, ties may break
