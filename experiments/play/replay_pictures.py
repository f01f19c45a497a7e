"""A game as pictures: one for each position, or one that moves."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from PIL import Image

from agents.runs import RunError, atomic_path
from castle_env import Game, Position
from castle_env.game_record import GameRecord
from castle_env.raster import draw_rgb
from castle_env.svg import draw_svg

# Arguments of a drawing: game, position, and the action that led to it from the position before.
Frame: TypeAlias = tuple[Game, Position, int | None, Position | None]

_LAST_STAYS: Final = 3


def frames(record: GameRecord) -> Iterator[Frame]:
    """What to draw of each position, the first one without a move."""
    states = record.states()
    yield record.game, states[0], None, None
    for action, before, after in zip(record.actions, states, states[1:], strict=False):
        yield record.game, after, action, before


def write_gif(record: GameRecord, path: Path, seconds: float) -> None:
    """An endless animation that shows each position for `seconds`; the last stays longer.

    The file is written whole or not at all; raises `RunError`.
    """
    pictures = [Image.fromarray(draw_rgb(*frame)).quantize(256, dither=Image.Dither.NONE)
                for frame in frames(record)]
    times = [round(seconds * 1000)] * (len(pictures) - 1) + [round(seconds * 1000) * _LAST_STAYS]
    with atomic_path(path) as temporary:
        pictures[0].save(temporary, format="GIF", save_all=True, append_images=pictures[1:],
                         duration=times, loop=0)


def check_new_folder(folder: Path) -> None:
    """Raise `RunError` unless nothing has this name yet and its parent is there."""
    if folder.exists() or folder.is_symlink():
        raise RunError(f"{str(folder)!r} exists already and is left as it is; choose another name")
    if not folder.parent.is_dir():
        raise RunError(f"cannot make folder {str(folder)!r}: {str(folder.parent)!r} is no folder")


def write_svgs(record: GameRecord, folder: Path) -> None:
    """A new folder with `ply-000.svg` and so on, whole or not at all; raises `RunError`."""
    check_new_folder(folder)
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        try:
            for frame in frames(record):
                name = f"ply-{frame[1].ply:03}.svg"
                (temporary / name).write_text(draw_svg(*frame), encoding="utf-8", newline="\n")
        except BaseException:
            shutil.rmtree(temporary)
            raise
