"""What every drawing tells about a position, by player instead of by mover."""

from functools import cache
from typing import Final, NamedTuple

from castle_env.board import (
    DIRECTIONS,
    EDGES,
    OFFSETS,
    PASS,
    PLAYER_NAMES,
    SIZE,
    SQUARE_NAMES,
    SQUARES,
    STEPS,
    squares_of,
)
from castle_env.errors import ActionError
from castle_env.game import Game, Outcome
from castle_env.kernels import captures, controlled_by
from castle_env.position import Position, stack
from castle_env.ruleset import STORM

FREE: Final = "."
FACTIONS: Final = "AB"
STRONGHOLD: Final = "#"


class LastMove(NamedTuple):
    """The move that led to a position.

    player: who moved. name: its text. direction: in which it moved. path: squares it came over,
    in order; for a step the square that it left. target: where it stands now, None after a pass.
    pushed: squares where the tokens that it pushed now stand, nearest first; empty when the
    position before is not known. captured: the token that it pushed off the board, "A", "B" or "".
    """

    player: int
    name: str
    direction: int
    path: tuple[int, ...]
    target: int | None
    pushed: tuple[int, ...]
    captured: str

    @property
    def enters(self) -> bool:
        """Whether the faction came from the hand."""
        return self.name[0] in "NSWE"


class View(NamedTuple):
    """A position as it is drawn; pairs hold player 0's part, then player 1's.

    tokens: one character for each square, "A", "B", "#" or ".". bastion: its square. player: whose
    turn it is. captures: tokens that score for a player as captured. forfeits: a player's lost
    tokens that score for nobody. points: Victory Points so far, of the rows that the ruleset
    counts. weights: what each thing in a row gives; 0 for `squares`, which give different points.
    controllers: stronghold square -> player who controls it.
    """

    tokens: str
    bastion: int | None
    player: int
    hands: tuple[int, int]
    captures: tuple[int, int]
    forfeits: tuple[int, int]
    points: dict[str, tuple[int, int]]
    weights: dict[str, int]
    totals: tuple[int, int]
    controllers: dict[int, int]
    last_move: LastMove | None
    outcome: Outcome | None


def view_position(
    game: Game, position: Position, last_action: int | None, previous: Position | None
) -> View:
    """Everything that a drawing shows of a position.

    last_action: the action that led here; previous: the position in which it was played, without
    which the tokens that it pushed are not known. Raises `ActionError` for a last action that
    cannot have put the bastion where it is.
    """
    mover = position.ply & 1
    tokens = tokens_on(position)
    hands = (position.own_hand, position.opposing_hand)
    forfeits = (position.own_forfeits, position.opposing_forfeits)
    captured = captures(game.rules.factions_per_player, position)
    bastion = squares_of(position.bastion)
    points = _points(game, position)
    return View(
        tokens=tokens,
        bastion=bastion[0] if bastion else None,
        player=mover,
        hands=(hands[mover], hands[1 - mover]),
        captures=(captured[mover], captured[1 - mover]),
        forfeits=(forfeits[mover], forfeits[1 - mover]),
        points=points,
        weights={row: 0 if row == "squares" else getattr(game.rules.victory_points, row)
                 for row in points},
        totals=game.victory_points(position),
        controllers=_controllers(position),
        last_move=None if last_action is None
        else _last_move(game, position, last_action, previous),
        outcome=game.outcome(position),
    )


def mode_name(game: Game) -> str:
    """Name of the ruleset's mode, as people write it."""
    return "Storm the Castle" if game.rules.mode == STORM else "Sudden Death"


def ruleset_name(game: Game, width: int) -> str:
    """The ruleset's name, cut to `width` characters, all of them printable."""
    return shortened(game.rules.name, width)


def shortened(text: str, width: int) -> str:
    """A name, cut to `width` characters, all of them printable."""
    name = "".join(letter if letter.isprintable() else " " for letter in text)
    return name if len(name) <= width else name[:width - 3] + "..."


def status_text(view: View) -> str:
    """Whose turn it is, or how the game ended."""
    if view.outcome is None:
        return f"{PLAYER_NAMES[view.player].capitalize()} to move"
    high, low = max(view.totals), min(view.totals)
    winner = view.outcome.winner
    result = "Draw" if winner is None else f"{PLAYER_NAMES[winner].capitalize()} wins"
    return f"{result}, {high} to {low}"


def last_move_text(move: LastMove | None) -> str:
    """The last move in a few words, such as "B played Nb to b4, pushed 2, captured A"."""
    if move is None:
        return "No last move"
    faction = FACTIONS[move.player]
    if move.target is None:
        return f"{faction} passed"
    words = f"{faction} played {move.name}"
    if move.enters:
        words += f" to {SQUARE_NAMES[move.target]}"
    if move.pushed or move.captured:
        words += f", pushed {len(move.pushed) + bool(move.captured)}"
    return words + (f", captured {move.captured}" if move.captured else "")


def tokens_on(position: Position) -> str:
    """One character for each square, "A", "B", "#" or "."."""
    mover = position.ply & 1
    squares = [FREE] * SQUARES
    for token, board in (
        (FACTIONS[mover], position.own),
        (FACTIONS[1 - mover], position.opposing),
        (STRONGHOLD, position.strongholds),
    ):
        for square in squares_of(board):
            squares[square] = token
    return "".join(squares)


def _points(game: Game, position: Position) -> dict[str, tuple[int, int]]:
    by_row = game.outcomes(stack([position]))["by_row"]
    return {row: (int(points[0, 0]), int(points[0, 1])) for row, points in by_row.items()
            if getattr(game.rules.victory_points, row)}


def _controllers(position: Position) -> dict[int, int]:
    own, opposing, strongholds = position.own, position.opposing, position.strongholds
    mover = position.ply & 1
    owners = ((controlled_by(own, opposing, strongholds), mover),
              (controlled_by(opposing, own, strongholds), 1 - mover))
    return {square: player for held, player in owners for square in squares_of(held)}


def _last_move(
    game: Game, position: Position, action: int, previous: Position | None
) -> LastMove:
    name, player = game.format_action(action), 1 - (position.ply & 1)
    if action == PASS:
        return LastMove(player, name, 0, (), None, (), "")
    direction, lane = lane_of(action)
    bastion = squares_of(position.bastion)
    if not bastion or bastion[0] not in (lane if action < STEPS else lane[1:2]):
        raise ActionError(f"last action {name!r} does not lead to position "
                          f"{game.format_position(position)!r}; allowed: one whose faction ends on "
                          "the bastion square")
    reached = lane.index(bastion[0])
    before = FREE * SQUARES if previous is None else tokens_on(previous)
    end = reached
    while end < len(lane) and before[lane[end]] != FREE:
        end += 1
    captured = before[lane[-1]] if end == len(lane) else ""
    return LastMove(player, name, direction, lane[:reached], bastion[0],
                    lane[reached + 1:end + 1], captured)


@cache
def lane_of(action: int) -> tuple[int, tuple[int, ...]]:
    """Direction of an action other than the pass, and the squares from its start to the edge."""
    if action < STEPS:
        side, lane = divmod(action, SIZE)
        direction, square = side ^ 1, squares_of(EDGES[side])[lane]
    else:
        square, direction = divmod(action - STEPS, DIRECTIONS)
    squares = [square]
    while not EDGES[direction] >> squares[-1] & 1:
        squares.append(squares[-1] + OFFSETS[direction])
    return direction, tuple(squares)
