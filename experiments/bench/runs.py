"""How one thing is measured: runs of some seconds, or programs in a process of their own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, TypeAlias

from castle_env.slices import usable_cores

# One counted run: of at least so many seconds, where more work makes it longer; gives its value.
Run: TypeAlias = Callable[[float], float]

WARM_UP_SECONDS: Final = 0.1
ONE_THREAD: Final = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Measurement:
    """One row: `prepare` opens a context with all made ready and warm, in which runs are taken.

    `threads` are the most that it uses; there may be fewer cores.
    """

    unit: str
    prepare: Callable[[], AbstractContextManager[Run]]
    threads: int = 1


def rate(block: Callable[[], int]) -> Run:
    """Runs that repeat `block`, which tells how many things it did; their value is things/s.

    It has been called before this returns, so that what it needs is compiled.
    """
    def run(seconds: float) -> float:
        done, passed, start = 0, 0.0, time.perf_counter()
        while not done or passed < seconds:
            done += block()
            passed = time.perf_counter() - start
        return done / passed

    block()
    run(WARM_UP_SECONDS)
    return run


def number_of(program: str, *arguments: str, **environment: str) -> float:
    """The number that a Python program prints in a process of its own, with one thread."""
    done = subprocess.run([sys.executable, "-P", "-c", program, *arguments], check=True, text=True,
                          stdout=subprocess.PIPE, env=os.environ | ONE_THREAD | environment)
    return float(done.stdout)


def usable_threads(most: int) -> int:
    """`most`, or the number of cores that this process may use if that is less."""
    return min(most, usable_cores())
