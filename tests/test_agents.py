"""Agents play legally, find what they promise, and depend on nothing but position and seed."""

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chisquare

from agents import make_agent
from agents.search.alphabeta import INFINITE, search, search_root, workspace
from agents.search.mcts import Tree, grow, most_visited, new_tree, playout_value
from agents.search.moves import CODE_BITS, CODE_MASK, action_of_code
from castle_env import AgentError, Game, Position, Ruleset, load_ruleset, preset_names
from castle_env import agent as registry
from castle_env.agent import Agent, as_agent
from castle_env.batch import random_playout
from castle_env.board import PASS
from castle_env.position import PositionArray, stack, unstack

GAMES = {name: Game(load_ruleset(name)) for name in preset_names()}
SPECIAL: dict[str, dict[str, Any]] = {
    "enemy-only": {"mode": "storm", "capture_credit": "enemy_only", "factions_per_player": 5},
    "enemy-only-steps": {"mode": "sudden_death", "capture_credit": "enemy_only",
                         "entry_style": "step", "factions_per_player": 3, "max_plies": 20},
    "one-faction": {"mode": "sudden_death", "factions_per_player": 1, "entry_lanes": "all"},
    "points": {"mode": "storm", "factions_per_player": 3, "victory_points": {
        "captured": -1, "contact": 2, "survivor": 1, "squares": [[0, 1, -2, 3, 0, 0]] * 6}},
    "push": {"mode": "sudden_death", "steps_must_push": True, "entry_lanes": "central",
             "factions_per_player": 4, "max_plies": 30},
    # One player's entries end in strongholds that cannot leave, until the other moves them.
    "passes": {"mode": "sudden_death", "entry_lanes": "home_edge", "factions_per_player": 4,
               "strongholds": ["......"] * 5 + [".####."]},
    "passes-north": {"mode": "sudden_death", "entry_lanes": "home_edge", "factions_per_player": 4,
                     "strongholds": [".####."] + ["......"] * 5},
}
GAMES |= {name: Game(Ruleset.from_dict(keys)) for name, keys in SPECIAL.items()}
SPECS = ["random", "greedy", "alphabeta:1", "alphabeta:2", "alphabeta:3", "mcts:1", "mcts:60"]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_positions(game: Game, games: int, seed: int = 0) -> PositionArray:
    """Every position, but the ends, of games played at random."""
    states, source, seen = game.initial_states(games), rng(seed), []
    while len(states):
        seen.append(states)
        states = game.apply_actions(states, game.random_actions(states, source))
        states = states[~game.terminals(states)]
    return np.concatenate(seen)


def sample(game: Game, count: int, seed: int = 0) -> PositionArray:
    """`count` positions from random games."""
    return rng(seed).choice(random_positions(game, count, seed), count)


def minimax(game: Game, states: PositionArray, depth: int) -> npt.NDArray[np.int64]:
    """Margin of player 0 after `depth` plies of best play, or earlier ends: nothing is cut off."""
    values = game.margins(states)
    inner = np.flatnonzero(~game.terminals(states))
    if depth == 0 or len(inner) == 0:
        return values
    rows, actions = np.nonzero(game.legal_action_masks(states[inner]))
    children = game.apply_actions(states[inner][rows], actions)
    below = minimax(game, children, depth - 1)
    starts = np.searchsorted(rows, np.arange(len(inner)))
    values[inner] = np.where(states["ply"][inner] % 2, np.minimum.reduceat(below, starts),
                             np.maximum.reduceat(below, starts))
    return values


def action_values(game: Game, state: Position, depth: int) -> dict[int, int]:
    """Value of each legal action for the player to move, `depth` plies deep."""
    actions = game.legal_actions(state)
    children = stack([game.apply(state, action) for action in actions])
    sign = -1 if game.current_player(state) else 1
    values = sign * minimax(game, children, depth - 1)
    return dict(zip(actions, values.tolist(), strict=True))


def best_actions(values: dict[int, int]) -> set[int]:
    best = max(values.values())
    return {action for action, value in values.items() if value == best}


def winning_now(game: Game, state: Position) -> set[int]:
    """Actions that end the game and win it."""
    player = game.current_player(state)
    outcomes = {action: game.outcome(game.apply(state, action))
                for action in game.legal_actions(state)}
    return {action for action, outcome in outcomes.items()
            if outcome is not None and outcome.winner == player}


def grown(game: Game, state: Position, simulations: int, seed: int = 0) -> Tree:
    tree = new_tree(simulations + 1)
    grow(game.table[0], tree, state, simulations, seed)
    return tree


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
    assert chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("name", GAMES)
