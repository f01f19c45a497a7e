"""Positions, moves and games as the plain values that the page gets.

The page holds no rules: each position comes with its legal moves, and each of those with every
token that it moves. Squares are indices. `shifts` are pairs [from, to]: from is null for a token
that comes from the hand, to is null for a captured one. Pairs of numbers are player 0's, then
player 1's.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import repeat
from typing import Any

from agents.solve.move_values import MoveValues, in_words
from castle_env import Game, Position
from castle_env.board import (
    DIRECTIONS,
    EDGES,
    OFFSETS,
    PASS,
    SQUARES,
    STEPS,
    steps_off_board,
)
from castle_env.position import stack
from castle_env.ruleset import Ruleset
from castle_env.view import (
    FACTIONS,
    FREE,
    STRONGHOLD,
    View,
    lane_of,
    mode_name,
    ruleset_name,
    tokens_on,
    view_position,
)

Json = dict[str, Any]


def position_json(
    game: Game, position: Position, last_action: int | None, previous: Position | None
) -> Json:
    """A position with its legal moves and the move that led to it."""
    view = view_position(game, position, None, None)
    actions = game.legal_actions(position)
    after = [game.apply(position, action) for action in actions]
    last = None
    if last_action is not None and previous is not None:
        last = _move_json(game, last_action, tokens_on(previous), position, view.totals)
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
        "outcome": None if view.outcome is None else view.outcome.to_dict(),
        "last": last,
        "moves": [_move_json(game, *move) for move in zip(
            actions, repeat(view.tokens), after, _totals(game, after), strict=False)],
    }


def _totals(game: Game, positions: list[Position]) -> list[tuple[int, int]]:
    """Victory Points of many positions, which cost little more than those of one."""
    if not positions:
        return []
    first, second = game.outcomes(stack(positions))["victory_points"].T.tolist()
    return list(zip(first, second, strict=True))


def _move_json(
    game: Game, action: int, tokens: str, after: Position, totals: tuple[int, int]
) -> Json:
    """A move, from the tokens before it, and the position and the points after it."""
    player = 1 - (after.ply & 1)
    move: Json = {"action": action, "name": game.format_action(action), "player": player,
                  "kind": "pass", "from": None, "target": None, "direction": 0, "path": (),
                  "shifts": (), "captured": "", "totals": totals}
    if action == PASS:
        return move
    direction, lane = lane_of(action)
    enters, target = action < STEPS, after.bastion.bit_length() - 1
    reached = lane.index(target)
    start = None if enters else lane[0]
    shifts: list[tuple[int | None, int | None]] = [(start, target)]
    captured = ""
    for place in range(reached, len(lane)):
        if tokens[lane[place]] == FREE:
            break
        if place + 1 == len(lane):
            shifts.append((lane[place], None))
            captured = tokens[lane[place]]
        else:
            shifts.append((lane[place], lane[place + 1]))
    return move | {"kind": "enter" if enters else "step", "from": start, "target": target,
                   "direction": direction, "path": lane[:reached], "shifts": shifts,
                   "captured": captured}


# What a person asks about a position


def explained_json(game: Game, position: Position) -> Json:
    """Why illegal actions are illegal, by name, and the squares that each row of points counts.

    Steps over the edge have no name. A row has the squares of player 0, then those of player 1.
    """
    reasons = {game.format_action(action): game.why_illegal(position, action)
               for action in range(game.num_actions) if not steps_off_board(action)}
    view = view_position(game, position, None, None)
    return {
        "illegal": {name: reason for name, reason in reasons.items() if reason is not None},
        "rows": {row: [sorted(_counted(game, view, row, player)) for player in (0, 1)]
                 for row in view.points},
    }


def _counted(game: Game, view: View, row: str, player: int) -> set[int]:
    own = [square for square in range(SQUARES) if view.tokens[square] == FACTIONS[player]]
    beside = {square: [near for near in neighbours(square) if view.tokens[near] == STRONGHOLD]
              for square in own}
    if row == "survivor":
        return set(own)
    if row == "squares":
        table = [cell for line in game.rules.victory_points.squares or () for cell in line]
        return {square for square in own if table[square]}
    if row == "besieging":
        return {square for square in own if beside[square]}
    if row == "contact":
        return {one for square in own if beside[square] for one in (square, *beside[square])}
    if row == "controlled":
        held = {square for square, owner in view.controllers.items() if owner == player}
        return held | {square for square in own if held.intersection(beside[square])}
    return set()


def neighbours(square: int) -> Iterator[int]:
    """The squares beside a square."""
    for direction in range(DIRECTIONS):
        if not EDGES[direction] >> square & 1:
            yield square + OFFSETS[direction]


# Rules and values


@lru_cache(maxsize=64)
def rules_json(rules: Ruleset) -> Json:
    """A ruleset: its keys, and how to call it."""
    game = Game(rules)
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
