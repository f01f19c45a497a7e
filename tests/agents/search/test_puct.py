"""A tree search under a network: exact near the end, signs right, the same whatever the batch."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from evaluators import children, guess, know_nothing, late_positions, won_positions
from minimax import GAMES, action_values, best_actions, sample, winning_now
from small_runs import config

from agents.networks.agent import NetworkAgent
from agents.networks.checkpoint import save_checkpoint
from agents.networks.network import build_network
from agents.networks.policy import Policy
from agents.search import puct
from agents.search.moves import action_of_code
from agents.search.puct import EXACT_PLIES, VALUE_UNIT, Limits, PUCTAgent, split_search
from agents.search.puct_tree import NONE
from castle_env import Agent, AgentError, Game, load_ruleset, make_agent, register_agent
from castle_env.board import PASS
from castle_env.errors import CastleError
from castle_env.position import PositionArray, stack, unstack

STORM = GAMES["storm"]


def searcher(game: Game, simulations: int, evaluate: Any = know_nothing, reward: Any = "margin",
             milliseconds: int = 0) -> PUCTAgent:
    return PUCTAgent("searcher", game, evaluate, reward, Limits(simulations, milliseconds))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def root_values(trees: npt.NDArray[np.void]) -> npt.NDArray[np.float64]:
    """Mean values of the roots, of the players to move there."""
    values: npt.NDArray[np.float64] = -trees["total"][:, 0] / trees["visits"][:, 0]
    return values


def walk(tree: npt.NDArray[np.void]) -> Iterator[tuple[int, int]]:
    """All nodes with their depths."""
    waiting = [(0, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        first = int(tree["first"][node])
        waiting += [(first + place, depth + 1) for place in range(len(children(tree, node)))]


@pytest.mark.parametrize("name", ["storm", "sudden-death", "passes", "passes-north"])
def test_a_win_in_one_is_chosen_and_has_a_positive_value(name: str) -> None:
    game = GAMES[name]
    states = won_positions(game, {1} if name == "storm" else {0, 1}, name == "passes-north")
    agent = searcher(game, 200, reward="outcome")
    trees = agent.search(stack(states))
    assert root_values(trees).min() > 0
    for state, action in zip(states, agent.select_actions(stack(states), rng()), strict=True):
        assert action in winning_now(game, state)


@pytest.mark.parametrize("name", ["one-faction", "passes", "enemy-only-steps", "points"])
def test_values_are_exact_to_the_end_of_the_game(name: str) -> None:
    """Also after passes, and without any help but the rules."""
    game = GAMES[name]
    states = late_positions(game, 2, 60, seed=1)
    agent = searcher(game, 3000)
    actions = agent.select_actions(stack(states), rng())
    values = root_values(agent.search(stack(states))) * VALUE_UNIT
    right = 0
    for state, action, value in zip(states, actions, values, strict=True):
        exact = action_values(game, state, 2)
        if all(map(game.is_terminal, (game.apply(state, move) for move in exact))):
            assert action in best_actions(exact)
        right += action in best_actions(exact) and abs(value - max(exact.values())) < 1.5
    # 53 or more are expected; 40 are six standard deviations less.
    assert right >= 40


def fresh_evaluator(game: Game) -> puct.Evaluator:
    """Asks a small network that has learned nothing."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = build_network(game, config().network_config)
        return Policy(game, network, "margin").look_at


def test_an_untrained_network_finds_the_best_moves_at_the_end_of_storm() -> None:
    """All moves lead to exact values there; a network's priors might hide one in a hundred."""
    states = late_positions(STORM, EXACT_PLIES, 200)
    agent = searcher(STORM, 400, fresh_evaluator(STORM))
    actions = agent.select_actions(stack(states), rng())
    values = root_values(agent.search(stack(states)))
    found, signs = 0, 0
    for state, action, value in zip(states, actions.tolist(), values.tolist(), strict=True):
        exact = action_values(STORM, state, 16 - state.ply)
        assert action in best_actions(exact) or state.ply < 15
        found += action in best_actions(exact)
        signs += np.sign(value) == np.sign(max(exact.values())) or max(exact.values()) == 0
    assert min(found, signs) > 180


