"""Positions put together by hand."""

from castle_env import Game, Position, PositionError
from castle_env.board import PLAYER_NAMES
from experiments.web.requests import EditPosition


def edited_position(game: Game, asked: EditPosition) -> Position:
    """The position that the editor shows; raises `PositionError` that says what does not fit."""
    if asked.text is not None:
        return game.parse_position(asked.text)
    position = _painted(game, asked)
    return _checked(game, position) if asked.ply is not None else at_least_ply(game, position)


def at_least_ply(game: Game, position: Position) -> Position:
    """The position after as few plies as the rules allow, with the same player to move.

    Raises `PositionError` that says what does not fit after the most that are tried.
    """
    mover = position.ply & 1
    most = min(game.rules.max_plies, 4 * game.rules.factions_per_player + 3)
    plies = [ply for ply in range(most + 1) if ply & 1 == mover]
    for ply in plies[:-1]:
        try:
            return _checked(game, position._replace(ply=ply))
        except PositionError:
            continue
    return _checked(game, position._replace(ply=plies[-1] if plies else mover))


def _checked(game: Game, position: Position) -> Position:
    return game.parse_position(game.format_position(position))


def _painted(game: Game, asked: EditPosition) -> Position:
    """The parts of a position as they are, with the player to move that a given ply makes."""
    boards = [sum(1 << square for square, token in enumerate(asked.tokens) if token == kind)
              for kind in "AB#"]
    factions = game.rules.factions_per_player
    for player, board in enumerate(boards[:2]):
        used = board.bit_count() + asked.hands[player]
        if used > factions:
            raise PositionError(f"the {PLAYER_NAMES[player]} has {used} factions on the board and "
                                f"in hand; allowed: {factions} in all")
    ply = asked.player if asked.ply is None else asked.ply
    mover = ply & 1
    forfeits = asked.forfeits if game.rules.capture_credit == "enemy_only" else [0, 0]
    return Position(
        boards[mover], boards[1 - mover], boards[2],
        0 if asked.bastion is None else 1 << asked.bastion,
        asked.hands[mover], asked.hands[1 - mover], forfeits[mover], forfeits[1 - mover], ply)
