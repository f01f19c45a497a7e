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

`pieces` says what the players' colours and shapes are.
"""

from collections.abc import Iterable
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
from castle_env.pieces import (
    CARD,
    CELLS,
    CROSSED,
    FACES,
    FAINT,
    FRAME,
    GHOST_RADIUS,
    ICON_RADIUS,
    INK,
    PAPER,
    QUIET,
    RIMS,
    TINTS,
    TOKEN_RADIUS,
    along,
    plain_token,
    shield_shapes,
    token_shapes,
    tower_shapes,
    triangle,
    wedge_shapes,
)
from castle_env.position import Position
from castle_env.scene import Line, Point, Polygon, Rect, Scene, Shape, Text
from castle_env.view import (
    FACTIONS,
    FREE,
    STRONGHOLD,
    LastMove,
    View,
    last_move_text,
    mode_name,
    ruleset_name,
    shortened,
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


def draw_scene(
    game: Game,
    position: Position,
    last_action: int | None = None,
    previous: Position | None = None,
    players: tuple[str, str] = ("", ""),
) -> Scene:
    """The scene of a position.

    last_action: the action that led here; previous: the position in which it was played, without
    which pushed and captured tokens are not marked. players: who plays, where that is known. Raises
    `ActionError` for a last action that does not fit the position.
    """
    view = view_position(game, position, last_action, previous)
    shapes: list[Shape] = [Rect(0, 0, WIDTH, HEIGHT, PAPER), *_board_with_pieces(game, position,
                                                                              view)]
    shapes += _heading(game, position)
    for player, name in enumerate(players):
        shapes += _player_card(view, player, game.rules.factions_per_player, name)
    shapes += _status_card(view)
    return _scene(game, position, view, WIDTH, shapes)


def draw_board(
    game: Game,
    position: Position,
    last_action: int | None = None,
    previous: Position | None = None,
) -> Scene:
    """The board alone, `HEIGHT` wide and high; arguments and errors are those of `draw_scene`."""
    view = view_position(game, position, last_action, previous)
    return _scene(game, position, view, HEIGHT, [Rect(0, 0, HEIGHT, HEIGHT, PAPER),
                                                 *_board_with_pieces(game, position, view)])


def _scene(
    game: Game, position: Position, view: View, width: int, shapes: Iterable[Shape]
) -> Scene:
    words = (f"{status_text(view)}. {last_move_text(view.last_move)}. "
             f"{game.format_position(position)}")
    return Scene(width, HEIGHT, f"{mode_name(game)}: board", words, tuple(shapes))


# The board


def _board_with_pieces(game: Game, position: Position, view: View) -> list[Shape]:
    """Squares, lanes that are open, pieces, and what the last move did."""
    move = view.last_move
    shapes = [*_board(move), *_doors(game, position), *_pieces(view)]
    if move is not None and move.target is not None:
        shapes += _move_marks(move, move.target)
    return shapes


def _centre(square: int) -> Point:
    """Centre of a square."""
    row, column = divmod(square, SIZE)
    return MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL


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
        centre = along(middle, side, distance, aside)
        shapes.append(Polygon(triangle(centre, side ^ 1, 5, 7), TINTS[position.ply & 1], 3,
                              f"may enter: {game.format_action(action)}"))
    return shapes


# Pieces


def _pieces(view: View) -> list[Shape]:
    shapes: list[Shape] = []
    for square, letter in enumerate(view.tokens):
        name = SQUARE_NAMES[square]
        if letter == STRONGHOLD:
            shapes += tower_shapes(_centre(square), name, view.controllers.get(square))
        elif letter != FREE:
            player = FACTIONS.index(letter)
            is_bastion = square == view.bastion
            label = f"faction {letter} on {name}" + (", bastion" if is_bastion else "")
            shapes += token_shapes(player, _centre(square), TOKEN_RADIUS, label)
            if is_bastion:
                shapes += shield_shapes(_centre(square), player)
    return shapes


# The last move


def _move_marks(move: LastMove, target: int) -> list[Shape]:
    """The mover's way as an arrow, a wedge behind each pushed token, a captured token leaving."""
    direction = move.direction
    start = _centre(move.path[0] if move.path else target)
    if move.enters:
        start = along(start, direction, -(CELL / 2 + 50))
    tip = along(_centre(target), direction, -TOKEN_RADIUS * 1.24)
    shapes = _arrow(start, tip, direction, RIMS[move.player], f"last move {move.name}")
    if not move.enters:
        shapes.insert(0, plain_token(move.player, start, TOKEN_RADIUS, TINTS[move.player]))
    for square in move.pushed:
        border = along(_centre(square), direction, -CELL / 2)
        shapes += wedge_shapes(border, direction, f"pushed to {SQUARE_NAMES[square]}")
    if move.captured:
        last = (target, *move.pushed)[-1]
        shapes += _leaving(FACTIONS.index(move.captured), _centre(last), direction)
    return shapes


def _arrow(start: Point, tip: Point, direction: int, fill: str, label: str) -> list[Shape]:
    neck = along(tip, direction, -14)
    head = triangle(along(tip, direction, -9), direction, 7, 11)
    return [Line((start, neck), CARD, 12), Polygon(head, CARD, 8),
            Line((start, neck), fill, 6, label), Polygon(head, fill, 3)]


def _leaving(player: int, last: Point, direction: int) -> list[Shape]:
    """A captured token outside the board beyond the last square of its lane, crossed out."""
    centre = along(last, direction, CELL / 2 + 42)
    x, y = centre
    arm = 8
    return [
        *wedge_shapes(along(last, direction, CELL / 2), direction, "pushed off the board"),
        plain_token(player, centre, GHOST_RADIUS, TINTS[player],
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


def _player_card(view: View, player: int, factions: int, given: str) -> list[Shape]:
    """Who plays, and what they have; `given` is the player's own name, "" where there is none."""
    top = CARDS_TOP + player * (CARD_HEIGHT + CARD_GAP)
    left, right = PANEL + INSET, PANEL + PANEL_WIDTH - INSET
    seat, note = PLAYER_NAMES[player], _note(view, player)
    name = shortened(given, 17) or seat.capitalize()
    if given:
        note = f"{seat}, {note}" if note else seat
    shapes = _card(top, CARD_HEIGHT, FACES[player] if _is_lit(view, player) else FAINT)
    shapes += token_shapes(player, (left + 16, top + 36), 17, f"{seat} is {FACTIONS[player]}")
    shapes += [
        Text(left + 16, top + 40.5, FACTIONS[player], 15, CARD, "middle"),
        Text(left + 46, top + (34 if note else 42), name, 15 if given else 18, INK),
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
            shapes += token_shapes(player, slot, ICON_RADIUS, "")
        else:
            shapes.append(plain_token(player, slot, ICON_RADIUS, FAINT))
        if place < captures:
            shapes += token_shapes(other, beneath, ICON_RADIUS, "")
        elif place < captures + view.forfeits[other]:
            shapes.append(plain_token(other, beneath, ICON_RADIUS, TINTS[other],
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
        plain_token(last_mover, (left + 9, y), 11, FACES[last_mover]),
        *shield_shapes((left + 9, y), last_mover, 0.4),
        Text(left + 25, text, "bastion", 12, QUIET),
        *wedge_shapes((left + 102, y), EAST, ""),
        Text(left + 114, text, "pushed", 12, QUIET),
        Polygon(triangle((left + 186, y), EAST, 5, 7), TINTS[player], 3),
        Text(left + 199, text, "may enter", 12, QUIET),
    ]
