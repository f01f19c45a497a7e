"""The agent `exact`: moves that are best by plain search, and games that lose no value."""

from collections import defaultdict
from itertools import count

import numpy as np
import pytest

from agents.search.alphabeta import INFINITE, search, workspace
from agents.solve.exact import ExactAgent
from agents.solve.exact_values import LAST_PLIES
from agents.solve.perfect_play import PerfectPlay
from castle_env import AgentError, Game, Position, Ruleset, load_ruleset, make_agent
from castle_env.board import PASS
from castle_env.position import PositionArray, stack, unstack

STORM = Game(load_ruleset("storm"))
SMALL = Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": 4}))
LOPSIDED = Game(Ruleset.from_dict({
    "mode": "storm", "factions_per_player": 5, "capture_credit": "enemy_only",
    "strongholds": ["#.....", "..#...", "......", "......", ".##...", "......"],
    "victory_points": {"contact": 2, "survivor": -1, "squares": [[0, 1, 2, 3, 4, 5]] * 6}}))
CROWDED = Game(Ruleset.from_dict({
    "mode": "storm", "factions_per_player": 6,
    "strongholds": ["######", "######", "##.###", "######", "######", "######"]}))
GAMES = {"storm": STORM, "small": SMALL, "lopsided": LOPSIDED, "crowded": CROWDED}


def value_of(game: Game, position: Position) -> int:
    """The mover's margin by a search without table or solver."""
    left = game.rules.max_plies - position.ply
    return int(search(game.table[0], None, position, left, -INFINITE, INFINITE, workspace(left)))


def best_by_search(game: Game, position: Position) -> set[int]:
    values = {action: -value_of(game, game.apply(position, action))
              for action in game.legal_actions(position)}
    return {action for action, value in values.items() if value == max(values.values())}


def random_states(game: Game, left: int, count: int, seed: int) -> PositionArray:
    rng = np.random.default_rng(seed)
    states = game.initial_states(count)
    for _ in range(max(game.rules.max_plies - left, 0)):
        states = game.apply_actions(states, game.random_actions(states, rng))
    return states


@pytest.mark.parametrize("spec", ["exact", "exact:hardest"])
@pytest.mark.parametrize("name", GAMES)
def test_moves_are_best_by_plain_search(name: str, spec: str) -> None:
    """With one ply left this says that a win is taken now; all storm games are equally long."""
    game = GAMES[name]
    agent = make_agent(spec, game)
    for left in range(1, 5):
        states = random_states(game, left, 12, left)
        actions = agent.select_actions(states, np.random.default_rng(left))
        assert actions.dtype == np.int64
        for position, action in zip(unstack(states), actions.tolist(), strict=True):
            assert action in best_by_search(game, position), game.format_position(position)


def test_takes_a_win_on_the_last_ply() -> None:
    agent = make_agent("exact", STORM)
    states = random_states(STORM, 1, 300, 0)
    after = STORM.apply_actions(states, agent.select_actions(states, np.random.default_rng(0)))
    wins = 0
    for position, margin in zip(unstack(states), STORM.margins(after).tolist(), strict=True):
        reachable = [-STORM.margins(stack([STORM.apply(position, action)]))[0]
                     for action in STORM.legal_actions(position)]
        assert -margin == max(reachable)
        wins += max(reachable) > 0
    assert wins


@pytest.mark.parametrize("spec", ["exact", "exact:hardest"])
@pytest.mark.parametrize("name", ["storm", "small", "lopsided"])
def test_value_is_constant_along_its_own_game(name: str, spec: str) -> None:
    game = GAMES[name]
    agent, judge = make_agent(spec, game), PerfectPlay(game)
    rng = np.random.default_rng(3)
    # Storm from behind its first plies, which cost a second each: see test_first_plies.
    states = random_states(game, 8 if name == "storm" else game.rules.max_plies, 1, 3)
    value = judge.value(unstack(states)[0])
    while not game.terminals(states)[0]:
        assert judge.value(unstack(states)[0]) == value
        states = game.apply_actions(states, agent.select_actions(states, rng))
        value = -value
    margin = int(game.margins(states)[0])
    assert value == (-margin if states["ply"][0] & 1 else margin)


