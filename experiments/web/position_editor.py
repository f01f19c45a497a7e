"""Positions put together by hand."""

from castle_env import Game, Position, PositionError
from castle_env.board import PLAYER_NAMES
from experiments.web.requests import EditPosition


def edited_position(game: Game, asked: EditPosition) -> Position:
    """The position that the editor shows; raises `PositionError` that says what does not fit."""
    if asked.text is not None:
        return game.parse_position(asked.text)
    if asked.ply is not None:
        return _checked(game, asked, asked.ply)
    most = min(game.rules.max_plies, 4 * game.rules.factions_per_player + 3)
    plies = [ply for ply in range(most + 1) if ply & 1 == asked.player]
    for ply in plies[:-1]:
        try:
            return _checked(game, asked, ply)
        except PositionError:
            continue
    return _checked(game, asked, plies[-1] if plies else asked.player)


def _checked(game: Game, asked: EditPosition, ply: int) -> Position:
    """The position after `ply` plies, with the player to move that this makes."""
    boards = [sum(1 << square for square, token in enumerate(asked.tokens) if token == kind)
              for kind in "AB#"]
    factions = game.rules.factions_per_player
    for player, board in enumerate(boards[:2]):
        used = board.bit_count() + asked.hands[player]
        if used > factions:
            raise PositionError(f"the {PLAYER_NAMES[player]} has {used} factions on the board and "
                                f"in hand; allowed: {factions} in all")
    mover = ply & 1
    forfeits = asked.forfeits if game.rules.capture_credit == "enemy_only" else [0, 0]
    position = Position(
        boards[mover], boards[1 - mover], boards[2],
        0 if asked.bastion is None else 1 << asked.bastion,
        asked.hands[mover], asked.hands[1 - mover], forfeits[mover], forfeits[1 - mover], ply)
    return game.parse_position(game.format_position(position))
