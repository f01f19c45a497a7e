"""The learner and its opponents in self-play: legal, measured by a fixed panel, and themselves."""

import json
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from agents.networks.encoding import Encoding
from agents.training.trainer import Trainer
from gymnasium.wrappers import FlattenObservation
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from scipy.stats import chisquare
from scripted import game_of_source
from small_runs import ROLLOUT, config, quiet_trainer, run, same, training_state
from stable_baselines3.common.monitor import Monitor
from test_symmetry import moved

from agents.networks.checkpoint import load_checkpoint
from agents.training.opponent_pool import LEAST_WEIGHT, OpponentPool, Sampling
from agents.training.sb3_env import SB3VecEnv
from castle_env import Agent, Game, load_ruleset, make_agent
from castle_env.position import PositionArray, stack, unstack
from castle_env.vector_env import CastleVectorEnv
from experiments.measure.match import play_match
from experiments.measure.panel import PANEL, learn
from experiments.measure.records import summarise
from experiments.report.run_report import draw_learning

GAMES = {name: Game(load_ruleset(name)) for name in ("storm", "sudden-death")}
STORM = GAMES["storm"]
IDS = {"storm": "castle_env/Storm-v1", "sudden-death": "castle_env/SuddenDeath-v1"}

LONGER = config(steps=30_720, num_envs=64, n_steps=16, batch_size=256, n_epochs=4,
                learning_rate=2e-3, channels=(16,), features=64, reward="margin",
                snapshot_every=5120, checkpoint_every=10_240)


@pytest.fixture(scope="module", params=GAMES)
def trained(request, tmp_path_factory) -> tuple[Game, Path]:
    """A game and the folder of a run that has learned something."""
    game = GAMES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    run(game, LONGER, folder)
    return game, folder


def resumed(game: Game, folder: Path) -> Trainer:
    """The run of `trained` in memory."""
    trainer = quiet_trainer(game, LONGER)
    trainer.set_state(load_checkpoint(folder, game).tensors)
    return trainer


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


class Counting:
    """An agent whose moves are counted, the illegal ones apart."""

    def __init__(self, agent: Agent, game: Game) -> None:
        self.name, self.moves, self.illegal = agent.name, 0, 0
        self._agent, self._game = agent, game

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Any:
        actions = self._agent.select_actions(states, rng)
        masks = self._game.legal_action_masks(states)
        self.moves += len(actions)
        self.illegal += int((masks[np.arange(len(actions)), actions] != 1).sum())
        return actions


@pytest.mark.parametrize("suffix", ["", ":sample"])
def test_no_illegal_move_in_matches(trained, suffix):
    """An evaluation that forgets the masks draws illegal actions, and says nothing."""
    game, folder = trained
    agent = Counting(make_agent(f"ppo:{folder}{suffix}", game), game)
    play_match(game, (agent, make_agent("random", game)), 100, 2)
    assert agent.moves > 500
    assert agent.illegal == 0


def test_no_illegal_move_in_maskable_evaluate_policy(trained):
    """Through `gymnasium.make` and `Monitor`, and on the batched env.

    Without a look ahead a model reads the env's planes as one row, which `FlattenObservation`
    makes of them. Rows with a look ahead come from positions, which no wrapper sees: such a model
    is evaluated on `SB3VecEnv` with its encoding, or as the agent `ppo:PATH`.
    """
    game, folder = trained
    planes_only = quiet_trainer(game, config(lookahead=0)).model
    trainer = resumed(game, folder)
    name = "storm" if game is STORM else "sudden-death"
    moves = []

    def count(variables: dict[str, Any], _: dict[str, Any]) -> None:
        masks, actions = variables["action_masks"], variables["actions"]
        moves.extend(masks[np.arange(len(actions)), actions])

    for model, env in (
        (planes_only, Monitor(FlattenObservation(gymnasium.make(IDS[name], opponent="greedy")))),
        (planes_only, SB3VecEnv(CastleVectorEnv(4, name, autoreset_mode="SameStep"),
                                Encoding(game, 0))),
        (trainer.model, SB3VecEnv(CastleVectorEnv(4, name, autoreset_mode="SameStep"),
                                  trainer.encoding)),
    ):
        del moves[:]
        rewards, lengths = evaluate_policy(model, env, 20, deterministic=False,
                                           callback=count, return_episode_rewards=True,
                                           warn=isinstance(env, Monitor))
        assert len(moves) >= sum(lengths) > 100
        assert moves.count(1) == len(moves)
        assert set(rewards) <= {-1, 0, 1}


