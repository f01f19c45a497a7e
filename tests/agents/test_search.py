"""Agents play legally, find what they promise, and depend on nothing but position and seed."""

import pickle

import numpy as np
import numpy.typing as npt
import pytest
from minimax import GAMES, action_values, best_actions, random_positions, rng, sample
from scipy.stats import chisquare

from agents import make_agent
from castle_env import Game, Ruleset
from castle_env.agent import Agent
from castle_env.board import PASS
from castle_env.position import stack, unstack

SPECS = ["random", "greedy", "alphabeta:1", "alphabeta:2", "alphabeta:3", "mcts:1", "mcts:60"]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("spec", SPECS)
def test_actions_are_legal(spec: str, name: str) -> None:
    game = GAMES[name]
    states = random_positions(game, 8)
    before = states.copy()
    agent = make_agent(spec, game)
    actions = agent.select_actions(states, rng())
    assert isinstance(agent, Agent)
    assert agent.name == spec
    assert actions.dtype == np.int64
    assert game.legal_action_masks(states)[np.arange(len(states)), actions].all()
    assert np.array_equal(states, before)


@pytest.mark.parametrize("spec", SPECS)
def test_a_forced_pass_is_passed(spec: str) -> None:
    game = GAMES["passes"]
    states = random_positions(game, 20)
    states = states[game.legal_action_masks(states)[:, PASS] == 1]
    assert len(states) > 20
    assert set(make_agent(spec, game).select_actions(states, rng())) == {PASS}


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", ["storm", "sudden-death"])
def test_a_game_that_is_over_does_no_harm(name: str, spec: str) -> None:
    game = GAMES[name]
    states = game.initial_states(3)
    while not game.terminals(states).all():
        going = ~game.terminals(states)
        actions = game.random_actions(states[going], rng())
        states[going] = game.apply_actions(states[going], actions)
    assert set(make_agent(spec, game).select_actions(states, rng())) == {PASS}


@pytest.mark.parametrize("spec", SPECS)
def test_choices_follow_from_position_and_seed(spec: str) -> None:
    game = GAMES["sudden-death"]
    states = sample(game, 40)
    agent = make_agent(spec, game)
    actions = agent.select_actions(states, rng(5))
    assert np.array_equal(actions, agent.select_actions(states, rng(5)))
    assert not np.array_equal(actions, agent.select_actions(states, rng(6)))
    # A position's draw does not depend on the others, nor on what was searched before.
    others = np.concatenate([states[:1], states[:0:-1]])
    assert agent.select_actions(states[:1], rng(5)) == actions[:1]
    assert agent.select_actions(others, rng(5))[0] == actions[0]
    copy = pickle.loads(pickle.dumps(agent))
    assert np.array_equal(actions, copy.select_actions(states, rng(5)))
    assert agent.select_actions(states[:0], rng()).shape == (0,)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize(("spec", "depth", "positions"), [
    ("greedy", 1, 20), ("alphabeta:1", 1, 20), ("alphabeta:2", 2, 20), ("alphabeta:3", 3, 6)])
def test_every_best_action_is_played_and_no_other(
    spec: str, depth: int, positions: int, name: str
) -> None:
    game = GAMES[name]
    agent = make_agent(spec, game)
    for state in unstack(sample(game, positions, seed=depth)):
        values = action_values(game, state, depth)
        chosen = agent.select_actions(stack([state] * 500), rng())
        assert set(chosen.tolist()) == best_actions(values)


@pytest.mark.parametrize("spec", ["random", "greedy", "alphabeta:1"])
def test_ties_are_broken_evenly(spec: str) -> None:
    game = GAMES["storm"]
    state = game.initial_state()
    ties = (game.legal_actions(state) if spec == "random"
            else sorted(best_actions(action_values(game, state, 1))))
    assert len(ties) > 5
    chosen = make_agent(spec, game).select_actions(game.initial_states(6_000), rng())
    counts = [np.count_nonzero(chosen == action) for action in ties]
    assert sum(counts) == len(chosen)
    assert chisquare(counts).pvalue > 1e-7


@pytest.mark.parametrize("ply", [2, 500, 990, 998])
@pytest.mark.parametrize("spec", ["alphabeta:5", "mcts:2000"])
@pytest.mark.parametrize(("name", "board"), [
    ("sudden-death", "6/6/2A#2/2B##1/2#3/6 A c3"),
    ("sudden-death-step", "1A4/6/2##2/2##2/5B/6 A f2")])
def test_search_survives_cycles(name: str, board: str, spec: str, ply: int) -> None:
    """Both players can go back and forth for ever; only the turn limit ends that."""
    game = Game(Ruleset.from_dict(GAMES[name].rules.to_dict() | {"max_plies": 1_000}))
    state = game.parse_position(f"{board} 7,7 0,0 {ply}")
    action = make_agent(spec, game).select_actions(stack([state]), rng())[0]
    assert action in game.legal_actions(state)


def margins(game: Game, one: Agent, other: Agent, games: int) -> list[npt.NDArray[np.int64]]:
    """Final margins of `one` as player 0 and as player 1, after one random ply."""
    found, source = [], rng(1)
    for seat in (0, 1):
        states = game.apply_actions(game.initial_states(games),
                                    game.random_actions(game.initial_states(games), source))
        going = np.arange(games)
        while len(going):
            mover = one if states["ply"][going[0]] % 2 == seat else other
            actions = mover.select_actions(states[going], source)
            states[going] = game.apply_actions(states[going], actions)
            going = going[~game.terminals(states[going])]
        found.append(game.margins(states) * (-1 if seat else 1))
    return found


# Each limit is five standard deviations or more from what is expected.


@pytest.mark.parametrize(("name", "stronger", "weaker", "games", "least"), [
    ("storm", "greedy", "random", 200, 0.85),
    ("sudden-death", "greedy", "random", 200, 0.9),
    ("storm", "mcts:200", "random", 100, 0.85),
    ("sudden-death", "mcts:200", "random", 100, 0.9),
    ("sudden-death", "alphabeta:2", "greedy", 400, 0.6),
    ("sudden-death-step", "alphabeta:2", "greedy", 400, 0.53),
    ("sudden-death", "alphabeta:4", "alphabeta:2", 50, 0.6)])
def test_the_stronger_wins_from_both_seats(
    name: str, stronger: str, weaker: str, games: int, least: float
) -> None:
    """Shares of the points; a draw is half a win."""
    game = GAMES[name]
    for found in margins(game, make_agent(stronger, game), make_agent(weaker, game), games):
        assert np.mean((found > 0) + 0.5 * (found == 0)) > least


@pytest.mark.parametrize(("stronger", "weaker", "games"), [
    ("alphabeta:3", "greedy", 100), ("alphabeta:4", "greedy", 100),
    ("alphabeta:4", "alphabeta:2", 200), ("mcts:800", "mcts:50", 100)])
def test_the_stronger_does_better_in_each_seat_of_storm(
    stronger: str, weaker: str, games: int
) -> None:
    """The last mover wins most games among equals, so each seat is measured against the equals."""
    game = GAMES["storm"]
    agent, opponent = make_agent(stronger, game), make_agent(weaker, game)
    for better, equal in zip(margins(game, agent, opponent, games),
                             margins(game, opponent, opponent, games), strict=True):
        assert better.mean() > equal.mean()


@pytest.mark.parametrize("spec", SPECS)
def test_every_agent_can_be_stopped(spec: str) -> None:
    agent = make_agent(spec, GAMES["storm"])
    assert isinstance(agent, Agent)
    assert isinstance(agent.thread_safe, bool)
    agent.stop()
