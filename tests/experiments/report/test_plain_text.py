"""What people wrote is shown and never obeyed: in HTML, SVG, Markdown, pictures and terminals."""

import ast
import io
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import rich
from markdown import Markdown
from places import ROOT
from rich.console import Console

from castle_env import Game, Ruleset
from castle_env.ansi import draw_ansi
from castle_env.game_record import Note, record_game
from castle_env.svg import draw_svg
from experiments.output import tell
from experiments.play.replay import frame_text
from experiments.report import run_report
from experiments.report.plain_text import markdown_code, markdown_prose, markdown_text, printable
from experiments.report.replay_page import page
from experiments.report.tables import Table, to_markdown, to_rich
from experiments.studies import report as study_report

NASTY = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a`<b>`<i>`c",
    "**bold** _it_ ~~s~~",
    "[x](javascript:alert(1))", "![x](http://example.org/x.png)", "<javascript:alert(1)>",
    "x\n\n<div onclick=alert(1)>\n# y", "`` ` ```", "&lt;b&gt; &amp;", "a|b\\|c", "\\",
    "$x$ $\\frac$",
    "\x1b[2J\x1b]0;title\x07", "\u202ereversed", "</title><script>alert(1)</script>", "塔")


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def one_line(text: str) -> str:
    return " ".join(printable(text).split())


def study_page(text: str, folder: Path) -> Tags:
    parts = [f"# {markdown_text(text)}\n", f"Study {markdown_code(text)}.\n",
             to_markdown(Table("", ("name", "x"), ((text, "1"),))), run_report.circumstances(),
             f"{text}\n"]
    return Tags(study_report.to_html("\n".join(parts), folder, text))


@pytest.mark.parametrize("text", NASTY)
def test_a_study_s_page_obeys_no_text(text: str, tmp_path: Path) -> None:
    shown = study_page(text, tmp_path)
    allowed = {"html", "head", "meta", "title", "style", "body", "h1", "p", "code", "table",
               "thead", "tbody", "tr", "th", "td", "sub", "strong", "em", "a", "img", "pre", "ul",
               "li", "blockquote"}
    assert {tag for tag, _ in shown.tags} <= allowed
    assert not any(name.startswith("on") for _, attributes in shown.tags for name in attributes)
    assert shown.text.count(one_line(text)) >= 3  # title, heading, code
    policy = next(attributes["content"] for tag, attributes in shown.tags
                  if tag == "meta" and "content" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "script" not in policy
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}
            ) in shown.tags


@pytest.mark.parametrize("text", NASTY)
def test_escaped_text_is_only_text(text: str) -> None:
    """Also where a reader of Markdown lets tags through."""
    html = Markdown(extensions=["tables"]).convert(f"# {markdown_text(text)}\n\n"
                                                  f"{markdown_code(text)}\n")
    shown = Tags(html)
    assert [tag for tag, _ in shown.tags] == ["h1", "p", "code"]
    assert [line for line in shown.text.split("\n") if line] == [one_line(text)] * 2


@pytest.mark.parametrize("text", NASTY)
def test_a_table_s_cell_has_no_tags_or_links(text: str) -> None:
    html = Markdown(extensions=["tables"]).convert(
        to_markdown(Table("", (text, "x"), ((text, "1"),))))
    assert {tag for tag, _ in Tags(html).tags} <= {
        "table", "thead", "tbody", "tr", "th", "td", "strong", "em", "code"}


@pytest.mark.parametrize("text", NASTY)
def test_terminals_get_no_escape_sequences(text: str) -> None:
    out = io.StringIO()
    rich.print(to_rich(Table(text, (text, "x"), ((text, "1"),))), file=out)
    Console(file=out).print(to_rich(Table(text, (text,), ())))
    rules = Ruleset.from_dict({"name": one_line(text) or "x", "mode": "storm"})
    game = Game(rules)
    record = record_game(rules, [game.parse_action("Nc")], notes=(Note(comment=text),))
    for shown in (out.getvalue(), draw_ansi(game, game.initial_state()), frame_text(record, 1)):
        assert all(letter.isprintable() or letter == "\n" for letter in shown)


@pytest.mark.parametrize("text", NASTY)
def test_a_replay_page_and_a_drawing_obey_no_text(text: str) -> None:
    rules = Ruleset.from_dict({"name": text, "mode": "storm"})
    game = Game(rules)
    record = record_game(rules, [game.parse_action("Nc")], players=(text, text), comment=text,
                         notes=(Note(comment=text),))
    tags = Tags(page(record)).tags
    assert [tag for tag, _ in tags].count("script") == 1
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)
    assert not {tag for tag, _ in tags} & {"img", "div onclick", "b onerror", "iframe"}
    drawing = ElementTree.fromstring(draw_svg(game, record.states()[1]))
    assert not [one for one in drawing.iter() if "script" in one.tag]


# What may print by itself: `tell` and `say`, pages of help, and the dialogues, which strip names.
PRINTERS = {"experiments/output.py", "experiments/cli.py", "experiments/play/replay.py",
            "experiments/play/terminal.py", "experiments/web/jobs.py"}


def test_commands_print_by_the_one_function_that_strips() -> None:
    """Also in code to come; constant text cannot do harm."""
    for file in (ROOT / "experiments").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "print(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "print":
                assert str(file.relative_to(ROOT)) in PRINTERS, f"{file}:{node.lineno}"


@pytest.mark.parametrize("text", NASTY)
def test_what_is_told_has_no_escape_sequences(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tell(f"a {text} b")
    assert all(letter.isprintable() or letter == "\n" for letter in capsys.readouterr().out)


@pytest.mark.parametrize("text", NASTY)
def test_an_answer_has_no_tags_or_links(text: str) -> None:
    html = Markdown(extensions=["tables"]).convert(
        f"{markdown_prose(f'Of 2 rulesets, {text} is best.')}\n")
    assert {tag for tag, _ in Tags(html).tags} <= {"p", "strong", "em", "code"}
    plain = "Of 240 rulesets, 41.5% [38.0, 45.1] of own_axis (3; 4) go to `a`: +2 * 3."
    assert markdown_prose(plain) == plain


def test_code_spans_hold_any_quotes() -> None:
    assert markdown_code("a") == "`a`"
    assert markdown_code("a`b") == "``a`b``"
    assert re.fullmatch(r"```` ``` ````", markdown_code("```"))
