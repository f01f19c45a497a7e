"""Options that several commands share."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from agents.locks import locked
from agents.runs import (
    check_writable,
    clear,
    create_run_folder,
    holds_nothing,
    unique_run_folder,
    write_json_atomic,
)
from castle_env import Game, OptionError, load_ruleset
from experiments.backend import MAX_WORKERS, Backend, LocalBackend, RayBackend
from experiments.output import results_before_output

Mode: TypeAlias = Literal["storm", "sudden-death"]
MODES: Final[tuple[Mode, ...]] = ("storm", "sudden-death")


def _mode(words: list[str]) -> Mode:
    for mode in MODES:
        if words[0].replace("_", "-") == mode:
            return mode
    raise ValueError(f"invalid choice {words[0]!r}; allowed: {', '.join(MODES)}")


_MODE: Final = PrimitiveConstructorSpec(
    nargs=1, metavar=f"{{{','.join(MODES)}}}", instance_from_str=_mode,
    is_instance=lambda value: value is None or value in MODES,
    str_from_instance=lambda value: [str(value)])

# A mode, with "-" or "_".
ModeOption: TypeAlias = Annotated[Mode, _MODE]
# Options that may be left out, as `--help` names their values.
OptionalMode: TypeAlias = Annotated[Mode | None, _MODE, tyro.conf.arg(help_behavior_hint="")]
OptionalFile: TypeAlias = Annotated[
    Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")]
OptionalFolder: TypeAlias = Annotated[
    Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")]
OptionalText: TypeAlias = Annotated[
    str | None, tyro.conf.arg(metavar="TEXT", help_behavior_hint="")]
OptionalAgent: TypeAlias = Annotated[
    str | None, tyro.conf.arg(metavar="AGENT", help_behavior_hint="")]
OptionalNumber: TypeAlias = Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")]

# Arguments that are told by their places.
AgentArgument: TypeAlias = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="AGENT")]
AgentsArgument: TypeAlias = Annotated[
    tyro.conf.Positional[tuple[str, ...]],
    tyro.conf.arg(metavar="AGENT...", help_behavior_hint="")]
RulesetArgument: TypeAlias = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RULESET")]
OptionalRulesetArgument: TypeAlias = Annotated[
    tyro.conf.Positional[str], tyro.conf.arg(metavar="[RULESET]")]

# The file of a run that holds its results.
RESULTS: Final = "results.json"

_UNITS: Final = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_MEMORY: Final = re.compile(r"([1-9][0-9]{0,5})(B|KiB|MiB|GiB)")


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Whether a command prints, and where else its results go."""

    json: OptionalFile = None
    """Also write the results to this file."""
    quiet: bool = False
    """Print nothing but errors."""

    @contextmanager
    def output(self) -> Iterator[None]:
        """Let the block print, progress included, unless `quiet` is set.

        Raises `RunError` at once where no results could be written, and `OutputError` at the end
        where they were, but something could not be printed.
        """
        if self.json is not None:
            check_writable(self.json)
        with ExitStack() as stack:
            stack.enter_context(results_before_output(self.json))
            if self.quiet:
                nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(redirect_stdout(nowhere))
                stack.enter_context(redirect_stderr(nowhere))
            yield

    def write_json(self, results: object) -> None:
        """Write the results where that is asked for; raises `RunError`."""
        if self.json is not None:
            write_json_atomic(self.json, results)

    def write_results_of(self, *folders: Path) -> None:
        """The same with the `results.json` of a run, or of its parts by their names."""
        if self.json is not None:
            parts = {folder.name: json.loads((folder / RESULTS).read_text(encoding="utf-8"))
                     for folder in folders}
            self.write_json(parts if len(parts) > 1 else parts[folders[0].name])


@dataclass(frozen=True, kw_only=True)
class RunOptions(OutputOptions):
    """Where a run writes."""

    name: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None
    """Name of the run's folder; one with the time is made up when left out."""
    runs: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs")
    """Where the folders of runs are."""

    @contextmanager
    def new_folder(self, prefix: str) -> Iterator[Path]:
        """Make the run's folder, called `name` or `prefix` with the time, and keep it locked.

        A run that fails or is stopped takes its folder with it if there is nothing to keep in it;
        one that can no longer print goes on. Raises `RunError`.
        """
        folder = (unique_run_folder(self.runs, prefix) if self.name is None
                  else create_run_folder(self.runs, self.name))
        with locked(folder):
            clear(folder)
            try:
                with results_before_output(folder):
                    yield folder
            except BaseException:
                if holds_nothing(folder):
                    shutil.rmtree(folder, ignore_errors=True)
                raise


