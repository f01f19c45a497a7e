"""The rules on many positions at once: thin compiled loops over the functions in `kernels`.

Shapes: `states` is (n,) of POSITION_DTYPE, `masks` (n, num_actions) int8, `planes`
(n, CELLS) float32 or uint8, `divisors` (PLANES,), `eights` as `eight_numbers` gives them, all
others (n,). Arrays named `out_...` are written.
"""

import numpy as np
import numpy.typing as npt

from castle_env.board import (
    DIRECTIONS,
    FIRST_COLUMN,
    PASS,
    SIZE,
    STEPS,
    STORM_ACTIONS,
    SUDDEN_DEATH_ACTIONS,
)
from castle_env.compiled import inlined_kernel, kernel
from castle_env.kernels import (
    Moves,
    Rules,
    RuleTable,
    action_of,
    count_moves,
    is_over,
    legal_moves,
    lost_tokens,
    mover_margin,
    nth_move,
    play,
    play_action,
    play_pass,
    points_of_both,
    popcount,
    square_of,
)
from castle_env.observation import Divisors, Eights, Planes, write_observation
from castle_env.position import Position, PositionArray

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Masks = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]


NO_MOVES: Moves = (0, 0, 0, 0, 0, 0, 0, 0)

# A number times the first has in its highest byte the sum of all its bytes.
EACH_BYTE = 0x0101010101010101
HIGH_BITS = 0x0080808080808080

# Row b holds the eight bits of the byte b.
_EIGHT_BITS = np.array([[byte >> bit & 1 for bit in range(8)] for byte in range(256)],
                       dtype=np.int8)


@kernel
def load(states: PositionArray, index: int) -> Position:
    """One row of a batch as a value."""
    row = states[index]
    return Position(int(row["own"]), int(row["opposing"]), int(row["strongholds"]),
                    int(row["bastion"]), int(row["own_hand"]), int(row["opposing_hand"]),
                    int(row["own_forfeits"]), int(row["opposing_forfeits"]), int(row["ply"]))


@kernel
def store(states: PositionArray, index: int, position: Position) -> None:
    """Write a value into a row of a batch."""
    row = states[index]
    row["own"] = position.own
    row["opposing"] = position.opposing
    row["strongholds"] = position.strongholds
    row["bastion"] = position.bastion
    row["own_hand"] = position.own_hand
    row["opposing_hand"] = position.opposing_hand
    row["own_forfeits"] = position.own_forfeits
    row["opposing_forfeits"] = position.opposing_forfeits
    row["ply"] = position.ply


@kernel
def moves_or_none(rules: Rules, position: Position) -> Moves:
    """Legal moves, all empty once the game is over."""
    if is_over(rules, position):
        return NO_MOVES
    return legal_moves(rules, position)


@kernel
def entry_lanes(moves: Moves, kind: int) -> int:
    """Lanes of the legal entries of a kind, 0 to 3, as six bits."""
    lanes = moves[kind]
    if kind < 2:  # files: fold the ranks onto one another
        lanes |= lanes >> 18
        return (lanes | lanes >> 6 | lanes >> 12) & 0x3F
    lanes |= lanes >> 3  # ranks: fold the files, then bring each sixth bit to its place
    lanes = (lanes | lanes >> 1 | lanes >> 2) & FIRST_COLUMN
    return (lanes | lanes >> 5 | lanes >> 10 | lanes >> 15 | lanes >> 20 | lanes >> 25) & 0x3F


@inlined_kernel
def write_eight(out_mask: Masks, at: int, byte: int) -> None:
    """Write the eight bits of a byte into a mask, from the action `at` on."""
    # All eight are read before one is written: only then does LLVM move them in one piece.
    a, b, c, d = (_EIGHT_BITS[byte, 0], _EIGHT_BITS[byte, 1], _EIGHT_BITS[byte, 2],
                  _EIGHT_BITS[byte, 3])
    e, f, g, h = (_EIGHT_BITS[byte, 4], _EIGHT_BITS[byte, 5], _EIGHT_BITS[byte, 6],
                  _EIGHT_BITS[byte, 7])
    out_mask[at], out_mask[at + 1], out_mask[at + 2], out_mask[at + 3] = a, b, c, d
    out_mask[at + 4], out_mask[at + 5], out_mask[at + 6], out_mask[at + 7] = e, f, g, h


