"""A game as pictures: one for each position, or one that moves."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from PIL import Image

from agents.runs import RunError, atomic_path
from castle_env import Game, Position
from castle_env.board import PLAYER_NAMES
from castle_env.drawing import HEIGHT, draw_board
from castle_env.game_record import NO_NOTE, GameRecord
from castle_env.pieces import CARD, INK, PAPER, QUIET, token_shapes
from castle_env.raster import rgb_of_scene
from castle_env.scene import Line, Polygon, Rect, Scene, Shape, Text
from castle_env.svg import draw_svg
from castle_env.view import (
    FACTIONS,
    View,
    last_move_text,
    shortened,
    status_text,
    view_position,
)

# Arguments of a drawing: game, position, and the action that led to it from the position before.
Frame: TypeAlias = tuple[Game, Position, int | None, Position | None]

_LAST_STAYS: Final = 3
# In pixels of the animation: a player's row above the board, and everything, with two lines below.
_ROW: Final = 68
_HEIGHT: Final = 2 * _ROW + HEIGHT + 50
_INSET: Final = 24


def frames(record: GameRecord) -> Iterator[Frame]:
    """What to draw of each position, the first one without a move."""
    states = record.states()
    yield record.game, states[0], None, None
    for action, before, after in zip(record.actions, states, states[1:], strict=False):
        yield record.game, after, action, before


def scenes(record: GameRecord) -> Iterator[Scene]:
    """Each position with who plays, what they have, the last move and its value.

    Type is so large that it can be read on a telephone.
    """
    notes = (NO_NOTE, *map(record.note, range(record.plies)))
    for note, (game, position, action, before) in zip(notes, frames(record), strict=True):
        board = draw_board(game, position, action, before)
        view = view_position(game, position, action, before)
        shapes: list[Shape] = [Rect(0, 0, board.width, _HEIGHT, PAPER)]
        for player, name in enumerate(record.players):
            shapes += _player_row(view, player, name)
        shapes += [_moved(shape, 2 * _ROW) for shape in board.shapes[1:]]
        value = "" if note.value is None else f" · value {note.value:+g} for the first player"
        ply = f"ply {position.ply} of {game.rules.max_plies}"
        for line, text in enumerate((f"{ply} · {last_move_text(view.last_move)}",
                                     f"{status_text(view)}{value}")):
            shapes.append(Text(_INSET, 2 * _ROW + board.height + 26 * line + 8, text, 19, INK))
        yield Scene(board.width, _HEIGHT, board.title, board.description, tuple(shapes))


def _player_row(view: View, player: int, name: str) -> list[Shape]:
    """A player's name, colour and shape, seat, hand, captures and Victory Points in one row."""
    middle = _ROW * (player + 0.5) + 6
    facts = (f"{PLAYER_NAMES[player]} · {view.hands[player]} in hand · "
             f"captured {view.captures[player]}")
    return [*token_shapes(player, (_INSET + 22, middle), 22, FACTIONS[player]),
            Text(_INSET + 22, middle + 7, FACTIONS[player], 19, CARD, "middle"),
            Text(_INSET + 60, middle - 3, shortened(name, 30), 23, INK),
            Text(_INSET + 60, middle + 21, facts, 17, QUIET),
            Text(HEIGHT - _INSET, middle + 12, f"{view.totals[player]} VP", 34, INK, "end")]


def _moved(shape: Shape, down: float) -> Shape:
    """The same shape further down."""
    if isinstance(shape, Polygon | Line):
        return shape._replace(points=tuple((x, y + down) for x, y in shape.points))
    return shape._replace(y=shape.y + down)


def write_gif(record: GameRecord, path: Path, seconds: float) -> None:
    """An endless animation that shows each position for `seconds`; the last stays longer.

    The file is written whole or not at all; raises `RunError`.
    """
    pictures = [Image.fromarray(rgb_of_scene(scene)).quantize(256, dither=Image.Dither.NONE)
                for scene in scenes(record)]
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
                (temporary / name).write_text(draw_svg(*frame, record.players), encoding="utf-8",
                                              newline="\n")
        except BaseException:
            shutil.rmtree(temporary)
            raise
