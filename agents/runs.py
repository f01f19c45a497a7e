"""Files of a run: written whole or not at all, in a folder that was new, with its circumstances."""

import json
import os
import platform
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np

from castle_env.errors import CastleError
from castle_env.slices import usable_cores

PACKAGES: Final = (
    "storm-the-castle", "numpy", "numba", "gymnasium", "pettingzoo", "torch", "stable-baselines3",
    "sb3-contrib",
)

# Names of files that are worth nothing alone: half written ones (see `atomic_path`), locks, curves.
_NOTHING: Final = re.compile(r"\..+\.[0-9a-f]{8}(\.\w+)?|\.lock|events\.out\.tfevents\..+")


class RunError(CastleError):
    """A run's folder or file cannot be made, written or read."""


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place once the block has ended well.

    It keeps the suffix of `path`. If the block fails, or the process dies, `path` is as it was.
    Raises `RunError` where the disk cannot be written.
    """
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise RunError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raise `RunError` unless a file can be made beside `path` and take its place."""
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise RunError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def write_bytes_atomic(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, replacing an old one; raises `RunError`."""
    with atomic_path(path) as temporary:
        _write_synced(temporary, data)


def write_with_card_atomic(path: Path, data: bytes, card_path: Path, card: object) -> None:
    """Write a file and its JSON card: both or neither, an old pair being replaced by the new one.

    The card takes its place last, and a killed process leaves none that belongs to other data.
    Raises `RunError`.
    """
    with atomic_path(card_path) as temporary_card, atomic_path(path) as temporary:
        _write_synced(temporary, data)
        _write_synced(temporary_card, _json_bytes(card))
        card_path.unlink(missing_ok=True)


def _write_synced(path: Path, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_text_atomic(path: Path, text: str) -> None:
    """Write UTF-8 text with line ends as given, whole or not at all; raises `RunError`."""
    write_bytes_atomic(path, text.encode())


def write_json_atomic(path: Path, data: object) -> None:
    """Write JSON whole or not at all; raises `RunError`.

    Besides plain values it takes paths, NumPy numbers and arrays, and objects with `to_dict`. NaN
    and infinities have no place in JSON and raise `ValueError` before anything is written.
    """
    write_bytes_atomic(path, _json_bytes(data))


def _json_bytes(data: object) -> bytes:
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=_plain)
    return f"{text}\n".encode()


def _plain(value: Any) -> object:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"no JSON form for {value!r}")


def create_run_folder(root: Path, name: str, is_new: bool = False) -> Path:
    """Make the folder `root`/`name` and return it; `root` is made as well where it is missing.

    A folder that `holds_nothing`, which a run leaves that is killed before it has anything to keep,
    is used again, unless the folder has to be new. Raises `RunError` if there is another, if `name`
    is not one plain folder name, or if the disk cannot be written.
    """
    if not name or name in (".", "..") or any(sign in name for sign in "/\\\0"):
        raise RunError(f"run name {name!r}; allowed: one folder name without '/' or '\\'")
    folder = root / name
    if os.path.lexists(folder) and (is_new or not folder.is_dir() or not holds_nothing(folder)):
        raise _exists(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unmakeable(root, error) from error
    try:
        folder.mkdir(exist_ok=not is_new)
    except FileExistsError as error:
        raise _exists(folder) from error
    except OSError as error:
        raise _unmakeable(folder, error) from error
    return folder


def holds_nothing(folder: Path) -> bool:
    """Whether all files below a folder are of a run that has not come to anything yet.

    These are empty files, files half written, a checkpoint without its card, curves, and the text
    of a study without a cell.
    """
    return all((path.is_dir() and not path.is_symlink()) or _is_nothing(path)
               for path in folder.rglob("*"))


def clear(folder: Path) -> None:
    """Remove what a killed run left in a folder that this process has locked.

    Raises `RunError` if another run has come to something there meanwhile.
    """
    if not holds_nothing(folder):
        raise _exists(folder)
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


def _is_nothing(path: Path) -> bool:
    if path.name == "study.toml":
        cells = path.with_name("cells.jsonl")
        return cells.is_file() and cells.stat().st_size == 0
    if path.match("checkpoints/step-*.pt"):
        return not path.with_suffix(".json").exists()
    return path.is_file() and (path.stat().st_size == 0 or bool(_NOTHING.fullmatch(path.name)))


def _exists(folder: Path) -> RunError:
    return RunError(f"run folder {str(folder)!r} exists already and is left as it is; "
                    "choose another name")


def _unmakeable(folder: Path, error: OSError) -> RunError:
    return RunError(f"cannot make folder {str(folder)!r}: {error.strerror or error}")


def unique_run_folder(root: Path, prefix: str) -> Path:
    """Make a new folder `root`/`prefix`-YYYYMMDD-HHMMSS (local time) and return it.

    If that name is taken, -2, -3, … is added. Raises `RunError` like `create_run_folder`.
    """
    name = f"{prefix}-{datetime.now():%Y%m%d-%H%M%S}"
    for number in count(1):
        candidate = name if number == 1 else f"{name}-{number}"
        try:
            return create_run_folder(root, candidate, is_new=True)
        except RunError:
            if not os.path.lexists(root / candidate):
                raise
    raise AssertionError("numbers do not end")


def environment_info() -> dict[str, Any]:
    """What a result depends on beside its config: versions, machine and git commit.

    `packages` has None for those that are not installed; `git_commit` is None outside a git
    checkout of the project, and ends in "-dirty" where tracked files differ from the commit.
    """
    return {
        "python": platform.python_version(),
        "packages": {name: _package_version(name) for name in PACKAGES},
        "machine": {"processor": _processor(), "cores": usable_cores(), "os": platform.platform()},
        "git_commit": _git_commit(Path(__file__).resolve().parents[1]),
    }


def _package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """Model name of the processor, as far as the system tells."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _git_commit(project: Path) -> str | None:
    """Commit of the checkout whose top folder is `project`."""
    top = _git(project, "rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != project:
        return None
    return _git(project, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(folder: Path, *arguments: str) -> str | None:
    """What a git command prints, or None where it fails or there is no git."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], check=True, timeout=30,
                              capture_output=True, text=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
