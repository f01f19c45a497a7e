"""Processes that start with what a test needs imported."""

import os
import sys
import tempfile
from collections.abc import Callable
from multiprocessing import get_context, set_forkserver_preload
from pathlib import Path

from numba import config

# Whoever needs more says so in its turn, before the first process starts.
set_forkserver_preload(["castle_env"])


class Forked:
    """A call in a process of its own, which starts with the modules of this project imported.

    Such processes come from one that has imported them once: importing takes longer than a small
    run. The interface is that of `subprocess.Popen`.
    """

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._files = [Path(self._folder.name, name) for name in ("output", "errors")]
        self._process = get_context("forkserver").Process(target=_call, args=(
            function, arguments, os.getcwd(), self._files))
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end, at most so many seconds; what the command wrote."""
        self._process.join(timeout)
        assert self.returncode is not None, "the command does not end"
        output, errors = (file.read_text(encoding="utf-8") for file in self._files)
        self._folder.cleanup()
        return output, errors


def _call(function: Callable[..., object], arguments: tuple[object, ...], folder: str,
          files: list[Path]) -> None:
    """What a process of `Forked` does."""
    os.chdir(folder)
    for number, file in enumerate(files, start=1):
        with file.open("wb") as opened:
            os.dup2(opened.fileno(), number)
    function(*arguments)


def run_code(code: str, folder: str, environment: dict[str, str]) -> None:
    """Run a program in a folder, with what numba reads of the environment at its start."""
    os.environ.update(environment)
    config.reload_config()  # type: ignore[no-untyped-call]
    os.chdir(folder)
    sys.path.insert(0, folder)
    exec(code, {})
