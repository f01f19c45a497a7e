"""What all sub-commands have in common: help, results as JSON, quiet, completion, spellings."""

import io
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ended import Ended

from castle_env.game_file import read_games
from experiments.cli import COMMANDS

STUDY = """
description = "tiny"
base = "storm"
opening_plies = 1

[[vary]]
key = "factions_per_player"
values = [2]
"""


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_eighty_columns_and_names_what_it_wants(
    castle: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, command: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = castle(*([command] if command else []), "--help").output
    assert not [line for line in page.splitlines() if len(line) > 80]
    assert not re.search(r"\bNone\b", page)
    usage = re.match(r"usage: castle [\w-]+ \[-h\]((?: +\S+)*)", page)
    assert command == "" or (usage and not re.search(r"STR|PATH|INT", usage[1]))


@pytest.mark.parametrize(("arguments", "keys"), [
    (["rulesets"], {"rulesets"}),
    (["perft", "storm", "--depth", 2], {"ruleset", "position", "depth", "count", "divide"}),
    (["solve", "tiny.toml"], {"value", "line"}),
    (["analyse", "Nc", "--ruleset", "tiny.toml"], {"ruleset", "position", "kind", "moves"}),
    (["evaluate", "random", "greedy", "--games", 4], {"config", "results", "command"}),
    (["tournament", "random", "greedy", "--games", 4], {"config", "results", "command"}),
    (["play", "--seat", "none", "--first", "random", "--against", "greedy"], {"games"}),
    (["replay", "old.castle"], {"players", "moves", "outcome"}),
    (["regret", "random", "--ruleset", "tiny.toml", "--games", 2, "--positions", 2,
      "--opening-plies", 0, "--from-ply", 0], {"config", "results", "command"}),
    (["bench", "--only", "core.random_play.storm", "--runs", 1, "--seconds", 0], {"rows"}),
    (["balance", "study.toml"], {"rulesets"}),
])
def test_results_as_json_and_nothing_else(
    castle: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: list[object], keys: set[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    (tmp_path / "tiny.toml").write_text("mode = 'storm'\nfactions_per_player = 2\n")
    (tmp_path / "study.toml").write_text(STUDY)
    castle("evaluate", "random", "random", "--games", 2, "--save-games", "old.castle")
    ended = castle(*arguments, "--json", "out.json", "--quiet")
    assert ended == Ended(0, "", "")
    assert keys <= set(json.loads((tmp_path / "out.json").read_text(encoding="utf-8")))
    ended = castle(*arguments, "--json", "nowhere/out.json")
    assert (ended.status, ended.output) == (2, "")
    assert ended.errors.startswith("castle: cannot write 'nowhere/out.json'")


def test_quiet_commands_tell_errors(castle: Callable[..., Ended]) -> None:
    ended = castle("perft", "chess", "--quiet")
    assert (ended.status, ended.output) == (2, "")
    assert ended.errors.startswith("castle: no ruleset 'chess'")


@pytest.mark.parametrize("mode", ["sudden-death", "sudden_death"])
@pytest.mark.parametrize("command", [
    ["evaluate", "random", "greedy", "--games", 2], ["analyse", "Nc"],
    ["score", "random", "--name", "a/b"], ["play", "--start", "x"]])
def test_a_mode_has_two_spellings(castle: Callable[..., Ended], mode: str, command: Any) -> None:
    """The command goes on to its work, or to what is wrong otherwise."""
    ended = castle(*command, "--mode", mode)
    assert "invalid choice" not in ended.errors
    assert castle(*command, "--mode", "sudden death").status == 2


@pytest.mark.parametrize(("shell", "check"), [("bash", ["bash", "-n"]), ("zsh", None),
                                              ("fish", None)])
def test_completion(
    castle: Callable[..., Ended], tmp_path: Path, shell: str, check: list[str] | None
) -> None:
    ended = castle("--completion", shell)
    assert (ended.status, ended.errors) == (0, "")
    for word in (*COMMANDS, "--save-games", "sudden-death"):
        assert word in ended.output
    if check:
        (tmp_path / "script").write_text(ended.output)
        subprocess.run([*check, tmp_path / "script"], check=True)
    ended = castle("--completion", "cmd")
    assert (ended.status, ended.output) == (2, "")
    assert "allowed: one of bash, zsh, fish" in ended.errors


@pytest.mark.parametrize("pair", [("greedy", "greedy"), ("random", "greedy")])
def test_each_game_ends_once(
    castle: Callable[..., Ended], tmp_path: Path, pair: tuple[str, str]
) -> None:
    """Also one of an agent against itself, which stands in the rows of both seats."""
    ended = castle("evaluate", *pair, "--games", 20, "--save-games", "g.castle")
    distinct = {(record.actions, record.players) for record in read_games(tmp_path / "g.castle")}
    counted = ended.output.partition("ended by: ")[2].partition("\n")[0]
    assert sum(map(int, re.findall(r"\d+", counted))) == len(distinct)
