"""The moves of a storm game, or of a position, each judged by exact values."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from agents.solve.perfect_play import PerfectPlay
from castle_env import ActionError, Game, Position

_RESULTS: Final = {1: "win", 0: "draw", -1: "loss"}


@dataclass(frozen=True)
class JudgedMove:
    """A move and what it is worth to its mover, in Victory Points of margin.

    best_value: what the best moves are worth; regret: what the move threw away of that. mark: "",
    or how the result changed, such as "win to draw".
    """

    ply: int
    player: str
    move: str
    value: int
    best_value: int
    best_moves: list[str]
    regret: int
    mark: str


def parse_moves(game: Game, text: str) -> list[int]:
    """Actions of a game from their texts; raises `ActionError` and `IllegalActionError`."""
    names = text.replace(",", " ").split()
    if not names:
        raise ActionError(f"{text!r} holds no moves; allowed: moves separated by commas or spaces, "
                          "or the text of a position")
    actions = [game.parse_action(name) for name in names]
    position = game.initial_state()
    for action in actions:
        position = game.apply(position, action)
    return actions


def judge_game(
    play: PerfectPlay, actions: Iterable[int], start: Position | None = None
) -> Iterator[JudgedMove]:
    """Each move of a game, from the ruleset's start unless another is given."""
    game, position = play.game, play.game.initial_state() if start is None else start
    for action in actions:
        best_value = play.value(position)
        best = play.best_actions(position, best_value)
        value = best_value if action in best else -play.value(game.apply(position, action))
        yield _judged(game, position, action, value, best_value, best)
        position = game.apply(position, action)


def judge_position(play: PerfectPlay, position: Position) -> list[JudgedMove]:
    """Each legal move in a position, the best first; none once the game is over."""
    if play.game.is_terminal(position):
        return []
    moves = play.move_values(position)
    return [_judged(play.game, position, action, moves.values[action], moves.best_value,
                    moves.best_actions)
            for action in sorted(moves.values, key=moves.regret)]


@dataclass(frozen=True)
class JudgedText:
    """What a text asks for: moves of a game from the start, or all those in one position.

    moves: judged one after another, as they are asked for.
    """

    is_game: bool
    position: Position
    moves: Iterable[JudgedMove]


def judge_text(play: PerfectPlay, text: str) -> JudgedText:
    """Moves separated by commas or spaces, or a position's text; raises what parsing does."""
    if "/" in text:
        position = play.game.parse_position(text)
        return JudgedText(False, position, judge_position(play, position))
    return JudgedText(True, play.game.initial_state(),
                      judge_game(play, parse_moves(play.game, text)))


def _judged(
    game: Game, position: Position, action: int, value: int, best_value: int, best: list[int]
) -> JudgedMove:
    before, after = _RESULTS[_sign(best_value)], _RESULTS[_sign(value)]
    return JudgedMove(
        ply=position.ply,
        player="AB"[position.ply & 1],
        move=game.format_action(action),
        value=value,
        best_value=best_value,
        best_moves=[game.format_action(other) for other in best],
        regret=best_value - value,
        mark="" if before == after else f"{before} to {after}",
    )


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)