@dataclass(frozen=True, kw_only=True)
class RulesetOptions:
    """What is played."""

    mode: OptionalMode = None
    """Which mode's default ruleset to play; without any ruleset it is storm's."""
    ruleset: OptionalText = None
    """A preset's name or a TOML file instead."""

    def game(self) -> Game:
        """The game of the ruleset, or else of the mode's default preset; raises `OptionError`."""
        return chosen_game(self.mode, self.ruleset)


def chosen_game(mode: Mode | None, ruleset: str | None) -> Game:
    """The game of a ruleset, or else of a mode; raises `OptionError` where both contradict."""
    rules = load_ruleset(ruleset or mode or MODES[0])
    if mode is not None and rules.mode != mode.replace("-", "_"):
        raise OptionError(f"mode is {mode!r}, but ruleset {ruleset!r} has mode "
                          f"{rules.mode.replace('_', '-')!r}; allowed: either alone")
    return Game(rules)


@dataclass(frozen=True, kw_only=True)
class GameOptions(RulesetOptions, RunOptions):
    """What is played, and where a run of it writes."""


@dataclass(frozen=True, kw_only=True)
class BackendOptions:
    """Where work is done that falls into many tasks; results do not depend on it."""

    backend: Literal["local", "ray"] = "local"
    """Processes of this machine, or a Ray cluster."""
    workers: int = 1
    """Number of processes, where --address does not name a cluster that has its own."""
    address: OptionalText = None
    """Address of a running Ray cluster, such as auto or ray://host:10001; without it, one is
    started here."""

    @property
    def is_default(self) -> bool:
        """Whether nothing was asked for."""
        return (self.backend, self.workers, self.address) == ("local", 1, None)

    def start(self) -> Backend:
        """The backend; raises `OptionError` for options that contradict each other."""
        if not 1 <= self.workers <= MAX_WORKERS:
            raise OptionError(f"workers is {self.workers}; allowed: 1 to {MAX_WORKERS}")
        if self.address is not None and (self.backend != "ray" or self.workers != 1):
            raise OptionError(f"address is {self.address!r} with --backend {self.backend} and "
                              f"--workers {self.workers}; allowed: --backend ray, whose cluster "
                              "has workers of its own")
        return (LocalBackend(self.workers) if self.backend == "local"
                else RayBackend(self.workers, self.address))


@dataclass(frozen=True, kw_only=True)
class StudyOptions(RunOptions, BackendOptions):
    """Which study is run, and where."""

    study: Annotated[
        tyro.conf.Positional[str | None],
        tyro.conf.arg(metavar="[STUDY]", help_behavior_hint="")] = None
    """Name of a study that comes with the package, or a TOML file; with --resume, that of the
    folder when left out."""
    resume: OptionalFolder = None
    """Folder of a study to go on with; its finished cells are not computed again."""


@dataclass(frozen=True, kw_only=True)
class MatchOptions(GameOptions, BackendOptions):
    """How agents are played against each other."""

    games: int = 400
    """Games of each pair of agents, half from each seat."""
    opening_plies: int = 4
    """Random plies before the agents take over; each opening is played from both seats."""
    seed: int = 0
    """Seed of openings, agents and bootstrap."""
    save_games: OptionalFile = None
    """Also write the games to this new file, as they are finished."""


def memory_bytes(text: str) -> int:
    """Number of bytes from text such as "4GiB"; raises `OptionError`."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise OptionError(f"memory is {text!r}; allowed: a whole number of up to six digits with a "
                          f"unit, as in 4GiB ({', '.join(_UNITS)})")
    return int(match[1]) * _UNITS[match[2]]


def command_line() -> str:
    """The command as it was typed, for reports."""
    return " ".join(["castle", *sys.argv[1:]])
