"""A scene: a picture as a list of shapes, known to no drawing library.

Lengths are in pixels of the raster image, x grows eastwards and y southwards; colours are
"#rrggbb". `label` says what a shape stands for; it is empty where that goes without saying.
"""

from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float]


class Rect(NamedTuple):
    """Rectangle with its north-west corner at (x, y) and rounded corners."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    radius: float = 0
    label: str = ""


class Circle(NamedTuple):
    """Disc around (x, y)."""

    x: float
    y: float
    radius: float
    fill: str
    label: str = ""


class Polygon(NamedTuple):
    """Filled polygon whose corners are rounded by an outline of width `rounding`."""

    points: tuple[Point, ...]
    fill: str
    rounding: float = 0
    label: str = ""


class Line(NamedTuple):
    """Connected stretches with round ends and joins."""

    points: tuple[Point, ...]
    fill: str
    width: float
    label: str = ""


class Text(NamedTuple):
    """Bold text on the base line y; x is its "start", "middle" or "end" as `anchor` says."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: str = "start"
    label: str = ""


Shape: TypeAlias = Rect | Circle | Polygon | Line | Text


class Scene(NamedTuple):
    """Shapes from back to front, and the words that stand for the picture."""

    width: int
    height: int
    title: str
    description: str
    shapes: tuple[Shape, ...]
