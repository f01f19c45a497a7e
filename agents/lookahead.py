"""What each action leads to within two plies, as numbers that a network can read."""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.moves import MOST_MOVES, action_of_code, list_codes, play_code
from castle_env.batch import load
from castle_env.compiled import kernel
from castle_env.kernels import Rules, RuleTable, is_over, mover_margin
from castle_env.position import Position, PositionArray

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

MOST_LOOKAHEAD: Final = 2
# Victory Points are divided by this, so that most numbers lie between -2 and 2.
VP_SCALE: Final = 4.0

_WORST: Final = -(1 << 32)


@kernel
def margin_after_reply(rules: Rules, position: Position, replies: Ints) -> int:
    """What the player who has just moved leads by after the opponent's best reply, in VP.

    `position` is seen from the opponent; `replies` has room for `MOST_MOVES`.
    """
    if is_over(rules, position):
        return -mover_margin(rules, position)
    worst = -_WORST
    for index in range(list_codes(rules, position, replies)):
        worst = min(worst, mover_margin(rules, play_code(rules, position, replies[index])))
    return worst


@kernel
def write_lookahead(
    table: RuleTable, states: PositionArray, plies: int, out_gains: Floats, out_totals: Floats
) -> None:
    """Write what the mover gains by each action, in VP / `VP_SCALE`.

    out_gains: (n, plies, num_actions), the change of the mover's margin by an action and, with
    `plies` 2, by the action and the opponent's best reply; 0 for illegal actions. out_totals:
    (n, 1 + plies), the mover's margin now and the best gain of each kind. All but the margin are 0
    once a game is over.
    """
    rules = table[0]
    codes = np.empty(MOST_MOVES, dtype=np.int64)
    replies = np.empty(MOST_MOVES, dtype=np.int64)
    out_gains[:] = 0
    out_totals[:] = 0
    for index in range(len(states)):
        position = load(states, index)
        now = mover_margin(rules, position)
        out_totals[index, 0] = now / VP_SCALE
        if is_over(rules, position):
            continue
        best, best_after_reply = _WORST, _WORST
        for place in range(list_codes(rules, position, codes)):
            action = action_of_code(codes[place])
            after = play_code(rules, position, codes[place])
            gain = -mover_margin(rules, after) - now
            best = max(best, gain)
            out_gains[index, 0, action] = gain / VP_SCALE
            if plies == MOST_LOOKAHEAD:
                gain = margin_after_reply(rules, after, replies) - now
                best_after_reply = max(best_after_reply, gain)
                out_gains[index, 1, action] = gain / VP_SCALE
        out_totals[index, 1] = best / VP_SCALE
        if plies == MOST_LOOKAHEAD:
            out_totals[index, 2] = best_after_reply / VP_SCALE
