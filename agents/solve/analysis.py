"""What every legal move of a position is worth: exact where it can be proven in time.

In storm the values come from the book or from proofs to the end of the game. In sudden death a
search looks deeper and deeper, and a move is proven as soon as both players can force its value,
however long the other delays. A move that is not proven in time has the margin at the greatest
depth that was finished.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from math import inf
from time import perf_counter
from typing import Final, Protocol, TypeAlias

import numpy as np

from agents.search import horizon_search
from agents.search.board import board_of
from agents.search.hash_table import new_table
from agents.search.horizon_last import Records, new_work
from agents.search.horizon_plies import MAX_PLIES, MOVER_ENDS, OPPONENT_ENDS, TURN_LIMIT
from agents.search.horizon_table import HIGHEST, LOWEST
from agents.search.null_window import Window
from agents.search.position_key import symmetry_table
from agents.solve import storm_search
from agents.solve.book import Book, shipped_book
from agents.solve.move_values import MoveValues
from agents.solve.storm_search import new_arrays
from agents.solve.storm_solver import captured_margin
from castle_env.errors import CastleError
from castle_env.game import Game
from castle_env.position import Position, stack
from castle_env.ruleset import STORM, Ruleset

MEMORY: Final = 1 << 26
_SECONDS_BETWEEN_LOOKS: Final = 0.02


class AnalysisError(CastleError):
    """A position has no moves to analyse, or the time for it makes no sense."""


Report: TypeAlias = Callable[[MoveValues], None]


def never() -> bool:
    """False: the `stopped` of a caller who lets the analysis use its time."""
    return False


def analyse_moves(
    game: Game,
    state: Position,
    *,
    seconds: float = 2.0,
    stopped: Callable[[], bool] = never,
    report: Report = lambda values: None,
) -> MoveValues:
    """The value of every legal move, the pass too, as far as it can be found in `seconds`.

    The time starts when the first depth is finished, so that compiling code is not counted.

    `stopped` is asked many times a second; once it is true, what is known by then is returned.
    `report` gets what is known at each depth. Both are called in the caller's thread, and other
    threads go on meanwhile. Raises `AnalysisError` for a game that is over.
    """
    if game.is_terminal(state):
        raise AnalysisError(f"the game is over in {game.format_position(state)!r}; allowed: a "
                            "position with a player to move")
    if not seconds > 0:
        raise AnalysisError(f"seconds is {seconds!r}; allowed: a number above 0")
    children = {action: game.apply(state, action) for action in game.legal_actions(state)}
    known = _from_book(game, children)
    if known is not None:
        return known
    found = [_at_once(game, children)]
    if not found[0].exact:
        search: _Search = (_StormSearch(game) if game.rules.mode == STORM
                           else _HorizonSearch(game))
        _run(search, game, children, found, seconds, stopped, report)
    return found[-1]


# Without a search


@cache
def _book(rules: Ruleset) -> Book | None:
    return shipped_book(Game(rules)) if rules.mode == STORM else None


def _from_book(game: Game, children: dict[int, Position]) -> MoveValues | None:
    """Exact values from the shipped book; None unless it has all of them."""
    book = _book(game.rules)
    if book is None:
        return None
    values: dict[int, int] = {}
    for action, child in children.items():
        margin = book.value(child)
        if margin is None:
            return None
        values[action] = -margin
    return MoveValues(values)


def _at_once(game: Game, children: dict[int, Position]) -> MoveValues:
    """Margins as they stand after each move."""
    states = stack(list(children.values()))
    margins = game.margins(states)
    margins = np.where(states["ply"] & 1, margins, -margins)
    depth = None if game.terminals(states).all() else 1
    return MoveValues(dict(zip(children, margins.tolist(), strict=True)), depth)


# With one


class _Search(Protocol):
    """A search that looks to a horizon. `work["stop"]`, set from outside, ends it."""

    work: Records

    def depths(self, plies_left: int) -> range:
        """How far ahead to look, one after the other, with so many plies left."""
        ...

    def value(self, position: Position, depth: int, guess: int) -> tuple[int, bool]:
        """The mover's margin `depth` plies ahead, and whether it holds to the end of the game.

        Means nothing once the search was stopped.
        """
        ...


class _StormSearch:
    """Looks so far ahead that always the same player moves last, since that one is ahead."""

    def __init__(self, game: Game) -> None:
        self._game: Final = game
        self._arrays: Final = new_arrays(game, MEMORY)
        self.work: Records = self._arrays.work

    def depths(self, plies_left: int) -> range:
        """From two or three plies to the end."""
        return range(2 + plies_left % 2, plies_left + 1, 2)

    def value(self, position: Position, depth: int, guess: int) -> tuple[int, bool]:
        """The mover's margin `depth` plies ahead, at the end of the game if that is there."""
        plies_left = self._game.rules.max_plies - position.ply
        captured = captured_margin(self._game.rules, position)
        margin = storm_search.ask_value(self._arrays, board_of(position), plies_left, depth,
                                        guess - captured)
        return int(margin) + captured, depth == plies_left


