"""`castle replay`: step through a saved game in the terminal, or draw it."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tyro

from agents.runs import check_writable
from castle_env import OptionError
from castle_env.ansi import draw_ansi
from castle_env.game_record import GameRecord
from experiments.play.games_file import read_game
from experiments.play.replay_files import check_new_folder, write_gif, write_svgs
from experiments.report.replay_page import write_page

HELP: Final = "enter or n: next, b: back, a ply's number: go there, q: quit"


@dataclass(frozen=True)
class Replay:
    """Step through a game of a .castle file, or draw it into files.

    In the terminal enter goes on and b goes back; where the output is no terminal, all positions
    are printed.
    """

    file: tyro.conf.Positional[Path]
    """A file of games."""
    game: int = 1
    """Which game of the file, from 1 on."""
    gif: Path | None = None
    """Draw an animated picture."""
    svg: Path | None = None
    """Draw each position into this new folder."""
    html: Path | None = None
    """Write one page to click through, which needs nothing outside itself."""
    seconds: float = 1.0
    """How long the animated picture shows a position."""


def run(options: Replay) -> None:
    """Draw into the files that are asked for; without any, show the game in the terminal."""
    # A GIF counts in hundredths of a second, 16 bits wide; the last position stays three times.
    if not 0.01 <= options.seconds <= 200:
        raise OptionError(f"seconds is {options.seconds}; allowed: a number from 0.01 to 200")
    for path in (options.gif, options.html):
        if path is not None:
            check_writable(path)
    if options.svg is not None:
        check_new_folder(options.svg)
    record = read_game(options.file, options.game)
    if options.gif is not None:
        write_gif(record, options.gif, options.seconds)
    if options.svg is not None:
        write_svgs(record, options.svg)
    if options.html is not None:
        write_page(record, options.html)
    drawn = [path for path in (options.gif, options.svg, options.html) if path is not None]
    for path in drawn:
        print(f"drawn: {path}")
    if not drawn:
        show(record)


def show(record: GameRecord) -> None:
    """Step through the game where a person sits at a terminal; print all of it elsewhere."""
    print(f"{printable(record.players[0])} (A) against {printable(record.players[1])} (B)"
          + (f": {printable(record.comment)}" if record.comment else ""))
    if sys.stdin.isatty() and sys.stdout.isatty():
        step_through(record)
    else:
        for index in range(record.plies + 1):
            print(f"\n{frame_text(record, index)}")


def step_through(record: GameRecord) -> None:
    """Show one position after another as the person says, until they quit or go past the last."""
    index = 0
    while index <= record.plies:
        print(f"\n{frame_text(record, index, colour='NO_COLOR' not in os.environ)}")
        chosen = None
        while chosen is None:
            try:
                chosen = next_index(record, index, input("> ").strip())
            except EOFError:
                return
            if chosen is None:
                print(HELP)
        index = chosen


def next_index(record: GameRecord, index: int, answer: str) -> int | None:
    """The position that an answer asks for, one past the last to quit; None for no such answer.

    A number is a ply of the game, as the drawing shows it.
    """
    if answer in ("", "n"):
        return index + 1
    if answer == "b":
        return max(0, index - 1)
    if answer == "q":
        return record.plies + 1
    first = record.states()[0].ply
    if answer.isdecimal() and len(answer) < 7 and first <= int(answer) <= record.states()[-1].ply:
        return int(answer) - first
    return None


def frame_text(record: GameRecord, index: int, colour: bool = False) -> str:
    """A position in at most 23 lines: the drawing, then value and comment of its move."""
    states = record.states()
    if index == 0:
        return draw_ansi(record.game, states[0], colour=colour)
    action, note = record.actions[index - 1], record.note(index - 1)
    text = draw_ansi(record.game, states[index], action, states[index - 1], colour)
    value = "" if note.value is None else f"value for A {note.value:+g}"
    said = "; ".join(filter(None, [value, printable(note.comment)]))
    return f"{text}\n{said}" if said else text


def printable(text: str) -> str:
    """The text without characters that could do things to a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
