"""A turn of one game in one compiled call, with what is seen after it: the steps of `CastleEnv`.

Shapes: `states` is (1,) of POSITION_DTYPE, `planes` (CELLS,), `mask` (num_actions,). Arrays
named `out_...` are written.
"""

from typing import Final

from castle_env.batch import NO_MOVES, Masks, load, store, write_mask, write_view
from castle_env.compiled import kernel
from castle_env.kernels import Rules, RuleTable, is_over, legal_moves, play_action
from castle_env.observation import Divisors, Eights, Planes
from castle_env.position import Position, PositionArray

ILLEGAL: Final = -1
GOES_ON: Final = 0
OVER: Final = 1


@kernel
def write_seen(
    rules: Rules, position: Position, player: int, over: bool, has_turn: bool, divisors: Divisors,
    eights: Eights, out_planes: Planes, out_mask: Masks,
) -> None:
    """Write what `player` sees, and what is legal: a pass in a game that is over but `has_turn`."""
    moves = NO_MOVES if over else legal_moves(rules, position)
    write_view(rules, position, moves, player, divisors, eights, out_planes)
    write_mask(rules, moves, not has_turn, out_mask)


@kernel
def see(
    table: RuleTable, states: PositionArray, player: int, over: bool, has_turn: bool,
    divisors: Divisors, eights: Eights, out_planes: Planes, out_mask: Masks,
) -> None:
    """`write_seen` of a game."""
    write_seen(table[0], load(states, 0), player, over, has_turn, divisors, eights, out_planes,
               out_mask)


@kernel
def take_turn(
    table: RuleTable, states: PositionArray, action: int, out_states: PositionArray
) -> int:
    """Play an action in range; ILLEGAL, and nothing written, or GOES_ON or OVER."""
    rules = table[0]
    legal, position = play_action(rules, load(states, 0), action)
    if not legal:
        return ILLEGAL
    store(out_states, 0, position)
    return OVER if is_over(rules, position) else GOES_ON


@kernel
def answer_and_see(
    table: RuleTable, states: PositionArray, action: int, player: int, divisors: Divisors,
    eights: Eights, out_states: PositionArray, out_planes: Planes, out_mask: Masks,
) -> int:
    """`take_turn` for the opponent of `player`, and what that one sees then."""
    rules = table[0]
    legal, position = play_action(rules, load(states, 0), action)
    if not legal:
        return ILLEGAL
    store(out_states, 0, position)
    over = is_over(rules, position)
    write_seen(rules, position, player, over, not over, divisors, eights, out_planes, out_mask)
    return OVER if over else GOES_ON
