"""Another process that holds a lock."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOLD = """
import sys
from contextlib import ExitStack
from pathlib import Path
from agents.locks import locked

with ExitStack() as stack:
    for path in sys.argv[1:]:
        stack.enter_context(locked(Path(path)))
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def somewhere_else(*paths: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the locks of these paths, and dies by a kill."""
    with subprocess.Popen([sys.executable, "-c", HOLD, *paths], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()
