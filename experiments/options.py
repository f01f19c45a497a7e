"""Options that several commands share."""

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, Literal, TypeAlias

import tyro

from agents.runs import create_run_folder, unique_run_folder
from castle_env import Game, OptionError, load_ruleset
from experiments.backend import MAX_WORKERS, Backend, LocalBackend, RayBackend

Mode: TypeAlias = Literal["storm", "sudden-death"]
MODES: Final[tuple[Mode, ...]] = ("storm", "sudden-death")

_UNITS: Final = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_MEMORY: Final = re.compile(r"([1-9][0-9]*)(B|KiB|MiB|GiB)")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where a run writes."""

    name: str | None = None
    """Name of the run's folder; one with the time is made up when left out."""
    runs: Path = Path("runs")
    """Where the folders of runs are."""

    @contextmanager
    def new_folder(self, prefix: str) -> Iterator[Path]:
        """Make the run's folder, called `name` or `prefix` with the time; raises `RunError`.

        A run that fails or is stopped takes its folder with it, unless it has saved a checkpoint,
        games or cells of a study there.
        """
        folder = (unique_run_folder(self.runs, prefix) if self.name is None
                  else create_run_folder(self.runs, self.name))
        try:
            yield folder
        except BaseException:
            saved = chain(folder.rglob("checkpoints/step-*.json"), folder.rglob("*.castle"),
                          folder.rglob("cells.jsonl"))
            if not any(file.stat().st_size for file in saved):
                shutil.rmtree(folder, ignore_errors=True)
            raise


@dataclass(frozen=True, kw_only=True)
class RulesetOptions:
    """What is played."""

    mode: Mode | None = None
    """Which mode's default ruleset to play; without any ruleset it is storm's."""
    ruleset: str | None = None
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
    address: str | None = None
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

    study: tyro.conf.Positional[str | None] = None
    """Name of a study that comes with the package, or a TOML file; with --resume, that of the
    folder when left out."""
    resume: Path | None = None
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
    save_games: Path | None = None
    """Also write the games to this new file, as they are finished."""


def memory_bytes(text: str) -> int:
    """Number of bytes from text such as "4GiB"; raises `OptionError`."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise OptionError(f"memory is {text!r}; allowed: a whole number with a unit, as in 4GiB "
                          f"({', '.join(_UNITS)})")
    return int(match[1]) * _UNITS[match[2]]


def command_line() -> str:
    """The command as it was typed, for reports."""
    return " ".join(["castle", *sys.argv[1:]])
