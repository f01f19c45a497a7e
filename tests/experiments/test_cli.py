"""The `castle` command: what each sub-command prints and writes, and how bad input ends."""

import ast
import dataclasses
import errno
import inspect
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import typing
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from ended import Ended
from narrow import narrow, present
from places import ROOT
from small_runs import SMALL_OPTIONS

import castle_env
from agents.solve.sudden_death_solver import Proof, SuddenDeathSolver
from agents.training.config import PRESETS, PPOConfig
from castle_env import Game, load_ruleset, make_agent, preset_names
from castle_env.imports import EXTRAS
from experiments import cli
from experiments.backend import LocalBackend
from experiments.cli import COMMANDS
from experiments.commands import demo
from experiments.measure import match
from experiments.measure.match import PANEL
from experiments.options import OutputOptions

CASTLE = Path(sysconfig.get_path("scripts")) / "castle"
STORM = Game(load_ruleset("storm"))
START = STORM.format_position(STORM.initial_state())


def files_in(folder: Path) -> dict[str, bytes]:
    """Contents of all files, and the folders, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"folder"
            for path in folder.rglob("*")}


def written(folder: Path) -> Any:
    """Results of a run whose report shows pictures that are all there and whole."""
    report = (folder / "report.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", report)
    assert pictures
    for picture in pictures:
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]
    if not (folder / "results.json").exists():
        return None
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert {"command", "config", "weights", "ruleset", "ruleset_digest", "environment",
            "results"} == set(results)
    assert results["environment"]["packages"]["numpy"]
    return results


# What the sub-commands do


def test_rulesets_lists_the_presets(castle: Callable[..., Ended]) -> None:
    ended = castle("rulesets")
    assert ended.status == 0
    for name in preset_names():
        assert re.search(rf"\b{name}\b.*{load_ruleset(name).digest}", ended.output)


def test_perft_counts(castle: Callable[..., Ended]) -> None:
    ended = castle("perft", "storm", "--depth", 3)
    assert ended.status == 0
    assert f"perft(3) of storm = {STORM.perft(STORM.initial_state(), 3):,} in" in ended.output


def test_perft_divide_adds_up(castle: Callable[..., Ended]) -> None:
    ended = castle("perft", "sudden-death", "-d", 3, "--divide")
    *lines, last = ended.output.splitlines()
    counts = {name: int(count.replace(",", "")) for name, count in map(str.split, lines)}
    game = Game(load_ruleset("sudden-death"))
    assert set(counts) == set(map(game.format_action, game.legal_actions(game.initial_state())))
    assert sum(counts.values()) == game.perft(game.initial_state(), 3)
    assert f"= {sum(counts.values()):,} in" in last


def test_perft_as_json_from_a_position(castle: Callable[..., Ended], tmp_path: Path) -> None:
    state = STORM.apply(STORM.initial_state(), STORM.legal_actions(STORM.initial_state())[0])
    text = STORM.format_position(state)
    ended = castle("perft", "storm", "--position", text, "--depth", 2, "--divide",
                   "--json", "a.json")
    assert ended.status == 0
    result = json.loads((tmp_path / "a.json").read_text())
    assert (result["ruleset"], result["position"], result["depth"]) == ("storm", text, 2)
    assert result["count"] == STORM.perft(state, 2) == sum(result["divide"].values())
    castle("perft", "storm", "--depth", 0, "--divide", "--json", "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["count"] == 1


def test_perft_of_a_finished_game(castle: Callable[..., Ended]) -> None:
    game = Game(load_ruleset("storm"))
    state = game.initial_state()
    while not game.is_terminal(state):
        state = game.apply(state, game.legal_actions(state)[0])
    ended = castle("perft", "storm", "--position", game.format_position(state), "--divide")
    assert ended.status == 0
    assert "perft(5) of storm = 0 in" in ended.output


def test_perft_of_a_ruleset_file(castle: Callable[..., Ended], tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text("mode = 'storm'\nfactions_per_player = 1\n")
    ended = castle("perft", "tiny.toml", "--depth", 2)
    assert ended.status == 0
    assert "perft(2) of tiny = " in ended.output


@pytest.mark.parametrize("mode", ["storm", "sudden-death"])
def test_evaluate(castle: Callable[..., Ended], tmp_path: Path, mode: str) -> None:
    ended = castle("evaluate", "greedy", "random", "--mode", mode, "--games", 20, "--name", "e")
    assert ended.status == 0
    assert "report: runs/e/report.md" in ended.output
    results = written(tmp_path / "runs" / "e")
    assert results["ruleset"]["name"] == mode
    assert results["config"]["games"] == 20
    assert [row["seat"] for row in results["results"]["rows"]] == [0, 1, None]
    assert results["results"]["rows"][2]["games"] == 20
    again = castle("evaluate", "greedy", "random", "--mode", mode, "--games", 20)
    assert again.status == 0
    folder = present(re.search(r"report: (runs/evaluate-.*)/report.md", again.output))[1]
    assert written(tmp_path / folder)["results"] == results["results"]


def test_evaluate_an_agent_against_itself_under_other_rules(
    castle: Callable[..., Ended], tmp_path: Path
) -> None:
    (tmp_path / "tiny.toml").write_text("mode = 'sudden_death'\nfactions_per_player = 2\n")
    ended = castle("evaluate", "greedy", "greedy", "--ruleset", "tiny.toml", "--games", 6,
                   "--opening-plies", 2, "--seed", 3, "--name", "e", "--runs", "a/b")
    assert ended.status == 0
    results = written(tmp_path / "a" / "b" / "e")
    assert results["ruleset"]["name"] == "tiny"
    assert [row["seat"] for row in results["results"]["rows"]] == [0, 1]


def test_tournament(castle: Callable[..., Ended], tmp_path: Path) -> None:
    ended = castle("tournament", "random", "greedy", "alphabeta:1", "--games", 12, "--name", "t")
    assert ended.status == 0
    results = written(tmp_path / "runs" / "t")["results"]
    assert {rating["player"] for rating in results["ratings"]} == {
        "random", "greedy", "alphabeta:1"}
    assert len(results["pairs"]) == 3
    assert "Bradley–Terry" in ended.output
    assert "report: runs/t/report.md" in ended.output


def test_train_and_play_and_resume(castle: Callable[..., Ended], tmp_path: Path) -> None:
    ended = castle("train", *SMALL_OPTIONS, "--steps", 256, "--evaluate-every", 128,
                   "--name", "run")
    assert ended.status == 0
    assert "agent: ppo:runs/run" in ended.output
    folder = tmp_path / "runs" / "run"
    results = written(folder)
    assert results["results"]["steps"] == 256
    assert [row["steps"] for row in results["results"]["evaluations"]] == [0, 128, 256]
    assert [row["opponent"] for row in results["results"]["final"]] == list(PANEL)
    assert make_agent("ppo:runs/run", STORM).name == "ppo:runs/run"
    assert castle("evaluate", "ppo:runs/run", "random", "--games", 4).status == 0
    ended = castle("train", "--resume", "runs/run", "--until", 300)
    assert ended.status == 0
    assert "resuming runs/run at 256 steps" in ended.output
    assert "after 384 steps" in ended.output
    results = written(folder)
    assert results["results"]["steps"] == 384
    assert (results["config"]["steps"], results["config"]["channels"]) == (256, 4)
    assert results["config"]["report_games"] == 4
    assert castle("train", "--resume", "runs/run", "--until", 200).status == 2


def test_solve_sudden_death(castle: Callable[..., Ended], tmp_path: Path) -> None:
    (tmp_path / "cousin.toml").write_text("mode = 'sudden_death'\nfactions_per_player = 3\n")
    ended = castle("solve", "--ruleset", "cousin.toml", "--json", "out.json")
    assert ended.status == 0
    assert "margin +1 for A, 5 plies" in ended.output
    assert json.loads((tmp_path / "out.json").read_text())["value"] == 1
    ended = castle("solve", "cousin.toml", "--bounds", "--plies", 4)
    assert ended.status == 0
    assert "not bounded yet" in ended.output or "at least" in ended.output
    wrong: list[tuple[object, ...]] = [
        ("--wdl",), ("--threads", 65), ("--threads", 2, "--workers", 2), ("--bounds", "--plies", 0)]
    for options in wrong:
        assert castle("solve", "cousin.toml", *options).status == 2
    for option in ("--bounds", "--resume"):
        assert castle("solve", "storm", option).status == 2


def test_a_proof_of_sudden_death_is_kept_and_resumed(
    castle: Callable[..., Ended], tmp_path: Path
) -> None:
    (tmp_path / "cousin.toml").write_text("mode = 'sudden_death'\nfactions_per_player = 3\n")
    command = ("solve", "cousin.toml", "--memory", "1MiB", "--resume", "--json", "out.json")
    assert castle(*command, "--bounds", "--plies", 5).status == 0
    first = json.loads((tmp_path / "out.json").read_text())
    assert first["value"] is None
    (kept,) = (tmp_path / "runs").glob("proof-*.npz")
    assert castle(*command).status == 0
    second = json.loads((tmp_path / "out.json").read_text())
    assert (second["value"], second["horizon"]) == (1, 6)
    assert second["nodes"] > first["nodes"]
    kept.write_bytes(kept.read_bytes()[:-1000])
    ended = castle(*command)
    assert ended.status == 2
    assert "damaged" in ended.errors


def test_sudden_death_is_solved_by_first_moves_in_tasks(
    castle: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cousin.toml").write_text("mode = 'sudden_death'\nfactions_per_player = 4\n")
    made: list[int] = []

    def one_worker(workers: int) -> LocalBackend:
        made.append(workers)
        return LocalBackend(1)

    monkeypatch.setattr("experiments.options.LocalBackend", one_worker)
    ended = castle("solve", "cousin.toml", "--memory", "1MiB", "--workers", 2)
    assert ended.status == 0
    assert "margin +0 for A" in ended.output


def test_train_in_games_too_short_for_the_usual_openings(
    castle: Callable[..., Ended], tmp_path: Path
) -> None:
    (tmp_path / "tiny.toml").write_text("mode = 'sudden_death'\nfactions_per_player = 1\n"
                                        "entry_lanes = 'all'\n")
    command = ("train", *SMALL_OPTIONS, "--steps", 128, "--ruleset", "tiny.toml", "--name", "tiny")
    assert castle(*command).status == 0
    assert written(tmp_path / "runs" / "tiny")["ruleset"]["name"] == "tiny"


def test_progress_where_there_is_no_terminal(castle: Callable[..., Ended]) -> None:
    """Lines on standard error, at the start and at the end at least, and not in the output."""
    ended = castle("train", *SMALL_OPTIONS, "--steps", 256, "--name", "lines")
    lines = [line for line in ended.errors.splitlines() if line]
    assert len(lines) >= 2
    for line in lines:
        assert re.match(r"0k/0k [\d,]+/s random \d+% greedy \d+% ab2 \d+% ab4 \d+%", line)
    assert "0k/0k" not in ended.output


OWN = """
import torch
from torch import nn


