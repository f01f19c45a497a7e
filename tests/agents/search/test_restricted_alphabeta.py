"""Restricted searches keep to their restriction, and choose among what is left by minimax."""

import numpy as np
import pytest

from agents.search.board import board_of
from agents.search.restricted_alphabeta import restricted_alphabeta
from agents.search.restriction import FORBIDDEN, RANDOM_HALF, Restriction
from agents.solve.restricted_slides import write_allowed
from agents.solve.slides import ROWS
from castle_env import Agent, Game, OptionError, Position, load_ruleset, make_agent
from castle_env.board import ENTRIES
from castle_env.kernels import neighbours
from castle_env.position import PositionArray, stack, unstack

STORM, SUDDEN_DEATH = (Game(load_ruleset(name)) for name in ("storm", "sudden-death"))
GAMES = pytest.mark.parametrize("game", [STORM, SUDDEN_DEATH], ids=repr)


def positions(game: Game, plies: int, count: int = 12) -> list[Position]:
    rng = np.random.default_rng(plies)
    states = game.initial_states(count)
    for _ in range(plies):
        states = game.apply_actions(states, game.random_actions(states, rng))
    return unstack(states)


def one(state: Position) -> PositionArray:
    return stack([state])


def tokens_of(game: Game, state: Position) -> int:
    board = game.format_position(state).split()[0]
    return board.count("A") + board.count("B") + state.own_hand + state.opposing_hand


def margin(game: Game, state: Position, player: int) -> int:
    first, second = game.victory_points(state)
    return second - first if player else first - second


def allowed(game: Game, state: Position, restriction: str) -> list[int]:
    """Actions that a restricted mover may choose, said slowly."""
    after = {action: game.apply(state, action) for action in game.legal_actions(state)}
    best = max(margin(game, child, state.ply & 1) for child in after.values())

    def is_allowed(child: Position) -> bool:
        if restriction == "never-captures":
            return tokens_of(game, child) == tokens_of(game, state)
        if restriction == "never-pushes-strongholds":
            return child.strongholds == state.strongholds
        if restriction == "never-contests":
            besieged = child.strongholds & neighbours(child.own)
            return not neighbours(child.bastion) & besieged
        return margin(game, child, state.ply & 1) == best

    kept = [action for action, child in after.items() if is_allowed(child)]
    return kept or list(after)


def value(game: Game, state: Position, depth: int, restriction: str, player: int) -> int:
    """The margin of `player`, who is restricted, after `depth` plies."""
    if depth == 0 or game.is_terminal(state):
        return margin(game, state, player)
    mine = state.ply & 1 == player
    actions = allowed(game, state, restriction) if mine else game.legal_actions(state)
    values = [value(game, game.apply(state, action), depth - 1, restriction, player)
              for action in actions]
    return max(values) if mine else min(values)


@GAMES
@pytest.mark.parametrize("restriction", FORBIDDEN)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_chooses_the_best_of_what_is_allowed(game: Game, restriction: str, depth: int) -> None:
    agent = restricted_alphabeta(game, restriction, depth)
    for plies in (6, 12):
        for state in positions(game, plies, (10, 4, 1)[depth - 1]):
            player, actions = state.ply & 1, allowed(game, state, restriction)
            (action,) = agent.select_actions(one(state), np.random.default_rng(0))
            values = {legal: value(game, game.apply(state, legal), depth - 1, restriction, player)
                      for legal in actions}
            assert values.get(int(action)) == max(values.values())


@GAMES
@pytest.mark.parametrize("restriction", FORBIDDEN)
def test_restrictions_forbid_something(game: Game, restriction: str) -> None:
    states = positions(game, 6) + positions(game, 12)
    assert any(len(allowed(game, state, restriction)) < len(game.legal_actions(state))
               for state in states)


@pytest.mark.parametrize(("restriction", "number"), FORBIDDEN.items())
def test_restrictions_are_those_of_the_exact_solver(restriction: str, number: int) -> None:
    for state in positions(STORM, 6):
        lanes = np.zeros(ENTRIES, dtype=np.int64)
        write_allowed(STORM.table, Restriction(number, state.ply & 1), board_of(state),
                      np.zeros((ROWS, ENTRIES), dtype=np.int64), lanes)
        assert np.flatnonzero(lanes).tolist() == allowed(STORM, state, restriction)


@GAMES
def test_random_in_the_first_half(game: Game) -> None:
    agent, free = restricted_alphabeta(game, RANDOM_HALF, 2), make_agent("alphabeta:2", game)
    early, late = (positions(game, 6, 1)[0]._replace(own_hand=hand) for hand in (5, 4))

    def choices(agent: Agent, state: Position, times: int) -> set[int]:
        rng = np.random.default_rng(0)
        states = stack([state] * times)
        return set(agent.select_actions(states, rng).tolist())

    assert choices(agent, early, 300) == set(game.legal_actions(early))
    assert choices(agent, late, 300) == choices(free, late, 300) < set(game.legal_actions(late))


def test_refuses_what_is_no_restriction() -> None:
    with pytest.raises(OptionError, match="never-captures"):
        restricted_alphabeta(STORM, "never-wins", 2)
    assert restricted_alphabeta(STORM, "never-captures", 3).name == "alphabeta:3, never-captures"
