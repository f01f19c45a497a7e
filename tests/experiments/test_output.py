"""What was computed outlives a print that fails, a kill and a second process."""

import io
import json
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from other_process import somewhere_else
from quick_pictures import quick_pictures
from small_runs import SMALL_OPTIONS

from experiments.cli import COMMANDS, main

CASTLE = Path(sysconfig.get_path("scripts")) / "castle"
STUDY = """
description = "a small study"
base = { mode = "storm", factions_per_player = 2 }

[[vary]]
key = "capture_credit"
values = ["opponent", "enemy_only"]
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it said on standard error."""

    status: int
    errors: str


@pytest.fixture
def castle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Runs the command in this process, in an empty folder, printing to a file of any kind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object, output: Any = None) -> Ended:
        errors = io.StringIO()
        monkeypatch.setattr("sys.argv", ["castle", *map(str, arguments)])
        monkeypatch.setattr("sys.stderr", errors)
        monkeypatch.setattr("sys.stdout", output or io.StringIO())
        status: Any = 0
        try:
            with quick_pictures():
                main()
        except SystemExit as end:
            status = end.code or 0
        return Ended(status, errors.getvalue())

    return call


# Output


@contextmanager
def output_that_fails(how: str) -> Iterator[Any]:
    """Something to print to: a pipe that nobody reads, or a full disk."""
    if how == "full":
        place = os.open("/dev/full", os.O_WRONLY)
    else:
        reading, place = os.pipe()
        os.close(reading)
    with os.fdopen(place, "w", encoding="utf-8") as file:
        yield file


@pytest.mark.parametrize("how", ["full", "closed"])
@pytest.mark.parametrize("arguments", [
    ["evaluate", "greedy", "random", "--games", 4], ["balance", "small.toml"],
    ["tournament", "greedy", "random", "--games", 4], ["regret", "greedy", "--games", 1,
     "--positions", 1, "--from-ply", 14]], ids=lambda arguments: arguments[0])
