"""The decorators of every compiled function: how to compile and cache is decided here."""

import ast
import hashlib
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from numba import config, njit, types
from numba.core.caching import FunctionCache, IndexDataCacheFile

Kernel = TypeVar("Kernel", bound=Callable[..., object])

# False with NUMBA_DISABLE_JIT=1, for debugging: then everything runs as plain Python.
COMPILED: Final = not config.DISABLE_JIT  # type: ignore[attr-defined]


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
    if not COMPILED:
        return function
    compiled: Any = njit(nogil=True, forceinline=forceinline)(function)
    _compile_once_for_all_constants(compiled)
    try:
        compiled._cache = _Cache(function)
    except RuntimeError:
        _warn("no folder for it can be written")
    return cast(Kernel, compiled)


def _compile_once_for_all_constants(compiled: Any) -> None:
    """Let calls from other compiled code share machine code, whatever constants they hand over.

    Numba would compile a function anew for each of them, such as a direction or a plane: most of
    the time of a first step. LLVM puts constants into what it inlines anyway. And what calls itself
    with a constant, and without one, could not be kept (see `save_overload`).
    """
    fold = compiled._compiler.fold_argument_types

    def fold_argument_types(args: Any, kws: Any) -> Any:
        signature, folded = fold(args, kws)
        return signature, tuple(map(types.unliteral, folded))

    compiled._compiler.fold_argument_types = fold_argument_types


class _CacheFile(IndexDataCacheFile):
    """The files of one function: an index, and a file of machine code for each signature.

    Numba numbers the latter in the order in which they come, so that two processes that save at
    once could find one's code under the other's signature.
    """

    def save(self, key: object, data: object) -> None:
        """Keep the code of a signature in the file named after it."""
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        name = self._data_name(int(digest[:12], 16))  # type: ignore[no-untyped-call]
        self._save_data(name, data)  # type: ignore[no-untyped-call]
        self._save_index({**self._load_index(), key: name})  # type: ignore[no-untyped-call]


class _Cache(FunctionCache):
    """Numba's cache of a function, stamped with all sources; no fault of the disk is an error.

    Numba stamps what it keeps with the function's own file alone, but what other modules define,
    functions and numbers, is compiled in with it: a change in any of them must make it stale too.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._function: Final = function.__qualname__
        _packages_with_kernels.add(_package(function.__module__))
        sources: dict[str, str] = {}
        _collect_sources(function.__module__, Path(function.__code__.co_filename), sources)
        self._cache_file = _CacheFile(  # type: ignore[no-untyped-call]
            self._cache_path, self._impl.filename_base, tuple(sorted(sources.items())))

    def load_overload(self, sig: object, target_context: object) -> Any:
        """Compiled code for a signature, or None."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception as error:  # damaged bytes can make unpickling raise anything
            _warn(_reason(error))
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Keep compiled code for a signature; an index that cannot be read is begun anew.

        Where a function calls itself with arguments of other types, nothing is kept: numba would
        load a call to nowhere.
        """
        if _OPEN_REFERENCE in cast(Any, data).library.get_llvm_str():
            self._cache_file.flush()  # type: ignore[no-untyped-call]
            _warn(f"{self._function}, or a function that it calls, calls itself with arguments of "
                  "other types")
            return
        for attempt in (self._save, self._save_anew):
            try:
                attempt(sig, data)
                return
            except Exception as error:  # as in `load_overload`: the index is read first
                reason = _reason(error)
        _warn(reason)

    def _save(self, sig: object, data: object) -> None:
        super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    def _save_anew(self, sig: object, data: object) -> None:
        self._cache_file.flush()  # type: ignore[no-untyped-call]
        self._save(sig, data)


def _reason(error: Exception) -> str:
    """What is wrong, without the name of the file, which is another one for each function."""
    return str(getattr(error, "strerror", None) or error)


@cache
def _warn(reason: str) -> None:
    """Say once in a process for each reason that code is not kept."""
    warnings.warn(f"compiled code is not kept between runs: {reason}", stacklevel=3)


# Names of references to functions that numba compiles later than their callers begin so.
_OPEN_REFERENCE: Final = ".numba.unresolved$"

# Top-level packages whose modules are followed from import to import.
_packages_with_kernels: Final[set[str]] = set()


def _package(module: str) -> str:
    return module.partition(".")[0]


def _collect_sources(module: str, file: Path, sources: dict[str, str]) -> None:
    """Add the digests of a module's file and of all that it imports, by module name.

    Modules of packages with kernels are followed further; of others, numbers may come from the
    imported module alone. The standard library is left out.
    """
    sources[module] = _digest(file)
    if _package(module) not in _packages_with_kernels:
        return
    for name in _imported_names(file, module):
        found = sys.modules.get(name)
        path = getattr(found, "__file__", None)
        if name not in sources and path and _package(name) not in sys.stdlib_module_names:
            _collect_sources(name, Path(path), sources)


@cache
def _imported_names(file: Path, module: str) -> tuple[str, ...]:
    """Modules that a file imports at its top level, and names in them that may be modules too."""
    if file.suffix != ".py":
        return ()
    names = []
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            inside = f"{module}.__init__" if file.name == "__init__.py" else module
            parents = inside.split(".")[:-node.level] if node.level else []
            source = ".".join([*parents, *filter(None, [node.module])])
            names += [source, *(f"{source}.{alias.name}" for alias in node.names)]
    return tuple(names)


@cache
def _digest(file: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
