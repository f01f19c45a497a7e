"""What boards are drawn with: colours, and the shapes of factions, strongholds and marks.

The two players differ in colour (blue and vermilion, from the palette of Okabe and Ito, which
colour-blind people can tell apart) and in shape (circle and diamond).
"""

from typing import Final

from castle_env.scene import Circle, Point, Polygon, Rect, Shape
from castle_env.view import FACTIONS

TOKEN_RADIUS: Final = 27
GHOST_RADIUS: Final = 20
ICON_RADIUS: Final = 8

# Colours.
PAPER: Final = "#f6f4ef"
CARD: Final = "#ffffff"
INK: Final = "#23272f"
QUIET: Final = "#737a86"
FAINT: Final = "#e2dfd6"
FRAME: Final = "#cfc8b8"
CELLS: Final = ("#f3eee2", "#ebe4d4")
CROSSED: Final = "#f7dc94"
FACES: Final = ("#0072b2", "#d55e00")
RIMS: Final = ("#00507d", "#943f00")
TINTS: Final = ("#a5cbe3", "#f0bd9b")
STONE: Final = "#7d8491"
STONE_RIM: Final = "#4d535e"

# Outlines in units of half a figure's height, y growing southwards.
SHIELD: Final = ((-0.78, -0.85), (0, -1.0), (0.78, -0.85), (0.78, 0.05), (0.55, 0.55), (0, 1.0),
                 (-0.55, 0.55), (-0.78, 0.05))
TOWER: Final = ((-0.9, 1.0), (-0.72, 0.7), (-0.72, -0.2), (-0.9, -0.38), (-0.9, -1.0),
                (-0.52, -1.0), (-0.52, -0.68), (-0.19, -0.68), (-0.19, -1.0), (0.19, -1.0),
                (0.19, -0.68), (0.52, -0.68), (0.52, -1.0), (0.9, -1.0), (0.9, -0.38),
                (0.72, -0.2), (0.72, 0.7), (0.9, 1.0))


def unit_vector(direction: int) -> Point:
    """One unit in a direction."""
    return ((0, -1), (0, 1), (-1, 0), (1, 0))[direction]


def along(start: Point, direction: int, distance: float, aside: float = 0) -> Point:
    """The point at a distance from `start` in a direction, and aside to the right of it."""
    x, y = unit_vector(direction)
    return start[0] + x * distance - y * aside, start[1] + y * distance + x * aside


def triangle(centre: Point, direction: int, depth: float, width: float) -> tuple[Point, ...]:
    """Triangle pointing in a direction; half its depth and half its base are given."""
    return (along(centre, direction, depth), along(centre, direction, -depth, width),
            along(centre, direction, -depth, -width))


def plain_token(player: int, centre: Point, radius: float, fill: str, label: str = "") -> Shape:
    """A circle for player 0, a diamond of about the same area for player 1."""
    x, y = centre
    if player == 0:
        return Circle(x, y, radius, fill, label=label)
    rounding = radius * 0.3
    reach = radius * 1.24 - rounding * 0.7
    corners = ((x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y))
    return Polygon(corners, fill, rounding, label)


def token_shapes(player: int, centre: Point, radius: float, label: str) -> list[Shape]:
    """A faction of a player with its rim."""
    x, y = centre
    depth = radius * 0.06
    return [plain_token(player, (x, y + depth), radius, RIMS[player]),
            plain_token(player, (x, y - depth), radius, FACES[player], label)]


def outline(figure: tuple[Point, ...], centre: Point, size: float) -> tuple[Point, ...]:
    """A figure's outline around a point; `size` is half its height."""
    return tuple((centre[0] + x * size, centre[1] + y * size) for x, y in figure)


def shield_shapes(centre: Point, player: int, scale: float = 1) -> list[Shape]:
    """A shield on the token that moved last."""
    return [Polygon(outline(SHIELD, centre, 14 * scale), CARD, 3 * scale),
            Polygon(outline(SHIELD, centre, 9 * scale), RIMS[player], 2 * scale)]


def tower_shapes(centre: Point, name: str, controller: int | None) -> list[Shape]:
    """A stronghold, with the token of who controls it in its gate."""
    x, y = centre
    size = 25
    shapes: list[Shape] = [
        Polygon(outline(TOWER, (x, y + 1), size), STONE_RIM, 4),
        Polygon(outline(TOWER, (x, y - 2), size), STONE, 4, f"stronghold on {name}"),
    ]
    if controller is None:
        return [*shapes, Circle(x, y + 7, 7, STONE_RIM), Rect(x - 7, y + 7, 14, 17, STONE_RIM)]
    return [*shapes, Circle(x, y + 4, 12, CARD),
            plain_token(controller, (x, y + 4), 7.5, FACES[controller],
                        f"{name} controlled by {FACTIONS[controller]}")]


def wedge_shapes(centre: Point, direction: int, label: str) -> list[Shape]:
    """A small dark wedge that points in a direction: something was pushed this way."""
    corners = triangle(centre, direction, 4, 8)
    return [Polygon(corners, CARD, 8), Polygon(corners, INK, 3, label)]
