"""`castle analyse`: the exact value of each move of a storm game, and what it threw away."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import tyro

from agents.runs import check_writable, write_json_atomic
from agents.solve.perfect_play import PerfectPlay
from castle_env import ActionError, Game, OptionError, Position
from experiments.options import Mode, chosen_game

_RESULTS: Final = {1: "win", 0: "draw", -1: "loss"}


@dataclass(frozen=True)
class Analyse:
    """Tell the exact value of each move of storm games, or of each move in a position.

    Values are Victory Point margins under best play by both from there on, seen from the player who
    moves.
    """

    what: tyro.conf.Positional[str]
    """Moves separated by commas or spaces ("Nc Ec Sc"), a position's text, or a file of games."""
    mode: Mode | None = None
    """Which mode's default ruleset; only storm can be analysed."""
    ruleset: str | None = None
    """A preset's name or a TOML file instead."""
    json: Path | None = None
    """Also write the results to this file."""
    out: Path | None = None
    """Where a file of games is written with its values and turning points; NAME.analysed.castle
    beside NAME.castle when left out. Naming the file itself replaces it."""


@dataclass(frozen=True)
class MoveValue:
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


def run(options: Analyse) -> None:
    """Print a line for each move as soon as it is known, then write the file if one was asked for.
    """
    if options.json:
        check_writable(options.json)
    if options.what.endswith(".castle") or os.path.isfile(options.what):
        # Only this kind of input needs the reader of files.
        from experiments.play.analysed_file import run_file
        run_file(options)
        return
    if options.out:
        raise OptionError(f"out is {str(options.out)!r}, but {options.what!r} is no file of games; "
                          "allowed: --json for moves and positions")
    game = chosen_game(options.mode, options.ruleset)
    is_game = "/" not in options.what
    play = PerfectPlay(game)
    position = game.initial_state() if is_game else game.parse_position(options.what)
    found: Iterable[MoveValue] = (analyse_game(play, parse_game(game, options.what)) if is_game
                                  else analyse_position(play, position))
    values = show(found)
    if is_game:
        print(totals(values))
    if options.json:
        write_json_atomic(options.json, {
            "ruleset": game.rules.to_dict(),
            "position": game.format_position(position),
            "kind": "game" if is_game else "position",
            "moves": [asdict(value) for value in values],
        })


def show(found: Iterable[MoveValue]) -> list[MoveValue]:
    """Print a table, each line as soon as its move is known; gives all of them."""
    print(f"{'ply':>3}  player  {'move':<5} {'value':>5}  {'best':>5}  {'lost':>4}  best moves")
    values = []
    for value in found:
        values.append(value)
        print(line_of(value), flush=True)
    return values


def parse_game(game: Game, text: str) -> list[int]:
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


def analyse_game(
    play: PerfectPlay, actions: list[int], start: Position | None = None
) -> Iterator[MoveValue]:
    """Each move of a game, from the ruleset's start unless another is given."""
    game, position = play.game, play.game.initial_state() if start is None else start
    for action in actions:
        best_value = play.value(position)
        best = play.best_actions(position, best_value)
        value = best_value if action in best else -play.value(game.apply(position, action))
        yield _judged(game, position, action, value, best_value, best)
        position = game.apply(position, action)


def analyse_position(play: PerfectPlay, position: Position) -> list[MoveValue]:
    """Each legal move in a position, the best first; none once the game is over."""
    game = play.game
    values = play.move_values(position)
    best = [action for action, value in values.items() if value == max(values.values())]
    return [_judged(game, position, action, values[action], values[best[0]], best)
            for action in sorted(values, key=lambda action: -values[action])]


def _judged(
    game: Game, position: Position, action: int, value: int, best_value: int, best: list[int]
) -> MoveValue:
    before, after = _RESULTS[_sign(best_value)], _RESULTS[_sign(value)]
    return MoveValue(
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


def line_of(value: MoveValue) -> str:
    """One move as text."""
    return (f"{value.ply:>3}  {value.player:<6}  {value.move:<5} {value.value:>+5}  "
            f"{value.best_value:>+5}  {value.regret or '-':>4}  {' '.join(value.best_moves)}"
            f"{f'  ({value.mark})' if value.mark else ''}")


def totals(values: list[MoveValue]) -> str:
    """What each player threw away in a game."""
    texts = []
    for player in "AB":
        own = [value for value in values if value.player == player]
        best = sum(not value.regret for value in own)
        texts.append(f"{player} threw away {sum(value.regret for value in own)} VP, "
                     f"{best} of {len(own)} moves best")
    return "\n".join(texts)
