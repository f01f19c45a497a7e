"""`castle replay`: step through a saved game in the terminal, or draw it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from agents.runs import check_writable
from castle_env import OptionError
from experiments.options import OptionalFile, OptionalFolder, OutputOptions
from experiments.output import tell
from experiments.play.games_file import read_game
from experiments.play.replay import show
from experiments.play.replay_pictures import check_new_folder, write_gif, write_svgs
from experiments.report.replay_page import write_page


@dataclass(frozen=True)
class Replay(OutputOptions):
    """Step through a game of a .castle file, or draw it into files.

    In the terminal enter goes on and b goes back; where the output is no terminal, all positions
    are printed.
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="GAMES")]
    """A file of games."""
    game: int = 1
    """Which game of the file, from 1 on."""
    gif: OptionalFile = None
    """Draw an animated picture."""
    svg: OptionalFolder = None
    """Draw each position into this new folder."""
    html: OptionalFile = None
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
        tell(f"drawn: {path}")
    options.write_json(record)
    if not drawn:
        show(record)
