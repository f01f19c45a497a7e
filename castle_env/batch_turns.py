"""What a step of the batched environment computes: turns, ends and what is seen after them.

Everything is done for the games from `low` to before `high` of a batch of n, so that threads can
share it. Shapes and names are those of `castle_env.batch`. What `info` tells of the games is one
array `out_told` of shape (TOLD * n,): n numbers of each kind, one kind after another.

    at n times      numbers of each game
    SEAT            whose turn this was; -1 when the game has just started
    PLAYED          which action was played, -1 for none
    ILLEGAL         1 when the action that was given was illegal
    REASON          as in `castle_env.info`, like all that follow; 0 while the game goes on
    WINNER          -1 while the game goes on
    MARGIN          0 while the game goes on
    POINTS          2; 0 while the game goes on
    BY_ROW          2 x 6; 0 while the game goes on
"""

from typing import Final

import numpy as np

from castle_env.batch import (
    NO_MOVES,
    Flags,
    Floats,
    Ints,
    Masks,
    is_action,
    load,
    seen_by,
    store,
    write_mask,
)
from castle_env.board import PASS
from castle_env.compiled import kernel
from castle_env.kernels import (
    Rules,
    RuleTable,
    is_over,
    legal_moves,
    play_action,
    points_of_both,
    total,
)
from castle_env.observation import Divisors, Eights, Planes, write_observation
from castle_env.position import Position, PositionArray

SEAT, PLAYED, ILLEGAL, REASON, WINNER, MARGIN, POINTS, BY_ROW = 0, 1, 2, 3, 4, 5, 6, 8
TOLD: Final = 20

# Numbers of the reasons for an end in `castle_env.info.END_REASONS`.
TURNS_PLAYED, FACTION_ENTERED, TURN_LIMIT_REACHED, LOST_BY_ACTION = 1, 2, 3, 4


@kernel
def play_turns(
    low: int, high: int, table: RuleTable, states: PositionArray, actions: Ints, wrong: Flags,
    losing: Flags, over: Flags, unheard: Flags, losers: Ints, players: Ints, start: PositionArray,
    out_states: PositionArray, out_over: Flags, out_ended: Flags, out_losers: Ints,
    out_faults: Flags, out_told: Ints,
) -> None:
    """One action in each game that is not `over`, and a pass where the end is still `unheard`.

    Actions that are `losing` lose instead, and `wrong` ones are told to be illegal. Other games
    that are over stay as they are or, where `start` has a row, begin anew from there. Writes which
    games end for their players by this, who has lost by an action (-1 for nobody), which actions
    are faults, being out of range or illegal, and SEAT (of `players`, or the mover where that is
    -1), PLAYED and ILLEGAL. Outputs are other arrays than inputs, and count only without faults.
    """
    rules, count = table[0], len(states)
    for index in range(low, high):
        action, position = actions[index], load(states, index)
        seat = players[index] if players[index] >= 0 else position.ply & 1
        closed, ended, fault, played, loser = over[index], False, False, action, losers[index]
        if losing[index]:
            closed, ended, loser = True, True, seat
        elif not closed:
            legal = is_action(rules, action)
            if legal:
                legal, position = play_action(rules, position, action)
            fault, closed = not legal, is_over(rules, position)
            ended = closed
        elif unheard[index]:
            ended, fault = True, action != PASS
        else:
            played = -1
            if len(start):
                position, closed, seat, loser = load(start, 0), False, -1, -1
        store(out_states, index, position)
        out_over[index], out_ended[index], out_faults[index] = closed, ended, fault
        out_losers[index] = loser
        out_told[SEAT * count + index] = seat
        out_told[PLAYED * count + index] = played
        out_told[ILLEGAL * count + index] = wrong[index]


