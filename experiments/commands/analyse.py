"""`castle analyse`: the exact value of each move of a storm game, and what it threw away."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro

from agents.solve.perfect_play import PerfectPlay
from castle_env import OptionError
from experiments.measure.judged_moves import judge_text
from experiments.options import (
    OptionalFile,
    OptionalMode,
    OptionalText,
    OutputOptions,
    chosen_game,
)
from experiments.output import tell
from experiments.play.analysed_file import analyse_file
from experiments.report.judged_moves import print_moves, totals


@dataclass(frozen=True)
class Analyse(OutputOptions):
    """Tell the exact value of each move of storm games, or of each move in a position.

    Values are Victory Point margins under best play by both from there on, seen from the player who
    moves.
    """

    what: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="WHAT")]
    """Moves separated by commas or spaces ("Nc Ec Sc"), a position's text, or a file of games."""
    mode: OptionalMode = None
    """Which mode's default ruleset; only storm can be analysed."""
    ruleset: OptionalText = None
    """A preset's name or a TOML file instead."""
    out: OptionalFile = None
    """Where a file of games is written with its values and turning points; NAME.analysed.castle
    beside NAME.castle when left out. Naming the file itself replaces it."""


def run(options: Analyse) -> None:
    """Print a line for each move as soon as it is known, then write the file if one was asked for.
    """
    if options.what.endswith(".castle") or os.path.isfile(options.what):
        options.write_json({"kind": "games", "games": analyse_file(
            Path(options.what), options.mode, options.ruleset, options.out)})
        return
    if options.out:
        raise OptionError(f"out is {str(options.out)!r}, but {options.what!r} is no file of games; "
                          "allowed: --json for moves and positions")
    game = chosen_game(options.mode, options.ruleset)
    asked = judge_text(PerfectPlay(game), options.what)
    moves = print_moves(asked.moves)
    if asked.is_game:
        tell(totals(moves))
    options.write_json({
        "ruleset": game.rules.to_dict(),
        "position": game.format_position(asked.position),
        "kind": "game" if asked.is_game else "position",
        "moves": [asdict(move) for move in moves],
    })
