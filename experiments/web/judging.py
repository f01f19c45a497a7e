"""What the positions and moves of a line are worth, from all that analyses have found.

What is proven of one position is proven of its neighbour too: the value of a move is that of the
position that it leads to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from agents.solve.move_values import MoveValues, in_words
from castle_env import Position
from experiments.play.game_in_play import GameInPlay

# What is known of the moves of a position, None where nothing is.
Lookup: TypeAlias = Callable[[Position], MoveValues | None]


@dataclass(frozen=True)
class Worth:
    """A value in Victory Points. depth: None where it is proven, else how far ahead it looks."""

    value: int
    depth: int | None

    @property
    def exact(self) -> bool:
        """Whether it is proven."""
        return self.depth is None


def worth_of(live: GameInPlay, known: Lookup, at: int) -> Worth | None:
    """Player 0's margin under best play from the position after `at` moves, as well as known."""
    state = live.states[at]
    if live.game.is_terminal(state):
        first, second = live.game.victory_points(state)
        return Worth(first - second, None)
    found = [_best(known(state), state)]
    if at:
        before = known(live.states[at - 1])
        found.append(_played(before, live.states[at - 1], live.record.actions[at - 1]))
    told = [worth for worth in found if worth is not None]
    return next((worth for worth in told if worth.exact), told[0] if told else None)


def _best(values: MoveValues | None, state: Position) -> Worth | None:
    return None if values is None else Worth(_margin(state, values.best_value), values.depth)


def _played(values: MoveValues | None, state: Position, action: int) -> Worth | None:
    return None if values is None else Worth(_margin(state, values.values[action]), values.depth)


def _margin(state: Position, value: int) -> int:
    """A value of the player to move as player 0's margin, and back."""
    return -value if state.ply & 1 else value


def regret_of(live: GameInPlay, known: Lookup, at: int) -> Worth | None:
    """Victory Points that the move after the first `at` threw away, from 0 on."""
    state, action = live.states[at], live.record.actions[at]
    before, after = worth_of(live, known, at), worth_of(live, known, at + 1)
    if before is not None and after is not None and before.exact and after.exact:
        return Worth(_margin(state, before.value - after.value), None)
    values = known(state)
    return None if values is None else Worth(values.regret(action), values.depth)


def line_json(live: GameInPlay, known: Lookup) -> list[dict[str, Any] | None]:
    """For each position of the line its value, None where it is not known, and the last move's
    regret.
    """
    return [_place_json(live, known, at) for at in range(live.plies + 1)]


def _place_json(live: GameInPlay, known: Lookup, at: int) -> dict[str, Any] | None:
    worth = worth_of(live, known, at)
    regret = regret_of(live, known, at - 1) if at else None
    if worth is None and regret is None:
        return None
    return {
        "margin": None if worth is None else worth.value,
        "exact": worth is not None and worth.exact,
        "words": "" if worth is None else in_words(_margin(live.states[at], worth.value),
                                                  worth.depth),
        "regret": None if regret is None else regret.value,
        "regret_exact": regret is not None and regret.exact,
    }