def test_learner_gets_better_than_random_from_both_seats(trained):
    """The trained network and a past self of it do better in each seat than chance."""
    game, folder = trained
    past_self = list(resumed(game, folder).pool.past_selves().values())[-1]
    chance = make_agent("random", game)
    by_chance = summarise(play_match(game, (chance, chance), 800, 1), "random", "random").rows
    for agent in (make_agent(f"ppo:{folder}", game), past_self):
        rows = summarise(play_match(game, (agent, chance), 400, 1), agent.name, "random").rows
        for row, even in zip(rows, by_chance, strict=False):
            assert row.seat == even.seat
            assert row.win_rate.low > even.win_rate.estimate


def test_panel_is_always_part_of_the_evaluation(tmp_path):
    """Whoever is in the pool; in storm the exact regret as well."""
    game = game_of_source({"mode": "storm", "factions_per_player": 5})
    steps, evaluations = learn(game, config(baselines=("random",), evaluate_every=2 * ROLLOUT,
                                            evaluation_games=4, regret_positions=2), tmp_path)
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


def test_a_regret_whose_interval_is_not_known_is_reported(tmp_path):
    """One position says nothing of how sure its regret is, and must not stop the report."""
    game = game_of_source({"mode": "storm", "factions_per_player": 1})
    _, evaluations = learn(game, config(baselines=("random",), steps=ROLLOUT, evaluation_games=2,
                                        regret_positions=1), tmp_path)
    assert evaluations[-1]["regret"]["low"] is None
    shown = draw_learning(tmp_path, "learning", "ppo", json.loads(json.dumps(evaluations)))
    assert re.search(r"its regret from \d+\.\d\d to \d+\.\d\d VP per move", shown)
    assert re.search(r"^\| untrained \|.* \d+\.\d\d \|$", shown, re.MULTILINE)
    assert (tmp_path / "learning-regret.png").is_file()


def test_evaluation_leaves_training_alone(tmp_path):
    """With and without evaluations the same weights, games, pool and random numbers."""
    for name, every in (("often", 1), ("rarely", 10**9)):
        (tmp_path / name).mkdir()
        learn(STORM, config(evaluate_every=every, evaluation_games=6), tmp_path / name)
    assert same(training_state(tmp_path / "often"), training_state(tmp_path / "rarely"))
    assert len(load_checkpoint(tmp_path / "often").card["results"]["evaluations"]) == 5


# Opponents


def test_a_loaded_agent_has_the_weights_of_its_file(trained):
    """A model that is loaded without its weights plays on and says nothing."""
    game, folder = trained
    for path in sorted((folder / "checkpoints").glob("*.pt")):
        agent = make_agent(f"ppo:{path}", game)
        assert same(dict(agent.policy.state_dict()),
                    dict(torch.load(path, weights_only=True)["policy"]))
    newest = make_agent(f"ppo:{folder}", game)
    assert same(newest.policy.state_dict(), agent.policy.state_dict())


def test_actions_vary_over_positions_and_are_the_most_probable_ones(trained):
    """Not one action everywhere, and what the model thinks best from all sides."""
    game, folder = trained
    trainer, states = resumed(game, folder), positions(game, 300)
    actions = make_agent(f"ppo:{folder}", game).select_actions(states, np.random.default_rng(0))
    seen = np.zeros((len(states), game.num_actions))
    for square_map, action_map in game.symmetries():
        images = stack([moved(state, square_map.tolist()) for state in unstack(states)])
        seen += np.log(probabilities_of(trainer.model.policy, trainer.encoding, images)
                       + 1e-30)[:, action_map]
    best = seen[np.arange(len(states)), actions]
    assert np.allclose(best, seen.max(axis=1), atol=1e-3)
    assert len(set(actions.tolist())) > 10


