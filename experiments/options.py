"""Options that several commands share."""

from pathlib import Path
from typing import Final, Literal, TypeAlias

from castle_env import Game, load_ruleset

Mode: TypeAlias = Literal["storm", "sudden-death"]
MODES: Final[tuple[Mode, ...]] = ("storm", "sudden-death")
RUNS: Final = Path("runs")


def chosen_game(mode: Mode, ruleset: str | None) -> Game:
    """The game of a preset's name or a file's path, or else of the mode's default preset."""
    return Game(load_ruleset(ruleset or mode))
