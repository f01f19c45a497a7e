"""Options that several commands share."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from agents.runs import create_run_folder, unique_run_folder
from castle_env import Game, load_ruleset

Mode: TypeAlias = Literal["storm", "sudden-death"]
MODES: Final[tuple[Mode, ...]] = ("storm", "sudden-death")


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

        A run that fails or is stopped takes its folder with it, unless it has saved a checkpoint.
        """
        folder = (unique_run_folder(self.runs, prefix) if self.name is None
                  else create_run_folder(self.runs, self.name))
        try:
            yield folder
        except BaseException:
            if not any(folder.rglob("checkpoints/step-*.json")):
                shutil.rmtree(folder, ignore_errors=True)
            raise


@dataclass(frozen=True, kw_only=True)
class GameOptions(RunOptions):
    """What is played."""

    mode: Mode = "storm"
    """Which mode's default ruleset to play."""
    ruleset: str | None = None
    """A preset's name or a TOML file instead."""

    def game(self) -> Game:
        """The game of the ruleset, or else of the mode's default preset."""
        return Game(load_ruleset(self.ruleset or self.mode))


@dataclass(frozen=True, kw_only=True)
class MatchOptions(GameOptions):
    """How agents are played against each other."""

    games: int = 400
    """Games of each pair of agents, half from each seat."""
    opening_plies: int = 4
    """Random plies before the agents take over; each opening is played from both seats."""
    seed: int = 0
    """Seed of openings, agents and bootstrap."""


def command_line() -> str:
    """The command as it was typed, for reports."""
    return " ".join(["castle", *sys.argv[1:]])