@kernel
def write_mask(rules: Rules, moves: Moves, over: bool, out_mask: Masks) -> None:
    """Write the legal action mask, shape (num_actions,), for legal moves, none when `over`."""
    any_move = (entry_lanes(moves, 0) | entry_lanes(moves, 1) << SIZE
                | entry_lanes(moves, 2) << 2 * SIZE | entry_lanes(moves, 3) << 3 * SIZE)
    for at in range(0, PASS, 8):
        write_eight(out_mask, at, any_move >> at & 0xFF)
    if rules.steps:
        out_mask[STEPS:] = 0
        for direction in range(DIRECTIONS):
            squares = moves[DIRECTIONS + direction]
            any_move |= squares
            while squares:
                square = square_of(squares & -squares)
                out_mask[STEPS + square * DIRECTIONS + direction] = 1
                squares &= squares - 1
    out_mask[PASS] = any_move == 0 and not over


@kernel
def write_masks(table: RuleTable, states: PositionArray, out_masks: Masks) -> None:
    """Legal action masks of a batch."""
    rules = table[0]
    for index in range(len(states)):
        position = load(states, index)
        over = is_over(rules, position)
        write_mask(rules, NO_MOVES if over else legal_moves(rules, position), over,
                   out_masks[index])


@kernel
def swap(position: Position) -> Position:
    """The same position seen from the other player, whose turn it is not."""
    return Position(position.opposing, position.own, position.strongholds, position.bastion,
                    position.opposing_hand, position.own_hand,
                    position.opposing_forfeits, position.own_forfeits, position.ply)


@kernel
def seen_by(position: Position, moves: Moves, player: int) -> tuple[Position, Moves]:
    """A position and its moves as `player` sees them, to move or not; `moves` are the mover's."""
    if player != position.ply & 1:
        return swap(position), NO_MOVES
    return position, moves


@kernel
def write_view(
    rules: Rules, position: Position, moves: Moves, player: int, divisors: Divisors,
    eights: Eights, out_planes: Planes,
) -> None:
    """Write what `player` sees, to move or not, shape (CELLS,); `moves` are the mover's."""
    seen, entries = seen_by(position, moves, player)
    write_observation(rules, seen, entries, player, divisors, eights, out_planes)


@kernel
def encode(
    table: RuleTable, states: PositionArray, players: Ints, divisors: Divisors, eights: Eights,
    out_planes: Planes, out_masks: Masks,
) -> None:
    """Observations as `players` see them and legal action masks of a batch in one pass."""
    rules = table[0]
    for index in range(len(states)):
        position = load(states, index)
        over = is_over(rules, position)
        moves = NO_MOVES if over else legal_moves(rules, position)
        write_view(rules, position, moves, players[index], divisors, eights, out_planes[index])
        write_mask(rules, moves, over, out_masks[index])


@inlined_kernel
def is_action(rules: Rules, action: int) -> bool:
    """Whether a number stands for an action, legal or not."""
    return 0 <= action < (SUDDEN_DEATH_ACTIONS if rules.steps else STORM_ACTIONS)


@kernel
def apply_actions(
    table: RuleTable,
    states: PositionArray,
    actions: Ints,
    out_states: PositionArray,
    out_over: npt.NDArray[np.bool_],
) -> int:
    """Positions after one action each and whether they end the game.

    Returns the index of the first action that is out of range or illegal, or -1. `out_states` is
    another array than `states`; what is written counts only when -1 is returned.
    """
    rules = table[0]
    for index in range(len(states)):
        action = actions[index]
        if not is_action(rules, action):
            return index
        legal, position = play_action(rules, load(states, index), action)
        if not legal:
            return index
        store(out_states, index, position)
        out_over[index] = is_over(rules, position)
    return -1


@kernel
def write_terminals(
    table: RuleTable, states: PositionArray, out_terminals: npt.NDArray[np.bool_]
) -> None:
    """Whether each game is over."""
    rules = table[0]
    for index in range(len(states)):
        out_terminals[index] = is_over(rules, load(states, index))


@kernel
def write_points(table: RuleTable, states: PositionArray, out_points: Ints) -> None:
    """Victory Points so far by player and row of the table, shape (n, 2, 6)."""
    rules = table[0]
    for index in range(len(states)):
        position = load(states, index)
        own, opposing = points_of_both(rules, position)
        mover = position.ply & 1
        for row in range(len(own)):
            out_points[index, mover, row] = own[row]
            out_points[index, 1 - mover, row] = opposing[row]