class Small(nn.Module):
    def __init__(self, game):
        super().__init__()
        self.policy = nn.Linear(18 * 36, game.num_actions)
        self.value = nn.Linear(18 * 36, 1)

    def forward(self, observations):
        flat = observations.flatten(1)
        return self.policy(flat), self.value(flat).flatten()


def sixths(game, states, margins):
    return (margins / 6).clip(-1, 1)
"""


def test_network_and_reward_of_ones_own(
    castle: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their import paths, from training to a match, and to a second run that begins there."""
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own", raising=False)
    own = ("train", *SMALL_OPTIONS, "--steps", 128, "--network", "own:Small", "--reward",
           "own:sixths")
    assert castle(*own, "--name", "mine").status == 0
    card = json.loads(next((tmp_path / "runs" / "mine").glob("checkpoints/*128.json")).read_text())
    assert (card["network"]["kind"], card["reward"]) == ("own:Small", "own:sixths")
    assert card["weights"] == 648 * 25 + 25 + 648 + 1
    assert castle(*own, "--name", "more", "--init-from", "runs/mine").status == 0
    assert castle("train", "--resume", "runs/more", "--until", 256).status == 0
    assert castle("export", "runs/more", "--out", "more.pt").status == 0
    origin = json.loads((tmp_path / "more.json").read_text())["init_from"]
    assert (origin["command"], origin["steps"]) == (card["command"], 128)
    ended = castle("evaluate", "ppo:runs/mine", "ppo:runs/more", "--games", 4)
    assert ended.status == 0
    assert "mine" in ended.output
    monkeypatch.delitem(sys.modules, "own")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("command", ["train", "resume"])
