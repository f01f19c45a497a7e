"""A position as a scene, which `svg` and `raster` turn into pictures.

    ┌──────────────────┬──────────┐
    │  margin: moves   │  title   │
    │  ┌────────────┐  ├──────────┤
    │  │            │  │ player 0 │
    │  │   board    │  ├──────────┤
    │  │            │  │ player 1 │
    │  └────────────┘  ├──────────┤
    │                  │  status  │
    └──────────────────┴──────────┘

The two players differ in colour (blue and vermilion, from the palette of Okabe and Ito, which
colour-blind people can tell apart) and in shape (circle and diamond).
"""

from typing import Final

from castle_env.board import (
    EAST,
    FILES,
    NORTH,
    PASS,
    PLAYER_NAMES,
    RANKS,
    SIZE,
    SQUARE_NAMES,
)
from castle_env.game import Game
from castle_env.position import Position
from castle_env.scene import Circle, Line, Point, Polygon, Rect, Scene, Shape, Text
from castle_env.view import (
    FACTIONS,
    FREE,
    STRONGHOLD,
    LastMove,
    View,
    last_move_text,
    mode_name,
    ruleset_name,
    status_text,
    view_position,
)

# Layout.
CELL: Final = 80
MARGIN: Final = 80
BOARD: Final = CELL * SIZE
EDGE: Final = 10
HEIGHT: Final = BOARD + 2 * MARGIN
PANEL: Final = HEIGHT + 8
PANEL_WIDTH: Final = 312
WIDTH: Final = PANEL + PANEL_WIDTH + 32
CARD_HEIGHT: Final = 160
CARDS_TOP: Final = 120
CARD_GAP: Final = 10
INSET: Final = 20

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


def draw_scene(
    game: Game,
    position: Position,
    last_action: int | None = None,
    previous: Position | None = None,
) -> Scene:
    """The scene of a position.

    last_action: the action that led here; previous: the position in which it was played, without
    which pushed and captured tokens are not marked. Raises `ActionError` for a last action that
    does not fit the position.
    """
    view = view_position(game, position, last_action, previous)
    move = view.last_move
    shapes: list[Shape] = [Rect(0, 0, WIDTH, HEIGHT, PAPER)]
    shapes += _board(move)
    shapes += _doors(game, position)
    shapes += _pieces(view)
    if move is not None and move.target is not None:
        shapes += _move_marks(move, move.target)
    shapes += _heading(game, position)
    shapes += _player_card(view, 0, game.rules.factions_per_player)
    shapes += _player_card(view, 1, game.rules.factions_per_player)
    shapes += _status_card(view)
    words = f"{status_text(view)}. {last_move_text(move)}. {game.format_position(position)}"
    return Scene(WIDTH, HEIGHT, f"{mode_name(game)}: board", words, tuple(shapes))


# The board


def _centre(square: int) -> Point:
    """Centre of a square."""
    row, column = divmod(square, SIZE)
    return MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL


def _unit_vector(direction: int) -> Point:
    """One unit in a direction."""
    return ((0, -1), (0, 1), (-1, 0), (1, 0))[direction]


def _along(start: Point, direction: int, distance: float, aside: float = 0) -> Point:
    """The point at a distance from `start` in a direction, and aside to the right of it."""
    x, y = _unit_vector(direction)
    return start[0] + x * distance - y * aside, start[1] + y * distance + x * aside


