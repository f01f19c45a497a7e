"""One decorator for every compiled function: how to compile and cache is decided here."""

import hashlib
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def kernel(function: Kernel) -> Kernel:
    """Compile with numba on first call and keep the machine code on disk.

    Where no cache folder can be written, the function is compiled anew in each process and a
    warning says so.
    """
    try:
        compiled: Any = njit(cache=True)(function)
    except RuntimeError as error:
        warnings.warn(f"compiled code is not kept between runs: {error}", stacklevel=2)
        return cast(Kernel, njit(function))
    # Numba stamps what it keeps with the function's own file alone, but code of functions in other
    # files is compiled in with it: a change in any of them must make it stale as well.
    folders = {Path(__file__).parent, Path(function.__code__.co_filename).parent}
    compiled._cache._cache_file._source_stamp = tuple(_digest(folder) for folder in sorted(folders))
    return cast(Kernel, compiled)


@cache
def _digest(folder: Path) -> str:
    """SHA-256 of all Python files of a package."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