def test_a_gpu_that_is_not_there_is_an_error(
    castle: Callable[..., Ended], tmp_path: Path, command: str
) -> None:
    if command == "train":
        ended = castle("train", "--device", "cuda")
    else:
        castle("train", *SMALL_OPTIONS, "--steps", 128, "--name", "run")
        for file in (tmp_path / "runs" / "run" / "checkpoints").glob("*.json"):
            file.write_text(file.read_text().replace('"device": "cpu"', '"device": "cuda"'))
        ended = castle("train", "--resume", "runs/run")
    assert ended.status == 2
    assert re.match("castle: device is 'cuda', which cannot be used: .*allowed: auto or",
                    ended.errors)
    assert ended.errors.count("\n") == 1


def test_weights_of_another_network_are_refused(
    castle: Callable[..., Ended], tmp_path: Path
) -> None:
    castle("train", *SMALL_OPTIONS, "--steps", 128, "--name", "small")
    ended = castle("train", *SMALL_OPTIONS, "--steps", 128, "--blocks", 2, "--name", "large",
                   "--init-from", "runs/small")
    assert ended.status == 2
    assert re.match(r"castle: checkpoint 'runs/small/.*' does not fit the network of this run",
                    ended.errors)
    assert ended.errors.count("\n") == 1
    assert not (tmp_path / "runs" / "large").exists()