def test_search_bounds_hold_in_every_window(name: str) -> None:
    game = GAMES[name]
    states = sample(game, 30, seed=9)
    values = minimax(game, states, 2) * np.where(states["ply"] % 2, -1, 1)
    work = workspace(2)
    for state, value in zip(unstack(states), values.tolist(), strict=True):
        assert search(game.table[0], None, state, 2, -INFINITE, INFINITE, work) == value
        for alpha in range(value - 2, value + 3):
            for beta in range(alpha + 1, alpha + 3):
                found = search(game.table[0], None, state, 2, alpha, beta, work)
                assert value <= found if found <= alpha else found <= value
                assert found == value or not alpha < found < beta


@pytest.mark.parametrize("name", GAMES)
def test_root_values_are_exact_for_the_best_and_bounds_for_the_rest(name: str) -> None:
    game = GAMES[name]
    work = workspace(3)
    for state in unstack(sample(game, 5, seed=4)):
        values = action_values(game, state, 3)
        entries = work.moves[3, :search_root(game.table[0], None, state, 3, work)].tolist()
        found = {action_of_code(entry & CODE_MASK): entry >> CODE_BITS for entry in entries}
        assert found.keys() == values.keys()
        assert best_actions(found) == best_actions(values)
        assert max(found.values()) == max(values.values())
        assert all(found[action] >= value for action, value in values.items())


# In storm player 1 makes the last move, so only it can win in one.
@pytest.mark.parametrize(("name", "player"), [
    ("storm", 1), ("storm-towers", 1), ("enemy-only", 1), ("points", 1),
    *((name, player) for player in (0, 1) for name in (
        "sudden-death", "sudden-death-step", "sudden-death-central", "sudden-death-home",
        "enemy-only-steps", "push", "passes", "passes-north"))])
def test_mcts_takes_a_win_in_one(name: str, player: int) -> None:
    game = GAMES[name]
    states = random_positions(game, 60, seed=3)
    found = 0
    for state in unstack(states[states["ply"] % 2 == player]):
        wins = winning_now(game, state)
        if not wins or len(wins) == len(game.legal_actions(state)):
            continue
        tree = grown(game, state, 400)
        child = most_visited(tree)
        assert action_of_code(tree.code[child]) in wins
        assert tree.total[child] / tree.visits[child] > 1
        found += 1
        if found == 15:
            break
    assert found > 5


@pytest.mark.parametrize("name", ["passes", "passes-north"])
def test_values_keep_their_sign_over_a_pass(name: str) -> None:
    """The player who has to pass is about to lose, and the other one wins in one."""
    game = GAMES[name]
    states = random_positions(game, 500)
    states = states[game.legal_action_masks(states)[:, PASS] == 1]
    found = 0
    for state in unstack(states):
        after = game.apply(state, PASS)
        if game.is_terminal(after) or not winning_now(game, after):
            continue
        tree = grown(game, state, 200)
        child = most_visited(tree)
        assert action_of_code(tree.code[child]) == PASS
        assert tree.total[child] / tree.visits[child] < -1
        chosen = make_agent("mcts:200", game).select_actions(stack([after]), rng())
        assert chosen[0] in winning_now(game, after)
        work = workspace(2)
        search_root(game.table[0], None, state, 2, work)
        assert work.moves[2, 0] >> CODE_BITS < 0
        found += 1
    assert found > 5


@pytest.mark.parametrize("name", GAMES)
def test_playouts_are_valued_for_the_player_to_move(name: str) -> None:
    game = GAMES[name]
    for seed, state in enumerate(unstack(sample(game, 50))):
        outcome = game.outcome(random_playout(game.table[0], state, seed))
        assert outcome is not None
        margin = outcome.margin * (-1 if game.current_player(state) else 1)
        assert playout_value(game.table[0], state, seed) == margin / (10 + abs(margin))


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


def test_more_simulations_than_lines_of_play() -> None:
    game = Game(Ruleset.from_dict(SPECIAL["passes"] | {"max_plies": 3}))
    state = game.initial_state()
    tree = grown(game, state, 20_000)
    nodes = {0}
    for node in range(sum(game.perft(state, depth) for depth in range(1, 4)) + 1):
        children, child = [], tree.child[node] if node in nodes else -1
        while child >= 0:
            children.append(child)
            child = tree.sibling[child]
        nodes.update(children)
        if children:
            # One playout started at the node itself, unless it is the root.
            assert tree.visits[node] == tree.visits[children].sum() + (node > 0)
    assert tree.visits[0] == 20_000
    chosen = action_of_code(tree.code[most_visited(tree)])
    assert chosen in best_actions(action_values(game, state, 3))


