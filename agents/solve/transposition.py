"""The table of positions searched before: 16 bytes each, four to a cache line.

An entry holds the whole key of its position (see `agents.search.position_key`), so it is never
taken for that of another one. Its two int64 words:

    word 0: low part of the key, mixed with word 1
    word 1: bits 0-15  upper bound + 32768     bits 37-41  plies searched, 0 in an empty entry
            bits 16-31 lower bound + 32768     bits 45-63  high part of the key
            bits 32-36 best lane

The mixing lets threads share a table without locks. Where two of them have written one word each,
the low part read from such a torn entry is not that of the key asked for, and the entry counts as
missing. It is taken for the key's only if the mixed words happen to differ in exactly the bits in
which the low parts do: about one chance in 2**64 each time a torn entry is read.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.board import LANE_MASK, NO_LANE
from agents.search.hash_table import BUCKET_WORDS, MIX_1, bucket_of
from agents.search.position_key import HIGH_BITS, PLIES_LEFT_BIT, Key
from castle_env.compiled import kernel

Ints = npt.NDArray[np.int64]

# Bounds that say nothing; margins lie well between them.
LOWEST: Final = -32_000
HIGHEST: Final = 32_000

_BIAS: Final = 1 << 15
_HIGH_SHIFT: Final = 64 - HIGH_BITS
_HIGH_MASK: Final = (1 << HIGH_BITS) - 1


class Entry(NamedTuple):
    """What is known of a position searched `depth` plies deep (0: nothing).

    lower, upper: bounds of the mover's margin then, captures before the position not counted.
    lane: the best slide known, or NO_LANE.
    """

    depth: int
    lower: int
    upper: int
    lane: int


def filled(table: Ints) -> float:
    """Share of the table in use, estimated from its beginning."""
    words = table[1:1 << 16:2]
    return float(np.count_nonzero(words) / len(words))


@kernel
def is_of(key: Key, word_0: int, word_1: int) -> bool:
    """Whether two words are an entry of a key."""
    return word_1 >> _HIGH_SHIFT & _HIGH_MASK == key.high and word_0 == key.low ^ word_1 * MIX_1


@kernel
def unpack(word: int) -> Entry:
    """The entry in a word 1."""
    return Entry(word >> 37 & 31, (word >> 16 & 0xFFFF) - _BIAS, (word & 0xFFFF) - _BIAS,
                 word >> 32 & LANE_MASK)


@kernel
def find(table: Ints, key: Key) -> Entry:
    """The entry of a key; one of depth 0 if there is none."""
    bucket = bucket_of(table, key)
    for place in range(bucket, bucket + BUCKET_WORDS, 2):
        word = table[place + 1]
        if is_of(key, table[place], word):
            return unpack(word)
    return Entry(0, LOWEST, HIGHEST, NO_LANE)


@kernel
def place_for(table: Ints, key: Key, unsearched: int) -> int:
    """Where to write the entry of a key: over its old one, else over the least worth in its bucket.

    Worth most is what was searched deepest. An entry that leaves more plies unsearched than
    `unsearched` comes from an earlier, shallower iteration: it goes first.
    """
    bucket = bucket_of(table, key)
    chosen, least = bucket, 1 << 20
    for place in range(bucket, bucket + BUCKET_WORDS, 2):
        word = table[place + 1]
        if is_of(key, table[place], word):
            return place
        depth = unpack(word).depth
        stale = (word >> _HIGH_SHIFT + PLIES_LEFT_BIT & 31) - depth != unsearched
        worth = depth - (32 if stale else 0) if depth else -64
        if worth < least:
            chosen, least = place, worth
    return chosen


@kernel
def store(table: Ints, key: Key, entry: Entry, unsearched: int) -> None:
    """Remember what a search found: `entry` has one bound that says something.

    The other bound stays as it was if the old entry is as deep; a deeper one stays as a whole.
    """
    depth, lower, upper, lane = entry
    place = place_for(table, key, unsearched)
    word = table[place + 1]
    if is_of(key, table[place], word):
        old = unpack(word)
        if old.depth > depth:
            return
        if old.depth == depth and lower == LOWEST and old.lower != LOWEST:
            lower, lane = old.lower, old.lane
        if old.depth == depth and upper == HIGHEST:
            upper = old.upper
    word = (key.high << _HIGH_SHIFT | depth << 37 | lane << 32 | (lower + _BIAS) << 16
            | (upper + _BIAS))
    table[place] = key.low ^ word * MIX_1
    table[place + 1] = word
