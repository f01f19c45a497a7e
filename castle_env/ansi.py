"""A position as text for a terminal of 80 by 24 characters, with or without colour."""

import re
from itertools import zip_longest
from textwrap import wrap
from typing import Final

from castle_env.board import (
    EAST,
    ENTRIES,
    FILES,
    NORTH,
    PLAYER_NAMES,
    RANKS,
    SIZE,
    SOUTH,
    WEST,
)
from castle_env.game import Game
from castle_env.position import Position
from castle_env.view import (
    FACTIONS,
    FREE,
    LastMove,
    View,
    last_move_text,
    mode_name,
    ruleset_name,
    status_text,
    view_position,
)

WIDTH: Final = 80
PANEL: Final = 42

ARROWS: Final = "^v<>"
LEGEND: Final = "#a stronghold of A  [A] bastion  A> pushed  - or : came over  (A) captured"
LANES_LEGEND: Final = LEGEND.replace(" or :", "") + "  + open"

# Bright blue and yellow, which colour-blind people can tell apart; the bastion is inverted.
STYLES: Final = {"A": "1;94", "B": "1;33", "#": "1", "+": "1;92"}
INVERTED: Final = ";7"
_NO_BREAK: Final = "_"
_MAX_LINES: Final = 4
# A token with its brackets, but no capital letter that belongs to a word or an action, or the mark
# of a lane, but no corner of a square.
TOKEN: Final = re.compile(
    r"\[[AB]\]|(?<!\w)[AB](?=v?(?:\W|$))|#|(?<=[a-f1-6])\+|(?<=\|)\+(?=[1-6])")


def draw_ansi(
    game: Game,
    position: Position,
    last_action: int | None = None,
    previous: Position | None = None,
    colour: bool = False,
    show_lanes: bool = False,
) -> str:
    """Text of a position: at most 24 lines of at most 80 ASCII characters, joined by line ends.

    Arguments and errors are those of `castle_env.drawing.draw_scene`. `colour` adds escape
    sequences, which take no room on the screen; `show_lanes` marks the lanes on which the player to
    move may enter.
    """
    view = view_position(game, position, last_action, previous)
    title = f"{mode_name(game)} ({ruleset_name(game, 32)})"
    ply = f"ply {position.ply} of {game.rules.max_plies}"
    panel = ["", "", *_player_lines(view, 0), "", *_player_lines(view, 1)]
    lanes = game.legal_actions(position) if show_lanes else []
    reason = "" if view.outcome is None else f" ({view.outcome.reason.replace('_', ' ')})"
    body = [
        *(left.ljust(PANEL) + right
          for left, right in zip_longest(_board_lines(view, lanes), panel, fillvalue="")),
        "",
        status_text(view) + reason,
        last_move_text(view.last_move),
        LANES_LEGEND if show_lanes else LEGEND,
    ]
    heading = (title + ply.rjust(WIDTH - len(title))).encode("ascii", "replace").decode()
    return "\n".join([heading, *(_paint(line.rstrip()) if colour else line.rstrip()
                                 for line in body)])


def _paint(line: str) -> str:
    def styled(match: re.Match[str]) -> str:
        token = match[0].strip("[]")
        inverted = INVERTED if token != match[0] else ""
        return f"\x1b[{STYLES[token]}{inverted}m{match[0]}\x1b[0m"

    return TOKEN.sub(styled, line)


def _board_lines(view: View, lanes: list[int]) -> list[str]:
    """The board with its coordinates, marks at the lanes among some actions, and the moves over its
    sides in the margins.
    """
    cells, margins = _cells(view), _margins(view.last_move)
    marks = ["+" if lane in lanes else " " for lane in range(ENTRIES)]
    north, south = (" ".join(margins.get((side, lane), "   ") for lane in range(SIZE))
                    for side in (NORTH, SOUTH))
    northern, southern = ("  ".join(FILES[lane] + marks[side * SIZE + lane]
                                    for lane in range(SIZE)) for side in (NORTH, SOUTH))
    rule = " " * 6 + "+---" * SIZE + "+"
    lines = [" " * 7 + north, " " * 8 + northern, rule]
    for row, rank in enumerate(RANKS):
        squares = "|".join(cells[row * SIZE:(row + 1) * SIZE])
        west, east = (margins.get((side, row), "   ") for side in (WEST, EAST))
        into_west, into_east = (marks[side * SIZE + row] for side in (WEST, EAST))
        lines += [f"{west} {rank}{into_west}|{squares}|{into_east}{rank} {east}", rule]
    return [*lines, " " * 8 + southern, " " * 7 + south]


def _cells(view: View) -> list[str]:
    """Three characters for each square; a stronghold comes with the one who controls it."""
    cells = ["   " if token == FREE else f" {token} " for token in view.tokens]
    for square, player in view.controllers.items():
        cells[square] = f" #{FACTIONS[player].lower()}"
    if view.bastion is not None:
        cells[view.bastion] = f"[{view.tokens[view.bastion]}]"
    move = view.last_move
    if move is not None:
        for square in move.path:
            cells[square] = " : " if move.direction in (NORTH, SOUTH) else " - "
        for square in move.pushed:
            token, arrow = view.tokens[square], ARROWS[move.direction]
            owner = (FACTIONS[view.controllers[square]].lower()
                     if square in view.controllers else " ")
            cells[square] = (f"{arrow}{token}{owner}" if move.direction == WEST
                             else f" {token}{arrow}" if owner == " " else f"{token}{owner}{arrow}")
    return cells


def _margins(move: LastMove | None) -> dict[tuple[int, int], str]:
    """Three characters outside the board, by side and lane: where a faction entered or left."""
    margins: dict[tuple[int, int], str] = {}
    if move is not None and move.target is not None:
        row, column = divmod(move.target, SIZE)
        lane = column if move.direction in (NORTH, SOUTH) else row
        if move.enters:
            margins[move.direction ^ 1, lane] = f" {ARROWS[move.direction]} "
        if move.captured:
            margins[move.direction, lane] = f"({move.captured})"
    return margins


def _points_lines(view: View, player: int) -> list[str]:
    """A player's points by row, such as "controlled 2 x 2 = 4"; only points where they are many."""
    explained = [_points_text(row, view, player).replace(" ", _NO_BREAK) for row in view.points]
    lines = wrap(", ".join(explained), WIDTH - PANEL - 3)
    if len(lines) > _MAX_LINES:
        lines = wrap(" ".join(f"{row}:{points[player]}" for row, points in view.points.items()),
                     WIDTH - PANEL - 3)
    return [line.replace(_NO_BREAK, " ") for line in lines]


def _points_text(row: str, view: View, player: int) -> str:
    points, weight = view.points[row][player], view.weights[row]
    return f"{row} {points // weight} x {weight} = {points}" if weight else f"{row} {points}"


def _player_lines(view: View, player: int) -> list[str]:
    own, other = FACTIONS[player], FACTIONS[1 - player]
    hand, captures = view.hands[player], view.captures[player]
    note = " to move" if view.outcome is None and view.player == player else ""
    title = f"{own}  {PLAYER_NAMES[player].capitalize()}{note}"
    return [
        title.ljust(WIDTH - PANEL - 8) + f"{view.totals[player]:>5} VP",
        f"   hand {hand}      {' '.join(own * hand)}",
        f"   captured {captures}  {' '.join(other * captures)}",
        *(f"   {line}" for line in _points_lines(view, player)),
    ]