class _HorizonSearch:
    """Looks one ply further each time, and tells whether anybody can put off the end."""

    def __init__(self, game: Game) -> None:
        self.work: Records = new_work(game)
        self._game: Final = game
        self._table: Final = new_table(MEMORY)
        self._symmetries: Final = symmetry_table(game)
        self._bounds: Final[dict[Position, tuple[int, int]]] = {}

    def depths(self, plies_left: int) -> range:
        """From two plies to the turn limit."""
        return range(2, min(plies_left, MAX_PLIES) + 1)

    def value(self, position: Position, depth: int, guess: int) -> tuple[int, bool]:
        """The mover's margin `depth` plies ahead or where the game ends before; whether it ends."""
        if self._game.is_terminal(position):
            points, mover = self._game.victory_points(position), position.ply & 1
            return points[mover] - points[1 - mover], True
        # What a player can force by ending the game within the horizon holds for ever. It is sooner
        # found than the margin at the horizon, which lies between.
        low, high = self._bounds.get(position, (LOWEST, HIGHEST))
        low = self._margin(position, depth, MOVER_ENDS, low, high, guess)
        high = self._margin(position, depth, OPPONENT_ENDS, low, high, guess)
        if not self.work["stop"][0]:
            self._bounds[position] = low, high
        if low == high:
            return low, True
        margin = self._margin(position, depth, TURN_LIMIT, low, high, guess)
        return margin, position.ply + depth == self._game.rules.max_plies

    def _margin(
        self, position: Position, depth: int, claim: int, low: int, high: int, guess: int
    ) -> int:
        window = Window(low, high, min(max(guess, low), high))
        return int(horizon_search.ask_value(self._game.table, self.work, self._symmetries,
                                            self._table, position, depth, claim, window))


def _run(
    search: _Search, game: Game, children: dict[int, Position], out_found: list[MoveValues],
    seconds: float, stopped: Callable[[], bool], report: Report
) -> None:
    """Search in a thread of its own until all is known, the time is over or `stopped` is true."""
    reported, deadline = 1, inf
    with ThreadPoolExecutor(1) as pool:
        try:
            future = pool.submit(_deepen, search, game, children, out_found)
            while not wait([future], _SECONDS_BETWEEN_LOOKS).done:
                if len(out_found) > reported:
                    deadline = min(deadline, perf_counter() + seconds)
                    reported = len(out_found)
                    report(out_found[-1])
                if perf_counter() >= deadline or stopped():
                    search.work["stop"] = 1
            future.result()
        finally:
            search.work["stop"] = 1


def _deepen(
    search: _Search, game: Game, children: dict[int, Position], out_found: list[MoveValues]
) -> None:
    """Add the values at each depth that was finished, until all are proven."""
    values, proven = dict(out_found[0].values), set[int]()
    plies_left = game.rules.max_plies - next(iter(children.values())).ply + 1
    for depth in search.depths(plies_left):
        for action in children.keys() - proven:
            child = children[action]
            margin, holds = search.value(child, depth - 1, -values[action])
            if search.work["stop"][0]:
                return
            values[action] = -margin
            if holds:
                proven.add(action)
        exact = len(proven) == len(children)
        out_found.append(MoveValues(dict(values), None if exact else depth))
        if exact:
            return
