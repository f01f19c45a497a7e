"""A scene as an SVG document: vectors for notebooks, reports and web pages."""

from xml.sax.saxutils import escape

from castle_env.drawing import draw_scene
from castle_env.game import Game
from castle_env.position import Position
from castle_env.scene import Circle, Line, Point, Polygon, Rect, Scene, Shape, Text


def draw_svg(
    game: Game,
    position: Position,
    last_action: int | None = None,
    previous: Position | None = None,
    players: tuple[str, str] = ("", ""),
) -> str:
    """SVG text of a position; arguments and errors are those of `draw_scene`.

    It refers to nothing outside itself. Each thing on the board has a `<title>` that names it.
    """
    return svg_of_scene(draw_scene(game, position, last_action, previous, players))


def svg_of_scene(scene: Scene) -> str:
    """A scene as SVG text; one line for each shape."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {scene.width} {scene.height}" '
        f'width="{scene.width}" height="{scene.height}" role="img" '
        'font-family="Helvetica, Arial, sans-serif" font-weight="bold">',
        f"<title>{escape(scene.title)}</title>",
        f"<desc>{escape(scene.description)}</desc>",
        *(_element(shape) for shape in scene.shapes),
        "</svg>\n",
    ])


def _element(shape: Shape) -> str:
    tag, attributes = _attributes(shape)
    inside = f"<title>{escape(shape.label)}</title>" if shape.label else ""
    if isinstance(shape, Text):
        inside += escape(shape.text)
    return f"<{tag} {attributes}>{inside}</{tag}>" if inside else f"<{tag} {attributes}/>"


def _attributes(shape: Shape) -> tuple[str, str]:
    """Tag and attributes of a shape."""
    match shape:
        case Rect(x, y, width, height, fill, radius):
            return "rect", (f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
                            f'rx="{radius:g}" fill="{fill}"')
        case Circle(x, y, radius, fill):
            return "circle", f'cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}"'
        case Polygon(points, fill, rounding):
            return "polygon", (f'points="{_points(points)}" fill="{fill}" stroke="{fill}" '
                               f'stroke-width="{rounding:g}" stroke-linejoin="round"')
        case Line(points, fill, width):
            return "polyline", (f'points="{_points(points)}" fill="none" stroke="{fill}" '
                                f'stroke-width="{width:g}" stroke-linejoin="round" '
                                'stroke-linecap="round"')
        case Text(x, y, _, size, fill, anchor):
            return "text", (f'x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{fill}" '
                            f'text-anchor="{anchor}"')


def _points(points: tuple[Point, ...]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