def test_demo(
    castle: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = dataclasses.replace(PRESETS["quick"], num_envs=16, n_steps=8, batch_size=64, channels=4,
                                blocks=1, hidden=8, evaluation_games=4, regret_positions=8)
    monkeypatch.setattr(demo, "PRESETS", {"quick": small})
    monkeypatch.setattr(demo, "EVALUATIONS", 1)
    ended = castle("demo", "--steps", 100, "--games", 4, "--name", "demo")
    assert ended.status == 0
    assert ended.output.splitlines()[-1] == "report: runs/demo/report.md"
    folder = tmp_path / "runs" / "demo"
    written(folder)
    for mode in ("storm", "sudden-death"):
        results = json.loads((folder / mode / "results.json").read_text(encoding="utf-8"))
        assert results["ruleset"]["name"] == mode
        assert [row["opponent"] for row in results["results"]["final"]] == list(PANEL)
        assert make_agent(f"ppo:runs/demo/{mode}", Game(load_ruleset(mode)))


# Help


def test_help_lists_the_commands(castle: Callable[..., Ended]) -> None:
    ended = castle("--help")
    assert ended.status == 0
    assert castle("-h") == ended
    for name, (module, options, line) in COMMANDS.items():
        assert line == getattr(import_module(module), options).__doc__.splitlines()[0]
        assert f"\n  {name:10}  {line}\n" in ended.output


def test_the_version(castle: Callable[..., Ended]) -> None:
    ended = castle("--version")
    assert (ended.status, ended.output) == (0, f"storm-the-castle {castle_env.__version__}\n")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_none_of_the_packages_that_commands_need(option: str) -> None:
    code = ("import sys; from experiments.cli import main; main(); heavy = {'numpy', 'numba', "
            "'gymnasium', 'tyro', 'rich', 'torch', 'scipy', 'matplotlib', 'castle_env'}; "
            "assert not heavy & set(sys.modules), heavy & set(sys.modules)")
    done = subprocess.run([sys.executable, "-c", code, option], text=True, capture_output=True,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["rulesets"], ["perft", "storm", "--divide"]])
def test_a_closed_pipe_is_no_message(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run([CASTLE, *arguments], stdout=pipe, stderr=subprocess.PIPE, text=True,
                              check=False)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(("command", "module", "extra"), [
    ("train", "torch", "train"), ("evaluate", "scipy", "report"), ("play", "fastapi", "play")])
def test_a_missing_package_is_one_message_with_the_command_that_installs_it(
    castle: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, command: str, module: str,
    extra: str
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=f"{module}.below")

    monkeypatch.setattr(cli, "import_module", missing)
    ended = castle(command)
    assert ended.status == 2
    assert ended.errors == (f"castle: 'castle {command}' needs {module}; install it with: "
                            f"pip install 'storm-the-castle[{extra}]'\n")


def test_the_table_of_extras_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = {extra: " ".join(needs) for extra, needs in
                 project["optional-dependencies"].items()}
    distributions = {"stable_baselines3": "stable-baselines3", "sb3_contrib": "sb3-contrib",
                     "PIL": "pillow", "pyspiel": "open_spiel", "starlette": "fastapi"}
    for module, extra in EXTRAS.items():
        assert distributions.get(module, module) in installed[extra]


def unboxed(text: str) -> str:
    return " ".join(re.sub("[─│╭╮╰╯•]", " ", text).split())


def explanations(options: type) -> dict[str, str]:
    """The text below each field in the source of a dataclass and of those it is made from."""
    found: dict[str, str] = {}
    for part in filter(dataclasses.is_dataclass, reversed(options.__mro__)):
        body = narrow(ast.parse(inspect.getsource(part)).body[0], ast.ClassDef).body
        found |= {ast.unparse(field.target): ast.literal_eval(text.value)
                  for field, text in pairwise(body)
                  if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)}
    return found


