"""Frames of a game that is being played, in each of Gymnasium's render modes."""

from typing import Any

from castle_env.ansi import draw_ansi
from castle_env.game import Game
from castle_env.position import PositionArray, unstack
from castle_env.raster import Window, draw_rgb
from castle_env.svg import draw_svg


class Renderer:
    """Remembers the last move of one game and draws its position on request.

    Copies and pickles leave the window behind; they open their own when they draw.
    """

    def __init__(self, game: Game, render_mode: str | None, fps: float) -> None:
        self._game = game
        self._mode = render_mode
        self._fps = fps
        self._window: Window | None = None
        self._before: PositionArray | None = None
        self._action: int | None = None

    def start(self) -> None:
        """Forget the last move: a new game begins."""
        self._before = self._action = None

    def record(self, before: PositionArray, action: int) -> None:
        """Remember the last move and the position, shape (1,), in which it was played."""
        self._before, self._action = before, action

    def render(self, states: PositionArray) -> Any:
        """Draw a position of shape (1,): (H, W, 3) uint8, text, SVG text, or None for a window."""
        previous = None if self._before is None else unstack(self._before)[0]
        scene = (self._game, unstack(states)[0], self._action, previous)
        if self._mode == "ansi":
            return draw_ansi(*scene)
        if self._mode == "svg":
            return draw_svg(*scene)
        if self._mode == "rgb_array":
            return draw_rgb(*scene)
        if self._mode == "human":
            self._window = self._window or Window(self._fps)
            self._window.show(draw_rgb(*scene))
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_window": None}
