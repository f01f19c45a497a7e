"""The symmetries of the board, by arithmetic on rows and columns."""

from collections.abc import Callable

from castle_env import Position
from castle_env.board import squares_of


def board_maps() -> list[list[int]]:
    """The eight square maps of the board: where each of the 36 squares goes."""
    turns: list[Callable[[int, int], tuple[int, int]]] = [
        lambda r, c: (r, c), lambda r, c: (c, 5 - r), lambda r, c: (5 - r, 5 - c),
        lambda r, c: (5 - c, r), lambda r, c: (r, 5 - c), lambda r, c: (5 - r, c),
        lambda r, c: (c, r), lambda r, c: (5 - c, 5 - r)]
    pairs = [[turn(index // 6, index % 6) for index in range(36)] for turn in turns]
    return [[row * 6 + column for row, column in pair] for pair in pairs]


def moved(position: Position, square_map: list[int]) -> Position:
    bits = {field: sum(1 << square_map[s] for s in squares_of(getattr(position, field)))
            for field in ("own", "opposing", "strongholds", "bastion")}
    return position._replace(**bits)
