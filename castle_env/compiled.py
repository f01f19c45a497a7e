"""One decorator for every compiled function: how to compile and cache is decided here."""

import warnings
from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def kernel(function: Kernel) -> Kernel:
    """Compile with numba on first call and keep the machine code on disk.

    Where no cache folder can be written, the function is compiled anew in each process and a
    warning says so.
    """
    try:
        return cast(Kernel, njit(cache=True)(function))
    except RuntimeError as error:
        warnings.warn(f"compiled code is not kept between runs: {error}", stacklevel=2)
        return cast(Kernel, njit(function))
