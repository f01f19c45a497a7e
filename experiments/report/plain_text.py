"""Text that people wrote, where it meets Markdown, HTML or a terminal: shown, never obeyed."""

import re
from typing import Final

# With a backslash before them these are themselves in Markdown.
_MARKS: Final = re.compile(r"([\\`*_\[\]|])")
_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;",
                                      "~": "&#126;"})


def printable(text: str) -> str:
    """The text in one line, without characters that could do things to a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def printable_lines(text: str) -> str:
    """The same of each line."""
    return "\n".join(map(printable, text.split("\n")))


def markdown_text(text: str) -> str:
    """Markdown, and HTML within it, that shows the text as it is, in one line."""
    return _MARKS.sub(r"\\\1", " ".join(printable(text).split())).translate(_HTML)


def markdown_prose(text: str) -> str:
    """Markdown of a text in one line that may have marks in it, but neither tags nor links."""
    shown = text.replace("\\", "\\\\").replace("](", "]\\(")
    return " ".join(printable(shown).replace("&", "&amp;").replace("<", "&lt;").split())


def markdown_code(text: str) -> str:
    """A code span of the text in one line, whatever quotes it holds."""
    line = " ".join(printable(text).split())
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"
