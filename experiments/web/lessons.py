"""Lessons in the rules: small boards with a move each, made by the rules that are in play.

Nothing here says what is legal: positions are tried until the rules give what a lesson is about. A
ruleset under which there is no such position has no such lesson.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np

from castle_env import Game, Position, Ruleset
from castle_env.board import EDGES, ENTRIES, OFFSETS, SIZE, SQUARES, STEPS, squares_of
from castle_env.ruleset import STORM
from castle_env.view import view_position
from experiments.web.position_editor import at_least_ply
from experiments.web.wire import Json, explained_json, neighbours, position_json

_EDGE: Final = [square for square in range(SQUARES) if any(edge >> square & 1 for edge in EDGES)]
_INSIDE_FIRST: Final = sorted(range(SQUARES), key=_EDGE.__contains__)
_PAIRS: Final = [(square, square + 1) for square in _INSIDE_FIRST if square % SIZE < SIZE - 2]
_TRIES: Final = 300
_LANES: Final = {
    "own_axis": "its four lanes: the circles from above and below, the diamonds from the sides",
    "central": "the four middle lanes of each side",
    "home_edge": "its four lanes: the circles from below, the diamonds from above",
    "all": "any lane",
}
_ROWS: Final = {
    "captured": "token the opponent has lost",
    "besieging": "own faction beside a stronghold",
    "contact": "pair of an own faction and a stronghold beside it",
    "controlled": "stronghold with more own than opposing factions beside it",
    "survivor": "own faction on the board",
}


@lru_cache(maxsize=16)
def lessons_json(rules: Ruleset) -> list[Json]:
    """The lessons of a ruleset, in the order in which a person needs them.

    Each has a title and a text. Most have a `position` of the wire's form; `shown` is the move that
    the small board plays, `illegal` one that it tries in vain, with the reason, `rows` are the
    points that it explains, and `lanes` the actions of player 0's and player 1's lanes.
    """
    game = Game(rules)
    lessons = [_aim(game), _entering(game), _lanes(game), _capturing(game), _bastion(game),
               _stronghold(game), _stepping(game), _points(game), _end(game)]
    return [lesson for lesson in lessons if lesson is not None]


# The lessons


def _aim(game: Game) -> Json:
    factions = game.rules.factions_per_player
    return _lesson(
        "The aim",
        f"Two players, {_count(factions, 'faction')} each: blue circles and orange diamonds. The "
        "grey towers are strongholds and belong to nobody. Bring your factions beside the "
        "strongholds: who has more Victory Points at the end wins.",
        game, game.initial_state())


def _entering(game: Game) -> Json:
    start = game.initial_state()
    entries = [action for action in game.legal_actions(start) if action < ENTRIES]
    move = next(iter(sorted(entries, key=lambda action: -len(_path(game, start, action)))), None)
    if game.rules.entry_style == "step":
        text = ("A turn brings one faction onto the edge square of a lane. Where a token stands, "
                "it is pushed: it moves on by one square, and so does every token behind it.")
    else:
        text = ("A turn slides one faction in from the edge. It glides over free squares to the "
                "first token in its lane and pushes: that token moves on by one square, and so "
                "does every token right behind it. A lane without a token is closed.")
    title = "Slide and push" if game.rules.entry_style == "slide" else "Enter and push"
    return _lesson(title, text, game, start, shown=move)


def _lanes(game: Game) -> Json | None:
    if game.rules.entry_lanes == "all":
        return None
    start = game.initial_state()
    lesson = _lesson("Lanes", f"Each player enters by {_LANES[game.rules.entry_lanes]}.", game,
                     start)
    doors = game.table[0]["doors"]
    lesson["lanes"] = [[side * SIZE + place for side, edge in enumerate(EDGES)
                        for place, square in enumerate(squares_of(edge))
                        if int(doors[player][side]) >> square & 1] for player in (0, 1)]
    return lesson


def _capturing(game: Game) -> Json | None:
    for position in (*_with_tokens(game, ((square,) for square in _EDGE)),
                     *_with_tokens(game, _to_the_edge(), own=True)):
        for action in game.legal_actions(position):
            after = game.apply(position, action)
            if after.own.bit_count() < position.opposing.bit_count():
                text = ("A faction that is pushed over the edge is captured and out of the game, "
                        "your own too.")
                if game.rules.capture_credit == "enemy_only":
                    text += " One that its own player pushes off scores for nobody."
                return _lesson("Capture", text, game, position, shown=action)
    return None


def _bastion(game: Game) -> Json | None:
    for position in _with_tokens(game, ((square,) for square in _INSIDE_FIRST), bastion=True):
        without = position._replace(bastion=0)
        for action in game.legal_actions(without):
            reason = game.why_illegal(position, action)
            if reason is not None and "bastion" in reason:
                return _lesson(
                    "The bastion holds",
                    "The faction that moved last carries a shield. It is the bastion: for one turn "
                    "no push may move it, and no run in which it stands.",
                    game, position, illegal=action)
    return None


def _stronghold(game: Game) -> Json:
    title, text = "Strongholds stay", (
        "Strongholds are pushed like all tokens, but never over the edge. A push that would do so "
        "is not allowed.")
    start = game.initial_state()
    for first, square in _to_the_edge():
        for moved in squares_of(start.strongholds):
            free = start.strongholds ^ 1 << moved
            if free & (1 << square | 1 << first):
                continue
            empty = start._replace(strongholds=free | 1 << square)
            beside = empty._replace(own=1 << first, own_hand=start.own_hand - 1)
            for position, action in product((empty, beside), range(game.num_actions)):
                if "push the stronghold" in (game.why_illegal(position, action) or ""):
                    return _lesson(title, text, game, position, illegal=action)
    return {"title": title, "text": text}


def _stepping(game: Game) -> Json | None:
    if game.rules.mode == STORM:
        return None
    text = "Instead of entering, a turn may move one faction on the board by one square, "
    text += ("if it pushes what stands there." if game.rules.steps_must_push else
             "onto a free square or pushing what stands there.")
    for position in _with_tokens(game, _PAIRS, own=True):
        for action in game.legal_actions(position):
            if action >= STEPS and game.apply(position, action).own != position.opposing:
                return _lesson("Step", text, game, position, shown=action)
    return None


def _points(game: Game) -> Json:
    rows = _weights(game)
    position = max(_crowded(game), key=lambda one: _told(game, one), default=game.initial_state())
    words = [f"{points} for each {_ROWS[row]}" for row, points in rows.items()]
    if game.rules.victory_points.squares is not None:
        words.append("what the squares are worth on which your factions stand")
    text = "At the end you get " + _listed(words) + ". Only the last position counts." \
        if words else "These rules give no points, so that every game is a draw."
    return _lesson("Victory Points", text, game, position, rows=True)


def _end(game: Game) -> Json:
    rules = game.rules
    if rules.mode == STORM:
        text = f"The game ends after {rules.max_plies} turns, when all factions have entered."
    else:
        text = ("The game ends as soon as a player brings the last faction onto the board, at the "
                f"latest after {rules.max_plies} turns.")
    return {"title": "The end", "text": text + " Who has no legal move passes. More points win; "
            "equal points are a draw."}


# Finding positions


def _lesson(
    title: str, text: str, game: Game, position: Position, shown: int | None = None,
    illegal: int | None = None, rows: bool = False,
) -> Json:
    lesson: Json = {"title": title, "text": text, "position": position_json(
        game, at_least_ply(game, position), None, None)}
    if shown is not None:
        lesson["shown"] = game.format_action(shown)
    if illegal is not None:
        lesson["illegal"] = {"name": game.format_action(illegal),
                             "reason": game.why_illegal(position, illegal)}
    if rows:
        lesson["rows"] = explained_json(game, position)["rows"]
    return lesson


def _with_tokens(
    game: Game, choices: Iterable[tuple[int, ...]], bastion: bool = False, own: bool = False
) -> Iterator[Position]:
    """The start with the opponent's factions on some squares; with `own` the first is the mover's.
    """
    start = game.initial_state()
    for squares in choices:
        board = sum(1 << square for square in squares)
        mine = 1 << squares[0] if own else 0
        if board & start.strongholds or len(squares) > game.rules.factions_per_player:
            continue
        yield start._replace(own=mine, opposing=board ^ mine, bastion=board if bastion else 0,
                             own_hand=start.own_hand - mine.bit_count(),
                             opposing_hand=start.opposing_hand - (board ^ mine).bit_count())


def _to_the_edge() -> Iterator[tuple[int, int]]:
    """Pairs of a square and its neighbour on the edge."""
    for direction, edge in enumerate(EDGES):
        for square in squares_of(edge):
            yield square - OFFSETS[direction], square


def _crowded(game: Game) -> Iterator[Position]:
    """Positions with factions of both beside strongholds; one of the opponent's is lost."""
    start = game.initial_state()
    near = [square for square in range(SQUARES) if not start.strongholds >> square & 1
            and any(start.strongholds >> other & 1 for other in neighbours(square))]
    rng = np.random.default_rng(0)
    own, opposing = (min(count, game.rules.factions_per_player) for count in (3, 2))
    for _ in range(_TRIES if len(near) >= own + opposing else 0):
        board = [1 << int(square) for square in rng.permutation(near)[:own + opposing]]
        yield start._replace(own=sum(board[:own]), opposing=sum(board[own:]),
                             own_hand=start.own_hand - own,
                             opposing_hand=max(0, start.opposing_hand - opposing - 1))


def _told(game: Game, position: Position) -> int:
    """How many numbers other than 0 the table of points shows."""
    points = view_position(game, position, None, None).points
    return sum(bool(number) for pair in points.values() for number in pair)


def _path(game: Game, position: Position, action: int) -> tuple[int, ...]:
    moves = position_json(game, position, None, None)["moves"]
    path: tuple[int, ...] = next(move["path"] for move in moves if move["action"] == action)
    return path


# Words


def _weights(game: Game) -> dict[str, int]:
    points = game.rules.victory_points
    return {row: getattr(points, row) for row in _ROWS if getattr(points, row)}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
