"""What is printed: in signs that every terminal has, and never at the cost of results."""

import codecs
import errno
import io
import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TextIO, cast

from experiments.report.plain_text import printable_lines

_PLAIN_SIGNS: Final = str.maketrans({
    "–": "-", "—": "-", "−": "-", "‑": "-", "×": "x", "·": ".", "•": "*", "…": "...", "→": "->",
    "←": "<-", "↔": "<->", "’": "'", "‘": "'", "“": '"', "”": '"', "─": "-", "━": "-", "│": "|",
    "╭": "+", "╮": "+", "╰": "+", "╯": "+", "≥": ">=", "≤": "<=", "±": "+-"})


class OutputError(OSError):
    """Something could not be printed; what was computed is in files."""


def _in_plain_signs(error: UnicodeError) -> tuple[str, int]:
    """For `codecs.register_error`: the nearest ASCII text, "?" where there is none."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = unicodedata.normalize("NFKD", error.object[error.start:error.end])
    plain = "".join(sign if sign.isascii() else sign.translate(_PLAIN_SIGNS)
                    for sign in signs if not unicodedata.combining(sign))
    return plain.encode("ascii", "replace").decode("ascii"), error.end


codecs.register_error("castle-plain", _in_plain_signs)


def print_on_any_terminal() -> None:
    """Let output and errors write what the terminal's encoding lacks in other signs."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="castle-plain")


class _Unfailing:
    """A stream that keeps its first failure and drops what comes after it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream: Final = stream
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        """Write, if that works."""
        return self._try(self._stream.write, text) or len(text)

    def flush(self) -> None:
        """Flush, if that works."""
        self._try(self._stream.flush)

    def _try(self, action: Any, *arguments: str) -> Any:
        if self.failure is None:
            try:
                return action(*arguments)
            except OSError as error:
                self.failure = error
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def results_before_output(where: Path | None) -> Iterator[None]:
    """Let a block go on when it can no longer print, since its results, at `where`, matter more.

    Where `where` is None, a print that fails ends the block as usual. Raises `OutputError` after a
    block that ended well, but could not print all.
    """
    if where is None:
        yield
        return
    streams = sys.stdout, sys.stderr
    kept = [None if stream is None else _Unfailing(stream) for stream in streams]
    sys.stdout, sys.stderr = (cast(Any, stream) for stream in kept)
    try:
        yield
        for stream in kept:
            if stream is not None:
                stream.flush()
    finally:
        sys.stdout, sys.stderr = streams
    failures = [stream.failure for stream in kept if stream is not None and stream.failure]
    if failures:
        reason = ("nobody reads it" if failures[0].errno == errno.EPIPE
                  else failures[0].strerror or failures[0])
        raise OutputError(f"some of the output is missing: {reason}; the results are in "
                          f"{str(where)!r}")


def tell(text: str, *, end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """Print a text with its line ends, and without characters that do things to a terminal.

    Commands print with it whatever may hold names of people, files or agents.
    """
    print(printable_lines(text), end=end, file=file, flush=flush)


def say(message: str) -> None:
    """Print a message of the command on standard error, if that works."""
    with suppress(OSError):
        tell(f"castle: {message}", file=sys.stderr, flush=True)


def is_of_output(error: OSError) -> bool:
    """Whether the error is about printed output, not about a file."""
    return isinstance(error, OutputError) or (
        error.filename is None and error.errno in (errno.EPIPE, errno.ENOSPC, errno.EIO))


def _is_broken(stream: TextIO | None) -> bool:
    """Whether a stream holds what it cannot write."""
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        return True
    return False


def leave_output() -> None:
    """Send what cannot be written nowhere, so that the end of the process does not fail on it."""
    for stream in filter(_is_broken, (sys.stdout, sys.stderr)):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
