"""The decorators of every compiled function: how to compile and cache is decided here."""

import hashlib
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache

Kernel = TypeVar("Kernel", bound=Callable[..., object])

# What a full disk, a folder of somebody else's or a damaged file raises.
_DISK_ERRORS: Final = (OSError, EOFError, UnpicklingError)


def kernel(function: Kernel) -> Kernel:
    """Compile with numba on first call and keep the machine code on disk.

    Where it cannot be kept, functions are compiled anew in each process, and a warning says so.
    Compiled code runs without Python's global lock: other threads go on meanwhile.
    """
    return _compiled(function, forceinline=False)


def inlined_kernel(function: Kernel) -> Kernel:
    """A `kernel` that becomes part of its callers, whose loops can then turn into vector code."""
    return _compiled(function, forceinline=True)


def _compiled(function: Kernel, forceinline: bool) -> Kernel:
    compiled: Any = njit(nogil=True, forceinline=forceinline)(function)
    try:
        compiled._cache = _Cache(function)
    except RuntimeError:
        _warn("no folder for it can be written")
    return cast(Kernel, compiled)


class _Cache(FunctionCache):
    """Numba's cache of a function, which minds other files too and does not mind the disk.

    Numba stamps what it keeps with the function's own file alone, but code of functions in other
    files is compiled in with it: a change in any of them must make it stale as well.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        folders = {Path(__file__).parent, Path(function.__code__.co_filename).parent}
        self._cache_file._source_stamp = tuple(_digest(folder) for folder in sorted(folders))

    def load_overload(self, sig: object, target_context: object) -> Any:
        """Compiled code for a signature, or None."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except _DISK_ERRORS as error:
            _warn(_reason(error))
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Keep compiled code for a signature."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except _DISK_ERRORS as error:
            _warn(_reason(error))


def _reason(error: Exception) -> str:
    """What is wrong, without the name of the file, which is another one for each function."""
    return str(getattr(error, "strerror", None) or error)


@cache
def _warn(reason: str) -> None:
    """Say once in a process for each reason that code is not kept."""
    warnings.warn(f"compiled code is not kept between runs: {reason}", stacklevel=3)


@cache
def _digest(folder: Path) -> str:
    """SHA-256 of all Python files of a package."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