def test_endless_shuffling_ends() -> None:
    """Both can only step to and fro, and ways down the tree end where values are exact."""
    game = GAMES["sudden-death"]
    state = game.parse_position("A5/6/2##2/2##2/6/5B A - 4,4 3,3 114")
    agent = searcher(game, 3000)
    tree = agent.search(stack([state]))[0]
    assert tree["visits"][0] == 3001
    assert max(depth for _, depth in walk(tree)) == 120 - EXACT_PLIES - 114
    assert game.legal_action_mask(state)[agent.select_actions(stack([state]), rng())[0]]


@pytest.mark.parametrize("name", ["storm", "sudden-death", "passes"])
def test_trees_are_sound(name: str) -> None:
    game = GAMES[name]
    states = sample(game, 12)
    for state, tree in zip(unstack(states), searcher(game, 150, guess).search(states), strict=True):
        moves = children(tree)
        assert {action_of_code(code) for code in moves["code"].tolist()} == set(
            game.legal_actions(state))
        assert tree["visits"][0] == 151 or (len(moves) == 1 and tree["visits"][0] <= 2)
        for node, _ in walk(tree):
            below = children(tree, node)
            assert tree["pending"][node] == 0
            assert tree["children"][node] != NONE or tree["visits"][node] == 0
            if len(below):
                assert below["visits"].sum() == tree["visits"][node] - 1
                assert np.isclose(below["prior"].sum(), 1)
                assert (np.diff(below["prior"]) <= 0).all()


def test_priors_lead_and_values_decide() -> None:
    state = STORM.initial_state()
    liked = STORM.legal_actions(state)[5]
    after = STORM.apply(state, liked)

    def like_one(states: PositionArray) -> tuple[Any, Any]:
        logits = np.zeros((len(states), STORM.num_actions), np.float32)
        logits[:, liked] = 1.0
        return logits, np.zeros(len(states), np.float32)

    def like_one_falsely(states: PositionArray) -> tuple[Any, Any]:
        """After the liked move the opponent, who is then to move, is happy."""
        values = np.where((states["ply"] == 1) & (states["opposing"] == after.opposing), 1, 0)
        return like_one(states)[0], values.astype(np.float32)

    chosen = searcher(STORM, 60, like_one).select_actions(stack([state]), rng())[0]
    avoided = searcher(STORM, 60, like_one_falsely).select_actions(stack([state]), rng())[0]
    assert chosen == liked
    assert avoided != liked


@pytest.mark.parametrize("name", ["storm", "sudden-death"])
def test_a_move_depends_on_position_and_seed_alone(name: str, monkeypatch: Any) -> None:
    game = GAMES[name]
    states = sample(game, 20)
    agent = searcher(game, 100, guess)
    together = agent.select_actions(states, rng(3)).tolist()
    assert together == agent.select_actions(states, rng(3)).tolist()
    assert together[:7] == agent.select_actions(states[:7], rng(3)).tolist()
    assert together[:1] == agent.select_actions(states[:1], rng(3)).tolist()
    monkeypatch.setattr(puct, "MAX_BYTES", 1)
    assert together == agent.select_actions(states, rng(3)).tolist()


def test_ties_are_settled_by_lot() -> None:
    """Where nothing is known, moves with as many visits are alike."""
    states = STORM.initial_states(100)
    agent = searcher(STORM, 8)
    visits = children(agent.search(states[:1])[0])["visits"]
    alike = np.count_nonzero(visits == visits.max())
    assert alike > 1
    assert len(set(agent.select_actions(states, rng()).tolist())) == alike


def test_time_ends_a_search(monkeypatch: Any) -> None:
    clock = count()
    monkeypatch.setattr("agents.search.puct.time.monotonic", lambda: next(clock))
    states = sample(STORM, 3)
    agent = searcher(STORM, 10_000, guess, milliseconds=5000)
    visits = agent.search(states[:1])["visits"][0, 0]
    assert 2 <= visits <= 6
    for position, action in zip(unstack(states), agent.select_actions(states, rng()), strict=True):
        assert STORM.legal_action_mask(position)[action]


def test_a_stopped_search_still_gives_a_move() -> None:
    states = sample(STORM, 5)
    agent = searcher(STORM, 10_000, guess)
    agent.stop()
    assert agent.search(states)["visits"][:, 0].max() <= 2
    for position, action in zip(unstack(states), agent.select_actions(states, rng()), strict=True):
        assert STORM.legal_action_mask(position)[action]


