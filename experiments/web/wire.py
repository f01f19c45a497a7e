"""Positions, moves and games as the plain values that the page gets.

The page holds no rules: each position comes with its legal moves, and each of those with every
token that it moves. Squares are indices. `shifts` are pairs [from, to]: from is null for a token
that comes from the hand, to is null for a captured one. Pairs of numbers are player 0's, then
player 1's.
"""

from typing import Any

from agents.solve.move_values import MoveValues, in_words
from castle_env import Game, Position
from castle_env.board import OFFSETS, PASS, SQUARE_NAMES, STEPS, steps_off_board
from castle_env.view import (
    FACTIONS,
    LastMove,
    View,
    last_move_text,
    mode_name,
    ruleset_name,
    status_text,
    view_position,
)

Json = dict[str, Any]


def position_json(
    game: Game, position: Position, last_action: int | None, previous: Position | None
) -> Json:
    """A position with its legal moves and the move that led to it."""
    view = view_position(game, position, last_action, previous)
    return {
        "ply": position.ply,
        "text": game.format_position(position),
        "tokens": view.tokens,
        "bastion": view.bastion,
        "player": view.player,
        "hands": view.hands,
        "captures": view.captures,
        "forfeits": view.forfeits,
        "points": view.points,
        "totals": view.totals,
        "controllers": view.controllers,
        "status": status_text(view),
        "outcome": None if view.outcome is None else view.outcome.to_dict(),
        "last": None if last_action is None else _move_json(game, last_action, view),
        "moves": [_move_json(game, action,
                             view_position(game, game.apply(position, action), action, position))
                  for action in game.legal_actions(position)],
    }


def _move_json(game: Game, action: int, after: View) -> Json:
    """A move, from what is seen after it."""
    move = after.last_move
    assert move is not None
    return {
        "action": action,
        "name": game.format_action(action),
        "player": move.player,
        "kind": "pass" if action == PASS else "enter" if action < STEPS else "step",
        "from": move.path[0] if action >= STEPS else None,
        "target": move.target,
        "direction": move.direction,
        "path": move.path,
        "shifts": _shifts(move),
        "captured": move.captured,
        "totals": after.totals,
        "words": last_move_text(move),
        "promise": _promise(move, after),
    }


def _shifts(move: LastMove) -> list[tuple[int | None, int | None]]:
    if move.target is None:
        return []
    back = OFFSETS[move.direction]
    moved: list[tuple[int | None, int | None]] = [(square - back, square) for square in move.pushed]
    if move.captured:
        moved.append(((move.target, *move.pushed)[-1], None))
    return [(None if move.enters else move.path[0], move.target), *moved]


def _promise(move: LastMove, after: View) -> str:
    """What the move would do, in words."""
    if move.target is None:
        return "Pass: no other move is legal"
    words = [f"{move.name} to {SQUARE_NAMES[move.target]}" if move.enters else move.name]
    pushed = len(move.pushed) + bool(move.captured)
    if pushed:
        words.append(f"pushes {pushed}")
    if move.captured:
        words.append(f"captures {'own ' if move.captured == FACTIONS[move.player] else ''}"
                     f"{move.captured}")
    return ", ".join(words) + f". Points then {after.totals[0]} to {after.totals[1]}"


def reasons_json(game: Game, position: Position) -> dict[int, str]:
    """Why each illegal action is illegal, but for steps over the edge, which have no text."""
    reasons = {action: game.why_illegal(position, action) for action in range(game.num_actions)
               if not steps_off_board(action)}
    return {action: reason for action, reason in reasons.items() if reason is not None}


def rules_json(game: Game) -> Json:
    """A ruleset: its keys, and how to call it."""
    rules = game.rules
    return {"keys": rules.to_dict(), "digest": rules.digest, "mode": mode_name(game),
            "name": ruleset_name(game, 40)}


def values_json(values: MoveValues, player: int, played: int | None) -> Json:
    """Values of all legal moves: margins of player 0, and regrets of `player`, who is to move."""
    sign = 1 if player == 0 else -1
    return {
        "values": {action: sign * value for action, value in values.values.items()},
        "regrets": {action: values.regret(action) for action in values.values},
        "value": sign * values.best_value,
        "exact": values.exact,
        "value_exact": values.exact,
        "words": in_words(values.best_value, values.depth),
        "depth": values.depth,
        "played": played,
        "regret": None if played is None else values.regret(played),
    }
