"""Restricted play in storm against a slow search that follows every line and remembers nothing."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from agents.search.restriction import FORBIDDEN, RANDOM_HALF, RESTRICTIONS
from agents.solve.restricted_solver import RestrictedSolver, restricted_value
from agents.solve.storm_solver import Solver
from castle_env import AgentError, Game, OptionError, Position, Ruleset, load_ruleset

MEMORY = 1 << 20
LAYOUTS = {
    "one": ["......", "......", "..#...", "......", "......", "......"],
    "edge": ["......", "......", "......", "......", ".#....", "....#."],
    "wall": ["......", "......", "......", "......", "......", "######"],
}


def small_game(layout: str, factions: int = 2, **keys: Any) -> Game:
    return Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": factions,
                                   "strongholds": LAYOUTS[layout], **keys}))


def squares_of(game: Game, position: Position, tokens: str) -> set[tuple[int, int]]:
    """Rows and columns of tokens, read from the text of a position."""
    ranks = game.format_position(position).split()[0]
    for digit in "123456":
        ranks = ranks.replace(digit, "." * int(digit))
    return {(row, column) for row, rank in enumerate(ranks.split("/"))
            for column, token in enumerate(rank) if token in tokens}


def around(square: tuple[int, int]) -> set[tuple[int, int]]:
    row, column = square
    return {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}


def is_forbidden(game: Game, restriction: str, before: Position, after: Position) -> bool:
    """The restriction in words of the board, for all but "looks-one-move-ahead"."""
    if restriction == "never-captures":
        return len(squares_of(game, after, "AB")) == len(squares_of(game, before, "AB"))
    if restriction == "never-pushes-strongholds":
        return squares_of(game, after, "#") != squares_of(game, before, "#")
    opponent = "BA"[before.ply & 1]
    bastion = game.format_position(after).split()[2]
    entered = 6 - int(bastion[1]), "abcdef".index(bastion[0])
    return any(around(stronghold) & squares_of(game, after, opponent)
               for stronghold in around(entered) & squares_of(game, after, "#"))


def margin_of_mover(game: Game, after: Position) -> int:
    points = game.victory_points(after)
    mover = 1 - (after.ply & 1)
    return points[mover] - points[1 - mover]


def allowed(game: Game, restriction: str, position: Position) -> list[Position]:
    """Positions that a restricted player may move to."""
    after = [game.apply(position, action) for action in game.legal_actions(position)]
    if restriction == "looks-one-move-ahead":
        best = max(margin_of_mover(game, child) for child in after)
        return [child for child in after if margin_of_mover(game, child) == best]
    if all(child.bastion == 0 for child in after):
        return after
    return [child for child in after
            if not is_forbidden(game, restriction, position, child)] or after


def slow_value(game: Game, restriction: str, seat: int, position: Position) -> Fraction:
    """Player 0's margin under restricted play; every line is followed, nothing remembered."""
    if game.is_terminal(position):
        first, second = game.victory_points(position)
        return Fraction(first - second)
    mover = position.ply & 1
    at_random = (restriction == RANDOM_HALF and mover == seat
                 and position.ply < game.rules.max_plies // 2)
    children = (allowed(game, restriction, position)
                if mover == seat and restriction != RANDOM_HALF
                else [game.apply(position, action) for action in game.legal_actions(position)])
    values = [slow_value(game, restriction, seat, child) for child in children]
    if at_random:
        return sum(values, Fraction()) / len(values)
    return min(values) if mover else max(values)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("restriction", RESTRICTIONS)
def test_whole_games(restriction: str, seat: int, layout: str) -> None:
    game = small_game(layout)
    expected = slow_value(game, restriction, seat, game.initial_state())
    assert restricted_value(game, restriction, seat, MEMORY) == expected


def endings(rng: np.random.Generator, count: int) -> Iterator[tuple[Game, Position]]:
    """Late positions of larger games, where captures have been made and lanes are full."""
    for index in range(count):
        game = small_game(list(LAYOUTS)[index % 3], 6,
                          capture_credit=("opponent", "enemy_only")[index % 2],
                          victory_points={"captured": 3, "contact": 1} if index % 5 else {})
        states = game.initial_states(1)
        for _ in range(game.rules.max_plies - 1 - index % 2):
            states = game.apply_actions(states, game.random_actions(states, rng))
        yield game, Position(*states[0].item())


@pytest.mark.parametrize("restriction", FORBIDDEN)
def test_endings(restriction: str) -> None:
    restricts = 0
    for game, position in endings(np.random.default_rng(7), 24):
        free = Solver(game, MEMORY).solve(position) * (1 - 2 * (position.ply & 1))
        for seat in (0, 1):
            solved = RestrictedSolver(game, restriction, seat, MEMORY).solve(position)
            margin = -solved if position.ply & 1 else solved
            assert margin == slow_value(game, restriction, seat, position)
            assert (free - margin) * (1 - 2 * seat) >= 0
            restricts += margin != free
    assert restricts or restriction == "looks-one-move-ahead"


@pytest.mark.parametrize("restriction", FORBIDDEN)
def test_best_play_keeps_to_the_restriction(restriction: str) -> None:
    game = small_game("edge", 3)
    for seat in (0, 1):
        solver, position = RestrictedSolver(game, restriction, seat, MEMORY), game.initial_state()
        value = solver.solve(position)
        for action in solver.principal_variation(position):
            after = game.apply(position, action)
            assert position.ply & 1 != seat or after in allowed(game, restriction, position)
            position = after
        points = game.victory_points(position)
        assert points[0] - points[1] == value


def test_table_and_symmetries_do_not_matter() -> None:
    game = Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": 4}))
    for restriction in FORBIDDEN:
        values = {RestrictedSolver(game, restriction, 1, memory).solve(game.initial_state())
                  for memory in (1, MEMORY)}
        assert len(values) == 1


def test_refuses_what_it_cannot_do() -> None:
    game = small_game("one")
    with pytest.raises(OptionError, match="never-captures"):
        restricted_value(game, "never-wins", 0)
    with pytest.raises(OptionError, match="seat of the restricted player is 2"):
        restricted_value(game, "never-captures", 2)
    with pytest.raises(OptionError, match="restriction is 'random-first-half'"):
        RestrictedSolver(game, RANDOM_HALF, 0)
    with pytest.raises(AgentError, match="sudden_death"):
        restricted_value(Game(load_ruleset("sudden-death")), "never-captures", 0)