def scores(game: Game, one: Agent, other: Agent, games: int) -> list[float]:
    """Mean score (win 1, draw 0.5) of `one` as player 0 and as player 1, one random ply first."""
    means, source = [], rng(1)
    for seat in (0, 1):
        states = game.apply_actions(game.initial_states(games),
                                    game.random_actions(game.initial_states(games), source))
        going = np.arange(games)
        while len(going):
            mover = one if states["ply"][going[0]] % 2 == seat else other
            actions = mover.select_actions(states[going], source)
            states[going] = game.apply_actions(states[going], actions)
            going = going[~game.terminals(states[going])]
        margins = game.margins(states) * (-1 if seat else 1)
        means.append(float(np.mean((margins > 0) + 0.5 * (margins == 0))))
    return means


@pytest.mark.parametrize(("name", "stronger", "weaker", "games", "least"), [
    ("storm", "greedy", "random", 200, 0.9),
    ("sudden-death", "greedy", "random", 200, 0.9),
    ("storm", "mcts:200", "random", 100, 0.9),
    ("sudden-death", "mcts:200", "random", 100, 0.9),
    ("sudden-death", "alphabeta:2", "greedy", 400, 0.6),
    ("sudden-death-step", "alphabeta:2", "greedy", 400, 0.55),
    ("storm", "alphabeta:4", "greedy", 100, 0.5),
    ("sudden-death", "alphabeta:4", "alphabeta:2", 50, 0.8)])
def test_the_stronger_wins_from_both_seats(
    name: str, stronger: str, weaker: str, games: int, least: float
) -> None:
    game = GAMES[name]
    found = scores(game, make_agent(stronger, game), make_agent(weaker, game), games)
    assert min(found) > least


@pytest.mark.parametrize(("stronger", "weaker", "games"), [
    ("alphabeta:3", "greedy", 100), ("alphabeta:4", "alphabeta:2", 50),
    ("mcts:800", "mcts:50", 50)])
def test_the_stronger_does_better_in_each_seat_of_storm(
    stronger: str, weaker: str, games: int
) -> None:
    """The last mover wins most games among equals, so each seat is measured against the equals."""
    game = GAMES["storm"]
    agent, opponent = make_agent(stronger, game), make_agent(weaker, game)
    gains = np.subtract(scores(game, agent, opponent, games),
                        scores(game, opponent, opponent, games))
    assert gains.min() > 0.05


@pytest.mark.parametrize("spec", [
    "alphabeta", "alphabeta:", "alphabeta:x", "alphabeta:0", "alphabeta:-1", "alphabeta:+2",
    "alphabeta: 2", "alphabeta:2.0", "alphabeta:17", "alphabeta:2:3", "alphabeta:1_0",
    "alphabeta:２", "alphabeta:²", "mcts", "mcts:-3", "mcts:0", "mcts:1e3", "mcts:٣",
    "mcts:1000001", "mcts:" + "9" * 5_000, "random:3", "greedy:x", "minimax", "", ":", "Random"])
def test_wrong_names_are_one_clear_error(spec: str) -> None:
    with pytest.raises(AgentError, match="allowed: ") as caught:
        make_agent(spec, GAMES["storm"])
    assert repr(spec if spec == ":" else spec.removesuffix(":")) in str(caught.value)
    assert "\n" not in str(caught.value)


# What others bring along


class Minimal:
    """Somebody's agent with nothing but what an agent must have."""

    name = "minimal"

    def __init__(self, game: Game) -> None:
        self._game = game

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Any:
        return self._game.legal_action_masks(states).argmax(axis=1)


class Stoppable(Minimal):
    """The same with a way to stop it."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.told = False

    def stop(self) -> None:
        self.told = True


@pytest.mark.parametrize("spec", SPECS)
def test_every_agent_can_be_stopped(spec: str) -> None:
    agent = make_agent(spec, GAMES["storm"])
    assert isinstance(agent, Agent)
    assert isinstance(agent.thread_safe, bool)
    agent.stop()


def test_a_minimal_agent_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {"minimal": lambda _, game: Minimal(game)})
    agent = make_agent("minimal", GAMES["storm"])
    assert isinstance(agent, Agent)
    assert (agent.name, agent.thread_safe) == ("minimal", False)
    agent.stop()
    states = random_positions(GAMES["storm"], 5)
    assert np.array_equal(agent.select_actions(states, rng()),
                          Minimal(GAMES["storm"]).select_actions(states, rng()))


def test_an_agent_that_is_whole_stays_itself() -> None:
    class Whole(Stoppable):
        thread_safe = True

    agent = Whole(GAMES["storm"])
    assert as_agent(agent, "opponent") is agent


@pytest.mark.parametrize(("source", "missing"), [
    (3, "no name and no select_actions"), (Stoppable(GAMES["storm"]), "no thread_safe;")])
def test_half_an_agent_is_refused(
    source: object, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_registered", {"half": lambda *_: source})
    with pytest.raises(AgentError, match=f"agent 'half' is .*{missing}"):
        make_agent("half", GAMES["storm"])
    with pytest.raises(AgentError, match=f"opponent is .*{missing}"):
        as_agent(source, "opponent")