def _board(move: LastMove | None) -> list[Shape]:
    gap, side = 1.5, BOARD + 2 * EDGE
    shapes: list[Shape] = [Rect(MARGIN - EDGE, MARGIN - EDGE, side, side, FRAME, 16)]
    crossed = set(move.path) if move else set()
    for square in range(SIZE * SIZE):
        x, y = _centre(square)
        fill = CROSSED if square in crossed else CELLS[(square // SIZE + square) % 2]
        shapes.append(Rect(x - CELL / 2 + gap, y - CELL / 2 + gap, CELL - 2 * gap, CELL - 2 * gap,
                           fill, 8, f"square {SQUARE_NAMES[square]}"))
    for place in range(SIZE):
        middle = MARGIN + (place + 0.5) * CELL
        shapes.append(Text(MARGIN + 6, middle - CELL / 2 + 17, RANKS[place], 13, QUIET))
        shapes.append(Text(middle + CELL / 2 - 6, MARGIN + BOARD - 7, FILES[place], 13, QUIET,
                           "end"))
    return shapes


def _doors(game: Game, position: Position) -> list[Shape]:
    """A small notch outside the board for each lane in which the mover may enter now."""
    shapes: list[Shape] = []
    for action in game.legal_actions(position):
        if action >= PASS:
            break
        side, lane = divmod(action, SIZE)
        distance = BOARD / 2 + 24
        middle = (MARGIN + BOARD / 2, MARGIN + BOARD / 2)
        sideways = (lane + 0.5) * CELL - BOARD / 2
        aside = sideways if side in (NORTH, EAST) else -sideways
        centre = _along(middle, side, distance, aside)
        shapes.append(Polygon(_triangle(centre, side ^ 1, 5, 7), TINTS[position.ply & 1], 3,
                              f"may enter: {game.format_action(action)}"))
    return shapes


def _triangle(centre: Point, direction: int, depth: float, width: float) -> tuple[Point, ...]:
    """Triangle pointing in a direction; half its depth and half its base are given."""
    return (_along(centre, direction, depth), _along(centre, direction, -depth, width),
            _along(centre, direction, -depth, -width))


# Pieces


def _pieces(view: View) -> list[Shape]:
    shapes: list[Shape] = []
    for square, token in enumerate(view.tokens):
        name = SQUARE_NAMES[square]
        if token == STRONGHOLD:
            shapes += _tower(_centre(square), name, view.controllers.get(square))
        elif token != FREE:
            player = FACTIONS.index(token)
            is_bastion = square == view.bastion
            label = f"faction {token} on {name}" + (", bastion" if is_bastion else "")
            shapes += _token(player, _centre(square), TOKEN_RADIUS, label)
            if is_bastion:
                shapes += _bastion(_centre(square), player)
    return shapes


def _plain_token(player: int, centre: Point, radius: float, fill: str, label: str = "") -> Shape:
    """A circle for player 0, a diamond of about the same area for player 1."""
    x, y = centre
    if player == 0:
        return Circle(x, y, radius, fill, label=label)
    rounding = radius * 0.3
    reach = radius * 1.24 - rounding * 0.7
    corners = ((x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y))
    return Polygon(corners, fill, rounding, label)


def _token(player: int, centre: Point, radius: float, label: str) -> list[Shape]:
    x, y = centre
    depth = radius * 0.06
    return [_plain_token(player, (x, y + depth), radius, RIMS[player]),
            _plain_token(player, (x, y - depth), radius, FACES[player], label)]


def _outline(figure: tuple[Point, ...], centre: Point, size: float) -> tuple[Point, ...]:
    return tuple((centre[0] + x * size, centre[1] + y * size) for x, y in figure)


def _bastion(centre: Point, player: int, scale: float = 1) -> list[Shape]:
    """A shield on the token that moved last."""
    return [Polygon(_outline(SHIELD, centre, 14 * scale), CARD, 3 * scale),
            Polygon(_outline(SHIELD, centre, 9 * scale), RIMS[player], 2 * scale)]


def _tower(centre: Point, name: str, controller: int | None) -> list[Shape]:
    x, y = centre
    size = 25
    shapes: list[Shape] = [
        Polygon(_outline(TOWER, (x, y + 1), size), STONE_RIM, 4),
        Polygon(_outline(TOWER, (x, y - 2), size), STONE, 4, f"stronghold on {name}"),
    ]
    if controller is None:
        return [*shapes, Circle(x, y + 7, 7, STONE_RIM), Rect(x - 7, y + 7, 14, 17, STONE_RIM)]
    return [*shapes, Circle(x, y + 4, 12, CARD),
            _plain_token(controller, (x, y + 4), 7.5, FACES[controller],
                         f"{name} controlled by {FACTIONS[controller]}")]


# The last move


def _move_marks(move: LastMove, target: int) -> list[Shape]:
    """The mover's way as an arrow, a wedge behind each pushed token, a captured token leaving."""
    direction = move.direction
    start = _centre(move.path[0] if move.path else target)
    if move.enters:
        start = _along(start, direction, -(CELL / 2 + 50))
    tip = _along(_centre(target), direction, -TOKEN_RADIUS * 1.24)
    shapes = _arrow(start, tip, direction, RIMS[move.player], f"last move {move.name}")
    if not move.enters:
        shapes.insert(0, _plain_token(move.player, start, TOKEN_RADIUS, TINTS[move.player]))
    for square in move.pushed:
        border = _along(_centre(square), direction, -CELL / 2)
        shapes += _wedge(border, direction, f"pushed to {SQUARE_NAMES[square]}")
    if move.captured:
        last = (target, *move.pushed)[-1]
        shapes += _leaving(FACTIONS.index(move.captured), _centre(last), direction)
    return shapes


def _arrow(start: Point, tip: Point, direction: int, fill: str, label: str) -> list[Shape]:
    neck = _along(tip, direction, -14)
    head = _triangle(_along(tip, direction, -9), direction, 7, 11)
    return [Line((start, neck), CARD, 12), Polygon(head, CARD, 8),
            Line((start, neck), fill, 6, label), Polygon(head, fill, 3)]


def _wedge(centre: Point, direction: int, label: str) -> list[Shape]:
    triangle = _triangle(centre, direction, 4, 8)
    return [Polygon(triangle, CARD, 8), Polygon(triangle, INK, 3, label)]


def _leaving(player: int, last: Point, direction: int) -> list[Shape]:
    """A captured token outside the board beyond the last square of its lane, crossed out."""
    centre = _along(last, direction, CELL / 2 + 42)
    x, y = centre
    arm = 8
    return [
        *_wedge(_along(last, direction, CELL / 2), direction, "pushed off the board"),
        _plain_token(player, centre, GHOST_RADIUS, TINTS[player],
                     f"faction {FACTIONS[player]} captured"),
        Line(((x - arm, y - arm), (x + arm, y + arm)), RIMS[player], 4),
        Line(((x - arm, y + arm), (x + arm, y - arm)), RIMS[player], 4),
    ]


# The panel


def _heading(game: Game, position: Position) -> list[Shape]:
    ply, limit = position.ply, game.rules.max_plies
    right = PANEL + PANEL_WIDTH
    return [
        Text(PANEL, 62, mode_name(game), 27, INK),
        Text(PANEL, 86, ruleset_name(game, 24), 14, QUIET),
        Text(right, 86, f"ply {ply} of {limit}", 14, QUIET, "end"),
        Rect(PANEL, 98, PANEL_WIDTH, 6, FAINT, 3),
        Rect(PANEL, 98, PANEL_WIDTH * min(1, ply / limit), 6, QUIET, 3),
    ]


def _player_card(view: View, player: int, factions: int) -> list[Shape]:
    top = CARDS_TOP + player * (CARD_HEIGHT + CARD_GAP)
    left, right = PANEL + INSET, PANEL + PANEL_WIDTH - INSET
    name, note = PLAYER_NAMES[player], _note(view, player)
    shapes = _card(top, CARD_HEIGHT, FACES[player] if _is_lit(view, player) else FAINT)
    shapes += _token(player, (left + 16, top + 36), 17, f"{name} is {FACTIONS[player]}")
    shapes += [
        Text(left + 16, top + 40.5, FACTIONS[player], 15, CARD, "middle"),
        Text(left + 46, top + (34 if note else 42), name.capitalize(), 18, INK),
        Text(right, top + 45, f"{view.totals[player]} VP", 28, INK, "end"),
        Text(left, top + 84, f"In hand {view.hands[player]}", 13, QUIET),
        Text(left, top + 109, f"Captured {view.captures[player]}", 13, QUIET),
    ]
    if note:
        shapes.append(Text(left + 46, top + 51, note, 13, FACES[player]))
    return [*shapes, *_icons(view, player, factions, (left + 109, top + 79.5)),
            *_point_rows(view, player, top + 133)]


def _icons(view: View, player: int, factions: int, start: Point) -> list[Shape]:
    """A row of places for the hand and beneath it the captured tokens, from `start` on."""
    x, y = start
    other, captures = 1 - player, view.captures[player]
    shapes: list[Shape] = []
    for place in range(factions):
        slot, beneath = (x + place * 22, y), (x + place * 22, y + 25)
        if place < view.hands[player]:
            shapes += _token(player, slot, ICON_RADIUS, "")
        else:
            shapes.append(_plain_token(player, slot, ICON_RADIUS, FAINT))
        if place < captures:
            shapes += _token(other, beneath, ICON_RADIUS, "")
        elif place < captures + view.forfeits[other]:
            shapes.append(_plain_token(other, beneath, ICON_RADIUS, TINTS[other],
                                       "pushed off by its owner"))
    return shapes


def _card(top: float, height: float, border: str) -> list[Shape]:
    thick = 3
    return [Rect(PANEL, top, PANEL_WIDTH, height, border, 14),
            Rect(PANEL + thick, top + thick, PANEL_WIDTH - 2 * thick, height - 2 * thick, CARD, 11)]


def _is_lit(view: View, player: int) -> bool:
    """Whether a player's card stands out: the one to move, or the winner."""
    return player == (view.player if view.outcome is None else view.outcome.winner)


def _note(view: View, player: int) -> str:
    if not _is_lit(view, player):
        return ""
    return "to move" if view.outcome is None else "winner"


def _point_rows(view: View, player: int, top: float) -> list[Shape]:
    """Where the Victory Points come from, three rows of the table to a line."""
    words = [f"{row} {points[player]}" for row, points in view.points.items()]
    lines = [" · ".join(words[start:start + 3]) for start in range(0, len(words), 3)]
    return [Text(PANEL + INSET, top + index * 14, line, 12, QUIET)
            for index, line in enumerate(lines)]


def _status_card(view: View) -> list[Shape]:
    top = CARDS_TOP + 2 * (CARD_HEIGHT + CARD_GAP)
    left = PANEL + INSET
    return [
        *_card(top, HEIGHT - MARGIN + EDGE - top, FAINT),
        Text(left, top + 36, status_text(view), 20, INK),
        Text(left, top + 60, last_move_text(view.last_move), 12, QUIET),
        *(_legend(view.player, left, top + 85) if view.outcome is None else
          [Text(left, top + 89, view.outcome.reason.replace("_", " "), 13, QUIET)]),
    ]


def _legend(player: int, left: float, y: float) -> list[Shape]:
    """What the small marks on the board mean."""
    last_mover, text = 1 - player, y + 4
    return [
        _plain_token(last_mover, (left + 9, y), 11, FACES[last_mover]),
        *_bastion((left + 9, y), last_mover, 0.4),
        Text(left + 25, text, "bastion", 12, QUIET),
        *_wedge((left + 102, y), EAST, ""),
        Text(left + 114, text, "pushed", 12, QUIET),
        Polygon(_triangle((left + 186, y), EAST, 5, 7), TINTS[player], 3),
        Text(left + 199, text, "may enter", 12, QUIET),
    ]
