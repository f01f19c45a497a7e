"""The board, its squares and the numbering of actions: every layout is drawn once, here.

Squares are numbered row by row from the north-west; bit `i` of a bitboard is square `i`:

          N a   b   c   d   e   f
          ┌───┬───┬───┬───┬───┬───┐
     W 6  │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │  6 E      north = index - 6
          ├───┼───┼───┼───┼───┼───┤
       5  │ 6 │ 7 │ 8 │ 9 │10 │11 │  5        south = index + 6
          ├───┼───┼───┼───┼───┼───┤
       4  │12 │13 │14 │15 │16 │17 │  4        west  = index - 1
          ├───┼───┼───┼───┼───┼───┤
       3  │18 │19 │20 │21 │22 │23 │  3        east  = index + 1
          ├───┼───┼───┼───┼───┼───┤
       2  │24 │25 │26 │27 │28 │29 │  2
          ├───┼───┼───┼───┼───┼───┤
     W 1  │30 │31 │32 │33 │34 │35 │  1 E
          └───┴───┴───┴───┴───┴───┘
          S a   b   c   d   e   f

Actions:

      0 –   5   Na … Nf   enter from the north on a file, moving south
      6 –  11   Sa … Sf   enter from the south on a file, moving north
     12 –  17   W6 … W1   enter from the west on a rank, moving east
     18 –  23   E6 … E1   enter from the east on a rank, moving west
           24   pass      only when nothing else is legal
     25 – 168   c3c4 …    step: 25 + square * 4 + direction (sudden death only)
"""

from typing import Final

# What people read for players 0 and 1; diagrams show the letters A and B.
PLAYER_NAMES: Final = ("first player", "second player")

SIZE: Final = 6
SQUARES: Final = SIZE * SIZE
FILES: Final = "abcdef"
RANKS: Final = "654321"
SIDES: Final = "NSWE"

# Directions of movement, and the sides of the board in the same order. A faction that enters from
# a side moves in the opposite direction.
NORTH: Final = 0
SOUTH: Final = 1
WEST: Final = 2
EAST: Final = 3
DIRECTIONS: Final = 4
OFFSETS: Final = (-SIZE, SIZE, -1, 1)

ENTRIES: Final = DIRECTIONS * SIZE
PASS: Final = ENTRIES
STEPS: Final = PASS + 1
STORM_ACTIONS: Final = STEPS
SUDDEN_DEATH_ACTIONS: Final = STEPS + SQUARES * DIRECTIONS

BOARD: Final = (1 << SQUARES) - 1
TOP_ROW: Final = (1 << SIZE) - 1
FIRST_COLUMN: Final = sum(1 << (SIZE * row) for row in range(SIZE))
# The squares at each side of the board, in the order of the directions.
EDGES: Final = (
    TOP_ROW,
    TOP_ROW << (SIZE * (SIZE - 1)),
    FIRST_COLUMN,
    FIRST_COLUMN << (SIZE - 1),
)


def square_name(square: int) -> str:
    """Name of a square index, for instance 14 -> "c4"."""
    return FILES[square % SIZE] + RANKS[square // SIZE]


SQUARE_NAMES: Final = tuple(square_name(square) for square in range(SQUARES))


def squares_of(bitboard: int) -> list[int]:
    """Indices of the set bits of a bitboard, in ascending order."""
    return [square for square in range(SQUARES) if bitboard >> square & 1]


def _action_name(action: int) -> str:
    if action < ENTRIES:
        side, lane = divmod(action, SIZE)
        return SIDES[side] + (FILES[lane] if side in (NORTH, SOUTH) else RANKS[lane])
    if action == PASS:
        return "pass"
    square, direction = divmod(action - STEPS, DIRECTIONS)
    return SQUARE_NAMES[square] + SQUARE_NAMES[square + OFFSETS[direction]]


def steps_off_board(action: int) -> bool:
    """Whether a step's index points over the edge; it has no text and is never legal."""
    if action < STEPS:
        return False
    square, direction = divmod(action - STEPS, DIRECTIONS)
    return bool(EDGES[direction] >> square & 1)


# Text of every action that stays on the board, by index, and back.
ACTION_NAMES: Final = {
    action: _action_name(action)
    for action in range(SUDDEN_DEATH_ACTIONS)
    if not steps_off_board(action)
}
ACTION_NUMBERS: Final = {name: action for action, name in ACTION_NAMES.items()}