def test_a_pass_needs_no_search() -> None:
    game = GAMES["passes"]
    states = [state for state in unstack(sample(game, 300)) if game.legal_actions(state) == [PASS]]
    assert states
    agent = searcher(game, 1000, guess)
    assert agent.search(stack(states))["visits"][:, 0].max() <= 2
    assert set(agent.select_actions(stack(states), rng()).tolist()) == {PASS}


@pytest.mark.parametrize("reward", ["margin", "outcome"])
def test_values_are_in_units_of_the_reward(reward: str) -> None:
    """A network that says the truth about the margin and the rules agree with each other."""
    game = GAMES["one-faction"]
    states = [state for state in late_positions(game, 1, 40)
              if all(game.is_terminal(game.apply(state, move))
                     for move in game.legal_actions(state))]
    assert states
    values = root_values(searcher(game, 2000, reward=reward).search(stack(states)))
    for state, value in zip(states, values, strict=True):
        best = max(action_values(game, state, 1).values())
        expected = best / VALUE_UNIT if reward == "margin" else np.sign(best)
        assert value == pytest.approx(expected, abs=0.2)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("fresh") / "fresh.pt"
    network = build_network(STORM, config().network_config)
    save_checkpoint(path, {"policy": network.state_dict()}, STORM, {
        "config": config().to_dict(), "network": config().network_config._asdict(),
        "reward": "margin"})
    return path


@pytest.mark.parametrize("limit", ["1", "30", "100000", "1ms", "200ms"])
def test_names(checkpoint: Path, limit: str) -> None:
    agent = make_agent(f"ppo:{checkpoint}+search:{limit}", STORM)
    assert isinstance(agent, PUCTAgent)
    assert agent.name == f"ppo:{checkpoint}+search:{limit}"


def test_a_searching_agent_of_a_checkpoint_plays(checkpoint: Path) -> None:
    states = sample(STORM, 4)
    agent = make_agent(f"ppo:{checkpoint}+search:20", STORM)
    for position, action in zip(unstack(states), agent.select_actions(states, rng()), strict=True):
        assert STORM.legal_action_mask(position)[action]


@pytest.mark.parametrize("limit", [
    "", ":", ":0", ":-1", ":1e3", ":100001", ":1000000", ":ms", ":0ms", ":20 ms", ":400:20ms",
    ":٣", ":" + "9" * 5_000])
def test_wrong_limits_are_one_clear_error(checkpoint: Path, limit: str) -> None:
    with pytest.raises(AgentError, match=r"\+search:N with N from 1 to 100000") as caught:
        make_agent(f"ppo:{checkpoint}+search{limit}", STORM)
    assert repr(f"+search{limit}") in str(caught.value)


@pytest.mark.parametrize("spec", [
    "ppo+search:4", "ppo:+search:4", "ppo:x:sample+search:4", "random+search:4", "mcts+5",
    "alphabeta+4", "nobody+search:4", "+search:4"])
def test_agents_that_cannot_search(spec: str) -> None:
    with pytest.raises(CastleError, match="allowed"):
        make_agent(spec, STORM)


def test_a_folder_may_be_called_after_the_search(checkpoint: Path) -> None:
    folder = checkpoint.parent / "with+search-beside"
    folder.mkdir()
    for suffix in (".pt", ".json"):
        (folder / f"x{suffix}").write_bytes(checkpoint.with_suffix(suffix).read_bytes())
    assert isinstance(make_agent(f"ppo:{folder / 'x.pt'}", STORM), NetworkAgent)
    assert split_search(f"{folder / 'x.pt'}+search:7") == (str(folder / "x.pt"), Limits(7))


def test_a_plus_ends_the_first_part_of_a_name() -> None:
    given: list[str] = []

    def remember(arguments: str, game: Game) -> Agent:
        given.append(arguments)
        return make_agent("random", game)

    register_agent("remember", remember)
    for spec in ("remember", "remember:a:b+c", "remember+search:4", "remember:"):
        make_agent(spec, Game(load_ruleset("storm")))
    assert given == ["", "a:b+c", "+search:4", ""]
