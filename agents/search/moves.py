"""Moves as small numbers, which searches can list, sort and remember; the pass is one of them.

A code is kind * 64 + square, for the kinds and squares of `castle_env.kernels`; `PASS_CODE` comes
after all of them.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.seeds import below, derived
from castle_env.batch import moves_or_none
from castle_env.board import PASS
from castle_env.compiled import kernel
from castle_env.kernels import (
    KINDS,
    Rules,
    action_of,
    mover_margin,
    play,
    play_pass,
    square_of,
)
from castle_env.position import Position

Ints = npt.NDArray[np.int64]

PASS_CODE: Final = KINDS * 64
CODE_BITS: Final = 10
CODES: Final = 1 << CODE_BITS
CODE_MASK: Final = CODES - 1
# Twenty-four entries and four steps of eight factions are 56.
MAX_MOVES: Final = 64
MAX_HISTORY: Final = (1 << 20) - 1


@kernel
def play_code(rules: Rules, position: Position, code: int) -> Position:
    """The position after a legal move or pass, seen from the other player."""
    if code == PASS_CODE:
        return play_pass(position)
    return play(rules, position, code >> 6, 1 << (code & 63))


@kernel
def action_of_code(code: int) -> int:
    """Action index of a move or pass."""
    if code == PASS_CODE:
        return PASS
    return action_of(code >> 6, 1 << (code & 63))


@kernel
def list_codes(rules: Rules, position: Position, out_codes: Ints) -> int:
    """Write the codes of all legal moves, or that of the pass, and return their number.

    out_codes: (MAX_MOVES,) int64. A game that is over gets a pass.
    """
    moves = moves_or_none(rules, position)
    count = 0
    for kind in range(KINDS):
        squares = moves[kind]
        while squares:
            out_codes[count] = kind << 6 | square_of(squares & -squares)
            squares &= squares - 1
            count += 1
    if count == 0:
        out_codes[0] = PASS_CODE
        return 1
    return count


@kernel
def list_scored(rules: Rules, position: Position, out_scored: Ints) -> int:
    """Like `list_codes`, each code with the margin of its mover after the move.

    out_scored: (MAX_MOVES,) int64, entries margin * 2**CODE_BITS + code, which sort by margin. The
    margin is `entry >> CODE_BITS` and the code `entry & CODE_MASK`.
    """
    count = list_codes(rules, position, out_scored)
    for index in range(count):
        code = out_scored[index]
        margin = -mover_margin(rules, play_code(rules, position, code))
        out_scored[index] = margin << CODE_BITS | code
    return count


@kernel
def add_history(scored: Ints, count: int, history: Ints) -> None:
    """Make entries with equal margins sort by history; codes stay in the lowest bits.

    scored: (MAX_MOVES,) int64, `count` entries as `list_scored` writes them. history: (CODES,)
    int64, from 0 to MAX_HISTORY for each code.
    """
    for index in range(count):
        code = scored[index] & CODE_MASK
        margin = scored[index] >> CODE_BITS
        scored[index] = (margin * (MAX_HISTORY + 1) + history[code]) << CODE_BITS | code


@kernel
def take_largest(entries: Ints, start: int, count: int) -> int:
    """Swap the largest of `entries` from `start` to `count` - 1 to `start`, and return it.

    entries: (n,) int64.
    """
    place = start
    for index in range(start + 1, count):
        if entries[index] > entries[place]:
            place = index
    largest: int = entries[place]
    entries[place] = entries[start]
    entries[start] = largest
    return largest


@kernel
def pick_best(scored: Ints, count: int, seed: int) -> int:
    """One of the codes with the best margin, each with the same probability.

    scored: (MAX_MOVES,) int64, `count` entries as `list_scored` writes them.
    """
    best: int = scored[0]
    ties = 1
    for index in range(1, count):
        ahead = (scored[index] >> CODE_BITS) - (best >> CODE_BITS)
        if ahead < 0:
            continue
        ties = 1 if ahead > 0 else ties + 1
        if below(derived(seed, index), ties) == 0:
            best = scored[index]
    return best & CODE_MASK
