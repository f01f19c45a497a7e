"""Why an action may not be played, in words.

The compiled rules decide what is legal and what meets what. Here they are asked again with one
obstacle taken away: where the action then becomes legal, that obstacle is the reason.
"""

from typing import Final

from castle_env import kernels, single
from castle_env.board import (
    DIRECTIONS,
    EDGES,
    ENTRIES,
    PASS,
    SIZE,
    SQUARE_NAMES,
    STEPS,
    squares_of,
    steps_off_board,
)
from castle_env.kernels import RuleTable
from castle_env.position import Position

GAME_OVER: Final = "the game is over"


def why_illegal(table: RuleTable, position: Position, action: int) -> str | None:
    """The reason as a clause without a full stop, None for a legal action; it must be in range."""
    fields = tuple(position)
    if single.over(table, fields):
        return GAME_OVER
    if single.apply(table, fields, action)[-1] >= 0:
        return None
    if action == PASS:
        return "passing is allowed only when no other move is legal"
    if steps_off_board(action):
        return "a faction cannot walk off the board"
    return (_why_no_entry if action < ENTRIES else _why_no_step)(table, position, action)


def _why_no_entry(table: RuleTable, position: Position, action: int) -> str:
    side, lane = divmod(action, SIZE)
    door, direction = 1 << squares_of(EDGES[side])[lane], side ^ 1
    if not door & int(table[0]["doors"][position.ply & 1][side]):
        return "this lane is closed to the player to move"
    occupied = _occupied(position)
    met = door if table[0]["enters_by_step"] else kernels.first_met(occupied, door, direction)
    if not met:
        return "no token to push in this lane"
    return _why_no_push(position, int(met), direction)


def _why_no_step(table: RuleTable, position: Position, action: int) -> str:
    square, direction = divmod(action - STEPS, DIRECTIONS)
    bit, name = 1 << square, SQUARE_NAMES[square]
    if position.strongholds & bit:
        return f"a stronghold stands on {name}, and only factions step"
    if position.opposing & bit:
        return f"the faction on {name} is the opponent's"
    if not position.own & bit:
        return f"no faction stands on {name}"
    target = int(kernels.shift(bit, direction))
    if not target & _occupied(position):
        return f"{SQUARE_NAMES[squares_of(target)[0]]} is free, and a step has to push"
    return _why_no_push(position, target, direction)


def _why_no_push(position: Position, first: int, direction: int) -> str:
    """What holds the run that starts on `first`, one occupied square, and goes in a direction."""
    occupied, reasons = _occupied(position), []
    if not kernels.pushable(occupied, 0, position.bastion, direction) & first:
        bastion = SQUARE_NAMES[squares_of(position.bastion)[0]]
        reasons.append(f"the bastion on {bastion} stands in the run")
    if not kernels.pushable(occupied, position.strongholds, 0, direction) & first:
        end = int(kernels.spread(first, occupied, direction)) & EDGES[direction]
        reasons.append(f"it would push the stronghold on {SQUARE_NAMES[squares_of(end)[0]]} "
                       "off the board")
    return ", and ".join(reasons)


def _occupied(position: Position) -> int:
    return position.own | position.opposing | position.strongholds
