"""What storm cells hold: exact values, of openings too, and what restrictions cost."""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from agents.solve.book import key_of
from agents.solve.restricted_solver import restricted_value
from agents.solve.storm_solver import Solver, captured_margin
from castle_env import Game, Position

MEMORY: Final = 1 << 28


def value_cell(game: Game, params: Mapping[str, Any], seed: int | None) -> dict[str, Any]:
    """The exact margin of player 0 from the start, of each first move, and of random openings.

    openings: probability of each exact margin once `params["opening_plies"]` uniformly random legal
    plies have been played. Raises `AgentError` for other modes than storm.
    """
    solver = Solver(game, MEMORY)
    start = game.initial_state()
    value = solver.solve(start)
    first_moves = {game.format_action(action): margin
                   for action, margin in solver.each_move_value(start)}
    openings: defaultdict[int, Fraction] = defaultdict(Fraction)
    for position, chance in opening_positions(game, params["opening_plies"]):
        margin = solver.solve(position)
        openings[-margin if position.ply & 1 else margin] += chance
    return {
        "value": value,
        "first_moves": first_moves,
        "openings": {str(margin): float(openings[margin]) for margin in sorted(openings)},
        "nodes": solver.nodes,
    }


def opening_positions(game: Game, plies: int) -> list[tuple[Position, Fraction]]:
    """What random openings lead to, with the probability of each; equal futures are joined."""
    positions = [(game.initial_state(), Fraction(1))]
    for _ in range(min(plies, game.rules.max_plies)):
        after: dict[tuple[int, ...], tuple[Position, Fraction]] = {}
        for position, chance in positions:
            actions = game.legal_actions(position)
            for child in (game.apply(position, action) for action in actions):
                key = *key_of(game, child), captured_margin(game.rules, child)
                first, sum_so_far = after.get(key, (child, Fraction()))
                after[key] = first, sum_so_far + chance / len(actions)
        positions = list(after.values())
    return positions


def restricted_cell(game: Game, params: Mapping[str, Any], seed: int | None) -> dict[str, Any]:
    """Player 0's margin where a restricted player meets a perfect one: see `restricted_value`."""
    value = restricted_value(game, params["restriction"], params["seat"], MEMORY)
    return {"value": float(value), "exact": str(value)}
