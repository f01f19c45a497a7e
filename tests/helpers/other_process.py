"""Another process that holds a lock."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOLD = """
import sys
from pathlib import Path
from agents.locks import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def somewhere_else(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the lock of a path, and dies by a kill."""
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()
