"""Lines from a person or from a pipe, text back to them, and a sign while something is worked on.
"""

import io
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from textwrap import fill
from threading import Thread
from typing import TypeVar

from rich.console import Console

Result = TypeVar("Result")

WIDTH = 80


class Terminal:
    """Standard input and output.

    interactive: whether a person types the lines. colour: whether the output takes colours, which
    it does in a terminal unless NO_COLOR is set.
    """

    def __init__(self) -> None:
        console = Console()
        self.interactive = sys.stdin.isatty()
        self.is_screen = sys.stdout.isatty()
        self.colour = console.color_system is not None and not console.no_color
        if self.interactive:
            # Arrow keys and a history for `input`, where the system has them.
            with suppress(ImportError):
                import readline  # noqa: F401
        elif isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")

    def say(self, text: str) -> None:
        """Print text as it is."""
        print(text, flush=True)

    def tell(self, text: str) -> None:
        """Print a sentence, broken into lines."""
        self.say(fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))

    def ask(self, prompt: str) -> str | None:
        """The next line without its end, None after the last; what was piped in is shown."""
        if self.interactive:
            try:
                return input(prompt)
            except EOFError:
                self.say("")
                return None
        line = sys.stdin.readline()
        if not line:
            return None
        self.say(prompt + line.rstrip("\n"))
        return line

    @contextmanager
    def sign(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show in a terminal that something is worked on, until the block ends; it gets a function
        that changes the words.
        """
        with Console(stderr=True).status(what) as status:
            yield status.update


def interruptible(task: Callable[[], Result]) -> Result:
    """What a task returns; it runs in a thread of its own, so that Ctrl-C is heard meanwhile."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future.result()
