"""What the moves of a position are worth: one value for all who ask, print or judge."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MoveValues:
    """What each legal move is worth to the player who makes it.

    values: action -> margin in Victory Points under best play by both after the move. depth: None
    where all of them are proven; else they are margins so many plies ahead of the position, the
    move itself counted.
    """

    values: Mapping[int, int]
    depth: int | None = None

    @property
    def exact(self) -> bool:
        """Whether all values are proven."""
        return self.depth is None

    @property
    def best_value(self) -> int:
        """What the best moves are worth."""
        return max(self.values.values())

    @property
    def best_actions(self) -> list[int]:
        """All actions that no other one beats."""
        best = self.best_value
        return [action for action, value in self.values.items() if value == best]

    def regret(self, action: int) -> int:
        """Victory Points that an action throws away, from 0 on."""
        return self.best_value - self.values[action]


def in_words(value: int, depth: int | None) -> str:
    """What a margin means to the player whose it is, such as "loses by 4 with best play".

    depth: None where the value is proven, else how many plies ahead it looks.
    """
    if depth is None:
        result = f"{'wins' if value > 0 else 'loses'} by {abs(value)}" if value else "draws"
        return f"{result} with best play"
    margin = f"{'ahead' if value > 0 else 'behind'} by {abs(value)}" if value else "level"
    return f"{margin}, looking {depth} {'ply' if depth == 1 else 'plies'} ahead"
