"""Tasks for workers, in a module that their processes can import."""

import os
import signal
from pathlib import Path

from castle_env.errors import CastleError


def square(number: int) -> int:
    return number * number


def environment(name: str) -> str | None:
    return os.environ.get(name)


def refuse_three(number: int) -> int:
    if number == 3:
        raise CastleError(f"no {number}")
    return number


def die_once(task: tuple[Path, int]) -> int:
    """Kill the worker at the first attempt of number 4."""
    marker, number = task
    if number == 4 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def always_die(number: int) -> int:
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


class AwkwardError(Exception):
    """Pickle takes it apart, and cannot put it together again."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def raise_awkward(number: int) -> int:
    if number == 3:
        raise AwkwardError("this", "that")
    return number


def raise_usual(number: int) -> int:
    return 6 // (3 - number)


def leave(number: int) -> int:
    if number == 3:
        raise SystemExit("enough")
    return number
