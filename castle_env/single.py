"""The rules on one position as compiled functions that are cheap to call from Python.

Python hands over a `RuleTable` and the nine fields of a `Position` as a plain tuple: a record or a
named tuple would cost more to unpack than most of these functions take.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from castle_env.batch import NO_MOVES, entry_lanes, moves_or_none, write_mask, write_view
from castle_env.board import DIRECTIONS, PASS, SIZE, STEPS
from castle_env.compiled import kernel
from castle_env.kernels import Points, RuleTable, is_over, legal_moves, play_action, points_of_both
from castle_env.kernels import square_of as square_of_bit
from castle_env.observation import Divisors, Eights, Planes
from castle_env.position import Position

Fields: TypeAlias = tuple[int, ...]


@kernel
def position_of(fields: Fields) -> Position:
    """The position with these fields."""
    return Position(fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6],
                    fields[7], fields[8])


@kernel
def over(table: RuleTable, fields: Fields) -> bool:
    """Whether the game is over."""
    return is_over(table[0], position_of(fields))


@kernel
def list_actions(table: RuleTable, fields: Fields) -> list[int]:
    """Legal actions in ascending order; none once the game is over."""
    rules, position = table[0], position_of(fields)
    actions = [PASS] * 0
    if is_over(rules, position):
        return actions
    moves = legal_moves(rules, position)
    for kind in range(DIRECTIONS):
        lanes = entry_lanes(moves, kind)
        for lane in range(SIZE):
            if lanes >> lane & 1:
                actions.append(kind * SIZE + lane)
    squares = moves[4] | moves[5] | moves[6] | moves[7]
    while squares:
        bit = squares & -squares
        squares ^= bit
        for direction in range(DIRECTIONS):
            if moves[DIRECTIONS + direction] & bit:
                actions.append(STEPS + square_of_bit(bit) * DIRECTIONS + direction)
    if len(actions) == 0:
        actions.append(PASS)
    return actions


@kernel
def apply(table: RuleTable, fields: Fields, action: int) -> Fields:
    """Fields of the position after an action in range; its ply is -1 if the action is illegal."""
    legal, after = play_action(table[0], position_of(fields), action)
    return (after.own, after.opposing, after.strongholds, after.bastion, after.own_hand,
            after.opposing_hand, after.own_forfeits, after.opposing_forfeits,
            after.ply if legal else -1)


@kernel
def mask(table: RuleTable, fields: Fields, out_mask: npt.NDArray[np.int8]) -> None:
    """Write the legal action mask, shape (num_actions,)."""
    rules, position = table[0], position_of(fields)
    ended = is_over(rules, position)
    write_mask(rules, NO_MOVES if ended else legal_moves(rules, position), ended, out_mask)


@kernel
def view(
    table: RuleTable, fields: Fields, player: int, divisors: Divisors, eights: Eights,
    out_planes: Planes,
) -> None:
    """Write what `player` sees, to move or not, shape (CELLS,)."""
    rules, position = table[0], position_of(fields)
    write_view(rules, position, moves_or_none(rules, position), player, divisors, eights,
               out_planes)


@kernel
def points(table: RuleTable, fields: Fields) -> tuple[Points, Points]:
    """Victory Points so far by row: the mover's, then the opponent's."""
    return points_of_both(table[0], position_of(fields))
