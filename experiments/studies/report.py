"""The report of a study: Markdown with pictures, the same as one HTML file, and JSON."""

from base64 import b64encode
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, Final, Protocol

from markdown import Markdown

from agents.runs import environment_info, write_json_atomic, write_text_atomic
from experiments.report import run_report as report
from experiments.report.plain_text import markdown_code, markdown_prose, markdown_text
from experiments.report.tables import Table, to_markdown
from experiments.studies.cells import Row, failed_rows
from experiments.studies.load import Study

_TRACING: Final = """\
Every number comes from the row of `cells.jsonl` whose key is in the column "cell"; the row has the
command that computed it, and its seed where anything is random. Exact values have none. What the
names of values stand for is in `study.toml`.
"""

_POLICY: Final = """\
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
"""

_STYLE: Final = """\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; overflow-wrap: anywhere }
p:has(img) { overflow-x: auto } img { max-width: max(100%, 44rem); height: auto }
sub { color: #666; vertical-align: baseline }
table { border-collapse: collapse; font-size: 14px; display: block; overflow-x: auto }
td, th { border-bottom: 1px solid #ddd; padding: .2rem .6rem }
code { background: #f4f4f4 }
"""


class Findings(Protocol):
    """What the rows of a study say, found once; the answer and all parts of its report."""

    @property
    def answer(self) -> str:
        """What came out, in a few sentences."""

    def results(self) -> dict[str, Any]:
        """Plain values for JSON."""

    def pictures(self, folder: Path) -> list[str]:
        """Draw what there is to draw; Markdown that shows it."""

    def tables(self) -> list[str]:
        """Markdown of all results."""

    def reading(self) -> list[str]:
        """How the tables are to be read."""

    def show(self) -> None:
        """Print what belongs on the terminal."""


def write(
    folder: Path, study: Study, rows: Mapping[str, Row], findings: Findings, command: str
) -> Path:
    """Write `results.json`, `report.md` with its pictures and `report.html`; the Markdown's path.

    Raises `RunError`.
    """
    write_json_atomic(folder / "results.json", {
        "study": study.name, "description": study.description, "command": command,
        "environment": environment_info(), "made_by": _makers(rows), "answer": findings.answer,
        **findings.results(), "failed": failed_rows(rows),
    })
    parts = [
        f"# {markdown_text(study.description)}\n", markdown_prose(findings.answer) + "\n",
        f"Study {markdown_code(study.name)}, {len(rows)} cells computed by {_commands(rows)}; "
        f"report written by {markdown_code(command)}.\n",
        _made_by(rows), *findings.pictures(folder), *findings.tables(),
        "## How to read this\n", *findings.reading(), _TRACING, *_failures(rows),
    ]
    path = report.write_report(folder, parts)
    write_text_atomic(folder / "report.html", to_html("\n".join(parts), folder, study.description))
    return path


def _commands(rows: Mapping[str, Row]) -> str:
    """The commands that computed the rows, each once."""
    found = dict.fromkeys(row["command"] for row in rows.values())
    return ", ".join(map(markdown_code, found)) or "no command"


def _makers(rows: Mapping[str, Row]) -> list[dict[str, Any]]:
    """What the rows were made by, each once, with how many cells it made."""
    makers: list[dict[str, Any]] = []
    for row in rows.values():
        made_by = row.get("made_by")
        same = next((maker for maker in makers if maker["made_by"] == made_by), None)
        if same is None:
            makers.append({"made_by": made_by, "cells": 1})
        else:
            same["cells"] += 1
    return makers


def _made_by(rows: Mapping[str, Row]) -> str:
    """Versions, machine and git commit of all cells, in small print."""
    return "\n".join(f"<sub>{maker['cells']} cells:</sub> "
                     + report.circumstances_text(maker["made_by"]) for maker in _makers(rows))


def to_html(text: str, folder: Path, title: str) -> str:
    """A page that needs no other file: Markdown with the pictures it names, from `folder`.

    Tags in the text are shown, not obeyed, but for small print; the page runs no scripts and asks
    for nothing from anywhere.
    """
    reader = Markdown(extensions=["tables"])
    reader.preprocessors.deregister("html_block")
    reader.inlinePatterns.deregister("html")
    body = reader.convert(text)
    for tag in ("sub", "/sub"):
        body = body.replace(f"&lt;{tag}&gt;", f"<{tag}>")
    for picture in sorted(folder.glob("*.png")):
        data = b64encode(picture.read_bytes()).decode()
        body = body.replace(f'src="{picture.name}"', f'src="data:image/png;base64,{data}"')
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"{_POLICY}<title>{escape(title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
            f"{body}\n</body>\n</html>\n")


def _failures(rows: Mapping[str, Row]) -> list[str]:
    failed = failed_rows(rows)
    if not failed:
        return []
    cells = tuple((row["ruleset"], row["kind"], row["error"], f"`{row['key']}`")
                  for row in failed)
    return [f"## {len(failed)} cells that failed\n",
            to_markdown(Table("", ("ruleset", "kind", "error", "cell"), cells))]