def probabilities_of(policy: Any, encoding: Encoding, states: PositionArray) -> Any:
    """What a policy of Stable-Baselines3 gives to each action, shape (n, num_actions)."""
    rows, masks = encoding.encode(states)
    with torch.no_grad():
        distribution = policy.get_distribution(torch.as_tensor(rows), masks)
    return distribution.distribution.probs.numpy().astype(np.float64)


def test_sampled_actions_follow_the_policy(trained):
    """In the position of which it is least sure."""
    game, folder = trained
    agent, states = make_agent(f"ppo:{folder}:sample", game), positions(game, 50)
    seen = probabilities_of(agent.policy, Encoding(game, LONGER.lookahead), states)
    unsure = int((seen ** 2).sum(axis=1).argmin())
    state, probabilities = states[unsure:unsure + 1], seen[unsure]
    masks = game.legal_action_masks(state)
    likely = probabilities > 0.005
    actions = agent.select_actions(np.repeat(state, 20_000), np.random.default_rng(1))
    counts = np.bincount(actions, minlength=game.num_actions)
    assert not counts[masks[0] == 0].any()
    assert likely.sum() > 1
    expected = probabilities[likely] / probabilities[likely].sum() * counts[likely].sum()
    assert chisquare(counts[likely], expected).pvalue > 1e-3


def test_past_selves_are_copies_that_do_not_learn_on(tmp_path):
    """A snapshot every two rollouts, each of them the learner of that moment."""
    run(STORM, config(steps=8 * ROLLOUT, checkpoint_every=ROLLOUT, pool_size=2), tmp_path)
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
    assert not any(torch.equal(one[name], other[name]) for name in one)


def test_opponents_in_unfinished_games_outlive_their_place_in_the_pool():
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


def test_results_against_opponents_are_averaged_and_nobody_is_forgotten():
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
def test_opponents_are_drawn_as_the_sampling_says(sampling, averages, snapshots, weights):
    pool = pool_of(sampling, averages, snapshots)
    expected = np.array(weights) / np.sum(weights)
    assert pool.probabilities() == pytest.approx(expected)
    drawn = np.bincount(pool.sample(20_000, np.random.default_rng(0)), minlength=len(averages))
    possible = expected > 0
    assert not drawn[~possible].any()
    assert possible.sum() == 1 or chisquare(drawn[possible],
                                            20_000 * expected[possible]).pvalue > 1e-3


def test_new_games_are_against_whom_the_pool_draws():
    """The newest past self alone once there is one, in games that start from then on."""
    trainer = quiet_trainer(STORM, config(opponents="latest"))
    trainer.model.learn(ROLLOUT)
    assert not trainer.env.opponents.any()
    trainer.add_snapshot()
    newest = max(trainer.pool.past_selves())
    trainer.model.learn(2 * ROLLOUT, reset_num_timesteps=False)  # longer than any game of storm
    assert (trainer.env.opponents == newest).all()


@pytest.mark.parametrize("name", ["storm", "sudden-death"])
def test_the_same_is_played_in_all_images_of_a_position(name):
    """Under a symmetry of the board, an agent's most probable action is the image of itself."""
    game = Game(load_ruleset(name))
    agent = quiet_trainer(game, config()).current_agent()
    states, rng = game.initial_states(64), np.random.default_rng(0)
    for ply in range(7):
        states[ply:] = game.apply_actions(states[ply:], game.random_actions(states[ply:], rng))
    chosen = agent.select_actions(states[6:], rng)
    for square_map, action_map in game.symmetries():
        images = stack([moved(position, square_map.tolist()) for position in unstack(states[6:])])
        same = agent.select_actions(images, rng) == action_map[chosen]
        assert same.mean() > 0.95  # float32 sums differ in their last digit, ties may break
