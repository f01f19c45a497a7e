"""README and docs: their code runs, their commands exist, and the files they name are there."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from places import ROOT

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
# Long training in the text is short here.
SHORTENED = ((r"\.learn\([\d_]+\)", ".learn(2_048)"),)
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


def installing_into(folder: Path) -> dict[str, str]:
    """An environment whose `pip install` fills a folder, without the network."""
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder), "PIP_TARGET": str(folder), "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.mark.parametrize("page", RUN_PAGES)
def test_commands_of_a_page(page: str, tmp_path: Path) -> None:
    blocks = [block for block in BLOCK.findall(text(DOCS / f"{page}.md"))
              if block[0] in ("sh", "python")]
    assert blocks
    programs = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
    environment = installing_into(tmp_path / "installed")
    environment["PYTHONPATH"] += f":{tmp_path}"
    for language, code in blocks:
        done = subprocess.run([*programs[language], code], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in RUN_PAGES], ids=name)
def test_python_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block runs by itself; `test_commands_of_a_page` has those of the other pages."""
    monkeypatch.chdir(tmp_path)
    for language, code in BLOCK.findall(text(page)):
        if language == "python":
            for pattern, short in SHORTENED:
                code = re.sub(pattern, short, code)
            with redirect_stdout(io.StringIO()):
                exec(compile(code, name(page), "exec"), {"__name__": "__main__"})


def test_the_package_of_an_agent(tmp_path: Path) -> None:
    """An entry point finds it, not a file in the folder; a wrong argument is one line."""
    blocks = [code for _, code in BLOCK.findall(text(DOCS / "your-agent.md"))]
    (module,) = [code for code in blocks if "class Stubborn" in code]
    (package,) = [code for code in blocks if "pip install" in code]
    setup = f"{module}\n{package.partition('castle evaluate')[0]}\nrm my_agent.py"
    environment = installing_into(tmp_path / "installed")
    subprocess.run(["bash", "-euc", setup], cwd=tmp_path, env=environment, check=True,
                   capture_output=True)
    for argument in ("often", "1.5", "nan"):
        done = subprocess.run(["castle", "evaluate", f"stubborn:{argument}", "random"],
                              cwd=tmp_path, env=environment, capture_output=True, text=True,
                              check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (f"castle: agent 'stubborn:{argument}'; allowed: stubborn:P with P "
                               "from 0 to 1\n")


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


# Studies whose rows were computed before rows kept what made them.
OF_0_1_0 = {"storm-full", "storm-restricted", "storm-restricted-full", "storm-small"}
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
    """Each row names what made it, without changes on top; those of 0.1.0 did not keep it."""
    lines = text(DOCS / "results" / study / "cells.jsonl").splitlines()
    rows = [json.loads(line) for line in lines]
    assert all(row["command"].startswith("castle balance ") for row in rows)
    made_by = [row["made_by"] for row in rows if "made_by" in row]
    assert bool(made_by) != (study in OF_0_1_0)
    assert len(made_by) in (0, len(rows))
    commits = {maker["git_commit"] or "" for maker in made_by}
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in commits)
    assert all(maker["packages"]["numba"] for maker in made_by)
    if not (ROOT / ".git").exists():
        pytest.skip("the history is not here")
    for commit in commits:
        subprocess.run(["git", "-C", ROOT, "merge-base", "--is-ancestor", commit, "HEAD"],
                       check=True)


def test_pages_say_which_results_are_of_an_earlier_version() -> None:
    for study in OF_0_1_0:
        page = "played" if study.startswith(("played", "sudden")) else "balance"
        assert "of version 0.1.0" in " ".join(text(DOCS / f"{page}.md").split()), study
