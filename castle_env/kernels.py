"""The rules of both modes as compiled functions of one position: written once, used everywhere.

Bitboards are int64 values of 36 bits laid out as in `castle_env.board`. Positions are seen from the
player to move. A move is a pair (kind, bit): kinds 0-3 enter from the north, south, west or east
and `bit` is the square on which the faction comes to stand; kinds 4-7 step north, south, west or
east and `bit` is the square that the faction leaves.
"""

from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from castle_env.board import (
    BOARD,
    DIRECTIONS,
    EDGES,
    FIRST_COLUMN,
    PASS,
    SIZE,
    SQUARES,
    STEPS,
    TOP_ROW,
)
from castle_env.compiled import kernel
from castle_env.position import Position

Moves: TypeAlias = tuple[int, int, int, int, int, int, int, int]
Points: TypeAlias = tuple[int, int, int, int, int, int]

KINDS = 8
STEPS_NONE, STEPS_PUSHING, STEPS_ALL = 0, 1, 2

# Moving every square of a bitboard one square in a direction: shift left, shift right, then keep
# only what did not wrap around the board's edge.
_LEFT = np.array([0, SIZE, 0, 1], dtype=np.int64)
_RIGHT = np.array([SIZE, 0, 1, 0], dtype=np.int64)
_KEEP = np.array([BOARD & ~EDGES[direction ^ 1] for direction in range(DIRECTIONS)], dtype=np.int64)
_EDGE = np.array(EDGES, dtype=np.int64)

RULES_DTYPE = np.dtype([
    ("factions", np.int64),
    ("max_plies", np.int64),
    ("strongholds", np.int64),
    ("ends_at_last_entry", np.int64),
    ("enters_by_step", np.int64),
    ("steps", np.int64),
    ("enemy_only", np.int64),
    ("uses_squares", np.int64),
    ("doors", np.int64, (2, DIRECTIONS)),
    ("points", np.int64, (5,)),
    ("squares", np.int64, (SQUARES,)),
])

# A ruleset as one row of RULES_DTYPE, shape (1,): the cheapest thing to hand to compiled code,
# which takes `table[0]` and reads the fields as attributes.
RuleTable: TypeAlias = npt.NDArray[np.void]


class Rules(Protocol):
    """A row of a `RuleTable`: a ruleset as numbers, which `castle_env.rule_table` makes.

    `doors[player, side]` is the bitboard of edge squares where that player may enter from that
    side; `points` holds the Victory Points of captured, besieging, contact, controlled and
    survivor; `squares` those of the 36 squares, read only when `uses_squares` is 1.
    """

    factions: int
    max_plies: int
    strongholds: int
    ends_at_last_entry: int
    enters_by_step: int
    steps: int
    enemy_only: int
    uses_squares: int
    doors: npt.NDArray[np.int64]
    points: npt.NDArray[np.int64]
    squares: npt.NDArray[np.int64]


