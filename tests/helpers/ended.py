"""How a command ended."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """Exit status of a command, and what it said."""

    status: int
    output: str
    errors: str
