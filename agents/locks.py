"""Locks: one process at a time works in a folder or on a file.

The system frees a lock when its holder dies, however it dies.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from agents.runs import RunError

NAME: Final = ".lock"

_held: Final[set[Path]] = set()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a folder, or of a file that need not exist yet, while the block runs.

    The lock is `.lock` in the folder, or `.NAME.lock` beside the file, and goes away with the
    block. A process that holds a lock may take it again. Raises `RunError` that says who else
    holds it, or that it cannot be made.
    """
    file = path.resolve() / NAME if path.is_dir() else _beside(path)
    if file in _held:
        yield
        return
    if not file.parent.is_dir():
        raise RunError(f"cannot lock {str(path)!r}: no folder {str(file.parent)!r}")
    lock = FileLock(file, timeout=0, thread_local=False, preserve_lock_file=True,
                    on_acquired=_sign)
    try:
        lock.acquire()
    except Timeout:
        raise RunError(f"{str(path)!r} is in use by {_holder(file)}; allowed: one process at a "
                       "time") from None
    except OSError as error:
        raise RunError(f"cannot lock {str(path)!r}: {error.strerror or error}") from error
    _held.add(file)
    try:
        yield
    finally:
        _held.discard(file)
        with suppress(OSError):
            file.unlink()
        lock.release()


def _beside(path: Path) -> Path:
    return path.resolve().with_name(f".{path.name}{NAME}")


def _sign(file: int) -> None:
    """Write into the lock's file who holds it."""
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    os.ftruncate(file, 0)
    os.pwrite(file, f"process {os.getpid()} ({command})".encode(errors="replace"), 0)


def _holder(file: Path) -> str:
    """Who has signed; a holder that has only just come may not have done so yet."""
    with suppress(OSError):
        text = " ".join(file.read_text(encoding="utf-8", errors="replace").split())
        if text:
            return text
    return "another process"
