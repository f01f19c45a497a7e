"""How much a command takes on at once; errors say so before anything is computed."""

from typing import Final

from castle_env.errors import OptionError, quoted

# Games of one match, whose records are held in memory: about 1 GB.
MAX_GAMES: Final = 1_000_000
# The greatest seed of anything but training, whose seeds PyTorch and NumPy limit further.
MAX_SEED: Final = 2**63 - 1


def check_seed(seed: int) -> None:
    """Raise `OptionError` unless a seed can be one."""
    check_range("seed", seed, 0, MAX_SEED)


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Raise `OptionError` unless a value is in a range."""
    if not low <= value <= high:
        raise OptionError(f"{name} is {quoted(value)}; allowed: an integer from {low} to {high:,}")
