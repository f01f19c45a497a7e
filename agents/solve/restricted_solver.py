"""What perfect play in storm is worth when one player never makes certain moves."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from agents.search.board import board_of
from agents.search.restriction import (
    FORBIDDEN,
    RANDOM_HALF,
    Restriction,
    check_restriction,
)
from agents.solve.book import key_of, positions_by_ply
from agents.solve.restricted_slides import write_allowed
from agents.solve.slides import ROWS
from agents.solve.storm_solver import DEFAULT_MEMORY, Solver, captured_margin
from castle_env.board import ENTRIES, PASS
from castle_env.game import Game
from castle_env.position import Position


class RestrictedSolver(Solver):
    """A `Solver` whose player in `seat` never makes forbidden moves while others are legal.

    The opponent plays perfectly against that. Raises `OptionError` for what is no key of FORBIDDEN
    and no seat, and `AgentError` for other modes than storm.
    """

    def __init__(
        self, game: Game, restriction: str, seat: int, memory_bytes: int = DEFAULT_MEMORY
    ) -> None:
        check_restriction(restriction, seat, tuple(FORBIDDEN))
        super().__init__(game, memory_bytes)
        self._restriction = Restriction(FORBIDDEN[restriction], seat)

    def _choices(self, position: Position) -> list[int]:
        restriction = self._restriction
        if (restriction is None or position.ply & 1 != restriction.player
                or self.game.is_terminal(position)):
            return super()._choices(position)
        allowed = np.zeros(ENTRIES, dtype=np.int64)
        write_allowed(self.game.table, restriction, board_of(position),
                      np.zeros((ROWS, ENTRIES), dtype=np.int64), allowed)
        lanes: list[int] = np.flatnonzero(allowed).tolist()
        return lanes or [PASS]


def restricted_value(
    game: Game, restriction: str, seat: int, memory_bytes: int = DEFAULT_MEMORY
) -> Fraction:
    """Player 0's margin from the start when the player in `seat` is restricted; exact.

    The opponent knows the restriction. With "random-first-half" it is an expectation. Raises
    `OptionError` and `AgentError`.
    """
    check_restriction(restriction, seat)
    if restriction == RANDOM_HALF:
        return random_half_value(game, seat, memory_bytes)
    solver = RestrictedSolver(game, restriction, seat, memory_bytes)
    return Fraction(solver.solve(game.initial_state()))


def random_half_value(game: Game, seat: int, memory_bytes: int = DEFAULT_MEMORY) -> Fraction:
    """Player 0's expected margin when `seat` moves at random in the first half of the game's plies.

    Its opponent plays for the expectation; in the second half both play perfectly. All positions up
    to the half are held in memory, up to symmetry.
    """
    solver = Solver(game, memory_bytes)
    *layers, half = positions_by_ply(game, game.rules.max_plies // 2)
    values = {key: Fraction(solver.solve(position) - captured_margin(game.rules, position))
              for key, position in half.items()}
    for layer in layers[::-1]:
        values = {key: _backed_up(game, position, values, position.ply & 1 == seat)
                  for key, position in layer.items()}
    (value,) = values.values()
    return value


def _backed_up(
    game: Game, position: Position, values: Mapping[tuple[int, int], Fraction], is_random: bool
) -> Fraction:
    """A mover's value, captures left out, from those of the next ply: their mean or the best."""
    after = [game.apply(position, action) for action in game.legal_actions(position)]
    margins = [-values[key_of(game, child)] - captured_margin(game.rules, child)
               for child in after]
    value = sum(margins, Fraction()) / len(margins) if is_random else max(margins)
    return value - captured_margin(game.rules, position)
