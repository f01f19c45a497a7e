"""A scene as an array of pixels, and a window that shows such arrays; pygame draws both.

pygame is imported on first use. Arrays need no display: they are drawn on a surface in memory,
several times too large, and reduced so that edges are smooth.
"""

import math
import os
import warnings
from functools import lru_cache
from itertools import pairwise
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from castle_env.drawing import draw_scene
from castle_env.errors import MissingPackageError
from castle_env.game import Game
from castle_env.imports import explain_import_error
from castle_env.position import Position
from castle_env.scene import Circle, Line, Point, Polygon, Rect, Scene, Shape, Text

Pixels = npt.NDArray[np.uint8]

OVERSAMPLING: Final = 2
# pygame shrinks the size asked of its built-in font by this factor.
BUILT_IN_FONT_FACTOR: Final = 0.6875


def draw_rgb(
    game: Game,
    position: Position,
    last_action: int | None = None,
    previous: Position | None = None,
) -> Pixels:
    """Picture of a position, shape (H, W, 3), uint8; arguments and errors as in `draw_scene`."""
    return rgb_of_scene(draw_scene(game, position, last_action, previous))


def rgb_of_scene(scene: Scene) -> Pixels:
    """A scene as an array of shape (scene.height, scene.width, 3), uint8."""
    pygame = load_pygame()
    size = scene.width, scene.height
    canvas = pygame.Surface((size[0] * OVERSAMPLING, size[1] * OVERSAMPLING), 0, 32)
    for shape in scene.shapes:
        _draw(pygame, canvas, shape)
    pixels = pygame.image.tobytes(pygame.transform.smoothscale(canvas, size), "RGB")
    return np.frombuffer(pixels, dtype=np.uint8).reshape(size[1], size[0], 3).copy()


def load_pygame() -> ModuleType:
    """pygame, imported without its greeting; raises `MissingPackageError` where it is missing."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with warnings.catch_warnings():
        # Its loader of packaged files may use a deprecated part of setuptools.
        warnings.simplefilter("ignore")
        try:
            import pygame
            import pygame.pkgdata
        except ImportError as error:
            explanation = explain_import_error(error, "drawing pixels")
            raise MissingPackageError(explanation or str(error)) from error
    return pygame


def _draw(pygame: Any, canvas: Any, shape: Shape) -> None:
    """Draw one shape on the oversized canvas."""
    k = OVERSAMPLING
    match shape:
        case Rect(x, y, width, height, fill, radius):
            box = (round(x * k), round(y * k), round(width * k), round(height * k))
            pygame.draw.rect(canvas, fill, box, border_radius=round(radius * k))
        case Circle(x, y, radius, fill):
            pygame.draw.circle(canvas, fill, (x * k, y * k), radius * k)
        case Polygon(points, fill, rounding):
            pygame.draw.polygon(canvas, fill, [(x * k, y * k) for x, y in points])
            _draw_line(pygame, canvas, fill, (*points, points[0]), rounding)
        case Line(points, fill, width):
            _draw_line(pygame, canvas, fill, points, width)
        case Text():
            _draw_text(pygame, canvas, shape)


def _draw_line(
    pygame: Any, canvas: Any, fill: str, points: tuple[Point, ...], width: float
) -> None:
    """Stretches as four-cornered polygons, with discs for the round ends and joins."""
    k, half = OVERSAMPLING, width * OVERSAMPLING / 2
    ends = [(x * k, y * k) for x, y in points]
    for (x0, y0), (x1, y1) in pairwise(ends):
        length = math.hypot(x1 - x0, y1 - y0)
        if length:
            dx, dy = (x1 - x0) / length * half, (y1 - y0) / length * half
            pygame.draw.polygon(canvas, fill, [(x0 - dy, y0 + dx), (x1 - dy, y1 + dx),
                                               (x1 + dy, y1 - dx), (x0 + dy, y0 - dx)])
    for end in ends:
        pygame.draw.circle(canvas, fill, end, half)


def _draw_text(pygame: Any, canvas: Any, shape: Text) -> None:
    picture, ascent = _text_picture(shape.text, shape.size, shape.fill)
    share = {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor]
    canvas.blit(picture, (shape.x * OVERSAMPLING - share * picture.get_width(),
                          shape.y * OVERSAMPLING - ascent))


@lru_cache(maxsize=512)
def _text_picture(text: str, size: float, fill: str) -> tuple[Any, int]:
    """Surface with a text, and the height of its base line below the top.

    Surfaces are kept, not fonts: they outlive a `pygame.quit()` elsewhere in the process.
    """
    pygame = load_pygame()
    pygame.font.init()
    font = pygame.font.Font(None, round(size * OVERSAMPLING / BUILT_IN_FONT_FACTOR))
    return font.render(text, True, fill), font.get_ascent()


class Window:
    """A window that shows frames at a steady pace; it opens with the first one.

    A person who closes it ends the showing: later frames are dropped until `close`. pygame has one
    window in a process, so that several objects share it. Copies and pickles have no window yet.
    """

    def __init__(self, fps: float, title: str = "Storm the Castle") -> None:
        self._fps = fps
        self._title = title
        self._dismissed = False
        self._clock: Any = None

    def show(self, frame: Pixels) -> None:
        """Show a frame, shape (H, W, 3) uint8, and wait until 1/fps seconds have passed since the
        last one. The event queue is empty afterwards.
        """
        pygame = load_pygame()
        self.pump()
        if self._dismissed:
            return
        height, width = frame.shape[:2]
        screen = self._open(pygame, (width, height))
        screen.blit(pygame.image.frombuffer(frame.tobytes(), (width, height), "RGB"), (0, 0))
        pygame.display.flip()
        self._clock.tick(self._fps)
        self.pump()

    def pump(self) -> None:
        """Take all events from the queue; call it while nothing is shown for long."""
        if self._clock is None:
            return
        pygame = load_pygame()
        if pygame.display.get_init() and pygame.event.get(pygame.QUIT):
            self._dismissed = True
            pygame.display.quit()
        elif pygame.display.get_init():
            pygame.event.clear()

    def close(self) -> None:
        """Close the window; a later frame opens a new one."""
        if self._clock is not None:
            load_pygame().display.quit()
        self._clock, self._dismissed = None, False

    def _open(self, pygame: Any, size: tuple[int, int]) -> Any:
        """The screen, opened unless one of this size is there already."""
        screen = pygame.display.get_surface()
        if screen is None or screen.get_size() != size:
            pygame.display.init()
            screen = pygame.display.set_mode(size)
            pygame.display.set_caption(self._title)
        self._clock = self._clock or pygame.time.Clock()
        return screen

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_clock": None, "_dismissed": False}
