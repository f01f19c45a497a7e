"""Perfect play in storm: exact values and the moves that keep them, from the book or proven."""

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from agents.solve.book import Book, shipped_book
from agents.solve.exact_values import (
    ILLEGAL,
    LAST_MEMORY,
    LAST_PLIES,
    Values,
    write_move_values,
)
from agents.solve.move_values import MoveValues
from agents.solve.storm_search import new_arrays
from agents.solve.storm_solver import DEFAULT_MEMORY, Solver
from castle_env.game import Game
from castle_env.position import Position, PositionArray, stack, unstack
from castle_env.ruleset import Ruleset
from castle_env.symmetry import map_bits

# Positions given to compiled code at once.
_AT_ONCE: Final = 32


class PerfectPlay:
    """What perfect players of a storm ruleset know; margins are those of the player to move.

    Asks the book first, the shipped one of the ruleset unless another is given, and proves what is
    not in it. Raises `AgentError` for other modes.
    """

    def __init__(
        self, game: Game, book: Book | None = None, memory_bytes: int = DEFAULT_MEMORY
    ) -> None:
        self.game: Final = game
        self.solver: Final = Solver(game, memory_bytes)
        self._arrays: Final = new_arrays(game, LAST_MEMORY)
        self._symmetries: Final = game.symmetries()
        self._known: Final[dict[Position, Values]] = {}
        self._book: Final = book or shipped_book(game) or Book(game, -1, {})

    def value(self, position: Position) -> int:
        """The exact margin under best play by both."""
        known = self._book.value(position)
        return self.solver.solve(position) if known is None else known

    def move_values(self, position: Position) -> MoveValues:
        """The exact values of all legal moves; of positions joined by symmetry, found once."""
        form, action_map = self.canonical(position)
        if form not in self._known:
            self._known[form] = self.values_of_moves(stack([form]))[0]
        row = self._known[form]
        return MoveValues({action: int(row[action_map[action]])
                           for action in self.game.legal_actions(position)})

    def canonical(self, position: Position) -> tuple[Position, npt.NDArray[np.int64]]:
        """The least of the images of a position under the symmetries of the ruleset.

        And the map of actions that leads to it, shape (num_actions,).
        """
        images = ((_image(position, square_map), action_map)
                  for square_map, action_map in self._symmetries)
        return min(images, key=lambda image: image[0])

    def values_of_moves(self, states: PositionArray) -> Values:
        """The exact margin for the mover after each action: (n, num_actions) int16 for states (n,).

        ILLEGAL where an action may not be played, which is everywhere once the game is over. In
        default storm a position with 7 plies left takes about 20 ms and one with 5 plies 2 ms; with
        more plies, outside the book, each takes about five times as long as with one ply less.
        """
        values = np.full((len(states), self.game.num_actions), ILLEGAL, dtype=np.int16)
        plies_left = self.game.rules.max_plies - states["ply"]
        late = np.flatnonzero((plies_left > 0) & (plies_left <= LAST_PLIES))
        # In parts, since compiled code does not hear Ctrl-C.
        for start in range(0, len(late), _AT_ONCE):
            rows = late[start:start + _AT_ONCE]
            found = values[rows]
            write_move_values(self._arrays, states[rows], found)
            values[rows] = found
        for row in np.flatnonzero(plies_left > LAST_PLIES):
            position = unstack(states[row:row + 1])[0]
            for action in self.game.legal_actions(position):
                values[row, action] = -self.value(self.game.apply(position, action))
        return values

    def keeps(self, position: Position, action: int, value: int) -> bool:
        """Whether a legal action is worth at least `value`."""
        after = self.game.apply(position, action)
        known = self._book.value(after)
        return not self.solver.at_least(after, 1 - value) if known is None else -known >= value

    def best_actions(self, position: Position, value: int) -> list[int]:
        """All actions that keep `value`, the position's exact one."""
        return [action for action in self.game.legal_actions(position)
                if self.keeps(position, action, value)]

    def share_kept(self, position: Position, value: int, limit: float) -> float:
        """Share of the legal actions that keep `value`; where it is above `limit`, a lower bound of
        it above `limit`.
        """
        actions = self.game.legal_actions(position)
        kept = 0
        for action in actions:
            kept += self.keeps(position, action, value)
            if kept / len(actions) > limit:
                break
        return kept / len(actions) if actions else 1.0


def _image(position: Position, square_map: npt.NDArray[np.int64]) -> Position:
    fields = ("own", "opposing", "strongholds", "bastion")
    return position._replace(**{field: map_bits(square_map, getattr(position, field))
                                for field in fields})


@lru_cache(maxsize=1)
def perfect_play_of(rules: Ruleset) -> PerfectPlay:
    """The perfect play of a ruleset, made once in a process, so that proofs are kept."""
    return PerfectPlay(Game(rules))


def exact_move_values(game: Game, states: PositionArray) -> Values:
    """`PerfectPlay.values_of_moves` for those who ask once; raises `AgentError` outside storm."""
    return PerfectPlay(game).values_of_moves(states)
