"""What the tables of searches have in common: their memory, and where a key belongs in it."""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.search.position_key import Key
from castle_env.compiled import kernel
from castle_env.errors import OptionError

Ints = npt.NDArray[np.int64]

# A bucket is a cache line: a key's entry may be anywhere in one bucket.
BUCKET_BYTES: Final = 64
BUCKET_WORDS: Final = BUCKET_BYTES // 8

# Odd multipliers: those of splitmix64 (Steele, Lea and Flood 2014) as signed integers.
MIX_1: Final = -4658895280553007687
_MIX_2: Final = -7723592293110705685
_MIX_3: Final = -7046029254386353131


def new_table(memory_bytes: int) -> Ints:
    """Whole buckets of zeros, a flat array of int64: at least one, else at most so many bytes.

    Raises `OptionError` where there is not so much memory.
    """
    buckets = max(memory_bytes // BUCKET_BYTES, 1)
    try:
        return np.zeros(buckets * BUCKET_WORDS, dtype=np.int64)
    except (MemoryError, ValueError):
        raise OptionError(f"memory is {memory_bytes:,} bytes; allowed: as much as this machine "
                          "has to give") from None


@kernel
def hash_of(key: Key) -> int:
    """A 32-bit number that depends on all bits of a key."""
    mixed = (key.low ^ key.high * _MIX_3) * MIX_1
    mixed = (mixed ^ (mixed >> 32)) * _MIX_2
    return mixed >> 32 & 0xFFFFFFFF


@kernel
def bucket_of(table: Ints, key: Key) -> int:
    """Index of the first word of a key's bucket."""
    return (hash_of(key) * (len(table) // BUCKET_WORDS) >> 32) * BUCKET_WORDS
