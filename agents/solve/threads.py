"""Compiled searches in threads of their own, so that Python hears Ctrl-C meanwhile."""

from collections.abc import Callable, Sequence
from threading import Thread
from typing import Final

import numpy as np
import numpy.typing as npt

from castle_env.errors import OptionError

SECONDS_BETWEEN_REPORTS: Final = 0.5
MAX_THREADS: Final = 64


def checked_threads(threads: int) -> int:
    """A number of threads that a solver can have; raises `OptionError` for any other."""
    if not 1 <= threads <= MAX_THREADS:
        raise OptionError(f"threads is {threads!r}; allowed: an integer from 1 to {MAX_THREADS}")
    return threads


def run_threads(
    searches: Sequence[Callable[[], None]], works: npt.NDArray[np.void], tell: Callable[[], None]
) -> None:
    """Run each search in a thread and wait for all of them; `tell` is called twice a second.

    `works["stop"]`, which ends the searches, is set when one is waited for no longer.
    """
    threads = [Thread(target=search) for search in searches]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(SECONDS_BETWEEN_REPORTS)
                tell()
    finally:
        works["stop"] = 1
        for thread in threads:
            if thread.ident is not None:
                thread.join()