@kernel
def write_lost_tokens(table: RuleTable, states: PositionArray, out_lost: Ints) -> None:
    """Tokens that player 0 and player 1 have lost, shape (n, 2)."""
    for index in range(len(states)):
        position = load(states, index)
        mover = position.ply & 1
        lost = lost_tokens(table[0].factions, position)
        out_lost[index, mover], out_lost[index, 1 - mover] = lost


@inlined_kernel
def eight_of(mask: Masks, at: int) -> int:
    """Eight entries of a mask, from `at` on, as the bytes of one number."""
    # Written out, and without signs: only then does LLVM read them in one piece.
    a, b, c, d = (np.uint8(mask[at]), np.uint8(mask[at + 1]), np.uint8(mask[at + 2]),
                  np.uint8(mask[at + 3]))
    e, f, g, h = (np.uint8(mask[at + 4]), np.uint8(mask[at + 5]), np.uint8(mask[at + 6]),
                  np.uint8(mask[at + 7]))
    return (int(a) | int(b) << 8 | int(c) << 16 | int(d) << 24 | int(e) << 32 | int(f) << 40
            | int(g) << 48 | int(h) << 56)


@kernel
def choose_from_masks(
    low: int, high: int, masks: Masks, uniforms: Floats, out_actions: Ints
) -> None:
    """An allowed action for the rows of `masks` from `low` to before `high`.

    It is uniform when `uniforms` are uniform in [0, 1). A row without any allowed action gets 0, as
    `Discrete.sample` does.
    """
    whole = masks.shape[1] & -8
    for index in range(low, high):
        mask, count = masks[index], 0
        for at in range(0, whole, 8):
            count += eight_of(mask, at) * EACH_BYTE >> 56 & 0xFF
        for at in range(whole, len(mask)):
            count += mask[at]
        left, at, sums = int(uniforms[index] * count), 0, 0
        while at < whole:
            # Byte k holds how many of the eight are allowed up to there.
            sums = eight_of(mask, at) * EACH_BYTE
            if left < sums >> 56 & 0xFF:
                break
            left -= sums >> 56 & 0xFF
            at += 8
        if at < whole:  # as many come before it as there are bytes that do not pass `left`
            at += popcount((left * EACH_BYTE | HIGH_BITS) - sums & HIGH_BITS)
        while whole <= at < len(mask) and left >= mask[at]:
            left -= mask[at]
            at += 1
        out_actions[index] = at if count else 0


@kernel
def write_margins(table: RuleTable, states: PositionArray, out_margins: Ints) -> None:
    """Victory Points of player 0 minus those of player 1, as each position stands."""
    rules = table[0]
    for index in range(len(states)):
        position = load(states, index)
        margin = mover_margin(rules, position)
        out_margins[index] = -margin if position.ply & 1 else margin


@kernel
def choose_randomly(
    table: RuleTable, states: PositionArray, uniforms: Floats, out_actions: Ints
) -> None:
    """A legal action for each position, uniform when `uniforms` are uniform in [0, 1).

    A game that is over gets `PASS`.
    """
    rules = table[0]
    for index in range(len(states)):
        moves = moves_or_none(rules, load(states, index))
        count = count_moves(moves)
        if count == 0:
            out_actions[index] = PASS
        else:
            kind, bit = nth_move(moves, int(uniforms[index] * count))
            out_actions[index] = action_of(kind, bit)


@kernel
def next_random(state: int) -> int:
    """Next state of a 64-bit linear congruential generator (Knuth's MMIX constants)."""
    return state * 6364136223846793005 + 1442695040888963407


@kernel
def random_playout(rules: Rules, position: Position, seed: int) -> Position:
    """The end of a game in which both sides play uniformly at random from here.

    All randomness comes from `seed`: the same seed gives the same game.
    """
    while not is_over(rules, position):
        moves = legal_moves(rules, position)
        count = count_moves(moves)
        if count == 0:
            position = play_pass(position)
            continue
        seed = next_random(seed)
        kind, bit = nth_move(moves, (((seed >> 33) & 0x7FFFFFFF) * count) >> 31)
        position = play(rules, position, kind, bit)
    return position


@kernel
def random_playouts(
    table: RuleTable, states: PositionArray, seeds: Ints, out_states: PositionArray
) -> int:
    """Play every game of a batch to its end at random; the number of plies played in all."""
    rules = table[0]
    plies = 0
    for index in range(len(states)):
        position = load(states, index)
        end = random_playout(rules, position, seeds[index])
        plies += end.ply - position.ply
        store(out_states, index, end)
    return plies
