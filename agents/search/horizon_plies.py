"""How soon a sudden-death game can end, and when the one who has to end it cannot any more.

Who has to end the game has to enter in nearly every turn: where the plies left do not suffice for
that, and the other player cannot be made to end it either, a search is over before it begins. The
other player can be made to only where it has no move that is no entry.
"""

from typing import Final

from castle_env.board import BOARD, DIRECTIONS, FIRST_COLUMN, SIZE, TOP_ROW
from castle_env.compiled import kernel
from castle_env.kernels import STEPS_ALL, Rules, legal_moves, shift, square_of
from castle_env.position import Position

# What a game that has not ended at the horizon is worth: see `agents.search.horizon_search`.
TURN_LIMIT, MOVER_ENDS, OPPONENT_ENDS = 0, -1, 1
MAX_PLIES: Final = 1000


@kernel
def moves_of_each(position: Position, plies_left: int, claim: int) -> tuple[int, int, int, int]:
    """Factions in hand and moves left of who has to end the game, then those of the other."""
    first, second = plies_left + 1 >> 1, plies_left >> 1
    if claim == MOVER_ENDS:
        return position.own_hand, first, position.opposing_hand, second
    return position.opposing_hand, second, position.own_hand, first


@kernel
def needed_plies(rules: Rules, position: Position, plies_left: int, claim: int) -> int:
    """The plies left without one at the end that cannot end the game; 0 if none can.

    `claim` is not TURN_LIMIT.
    """
    hand, moves, other_hand, other_moves = moves_of_each(position, plies_left, claim)
    if other_hand > other_moves:
        if hand > moves:
            return 0
        # The last ply is one of the player who has to end the game.
        is_own = plies_left & 1 == (claim == MOVER_ENDS)
        return plies_left if is_own else plies_left - 1
    if claim == OPPONENT_ENDS and hand > moves:
        # The mover has to find so many moves that are no entries, and nobody can end the game.
        steps = other_moves - other_hand + 1
        if steps == 1 and can_step(rules, position):
            return 0
        if steps <= lasting_steps(rules, position.own, position):
            return 0
    return plies_left


@kernel
def must_enter(rules: Rules, position: Position, plies_left: int, claim: int) -> bool:
    """Whether any other move of the mover leaves too few plies for an end.

    It may not see that in a position where it is so.
    """
    if claim != MOVER_ENDS:
        return False
    hand, moves, other_hand, other_moves = moves_of_each(position, plies_left, claim)
    if hand != moves:
        return False
    if other_hand > other_moves:
        return True
    # The opponent has to find so many moves that are no entries, after one more move of the mover.
    return lasting_steps(rules, position.opposing, position) > other_moves - other_hand + 1


@kernel
def can_step(rules: Rules, position: Position) -> bool:
    """Whether a step is legal."""
    moves = legal_moves(rules, position)
    return (moves[4] | moves[5] | moves[6] | moves[7]) != 0


@kernel
def lasting_steps(rules: Rules, side: int, position: Position) -> int:
    """A number of steps that a player has one after the other, whatever the opponent does between.

    These are to and fro between a token's square and a free one beside it. A move changes squares
    of one rank or file alone; so each move of the opponent spoils one such pair at most, if no two
    pairs touch the same rank or file. side: the tokens of the player who steps, who begins.
    """
    if rules.steps != STEPS_ALL:
        return 0
    free = BOARD & ~(position.own | position.opposing | position.strongholds)
    count = 0
    while side:
        token = side & -side
        side ^= token
        for direction in range(DIRECTIONS):
            target = shift(token, direction) & free
            if target:
                lines = lines_of(square_of(token)) | lines_of(square_of(target))
                side &= ~lines
                free &= ~lines
                count += 1
                break
    return count


@kernel
def lines_of(square: int) -> int:
    """All squares of the rank and the file of a square."""
    return (TOP_ROW << square // SIZE * SIZE) | (FIRST_COLUMN << square % SIZE)