def explained_fields(options: type) -> dict[str, tuple[str, Any]]:
    """Explanation and default of each field, those of a nested dataclass among them."""
    found: dict[str, tuple[str, Any]] = {}
    for item in dataclasses.fields(options):
        if typing.get_type_hints(options)[item.name] is PPOConfig:
            found |= explained_fields(PPOConfig)
        else:
            found[item.name] = (explanations(options)[item.name], item.default)
    return found


POSITIONAL = ("preset", "study")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_explains_every_option_with_its_default(
    castle: Callable[..., Ended], command: str
) -> None:
    """Every command takes --json and --quiet."""
    module, name, _ = COMMANDS[command]
    options = getattr(import_module(module), name)
    ended = castle(command, "--help")
    assert ended.status == 0
    page = unboxed(ended.output)
    assert issubclass(options, OutputOptions)
    assert "--json FILE Also write the results to this file." in page
    assert "--quiet, --no-quiet Print nothing but errors." in page
    for name, (explanation, default) in explained_fields(options).items():
        if default is dataclasses.MISSING:
            assert explanation in page
            continue
        assert f"--{name.replace('_', '-')}" in page or name in POSITIONAL
        shown = " ".join(map(str, default)) if isinstance(default, tuple) else str(default)
        given = f" (default: {shown})" if default not in (None, ()) else ""
        assert f"{' '.join(explanation.split())}{given}" in page


# Bad input