@kernel
def write_end(
    rules: Rules, position: Position, loser: int, index: int, count: int, out_told: Ints
) -> int:
    """Write what is told from REASON on of a game that is over; gives the margin of player 0."""
    own, opposing = points_of_both(rules, position)
    mover = position.ply & 1
    at = BY_ROW * count + 12 * index
    for row in range(6):
        out_told[at + 6 * mover + row] = own[row]
        out_told[at + 6 - 6 * mover + row] = opposing[row]
    out_told[POINTS * count + 2 * index + mover] = total(own)
    out_told[POINTS * count + 2 * index + 1 - mover] = total(opposing)
    margin = (total(own) - total(opposing)) * (1 - 2 * mover)
    reason, winner = TURNS_PLAYED, -1 if margin == 0 else int(margin < 0)
    if rules.ends_at_last_entry:
        reason = FACTION_ENTERED if position.opposing_hand == 0 else TURN_LIMIT_REACHED
    if loser >= 0:
        reason, winner = LOST_BY_ACTION, 1 - loser
    out_told[REASON * count + index], out_told[WINNER * count + index] = reason, winner
    out_told[MARGIN * count + index] = margin
    return margin


@kernel
def tell_ends(
    low: int, high: int, table: RuleTable, states: PositionArray, ended: Flags, losers: Ints,
    reward_divisor: Floats, out_told: Ints, out_rewards: Floats,
) -> None:
    """Write what is told from REASON on, and the rewards of the players in SEAT.

    A margin is divided by `reward_divisor`, shape (1,); where that is 0, its sign is the reward.
    """
    rules, count, divisor = table[0], len(states), reward_divisor[0]
    for index in range(low, high):
        out_rewards[index] = 0.0
        if ended[index]:
            margin = write_end(rules, load(states, index), losers[index], index, count, out_told)
            seat = out_told[SEAT * count + index]
            if losers[index] >= 0:
                out_rewards[index] = -1.0 if losers[index] == seat else 1.0
            else:
                margin = -margin if seat == 1 else margin
                out_rewards[index] = margin / divisor if divisor else np.sign(margin)
        else:
            out_told[REASON * count + index] = out_told[MARGIN * count + index] = 0
            out_told[WINNER * count + index] = -1
            out_told[POINTS * count + 2 * index:POINTS * count + 2 * index + 2] = 0
            out_told[BY_ROW * count + 12 * index:BY_ROW * count + 12 * index + 12] = 0


@kernel
def observe(
    low: int, high: int, table: RuleTable, states: PositionArray, over: Flags, unheard: Flags,
    players: Ints, divisors: Divisors, eights: Eights, out_planes: Planes, out_masks: Masks,
) -> None:
    """Write what `players` see, and masks, of games of which the environment says which are `over`.

    A player of -1 stands for the one to move. Games that are `unheard` are over before their player
    had a turn: a pass is legal there, after which it is told.
    """
    rules = table[0]
    for index in range(low, high):
        position = load(states, index)
        moves = NO_MOVES if over[index] else legal_moves(rules, position)
        player = players[index] if players[index] >= 0 else position.ply & 1
        seen, entries = seen_by(position, moves, player)
        # As `write_view` does, without a call for each game.
        write_observation(rules, seen, entries, player, divisors, eights, out_planes[index])
        write_mask(rules, moves, over[index] and not unheard[index], out_masks[index])


@kernel
def take_turns(
    low: int, high: int, table: RuleTable, states: PositionArray, actions: Ints, wrong: Flags,
    losing: Flags, over: Flags, unheard: Flags, losers: Ints, players: Ints, start: PositionArray,
    reward_divisor: Floats, divisors: Divisors, eights: Eights, out_states: PositionArray,
    out_over: Flags, out_ended: Flags, out_losers: Ints, out_faults: Flags, out_told: Ints,
    out_rewards: Floats, out_planes: Planes, out_masks: Masks,
) -> None:
    """`play_turns`; where `out_planes` has rows for them, also `tell_ends` and `observe`."""
    play_turns(low, high, table, states, actions, wrong, losing, over, unheard, losers, players,
               start, out_states, out_over, out_ended, out_losers, out_faults, out_told)
    if len(out_planes):
        tell_ends(low, high, table, out_states, out_ended, out_losers, reward_divisor, out_told,
                  out_rewards)
        observe(low, high, table, out_states, out_over, unheard, players, divisors, eights,
                out_planes, out_masks)
