"""What a horizon search knows of positions it has seen: 16 bytes a bound, four to a cache line.

An entry holds the whole of its position (see `agents.search.position_key`), so it is never taken
for that of another one, and one bound of the mover's margin. Its two int64 words:

    word 0: low part of the key, mixed with word 1
    word 1: bits 0-15  bound + 32768           bits 34-36  4, 5: a lower, an upper bound; 0: empty
            bits 16-25 plies left              bits 39-63  high part of the key
            bits 26-33 best action

The mixing lets threads share a table without locks, as in `agents.solve.transposition`.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.hash_table import BUCKET_WORDS, MIX_1, bucket_of
from agents.search.position_key import Key
from castle_env.compiled import kernel

Ints = npt.NDArray[np.int64]

# Bounds that say nothing, or that nobody ends the game in time; margins lie well between them.
LOWEST: Final = -32_000
HIGHEST: Final = 32_000
# Beyond this, a bound says nothing: captures on the way have been added to one of those two.
_MOST: Final = 25_000

NO_ACTION: Final = 255
LOWER: Final = 4
UPPER: Final = 5

HIGH_BITS: Final = 25
_BIAS: Final = 1 << 15
_HIGH_SHIFT: Final = 64 - HIGH_BITS
_HIGH_MASK: Final = (1 << HIGH_BITS) - 1


class Known(NamedTuple):
    """What a table knows: two bounds, and a move to try first or NO_ACTION."""

    lower: int
    upper: int
    action: int


@kernel
def bounded(margin: int) -> int:
    """A bound that fits into an entry and says as much."""
    if margin > _MOST:
        return HIGHEST
    return LOWEST if margin < -_MOST else margin


@kernel
def askable(margin: int) -> int:
    """A margin to ask for that has the same answer, between what "can it end at all?" asks for."""
    return min(max(margin, 1 - _MOST), _MOST)


@kernel
def is_of(key: Key, word_0: int, word_1: int) -> bool:
    """Whether two words are an entry of a key."""
    return word_1 >> _HIGH_SHIFT & _HIGH_MASK == key.high and word_0 == key.low ^ word_1 * MIX_1


@kernel
def find(table: Ints, key: Key, plies_left: int, claim: int) -> Known:
    """What the table knows of a key, as far as it holds with so many plies left.

    What one player can force is forced with more plies left too, where that player has to end the
    game; what it cannot, neither with less. With the turn limit as horizon, each number of plies
    stands for itself.
    """
    bucket = bucket_of(table, key)
    lower, upper, action = LOWEST, HIGHEST, NO_ACTION
    for place in range(bucket, bucket + BUCKET_WORDS, 2):
        word = table[place + 1]
        kind = word >> 34 & 7
        if kind == 0 or not is_of(key, table[place], word):
            continue
        more = (word >> 16 & 1023) - plies_left
        hint = word >> 26 & 255
        if hint != NO_ACTION and (action == NO_ACTION or kind == LOWER):
            action = hint
        if claim == 0 and more != 0:
            continue
        bound = (word & 0xFFFF) - _BIAS
        if kind == LOWER and claim * more >= 0:
            lower = bound
        elif kind == UPPER and claim * more <= 0:
            upper = bound
    return Known(lower, upper, action)


@kernel
def store(table: Ints, key: Key, plies_left: int, bound: int, kind: int, action: int) -> None:
    """Remember a bound: over the old one of its kind, else over the one with the fewest plies."""
    bucket = bucket_of(table, key)
    chosen, least = bucket, 1 << 20
    for place in range(bucket, bucket + BUCKET_WORDS, 2):
        word = table[place + 1]
        if word >> 34 & 7 == kind and is_of(key, table[place], word):
            chosen = place
            break
        plies = word >> 16 & 1023 if word >> 34 & 7 else -1
        if plies < least:
            chosen, least = place, plies
    word = (key.high << _HIGH_SHIFT | kind << 34 | action << 26 | plies_left << 16
            | (bound + _BIAS))
    table[chosen] = key.low ^ word * MIX_1
    table[chosen + 1] = word