BAD: dict[str, tuple[list[object], list[str]]] = {
    "no such ruleset": (["perft", "chess"], ["'chess'", "storm", "sudden-death-home"]),
    "malformed TOML": (["perft", "malformed.toml"], ["malformed.toml", "not a readable TOML"]),
    "wrong key": (["evaluate", "random", "greedy", "--ruleset", "key.toml"],
                  ["key.toml", "'modes'", "mode"]),
    "a folder as ruleset": (["train", "--ruleset", "."], ["no ruleset '.'"]),
    "negative depth": (["perft", "storm", "--depth", -1], ["depth is -1", "from 0 to"]),
    "bad position": (["perft", "storm", "--position", "6/6"], ["'6/6'", "allowed"]),
    "empty position": (["perft", "storm", "--position", ""], ["''", "allowed"]),
    "position of another mode": (["perft", "storm", "--position", START.replace("8,8", "9,8")],
                                 ["9,8"]),
    "mode that contradicts the ruleset": (
        ["evaluate", "random", "greedy", "--mode", "sudden-death", "--ruleset", "storm-towers"],
        ["'sudden-death'", "'storm-towers' has mode 'storm'", "allowed"]),
    "analysis of a mode that contradicts the ruleset": (
        ["analyse", "Nc", "--mode", "storm", "--ruleset", "sudden-death"],
        ["'storm'", "'sudden-death'", "allowed"]),
    "an agent for player 0 who is a person": (["play", "--first", "greedy"], ["--seat none"]),
    "an opponent of two persons": (["play", "--seat", "both", "--against", "greedy"],
                                   ["'greedy'", "both"]),
    "play against nobody known": (["play", "--against", "stockfish"], ["'stockfish'"]),
    "play of a negative seed": (["play", "--seed", -1], ["seed is -1"]),
    "play from no position": (["play", "--start", "6/6"], ["'6/6'", "allowed"]),
    "play without time": (["play", "--seconds", 0], ["seconds is 0.0", "allowed"]),
    "play in reverse": (["play", "--pause", -1], ["pause -1.0", "allowed"]),
    "play in the browser from a position": (["play", "--web", "--start", START],
                                            ["--web", "start", "terminal"]),
    "games into a file that exists": (["play", "--save-games", "key.toml"],
                                      ["'key.toml'", "exists already"]),
    "no such agent": (["evaluate", "random", "stockfish"], ["'stockfish'", "alphabeta", "ppo"]),
    "wrong argument": (["evaluate", "alphabeta:x", "random"], ["'alphabeta:x'", "allowed"]),
    "no checkpoint": (["evaluate", "ppo:nowhere.pt", "random"], ["'nowhere.pt'"]),
    "no path": (["evaluate", "ppo", "random"], ["'ppo:'", "ppo:PATH"]),
    "file that is no checkpoint": (["evaluate", "ppo:key.toml", "random"], ["'key.toml'"]),
    "checkpoint in a long path": (["evaluate", "ppo:" + "x" * 5000, "random"], ["name too long"]),
    "odd games": (["evaluate", "random", "greedy", "--games", 3], ["games is 3", "even"]),
    "no games": (["tournament", "random", "greedy", "--games", 0], ["games is 0", "even"]),
    "opening of a whole game": (["evaluate", "random", "greedy", "--opening-plies", 16],
                                ["opening_plies is 16", "0 to 14", "'storm'"]),
    "negative seed": (["evaluate", "random", "greedy", "--seed", -1], ["seed is -1"]),
    "negative seed of a tournament": (["tournament", "random", "greedy", "--seed", -1],
                                      ["seed is -1"]),
    "one agent": (["tournament", "random"], ["agents are random", "two or more"]),
    "no agents": (["tournament"], ["agents are none", "two or more"]),
    "an agent twice": (["tournament", "alphabeta:1", "alphabeta:01"], ["all different"]),
    "a bad agent of a tournament": (["tournament", "random", "greedy", "x"], ["'x'"]),
    "run that exists": (["evaluate", "random", "greedy", "--runs", "old", "--name", "run"],
                        ["'old/run'", "exists already"]),
    "trained run that exists": (["train", "--runs", "old", "--name", "run"],
                                ["'old/run'", "exists already"]),
    "demo that exists": (["demo", "--runs", "old", "--name", "run"],
                         ["'old/run'", "exists already"]),
    "tournament that exists": (["tournament", "random", "greedy", "--runs", "old", "--name",
                                "run"], ["'old/run'", "exists already"]),
    "name that is a path": (["evaluate", "random", "greedy", "--name", "a/b"], ["'a/b'"]),
    "runs below a file": (["evaluate", "random", "greedy", "--runs", "key.toml"],
                          ["cannot make folder 'key.toml'"]),
    "training below a file": (["train", "--runs", "key.toml/x"], ["cannot make folder"]),
    "demo below a file": (["demo", "--runs", "key.toml"], ["cannot make folder 'key.toml'"]),
    "bad baseline": (["train", "--opponents", "uniform", "--baselines", "random", "gready"],
                     ["'gready'", "allowed"]),
    "network that is none": (["train", "--network", "hats"], ["network is 'hats'", "lanes"]),
    "network of no module": (["train", "--network", "nowhere:net"], ["'nowhere:net'", "MODULE"]),
    "reward that is none": (["train", "--reward", "hats"], ["reward is 'hats'", "margin"]),
    "weights from nowhere": (["train", "--init-from", "nowhere.pt"], ["'nowhere.pt'"]),
    "odd evaluation": (["train", "--evaluation-games", 3], ["games is 3", "even"]),
    "odd report": (["train", "--report-games", 7], ["games is 7", "even"]),
    "odd demo": (["demo", "--games", 7], ["games is 7", "even"]),
    "demo without steps": (["demo", "--steps", 0], ["steps is 0"]),
    "demo of a negative seed": (["demo", "--seed", -1], ["seed is -1"]),
    "device that is none": (["train", "--device", "abacus"], ["device is 'abacus'", "cpu"]),
    "device that is not here": (["train", "--device", "meta"], ["device is 'meta'", "cpu"]),
    "games without end": (["evaluate", "random", "greedy", "--games", 10**12],
                          ["games is 1000000000000", "1,000,000", "memory"]),
    "a tournament without end": (["tournament", "random", "greedy", "--games", 10**25],
                                 ["games is 1", "1,000,000"]),
    "depth without end": (["perft", "storm", "--depth", 10**25], ["depth is 1", "0 to"]),
    "a seed without end": (["evaluate", "random", "greedy", "--seed", 10**4000], ["seed is 1"]),
    "too many processes": (["evaluate", "random", "greedy", "--workers", 10**25],
                           ["workers is 1"]),
    "threads without end": (["solve", "--threads", 10**25], ["threads is 1"]),
    "memory without end": (["solve", "--memory", f"{10**25}GiB"], ["memory is", "allowed"]),
    "a huge integer in a ruleset": (["perft", "huge.toml"], ["huge.toml", "'max_plies'", "bits"]),
    "regret without end": (["regret", "greedy", "--positions", 10**25], ["positions is 1"]),
    "until alone": (["train", "--until", 5], ["until", "--resume", "--steps"]),
    "resume with other options": (["train", "--resume", "old/run", "--learning-rate", 0.5],
                                  ["other options", "--resume", "--until"]),
    "resume from nowhere": (["train", "--resume", "nowhere"], ["no checkpoint in 'nowhere'"]),
    "resume from an empty run": (["train", "--resume", "old/run"], ["no checkpoint in 'old/run'"]),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_message_and_nothing_is_written(
    castle: Callable[..., Ended], tmp_path: Path, kind: str
) -> None:
    arguments, mentioned = BAD[kind]
    (tmp_path / "malformed.toml").write_text("mode = \n[")
    (tmp_path / "key.toml").write_text("modes = 'storm'\n")
    (tmp_path / "huge.toml").write_text(f"mode = 'storm'\nmax_plies = 0x{'f' * 4000}\n")
    (tmp_path / "old" / "run").mkdir(parents=True)
    (tmp_path / "old" / "run" / "notes.txt").write_text("mine")
    before = files_in(tmp_path)
    ended = castle(*arguments)
    assert ended.status == 2
    assert ended.output == ""
    assert ended.errors.startswith("castle: ")
    assert ended.errors.count("\n") == 1
    for text in mentioned:
        assert text in ended.errors
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("arguments", [
    [], ["chess"], ["perft"], ["perft", "storm", "--depth", "deep"],
    ["evaluate", "random"], ["evaluate", "random", "greedy", "--games", "1.5"],
    ["evaluate", "random", "greedy", "random"], ["train", "--mode", "chess"],
    ["train", "--steps", "0"], ["train", "--gamma", "2"], ["train", "--channels"],
    ["train", "--report-games", str(10**12)], ["train", "--num-envs", str(10**25)],
    ["train", "--n-steps", str(10**25)],
    ["train", "--threads", str(10**25)], ["train", "--channels", str(10**25)],
    ["evaluate", "random", "greedy", "--games", "1" * 5000],
    ["train", "--wings", "2"], ["demo", "--mode", "storm"]])
def test_arguments_that_cannot_be_read(
    castle: Callable[..., Ended], tmp_path: Path, arguments: list[Any]
) -> None:
    ended = castle(*arguments)
    assert ended.status == 2
    assert "Traceback" not in ended.errors
    assert "--help" in ended.errors
    assert files_in(tmp_path) == {}


def test_a_full_disk_is_one_message_and_leaves_nothing(
    castle: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("agents.runs.os.fsync", full)
    commands: list[list[object]] = [["evaluate", "random", "greedy", "--games", 2],
                                    ["train", *SMALL_OPTIONS, "--steps", 128]]
    for command in commands:
        ended = castle(*command)
        assert ended.status == 2
        assert re.fullmatch(r"castle: cannot write '.*': No space left on device",
                            ended.errors.strip())
        assert not list((tmp_path / "runs").iterdir())


def test_ctrl_c_ends_with_130_and_leaves_nothing(
    castle: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(match, "play_matches", interrupted)
    ended = castle("evaluate", "random", "greedy")
    assert ended.status == 130
    assert ended.errors.strip() == "castle: stopped"
    assert not list((tmp_path / "runs").iterdir())


def test_ctrl_c_on_a_proof_of_sudden_death_prints_it_and_ends_with_130(
    castle: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(self: SuddenDeathSolver, *_: object) -> None:
        self.proof = Proof(low=-2, mover_within=15, horizon=15)
        raise KeyboardInterrupt

    monkeypatch.setattr(SuddenDeathSolver, "solve", interrupted)
    ended = castle("solve", "sudden-death", "--json", "out.json")
    assert ended.status == 130
    assert "margin at least -2 for A" in ended.output
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["low"] == -2


def test_the_installed_command(tmp_path: Path) -> None:
    done = subprocess.run([CASTLE, "perft", "storm", "--depth", "2"], cwd=tmp_path, text=True,
                          capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "perft(2) of storm = " in done.stdout
    done = subprocess.run([CASTLE, "perft", "chess"], cwd=tmp_path, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"castle: no ruleset 'chess'.*\n", done.stderr)
    assert files_in(tmp_path) == {}
