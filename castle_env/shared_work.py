"""Work on a batch that threads share in compiled code, where none needs Python's global lock.

The games are cut into as many ranges as there are threads, and these into pieces. One thread leads:
it writes on the board what is to be done and where the arrays are, and opens all pieces. Each
thread takes pieces of its own range, whose games are near to its core, and then those of others,
the leader too, until none is left; then the leader waits for pieces that others still do. Nobody
waits for a thread that is asleep or busy elsewhere: what it does not take, others do.

    board                what it holds
    DONE                 pieces that others than the leader have done
    LED                  1 while somebody leads
    WORK                 what is to be done: TURNS, SIGHT or CHOICE
    ARRAYS               the address of a tuple of its arrays
    COUNT                games in all
    THREADS              ranges
    EACH                 pieces in each range
    OPEN + APART * k     pieces of range k that nobody has taken; 0 or less when there are none
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from castle_env.atomics import (
    Board,
    address_of,
    arrays_at,
    atomic_add,
    atomic_exchange,
    atomic_load,
    pause,
)
from castle_env.batch import choose_from_masks
from castle_env.batch_turns import observe, take_turns
from castle_env.compiled import kernel
from castle_env.kernels import RuleTable
from castle_env.observation import CELLS, Divisors, Eights
from castle_env.position import POSITION_DTYPE

# The arguments of one of FUNCTIONS after the first two, which say for which games it is done.
Arrays: TypeAlias = tuple[Any, ...]

TURNS, SIGHT, CHOICE = range(3)
FUNCTIONS: Final[tuple[Callable[..., None], ...]] = (take_turns, observe, choose_from_masks)

# Places far enough apart for nobody who reads one to wait for who writes another.
APART: Final = 16
DONE, LED, WORK, ARRAYS, COUNT, THREADS, EACH = 0, 16, 32, 33, 34, 35, 36
OPEN: Final = 48

# Looks between pauses. A virtual machine may take a core away that does nothing but pause.
LOOKS: Final = 64


def example_arrays(
    table: RuleTable, divisors: Divisors, eights: Eights
) -> tuple[Arrays, Arrays, Arrays]:
    """Arrays of no games for each kind of work, from which compiled code takes the types."""
    states, numbers = np.empty(0, dtype=POSITION_DTYPE), np.empty(0, dtype=np.int64)
    flags, masks = np.empty(0, dtype=np.bool_), np.empty((0, 1), dtype=np.int8)
    planes, shares = np.empty((0, CELLS), dtype=eights.dtype), np.empty(0)
    return ((table, states, numbers, flags, flags, flags, flags, numbers, numbers, states, shares,
             divisors, eights, states, flags, flags, numbers, flags, numbers, shares, planes,
             masks),
            (table, states, flags, flags, numbers, divisors, eights, planes, masks),
            (masks, shares, numbers))


def new_board(count: int, threads: int, each: int) -> Board:
    """A board for so many games, in so many pieces for each thread."""
    board = np.zeros(OPEN + APART * threads, dtype=np.int64)
    board[[COUNT, THREADS, EACH]] = count, threads, each
    return board


@kernel
def do_pieces(board: Board, own: int, turns: Arrays, sight: Arrays, choice: Arrays) -> int:
    """Take open pieces, first of the range `own`, and do them, until there are none; how many."""
    done, threads, each = 0, board[THREADS], board[EACH]
    for step in range(threads):
        part = (own + step) % threads
        place = OPEN + APART * part
        while atomic_load(board, place) > 0:
            left = atomic_add(board, place, -1)
            if left > 0:
                piece = part * each + left - 1
                low = board[COUNT] * piece // (threads * each)
                high = board[COUNT] * (piece + 1) // (threads * each)
                if board[WORK] == TURNS:
                    take_turns(low, high, *arrays_at(board[ARRAYS], turns))
                elif board[WORK] == SIGHT:
                    observe(low, high, *arrays_at(board[ARRAYS], sight))
                else:
                    choose_from_masks(low, high, *arrays_at(board[ARRAYS], choice))
                done += 1
    return done


@kernel
def lead(board: Board, work: int, turns: Arrays, sight: Arrays, choice: Arrays) -> bool:
    """Do work, on its arrays, with all who help; False, and nothing done, while another leads.

    The arrays for other work are examples.
    """
    if atomic_exchange(board, LED, 1):
        return False
    addresses = address_of(turns), address_of(sight), address_of(choice)
    board[WORK], board[ARRAYS] = work, addresses[work]
    threads, each = board[THREADS], board[EACH]
    atomic_exchange(board, DONE, 0)
    for part in range(threads):
        atomic_exchange(board, OPEN + APART * part, each)
    others = threads * each - do_pieces(board, 0, turns, sight, choice)
    looks = 0
    while atomic_load(board, DONE) < others:
        looks += 1
        if looks % LOOKS == 0:
            pause()
    atomic_exchange(board, LED, 0)
    return True


@kernel
def any_open(board: Board) -> bool:
    """Whether a piece is open."""
    found = False
    for part in range(board[THREADS]):
        found = found or atomic_load(board, OPEN + APART * part) > 0
    return found


@kernel
def follow(
    board: Board, own: int, patience: int, turns: Arrays, sight: Arrays, choice: Arrays
) -> None:
    """Help whoever leads, until there was no work in so many looks; the arrays are examples."""
    idle = 0
    while idle < patience:
        idle += 1
        if any_open(board):
            atomic_add(board, DONE, do_pieces(board, own, turns, sight, choice))
            idle = 0
        elif idle % LOOKS == 0:
            pause()