@pytest.mark.parametrize("spec", ["exact", "exact:hardest"])
def test_first_plies_of_storm_come_from_the_book(spec: str) -> None:
    agent, judge = make_agent(spec, STORM), PerfectPlay(STORM)
    rng = np.random.default_rng(0)
    states = STORM.initial_states(20)
    for ply in range(4 if spec == "exact" else 2):
        states = STORM.apply_actions(states, agent.select_actions(states, rng))
        value = 4 if ply % 2 == 0 else -4
        assert {judge.value(position) for position in unstack(states)} == {value}
    assert len(set(unstack(states))) > 5
    assert judge.solver.nodes == 0


@pytest.mark.parametrize("left", [3, LAST_PLIES + 1])
def test_ties_cover_all_best_moves(left: int) -> None:
    agent, judge = make_agent("exact", STORM), PerfectPlay(STORM)
    position, best = next(
        (position, best) for seed in count() for position in unstack(
            random_states(STORM, left, 3, seed))
        if len(best := judge.best_actions(position, judge.value(position))) > 1)
    states = stack([position] * 100 * len(best))
    actions = agent.select_actions(states, np.random.default_rng(1))
    counts = np.bincount(actions, minlength=STORM.num_actions)
    assert set(np.flatnonzero(counts).tolist()) == set(best)
    assert counts[best].min() > 40  # of 100 expected: six standard deviations


def shares(game: Game, position: Position) -> dict[float, set[int]]:
    """Best moves by the share of replies that keep the opponent's value, by plain search."""
    found: dict[float, set[int]] = defaultdict(set)
    for action in best_by_search(game, position):
        after = game.apply(position, action)
        legal = game.legal_actions(after)
        share = len(best_by_search(game, after)) / len(legal) if legal else 1.0
        found[share].add(action)
    return found


@pytest.mark.parametrize("name", ["storm", "lopsided", "crowded"])
def test_hardest_leaves_the_smallest_share_of_good_replies(name: str) -> None:
    game = GAMES[name]
    agent = make_agent("exact:hardest", game)
    assert isinstance(agent, ExactAgent)
    for left in (1, 2, 3, 4):
        states = random_states(game, left, 5, 10 + left)
        actions = agent.select_actions(states, np.random.default_rng(0)).tolist()
        for position, action in zip(unstack(states), actions, strict=True):
            by_share = shares(game, position)
            assert action in by_share[min(by_share)]
            alone = agent._choose(position, np.random.default_rng(0))
            assert alone in by_share[min(by_share)]


def test_forced_passes() -> None:
    agent = make_agent("exact", CROWDED)
    position = CROWDED.apply(CROWDED.initial_state(), CROWDED.parse_action("Nc"))
    assert agent.select_actions(stack([position]), np.random.default_rng(0)).tolist() == [PASS]


def test_an_action_depends_on_its_own_seed_alone() -> None:
    states = np.concatenate([random_states(STORM, left, 4, left) for left in (8, 6, 7, 2)])
    rng = np.random.default_rng(5)
    together = make_agent("exact", STORM).select_actions(states, rng)
    rng = np.random.default_rng(5)
    fresh = make_agent("exact", STORM)
    alone = [fresh.select_actions(states[index:index + 1], rng)[0] for index in range(len(states))]
    assert together.tolist() == alone
    assert len(fresh.select_actions(states[:0], rng)) == 0


def test_refuses_what_it_cannot_do() -> None:
    with pytest.raises(AgentError, match="sudden_death"):
        make_agent("exact", Game(load_ruleset("sudden-death")))
    for arguments in ("easy", "hardest:1", "4"):
        with pytest.raises(AgentError, match="exact:hardest"):
            make_agent(f"exact:{arguments}", STORM)
