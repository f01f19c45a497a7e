"""Plain minimax up to a horizon, in sudden death: every line followed and nothing remembered."""

from castle_env.compiled import kernel
from castle_env.kernels import (
    KINDS,
    Rules,
    RuleTable,
    count_moves,
    legal_moves,
    mover_margin,
    play,
    play_pass,
)
from castle_env.position import Position

NEVER = 1_000_000


@kernel
def minimax(rules: Rules, position: Position, left: int, claim: int) -> int:
    """Margin for the mover under best play, every line followed and nothing remembered.

    With `claim` -1 the mover, with +1 the opponent, loses by far unless the game ends early.
    """
    if position.opposing_hand == 0:
        return mover_margin(rules, position)
    if left == 0:
        return claim * NEVER if claim else mover_margin(rules, position)
    moves = legal_moves(rules, position)
    if count_moves(moves) == 0:
        return -minimax(rules, play_pass(position), left - 1, -claim)
    best = -2 * NEVER
    for kind in range(KINDS):
        squares = moves[kind]
        while squares:
            after = play(rules, position, kind, squares & -squares)
            best = max(best, -minimax(rules, after, left - 1, -claim))
            squares &= squares - 1
    return best


@kernel
def plain(table: RuleTable, position: Position, left: int, claim: int) -> int:
    """`minimax` for Python."""
    return minimax(table[0], position, left, claim)