def test_a_print_that_fails_costs_a_message(
    castle: Callable[..., Ended], tmp_path: Path, how: str, arguments: list[Any]
) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    with output_that_fails(how) as output:
        ended = castle(*arguments, "--name", "run", output=output)
    assert ended.status == 1
    assert re.fullmatch(r"\n*castle: some of the output is missing: .*'runs/run'\n", ended.errors)
    assert json.loads((tmp_path / "runs" / "run" / "results.json").read_text("utf-8"))
    assert (tmp_path / "runs" / "run" / "report.md").exists()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that has trained and could not print."""
    runs = tmp_path_factory.mktemp("runs")
    with (output_that_fails("full") as output, quick_pictures(), redirect_stdout(output),
          redirect_stderr(io.StringIO()), pytest.MonkeyPatch.context() as patch):
        patch.setattr("sys.argv", list(map(str, ["castle", "train", *SMALL_OPTIONS, "--steps", 128,
                                                 "--runs", runs, "--name", "run"])))
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 1
    return runs / "run"


def test_training_goes_on_when_it_can_no_longer_print(
    castle: Callable[..., Ended], tmp_path: Path, trained: Path
) -> None:
    run = shutil.copytree(trained, tmp_path / "runs" / "run")
    with output_that_fails("full") as output:
        ended = castle("train", "--resume", "runs/run", "--until", 256, output=output)
    assert ended.status == 1
    assert json.loads((run / "results.json").read_text("utf-8"))["results"]["steps"] == 256


@pytest.mark.parametrize("arguments", [
    ["solve", "small.toml"], ["analyse", "Nc,Nd", "--ruleset", "small.toml"],
    ["bench", "--only", "import.castle_env", "--runs", 1]], ids=lambda arguments: arguments[0])
def test_a_file_of_results_is_written_though_a_print_fails(
    castle: Callable[..., Ended], tmp_path: Path, arguments: list[Any]
) -> None:
    (tmp_path / "small.toml").write_text("mode = 'storm'\nfactions_per_player = 2\n")
    with output_that_fails("full") as output:
        ended = castle(*arguments, "--json", "out.json", output=output)
    assert ended.status == 1
    assert re.fullmatch(r"\n*castle: .*\n", ended.errors)
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_all_is_shown_whatever_the_terminal_can_show(
    castle: Callable[..., Ended], tmp_path: Path, encoding: str
) -> None:
    """Every page of help, and tables."""
    match = ["tournament", "greedy", "random", "--games", "4", "--name", "two"]
    for arguments in (["--help"], *([name, "--help"] for name in COMMANDS), ["rulesets"], match):
        shown = io.BytesIO()
        output = io.TextIOWrapper(shown, encoding=encoding)
        bar = "\n" if arguments is match else ""  # what is left of it where there is no terminal
        assert castle(*arguments, output=output) == Ended(0, bar)
        output.flush()
        assert shown.getvalue().decode(encoding)
    assert "Bradley-Terry" in shown.getvalue().decode(encoding)


def test_the_nearest_signs_stand_for_those_that_a_terminal_lacks() -> None:
    assert "Zürich – 3×3 → ♜".encode("ascii", "castle-plain") == b"Zurich - 3x3 -> ?"


@pytest.mark.parametrize("arguments", [["--version"], ["rulesets"]])
def test_a_command_without_output_or_errors(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(["sh", "-c", f"'{CASTLE}' {arguments[0]} >&- 2>&-"], cwd=tmp_path,
                          check=False)
    assert done.returncode == 0
    with output_that_fails("full") as output:
        done = subprocess.run([CASTLE, *arguments], cwd=tmp_path, check=False, stdout=output,
                              stderr=output)
    assert done.returncode == 1


# Locks and folders


def in_use(ended: Ended, process: "subprocess.Popen[str]") -> bool:
    return ended.status == 2 and bool(re.fullmatch(
        rf"castle: '.*' is in use by process {process.pid} \(.*\); allowed: .*\n", ended.errors))


def test_no_command_works_where_another_process_does(
    castle: Callable[..., Ended], tmp_path: Path, trained: Path
) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    (tmp_path / "rules.toml").write_text("mode = 'storm'\nfactions_per_player = 2\n")
    shutil.copytree(trained, tmp_path / "runs" / "trained")
    castle("balance", "small.toml", "--name", "study")
    (tmp_path / "death.toml").write_text("mode = 'sudden_death'\nfactions_per_player = 2\n")
    castle("solve", "death.toml", "--resume")
    (proof,) = (tmp_path / "runs").glob("proof-*.npz")
    places = {
        f"runs/{proof.name}": ("solve", "death.toml", "--resume"),
        "runs/trained": ("train", "--resume", "runs/trained", "--until", 256),
        "runs/study": ("balance", "--resume", "runs/study"),
        "book.npy": ("solve", "rules.toml", "--book-plies", 2, "--out", "book.npy"),
        "data.json": ("dataset", "data.npz", "--positions", 4, "--plies", 15, 15),
        "games.castle.part": ("evaluate", "random", "greedy", "--games", 2, "--save-games",
                              "games.castle")}
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with somewhere_else(*(tmp_path / place for place in places)) as process:
        for place, arguments in places.items():
            assert in_use(castle(*arguments), process), place
    assert {path: path.read_bytes() for path in before} == before
    for arguments in places.values():
        assert castle(*arguments).status == 0


def test_the_name_of_a_run_that_was_killed_early_is_free(
    castle: Callable[..., Ended], tmp_path: Path
) -> None:
    events = tmp_path / "runs" / "run" / "tensorboard" / "events.out.tfevents.1.host"
    events.parent.mkdir(parents=True)
    events.write_text("curves of a run without a checkpoint")
    ended = castle("evaluate", "greedy", "random", "--games", 4, "--name", "run")
    assert ended.status == 0
    assert not events.parent.exists()
    assert castle("evaluate", "greedy", "random", "--games", 4, "--name", "run").status == 2
