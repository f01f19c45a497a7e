"""README and docs: their code runs, their commands exist, and the files they name are there."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from places import ROOT
from quick_pictures import quick_pictures
from shortened import shortened

from castle_env import agent
from experiments import cli

DOCS = ROOT / "docs"
# Pages whose commands are run as they stand, one after another in one folder.
RUN_PAGES = ["your-agent", "your-network", "your-rules", "comparing-agents", "how-sure",
             "reproducing"]
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")),
         *sorted(DOCS.glob("environments/*.md"))]
ALL_PAGES = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "castle_env" / "RULES.md",
             *sorted(DOCS.glob("results/**/*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A `castle` command in a block for the shell, with the lines that it goes on in.
COMMAND_LINE = re.compile(r"^(castle (?:.*\\\n)*.*)$", re.MULTILINE)
COMMAND = re.compile(r"^(?:\.venv/bin/)?castle( .*)?$")
# The files of the project by their way from its top, ids of environments excepted.
PATH = re.compile(r"(?<![\w./-])(?:castle_env|agents|experiments|notebooks|tests|docs|\.ci)"
                  r"/(?!\w+-v\d)[\w./*-]*[\w*]")
MODULE = re.compile(r"`((?:castle_env|agents|experiments)(?:\.\w+)+)`")
NO_MODULES = {"castle_env.agents"}  # the group of entry points


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, for this process and those that it starts.

    Its modules and packages are imported, those that `pip install` makes too, which needs no
    network, and forgotten afterwards.
    """
    installed, known = tmp_path / "installed", set(sys.modules)
    installed.mkdir()
    for name, value in {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PIP_TARGET": str(installed), "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1",
            "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}.items():
        monkeypatch.setenv(name, value)
    for folder in (installed, tmp_path):
        monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(agent, "_registered", dict(agent._registered))
    with quick_pictures():
        yield tmp_path
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def run_shell(code: str) -> None:
    """Run a block as the shell would; `castle` in this process, which has imported it."""
    for number, part in enumerate(COMMAND_LINE.split(code)):
        if number % 2:
            assert run_castle(part.replace("\\\n", " ")) == 0, part
        elif part.strip():
            subprocess.run(["bash", "-euo", "pipefail", "-c", part], check=True,
                           capture_output=True, timeout=600)


def run_castle(line: str) -> object:
    """Exit status of a `castle` command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", shlex.split(line))
        try:
            cli.main()
        except SystemExit as end:
            return end.code or 0
    return 0


def run_python(code: str, page: str) -> None:
    with redirect_stdout(io.StringIO()):
        exec(compile(code, page, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", RUN_PAGES)
def test_commands_of_a_page(page: str, here: Path) -> None:
    """One after another; `test_the_package_of_an_agent` has the block that installs one."""
    blocks = [block for block in BLOCK.findall(text(DOCS / f"{page}.md"))
              if block[0] in ("sh", "python") and "pip install" not in block[1]]
    assert blocks
    for language, code in blocks:
        if language == "sh":
            run_shell(shortened(code))
        else:
            run_python(shortened(code), page)


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in RUN_PAGES], ids=name)
def test_python_of_a_page(page: Path, here: Path) -> None:
    """Each block runs by itself; `test_commands_of_a_page` has those of the other pages."""
    for language, code in BLOCK.findall(text(page)):
        if language == "python":
            run_python(shortened(code), name(page))


def test_the_package_of_an_agent(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An entry point finds it, not a file in the folder; a wrong argument is one line."""
    blocks = [code for _, code in BLOCK.findall(text(DOCS / "your-agent.md"))]
    (module,) = [code for code in blocks if "class Stubborn" in code]
    (package,) = [code for code in blocks if "pip install" in code]
    install, command, _ = COMMAND_LINE.split(package)
    run_shell(f"{module}\n{install}\nrm my_agent.py")
    assert run_castle(command) == 0
    for argument in ("often", "1.5", "nan"):
        capfd.readouterr()
        assert run_castle(f"castle evaluate stubborn:{argument} random") == 2
        assert capfd.readouterr() == ("", f"castle: agent 'stubborn:{argument}'; allowed: "
                                          "stubborn:P with P from 0 to 1\n")


def commands(page: str) -> list[list[str]]:
    """Arguments of each `castle` command in a page, in blocks and in the text."""
    found = []
    for language, block in BLOCK.findall(page):
        if language in ("sh", "text"):
            lines = block.replace("\\\n", " ").splitlines()
            found += [part for line in lines for part in line.split("&&")]
    found += re.findall(r"`(castle [^`]*)`", BLOCK.sub("", page).replace("\n", " "))
    matches = [COMMAND.match(part.strip()) for part in found]
    return [shlex.split(match[1] or "", comments=True) for match in matches if match]


@pytest.mark.parametrize("page", ALL_PAGES, ids=name)
def test_every_castle_command_can_be_read(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command is read, not run; a mere name in the text has to exist."""
    monkeypatch.chdir(tmp_path)
    for arguments in commands(text(page)):
        if arguments[:1] in ([], ["--help"], ["--version"], ["--completion"]):
            continue
        module, options, _ = cli.COMMANDS[arguments[0]]
        if len(arguments) == 1 or "..." in arguments:
            continue
        status: object = 0
        try:
            cli._parse(getattr(import_module(module), options), arguments[0], arguments[1:])
        except SystemExit as end:  # also after --help, which is no fault
            status = end.code
        assert not status, f"castle {shlex.join(arguments)}\n{capsys.readouterr().err}"


def test_commands_are_found() -> None:
    page = ("a `castle solve\nstorm` b\n"
            "```sh\nx && castle play --seat 1  # c\ncastle perft \\\n a\n```")
    assert commands(page) == [["play", "--seat", "1"], ["perft", "a"], ["solve", "storm"]]


@pytest.mark.parametrize("page", ALL_PAGES, ids=name)
def test_every_path_that_is_named_exists(page: Path) -> None:
    missing = [path for path in PATH.findall(text(page))
               if not list(ROOT.glob(path.replace("NAME", "*").removesuffix("/*")))]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_module_that_is_named_exists(page: Path) -> None:
    for dotted in set(MODULE.findall(text(page))) - NO_MODULES:
        module, _, attribute = dotted.rpartition(".")
        with suppress(ModuleNotFoundError):  # where what is before the last dot is no package
            if find_spec(dotted) is not None:
                continue
        assert hasattr(import_module(module), attribute), dotted


@pytest.mark.parametrize("page", ALL_PAGES, ids=name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", text(page)):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_readme_leads_to_every_question() -> None:
    readme = text(ROOT / "README.md")
    assert all(f"docs/{page}.md" in readme for page in RUN_PAGES)


def test_diagrams_are_those_that_the_command_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    pictures = import_module("draw_pictures").PICTURES
    for file, draw in pictures.items():
        drawn = (DOCS / "images" / file).read_text(encoding="utf-8")
        assert drawn == draw(), f"{file}: run python docs/draw_pictures.py"


TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")


def test_promises_name_tests_that_there_are() -> None:
    named = TEST.findall(text(DOCS / "reliability.md"))
    assert len(named) > 20
    for file, function in named:
        assert re.search(rf"^def {function or 'test_'}", text(ROOT / file), re.MULTILINE), (
            file, function)


@pytest.mark.parametrize("study", sorted(path.parent.name for path in
                                         DOCS.glob("results/*/cells.jsonl")))
def test_shipped_results_come_from_commits_of_the_history(study: str) -> None:
    """Each row names what made it, without changes on top."""
    lines = text(DOCS / "results" / study / "cells.jsonl").splitlines()
    rows = [json.loads(line) for line in lines]
    assert all(row["command"].startswith(("castle balance ", "castle ablate ")) for row in rows)
    made_by = [row["made_by"] for row in rows]
    assert made_by
    commits = {maker["git_commit"] or "" for maker in made_by}
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in commits)
    assert all(maker["packages"]["numba"] for maker in made_by)
    if not (ROOT / ".git").exists():
        pytest.skip("the history is not here")
    for commit in commits:
        subprocess.run(["git", "-C", ROOT, "merge-base", "--is-ancestor", commit, "HEAD"],
                       check=True)


# Shares, intervals and speeds, which somebody measured; "95%" is how sure an interval is.
FIGURE = re.compile(r"\d%|\d \[[-+−]?\d|\d(?: \w+)*/s\b|\b(?:wins|loses|won|lost) by \d")
# A command that is named or shown, or a page of results whose rows have their commands.
SOURCE = re.compile(r"\bcastle \w|\bpython3? |\]\((?:\.\./)?(?:docs/)?results/|`tests/")
HEADING = re.compile(r"^(?=#+ )", re.MULTILINE)
INTERVAL = re.compile(r"[-+−]?\d[\d.]*%? \[[-+−]?\d[\d.]*, [-+−]?\d[\d.]*\]")


def without_comments(page: str) -> str:
    """The page, where no line of a code block looks like a heading."""
    return BLOCK.sub(lambda block: block[0].replace("\n#", "\n #"), page)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_figure_stands_with_the_command_behind_it(page: Path) -> None:
    """In its section a command is named, or the results that it comes from."""
    for section in HEADING.split(without_comments(text(page))):
        figures = [match[0] for match in FIGURE.finditer(re.sub("95%", "", section))]
        assert not figures or SOURCE.search(section), section.splitlines()[0]


def test_figures_are_those_of_the_shipped_reports() -> None:
    """Each interval stands word for word in the report of a study that the page links."""
    said = text(DOCS / "played.md")
    links = set(re.findall(r"\]\((results/[\w-]+/report\.md)\)", said))
    assert links
    reports = "".join(text(DOCS / link) for link in links).replace("−", "-")
    figures = INTERVAL.findall(said.replace("−", "-"))
    assert len(figures) > 40
    assert [found for found in figures if found not in reports] == []