@kernel
def popcount(bits: int) -> int:
    """Number of set bits (the SWAR sum, which LLVM turns into one instruction)."""
    bits = int(bits)  # plain Python must not overflow the integers of NumPy
    bits = bits - ((bits >> 1) & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (bits * 0x0101010101010101) >> 56 & 0xFF


@kernel
def square_of(bit: int) -> int:
    """Square index of a bitboard with one bit."""
    return popcount(bit - 1)


@kernel
def shift(squares: int, direction: int) -> int:
    """Every square moved one square in a direction; squares that leave the board are dropped."""
    moved: int = ((squares << _LEFT[direction]) >> _RIGHT[direction]) & _KEEP[direction]
    return moved


@kernel
def neighbours(squares: int) -> int:
    """Squares orthogonally adjacent to at least one of `squares`."""
    return shift(squares, 0) | shift(squares, 1) | shift(squares, 2) | shift(squares, 3)


@kernel
def spread(seeds: int, through: int, direction: int) -> int:
    """`seeds` and all squares of `through` reached from them without a gap in a direction."""
    # Five moves cross the board; written out, since this is the innermost work of every rule.
    seeds |= shift(seeds, direction) & through
    seeds |= shift(seeds, direction) & through
    seeds |= shift(seeds, direction) & through
    seeds |= shift(seeds, direction) & through
    seeds |= shift(seeds, direction) & through
    return seeds


@kernel
def first_met(occupied: int, doors: int, direction: int) -> int:
    """First token that a faction sliding in from each of `doors` meets; empty lanes give none."""
    travelled = spread(doors & ~occupied, BOARD & ~occupied, direction)
    return (doors | shift(travelled, direction)) & occupied


@kernel
def pushable(occupied: int, strongholds: int, bastion: int, direction: int) -> int:
    """Occupied squares whose run in a direction may be pushed.

    A run that holds the bastion may not be pushed, nor one whose last token is a stronghold on the
    edge that the push would send off the board.
    """
    fixed = bastion | (strongholds & _EDGE[direction])
    return occupied & ~spread(fixed, occupied, direction ^ 1)


@kernel
def is_over(rules: Rules, position: Position) -> bool:
    """Whether the game has ended: turns used up or, in sudden death, a last faction brought on."""
    last_entry = rules.ends_at_last_entry != 0 and position.opposing_hand == 0
    return position.ply >= rules.max_plies or last_entry


@kernel
def entries(rules: Rules, occupied: int, doors: int, pushed: int, direction: int) -> int:
    """Squares where factions that come in from `doors`, moving in a direction, would stand.

    `pushed` are the squares whose run that push may move.
    """
    if rules.enters_by_step:
        return doors & (~occupied | pushed)
    return first_met(occupied, doors, direction) & pushed


@kernel
def steps(rules: Rules, own: int, occupied: int, pushed: int, direction: int) -> int:
    """Squares of own factions that may step in a direction; `pushed` as in `entries`."""
    free = 0 if rules.steps == STEPS_PUSHING else BOARD & ~occupied
    return own & shift(free | pushed, direction ^ 1)


@kernel
def legal_moves(rules: Rules, position: Position) -> Moves:
    """Legal moves as one bitboard for each kind; all empty when the mover has to pass.

    The game must not be over.
    """
    own, strongholds, bastion = position.own, position.strongholds, position.bastion
    occupied = own | position.opposing | strongholds
    player = position.ply & 1
    to_north = pushable(occupied, strongholds, bastion, 0)
    to_south = pushable(occupied, strongholds, bastion, 1)
    to_west = pushable(occupied, strongholds, bastion, 2)
    to_east = pushable(occupied, strongholds, bastion, 3)
    from_north = entries(rules, occupied, rules.doors[player, 0], to_south, 1)
    from_south = entries(rules, occupied, rules.doors[player, 1], to_north, 0)
    from_west = entries(rules, occupied, rules.doors[player, 2], to_east, 3)
    from_east = entries(rules, occupied, rules.doors[player, 3], to_west, 2)
    if rules.steps == STEPS_NONE:
        return from_north, from_south, from_west, from_east, 0, 0, 0, 0
    return (from_north, from_south, from_west, from_east,
            steps(rules, own, occupied, to_north, 0), steps(rules, own, occupied, to_south, 1),
            steps(rules, own, occupied, to_west, 2), steps(rules, own, occupied, to_east, 3))


@kernel
def legal_of_kind(rules: Rules, position: Position, kind: int) -> int:
    """The legal moves of one kind, as in `legal_moves`, for less work."""
    own, strongholds = position.own, position.strongholds
    occupied = own | position.opposing | strongholds
    direction = kind ^ 1 if kind < DIRECTIONS else kind - DIRECTIONS
    pushed = pushable(occupied, strongholds, position.bastion, direction)
    if kind < DIRECTIONS:
        return entries(rules, occupied, rules.doors[position.ply & 1, kind], pushed, direction)
    return steps(rules, own, occupied, pushed, direction)


@kernel
def count_moves(moves: Moves) -> int:
    """Number of legal moves other than passing."""
    total = 0
    for kind in range(KINDS):
        total += popcount(moves[kind])
    return total


@kernel
def nth_move(moves: Moves, index: int) -> tuple[int, int]:
    """The move (kind, bit) at a place in the order of kinds and squares, counted from 0."""
    kind = 0
    count = popcount(moves[0])
    while index >= count:
        index -= count
        kind += 1
        count = popcount(moves[kind])
    squares = moves[kind]
    for _ in range(index):
        squares &= squares - 1
    return kind, squares & -squares


@kernel
def action_of(kind: int, bit: int) -> int:
    """Action index of a move."""
    square = square_of(bit)
    if kind >= DIRECTIONS:
        return STEPS + square * DIRECTIONS + kind - DIRECTIONS
    return kind * SIZE + (square % SIZE if kind < 2 else square // SIZE)


@kernel
def lane_of(action: int) -> tuple[int, int]:
    """The kind of an action other than `PASS`, and the squares among which its move's bit is."""
    if action >= STEPS:
        return DIRECTIONS + ((action - STEPS) & 3), 1 << ((action - STEPS) >> 2)
    kind, place = action // SIZE, action % SIZE
    return kind, FIRST_COLUMN << place if kind < 2 else TOP_ROW << (SIZE * place)


@kernel
def move_of(moves: Moves, action: int) -> tuple[int, int]:
    """The move (kind, bit) that an action index means among the legal ones; bit 0 if illegal."""
    kind, lane = lane_of(action)
    return kind, moves[kind] & lane


@kernel
def play(rules: Rules, position: Position, kind: int, bit: int) -> Position:
    """The position after a legal move, seen from the other player."""
    own, opposing, strongholds = position.own, position.opposing, position.strongholds
    hand = position.own_hand
    if kind < DIRECTIONS:
        direction, target = kind ^ 1, bit
        hand -= 1
    else:
        direction = kind - DIRECTIONS
        target = shift(bit, direction)
        own &= ~bit
    occupied = own | opposing | strongholds
    run = spread(target & occupied, occupied, direction)
    forfeits = position.own_forfeits
    if rules.enemy_only and own & run & _EDGE[direction]:
        forfeits += 1
    own = own & ~run | shift(own & run, direction) | target
    opposing = opposing & ~run | shift(opposing & run, direction)
    strongholds = strongholds & ~run | shift(strongholds & run, direction)
    return Position(opposing, own, strongholds, target, position.opposing_hand, hand,
                    position.opposing_forfeits, forfeits, position.ply + 1)


@kernel
def play_pass(position: Position) -> Position:
    """The position after a pass: nothing moves, and there is no bastion."""
    return Position(position.opposing, position.own, position.strongholds, 0,
                    position.opposing_hand, position.own_hand,
                    position.opposing_forfeits, position.own_forfeits, position.ply + 1)


@kernel
def play_action(rules: Rules, position: Position, action: int) -> tuple[bool, Position]:
    """Whether an action index (in range) is legal, and the position after it (unchanged if not)."""
    if is_over(rules, position):
        return False, position
    if action == PASS:
        if count_moves(legal_moves(rules, position)) == 0:
            return True, play_pass(position)
        return False, position
    kind, lane = lane_of(action)
    bit = legal_of_kind(rules, position, kind) & lane
    if bit == 0:
        return False, position
    return True, play(rules, position, kind, bit)


@kernel
def controlled_by(side: int, other: int, strongholds: int) -> int:
    """Strongholds with strictly more factions of `side` than of `other` beside them."""
    controlled = 0
    while strongholds:
        stronghold = strongholds & -strongholds
        around = neighbours(stronghold)
        if popcount(side & around) > popcount(other & around):
            controlled |= stronghold
        strongholds ^= stronghold
    return controlled


@kernel
def points_by_row(rules: Rules, side: int, other: int, strongholds: int, lost: int) -> Points:
    """Victory Points of the player with factions `side`: captured, besieging, contact, controlled,
    survivor, squares. `lost` counts the tokens of `other`'s owner that score for this player.
    """
    weights = rules.points
    contact = 0
    for direction in range(DIRECTIONS):
        contact += popcount(side & shift(strongholds, direction))
    controlled = popcount(controlled_by(side, other, strongholds))
    on_squares = 0
    remaining = side if rules.uses_squares else 0
    while remaining:
        on_squares += rules.squares[square_of(remaining & -remaining)]
        remaining &= remaining - 1
    return (weights[0] * lost, weights[1] * popcount(side & neighbours(strongholds)),
            weights[2] * contact, weights[3] * controlled, weights[4] * popcount(side), on_squares)


@kernel
def lost_tokens(factions: int, position: Position) -> tuple[int, int]:
    """Tokens that the mover and the opponent have lost, of `factions` each at the start."""
    return (factions - position.own_hand - popcount(position.own),
            factions - position.opposing_hand - popcount(position.opposing))


@kernel
def captures(factions: int, position: Position) -> tuple[int, int]:
    """How many captured tokens score for the mover, and how many for the opponent."""
    own_lost, opposing_lost = lost_tokens(factions, position)
    return opposing_lost - position.opposing_forfeits, own_lost - position.own_forfeits


@kernel
def points_of_both(rules: Rules, position: Position) -> tuple[Points, Points]:
    """Victory Points so far by row: the mover's, then the opponent's."""
    own, opposing = position.own, position.opposing
    own_captures, opposing_captures = captures(rules.factions, position)
    return (points_by_row(rules, own, opposing, position.strongholds, own_captures),
            points_by_row(rules, opposing, own, position.strongholds, opposing_captures))


@kernel
def total(points: Points) -> int:
    """Sum of the rows."""
    return points[0] + points[1] + points[2] + points[3] + points[4] + points[5]


@kernel
def mover_margin(rules: Rules, position: Position) -> int:
    """Victory Points of the mover minus those of the opponent, as the position stands."""
    own, opposing = points_of_both(rules, position)
    return total(own) - total(opposing)


@kernel
def perft(rules: Rules, position: Position, depth: int) -> int:
    """Number of action sequences of exactly `depth` plies; games that end earlier count 0."""
    if depth == 0:
        return 1
    if is_over(rules, position):
        return 0
    moves = legal_moves(rules, position)
    count = count_moves(moves)
    if count == 0:
        return perft(rules, play_pass(position), depth - 1)
    if depth == 1:
        return count
    leaves = 0
    for index in range(count):
        kind, bit = nth_move(moves, index)
        leaves += perft(rules, play(rules, position, kind, bit), depth - 1)
    return leaves
