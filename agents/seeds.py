"""Random numbers for compiled functions: all of them follow from a seed given as an argument."""

from typing import Final

from castle_env.compiled import kernel

# The multipliers of splitmix64 (Steele, Lea and Flood 2014) as signed 64-bit integers.
_GAMMA: Final = -7046029254386353131
_MIX_1: Final = -4658895280553007687
_MIX_2: Final = -7723592293110705685


@kernel
def derived(seed: int, index: int) -> int:
    """A seed of its own for each index, unrelated to those of other indices."""
    state = seed + index * _GAMMA
    state = (state ^ (state >> 30 & 0x3FFFFFFFF)) * _MIX_1
    state = (state ^ (state >> 27 & 0x1FFFFFFFFF)) * _MIX_2
    return state ^ (state >> 31 & 0x1FFFFFFFF)


@kernel
def below(seed: int, count: int) -> int:
    """A number from 0 to `count` - 1, uniform over seeds; `count` is less than 2**31."""
    return (seed >> 33 & 0x7FFFFFFF) * count >> 31
