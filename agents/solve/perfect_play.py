"""Perfect play in storm: exact values and the moves that keep them, from the book or proven."""

from typing import Final

from agents.solve.book import Book, shipped_book
from agents.solve.storm_solver import DEFAULT_MEMORY, Solver
from castle_env.game import Game
from castle_env.position import Position


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
        self._book: Final = book or shipped_book(game) or Book(game, -1, {})

    def value(self, position: Position) -> int:
        """The exact margin under best play by both."""
        known = self._book.value(position)
        return self.solver.solve(position) if known is None else known

    def move_values(self, position: Position) -> dict[int, int]:
        """The exact margin for the mover after each legal action."""
        return {action: -self.value(self.game.apply(position, action))
                for action in self.game.legal_actions(position)}

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
