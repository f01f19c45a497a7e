"""What every legal move is worth a few plies ahead, for whole batches of positions."""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.search.alphabeta import INFINITE, search, workspace
from agents.search.moves import CODE_MASK, action_of_code, list_scored, play_code
from agents.solve.exact_values import ILLEGAL, Values
from castle_env.batch import load
from castle_env.compiled import kernel
from castle_env.game import Game
from castle_env.kernels import RuleTable
from castle_env.position import PositionArray

# Positions given to compiled code at once, which does not hear Ctrl-C.
_AT_ONCE: Final = 32


@kernel
def write_searched_values(
    table: RuleTable, depth: int, states: PositionArray, out_values: npt.NDArray[np.int16]
) -> None:
    """The margin for the mover `depth` plies ahead, or at an earlier end, after each legal move.

    states: (n,), none of them over. out_values: (n, num_actions) int16; those of other actions are
    left as they are.
    """
    rules = table[0]
    work = workspace(depth)
    codes = work.moves[depth]
    for index in range(len(states)):
        work.history[:] = 0
        position = load(states, index)
        for number in range(list_scored(rules, position, codes)):
            code = codes[number] & CODE_MASK
            child = play_code(rules, position, code)
            out_values[index, action_of_code(code)] = -search(
                rules, None, child, depth - 1, -INFINITE, INFINITE, work)


def searched_values(game: Game, states: PositionArray, depth: int) -> Values:
    """The margin for the mover after each action, `depth` plies of best play ahead.

    (n, num_actions) int16 for states (n,); ILLEGAL where an action may not be played, which is
    everywhere once the game is over. What `alphabeta:D` sees at depth D, for all moves.
    """
    values = np.full((len(states), game.num_actions), ILLEGAL, dtype=np.int16)
    going_on = np.flatnonzero(~game.terminals(states))
    for start in range(0, len(going_on), _AT_ONCE):
        rows = going_on[start:start + _AT_ONCE]
        found = values[rows]
        write_searched_values(game.table, depth, states[rows], found)
        values[rows] = found
    return values
