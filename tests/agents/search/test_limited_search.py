"""`alphabeta` within limits: the moves of the plain search, and the same ones again."""

import numpy as np
import pytest
from narrow import narrow
from numba.core.dispatcher import Dispatcher
from scripted import positions_of

from agents.search.alphabeta import search_root, workspace
from agents.search.horizon_search import search
from agents.search.limited_search import Limits, parse_limits
from agents.search.moves import CODE_BITS, CODE_MASK, action_of_code
from castle_env import AgentError, Game, Position, load_ruleset
from castle_env.agent import make_agent
from castle_env.position import stack

GAMES = {mode: Game(load_ruleset(mode)) for mode in
         ("storm", "storm-towers", "sudden-death", "sudden-death-step")}


def best_actions(game: Game, position: Position, depth: int) -> set[int]:
    """All actions with the best value at a depth, by the search without a table."""
    depth = min(depth, game.rules.max_plies - position.ply)
    work = workspace(depth)
    count = search_root(game.table[0], None, position, depth, work)
    entries = work.moves[depth, :count]
    best = entries.max() >> CODE_BITS
    return {action_of_code(int(entry) & CODE_MASK) for entry in entries
            if entry >> CODE_BITS == best}


@pytest.mark.parametrize("mode", GAMES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_best_moves_are_those_of_the_plain_search(mode: str, depth: int) -> None:
    game = GAMES[mode]
    positions = positions_of(game, 25, depth, 0.2)
    agent = make_agent(f"alphabeta:{depth}:nodes=9999999", game)
    chosen = [set[int]() for _ in positions]
    for seed in range(8):
        actions = agent.select_actions(stack(positions), np.random.default_rng(seed))
        for index, action in enumerate(actions):
            chosen[index].add(int(action))
    for position, actions_chosen in zip(positions, chosen, strict=True):
        best = best_actions(game, position, depth)
        assert actions_chosen <= best
        assert len(actions_chosen) > 1 or len(best) < 5


@pytest.mark.parametrize("mode", GAMES)
def test_nodes_alone_decide_whatever_else_is_in_the_batch(mode: str) -> None:
    game = GAMES[mode]
    positions = positions_of(game, 6, 9, 0.2)
    agent = make_agent("alphabeta:nodes=3000", game)
    first = agent.select_actions(stack(positions), np.random.default_rng(1))
    again = make_agent("alphabeta:nodes=3000", game).select_actions(
        stack(positions[:3]), np.random.default_rng(1))
    assert first[:3].tolist() == again.tolist()
    for position, action in zip(positions, first, strict=True):
        assert game.legal_action_mask(position)[action]


@pytest.mark.parametrize("spec", ["alphabeta:1ms", "alphabeta:5:20ms", "alphabeta:64:nodes=1"])
def test_a_move_comes_however_tight_the_limit(spec: str) -> None:
    game = GAMES["sudden-death"]
    positions = positions_of(game, 5, 3, 0.2)
    agent = make_agent(spec, game)
    assert agent.name == spec
    for position, action in zip(
            positions, agent.select_actions(stack(positions), np.random.default_rng(0)),
            strict=True):
        assert game.legal_action_mask(position)[action]


def test_limits_are_read() -> None:
    assert parse_limits("8:200ms") == Limits(8, 200, 0)
    assert parse_limits("nodes=100000") == Limits(nodes=100_000)
    assert parse_limits("8") is None


@pytest.mark.parametrize("arguments", [
    "ms", "0ms", "8:0ms", "200ms:8", "8:8:200ms", "65:20ms", "nodes=", "nodes=0", "nodes=1e5",
    "8:nodes", "-8:20ms", "20ms:20ms", "8:200 ms", "٣ms", "8:200ms:", "nodes=" + "9" * 5_000])
def test_wrong_limits_are_one_clear_error(arguments: str) -> None:
    with pytest.raises(AgentError, match="allowed: ") as caught:
        make_agent(f"alphabeta:{arguments}", GAMES["storm"])
    assert repr(f"alphabeta:{arguments}") in str(caught.value)


@pytest.mark.parametrize("arguments", ["8:200", "x", "17"])
def test_the_plain_form_names_the_limits_too(arguments: str) -> None:
    with pytest.raises(AgentError, match=r"from 1 to 16, or alphabeta:D:Tms, .*nodes=N"):
        make_agent(f"alphabeta:{arguments}", GAMES["storm"])


def test_one_version_of_the_search_is_compiled() -> None:
    """With a second one, for a literal argument, code loaded from numba's cache crashes."""
    game = GAMES["storm"]
    agent = make_agent("alphabeta:2:nodes=100", game)
    agent.select_actions(game.initial_states(1), np.random.default_rng(0))
    assert "Literal" not in str(narrow(search, Dispatcher).signatures)
