"""The symmetries of a ruleset: which turns and mirrors of the board leave the rules unchanged."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from castle_env.board import (
    DIRECTIONS,
    EDGES,
    ENTRIES,
    OFFSETS,
    SIZE,
    SQUARES,
    STEPS,
    squares_of,
)

Ints: TypeAlias = npt.NDArray[np.int64]
Symmetry: TypeAlias = tuple[Ints, Ints]


def board_symmetries() -> list[Ints]:
    """The eight square maps of a square board, shape (36,) each, identity first."""
    squares = np.arange(SQUARES).reshape(SIZE, SIZE)
    grids = [np.rot90(grid, turns) for grid in (squares, squares.T) for turns in range(4)]
    return [np.ascontiguousarray(grid.reshape(-1)) for grid in grids]


def map_bits(square_map: Ints, bits: int) -> int:
    """A bitboard with every square moved by a square map."""
    return sum(1 << int(square_map[square]) for square in squares_of(bits))


def symmetries_of(rules: np.void, num_actions: int) -> list[Symmetry]:
    """(square map, action map) pairs that keep strongholds, doors and square points in place."""
    return [(square_map, _action_map(square_map, num_actions))
            for square_map in board_symmetries() if _keeps(rules, square_map)]


def _keeps(rules: np.void, square_map: Ints) -> bool:
    if map_bits(square_map, int(rules["strongholds"])) != rules["strongholds"]:
        return False
    if not np.array_equal(rules["squares"][square_map], rules["squares"]):
        return False
    directions = _direction_map(square_map)
    return all(map_bits(square_map, int(rules["doors"][player, side]))
               == rules["doors"][player, directions[side]]
               for player in range(2) for side in range(DIRECTIONS))


def _direction_map(square_map: Ints) -> list[int]:
    """Where each direction (and so each side of the board) goes under a square map."""
    inner = 2 * SIZE + 2
    return [OFFSETS.index(int(square_map[inner + offset] - square_map[inner]))
            for offset in OFFSETS]


def _action_map(square_map: Ints, num_actions: int) -> Ints:
    directions = _direction_map(square_map)
    mapped = np.arange(num_actions)
    for action in range(ENTRIES):
        side, lane = divmod(action, SIZE)
        door = int(square_map[squares_of(EDGES[side])[lane]])
        mapped[action] = directions[side] * SIZE + squares_of(EDGES[directions[side]]).index(door)
    for action in range(STEPS, num_actions):
        square, direction = divmod(action - STEPS, DIRECTIONS)
        mapped[action] = STEPS + int(square_map[square]) * DIRECTIONS + directions[direction]
    return mapped
