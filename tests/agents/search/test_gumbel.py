"""Searches that improve a policy: what they make of it is what the formulas say."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from evaluators import children, guess, know_nothing, late_positions, won_positions
from minimax import GAMES, sample, winning_now

from agents.search.gumbel import Sigma, halving_plan, write_results
from agents.search.moves import MAX_MOVES, action_of_code
from agents.training.az.selfplay import Findings, SelfPlay
from agents.training.config import AZConfig
from castle_env import Game
from castle_env.position import stack


def self_play(game: Game, evaluate: Any = guess, **changes: Any) -> SelfPlay:
    small: dict[str, Any] = {"num_envs": 40, "visits": 16, "considered": 8, "exact_plies": 0}
    return SelfPlay(game, AZConfig(**small | changes), 0, evaluate, np.random.default_rng(5))


@pytest.mark.parametrize("visits", [1, 2, 16, 24, 50])
@pytest.mark.parametrize("considered", [1, 2, 3, 8, 16])
def test_halving_shares_visits_out(considered: int, visits: int) -> None:
    """Played through: at each turn some action has as many visits as the plan asks for."""
    plan = halving_plan(considered, visits)
    assert plan.shape == (MAX_MOVES + 1, visits)
    for actions in (1, 2, 5, MAX_MOVES):
        counts = [0] * actions
        for turn in plan[actions]:
            counts[counts.index(turn)] += 1
        assert sum(counts) == visits
        assert np.count_nonzero(counts) <= min(considered, actions)
        assert sorted(counts, reverse=True) == counts


def test_halving_of_sixteen_visits_among_eight() -> None:
    assert halving_plan(8, 16)[24].tolist() == [0] * 8 + [1] * 4 + [2] * 2 + [3] * 2


def slow_results(
    tree: npt.NDArray[np.void], gumbels: npt.NDArray[np.float64], sigma: Sigma, root_value: float
) -> tuple[dict[int, float], float, int]:
    """The formulas of Danihelka et al. 2022 again, from the children's counts and sums alone."""
    moves = children(tree)
    priors, visits = moves["prior"], moves["visits"]
    seen = visits > 0
    q = np.where(seen, moves["total"] / np.maximum(visits, 1), 0.0)
    mixed = root_value
    if seen.any():
        mixed += visits.sum() * (priors * q)[seen].sum() / priors[seen].sum()
    completed = np.where(seen, q, mixed / (1 + visits.sum()))
    logits = np.log(priors) + (sigma.visit_offset + visits.max()) * sigma.scale * completed
    policy = np.exp(logits) / np.exp(logits).sum()
    scores = np.where(visits == visits.max(), logits + gumbels[:len(moves)], -np.inf)
    actions = [action_of_code(code) for code in moves["code"].tolist()]
    return (dict(zip(actions, policy, strict=True)), float((policy * completed).sum()),
            actions[scores.argmax()])


@pytest.mark.parametrize("name", ["storm", "sudden-death", "enemy-only", "passes", "points"])
@pytest.mark.parametrize("reward", ["margin", "outcome"])
def test_results_are_those_of_the_formulas(name: str, reward: str) -> None:
    game = GAMES[name]
    states = sample(game, 40)
    player = self_play(game, reward=reward)
    trees, gumbels = player.grow(states)
    sigma = Sigma(50.0, 0.15)
    found = Findings(np.empty((40, game.num_actions), np.float32), np.empty(40, np.float32),
                     np.empty(40, np.int64))
    write_results(trees, gumbels, sigma, *found)
    factor = 1.0 if reward == "outcome" else 2 * game.rules.factions_per_player / 4
    root_values = guess(states)[1] * factor
    for index in range(len(states)):
        policy, value, action = slow_results(trees[index], gumbels[index], sigma,
                                             float(root_values[index]))
        dense = np.zeros(game.num_actions)
        dense[list(policy)] = list(policy.values())
        assert np.allclose(found.policies[index], dense, atol=1e-6)
        assert found.values[index] == pytest.approx(value, abs=1e-5)
        assert found.actions[index] == action
        visits = children(trees[index])["visits"]
        assert visits.sum() == (16 if len(visits) > 1 else 0)
        assert np.count_nonzero(visits) <= 8


@pytest.mark.parametrize("name", ["storm", "sudden-death", "passes", "passes-north"])
def test_a_win_in_one_is_found_with_a_positive_value(name: str) -> None:
    """For either seat, also where the opponent had to pass just before."""
    game = GAMES[name]
    states = won_positions(game, {1} if name == "storm" else {0, 1}, name == "passes-north")
    player = self_play(game, know_nothing, reward="outcome", visits=MAX_MOVES,
                       considered=MAX_MOVES, num_envs=len(states), value_scale=10.0)
    found = player.search(stack(states))
    for index, state in enumerate(states):
        winning = list(winning_now(game, state))
        others = np.delete(found.policies[index], winning)
        assert found.policies[index, winning].min() > others.max(initial=0.0)
        assert found.values[index] > 0
        assert found.actions[index] in winning


@pytest.mark.parametrize("name", ["storm", "passes", "sudden-death"])
def test_solved_and_searched_values_are_of_the_player_to_move(name: str) -> None:
    """Where every move ends the game, a search of all moves and the exact solution agree."""
    game = GAMES[name]
    states = [state for state in late_positions(game, 1, 200)
              if state.ply == game.rules.max_plies - 1]
    if not states:
        pytest.skip("random games of this ruleset do not reach the turn limit")
    player = self_play(game, know_nothing, visits=3 * MAX_MOVES, considered=MAX_MOVES,
                       exact_plies=1, num_envs=len(states), value_scale=10.0)
    solved, searched = player.solve(stack(states)), player.search(stack(states))
    assert np.allclose(solved.values, searched.values, atol=1e-3)
    assert (solved.policies.max(axis=1) - solved.policies[np.arange(len(states)),
            searched.policies.argmax(axis=1)] < 1e-6).all()


def test_searches_do_not_depend_on_what_else_is_in_the_batch() -> None:
    game = GAMES["storm"]
    states = sample(game, 40)

    def visits(count: int) -> list[list[int]]:
        trees = self_play(game).grow(states[:count])[0]
        return [children(tree)["visits"].tolist() for tree in trees[:10]]

    assert visits(40) == visits(10)
