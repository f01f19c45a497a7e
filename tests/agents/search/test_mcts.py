"""Tree search by playouts: wins are taken, signs are right, and whole trees are counted."""

from collections.abc import Iterator
from itertools import count, islice

import pytest
from minimax import (
    GAMES,
    SPECIAL,
    action_values,
    best_actions,
    random_positions,
    rng,
    sample,
    winning_now,
)

from agents import make_agent
from agents.search.alphabeta import search_root, workspace
from agents.search.mcts import Tree, grow, most_visited, new_tree, playout_value
from agents.search.moves import CODE_BITS, action_of_code
from castle_env import Game, Position, Ruleset
from castle_env.batch import random_playout
from castle_env.board import PASS
from castle_env.position import stack, unstack


def grown(game: Game, state: Position, simulations: int, seed: int = 0) -> Tree:
    tree = new_tree(simulations + 1)
    grow(game.table[0], tree, state, simulations, seed)
    return tree


# In storm player 1 makes the last move, so only it can win in one.
@pytest.mark.parametrize(("name", "player"), [
    ("storm", 1), ("storm-towers", 1), ("enemy-only", 1), ("points", 1),
    *((name, player) for player in (0, 1) for name in (
        "sudden-death", "sudden-death-step", "sudden-death-central", "sudden-death-home",
        "enemy-only-steps", "push", "passes", "passes-north"))])
def test_mcts_takes_a_win_in_one(name: str, player: int) -> None:
    game = GAMES[name]
    for state in islice(won_now(game, player), 10):
        wins = winning_now(game, state)
        tree = grown(game, state, 400)
        child = most_visited(tree)
        assert action_of_code(tree.code[child]) in wins
        assert tree.total[child] / tree.visits[child] > 1


def won_now(game: Game, player: int) -> Iterator[Position]:
    """Positions of random games in which some moves win at once, and others do not; without end."""
    for seed in count():
        states = random_positions(game, 60, seed)
        for state in unstack(states[states["ply"] % 2 == player]):
            if 0 < len(winning_now(game, state)) < len(game.legal_actions(state)):
                yield state


@pytest.mark.parametrize("name", ["passes", "passes-north"])
def test_values_keep_their_sign_over_a_pass(name: str) -> None:
    """The player who has to pass is about to lose, and the other one wins in one."""
    game = GAMES[name]
    for state in islice(passing_before_a_loss(game), 6):
        after = game.apply(state, PASS)
        tree = grown(game, state, 200)
        child = most_visited(tree)
        assert action_of_code(tree.code[child]) == PASS
        assert tree.total[child] / tree.visits[child] < -1
        chosen = make_agent("mcts:200", game).select_actions(stack([after]), rng())
        assert chosen[0] in winning_now(game, after)
        work = workspace(2)
        search_root(game.table[0], None, state, 2, work)
        assert work.moves[2, 0] >> CODE_BITS < 0


def passing_before_a_loss(game: Game) -> Iterator[Position]:
    """Positions of random games in which the mover passes and the other then wins; without end."""
    for seed in count():
        states = random_positions(game, 500, seed)
        for state in unstack(states[game.legal_action_masks(states)[:, PASS] == 1]):
            after = game.apply(state, PASS)
            if not game.is_terminal(after) and winning_now(game, after):
                yield state


@pytest.mark.parametrize("name", GAMES)
def test_playouts_are_valued_for_the_player_to_move(name: str) -> None:
    game = GAMES[name]
    for seed, state in enumerate(unstack(sample(game, 50))):
        outcome = game.outcome(random_playout(game.table[0], state, seed))
        assert outcome is not None
        margin = outcome.margin * (-1 if game.current_player(state) else 1)
        assert playout_value(game.table[0], state, seed) == margin / (10 + abs(margin))


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
