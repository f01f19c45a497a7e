"""A saved game in the terminal, position by position."""

import os
import sys
from typing import Final

from castle_env.ansi import draw_ansi
from castle_env.game_record import GameRecord
from experiments.report.plain_text import printable

HELP: Final = "enter or n: next, b: back, a ply's number: go there, q: quit"


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
