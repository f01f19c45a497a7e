"""`alphabeta` within limits: looks deeper ply by ply until its nodes, time or depth are used up.

`alphabeta:8:200ms` looks at most 8 plies ahead and takes at most 200 ms for a move;
`alphabeta:nodes=100000` searches at most so many positions. With nodes alone, and with depth,
the same seed gives the same move on any machine. Every move starts with an empty table.
"""

import re
from threading import Timer
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.hash_table import new_table
from agents.search.horizon_last import Records, Work, new_work
from agents.search.horizon_plies import TURN_LIMIT
from agents.search.horizon_search import narrow
from agents.search.horizon_table import LOWEST
from agents.search.moves import (
    CODE_BITS,
    CODE_MASK,
    MAX_MOVES,
    action_of_code,
    list_scored,
    pick_best,
    play_code,
    take_largest,
)
from agents.search.null_window import Window
from agents.search.position_key import Symmetries, symmetry_table
from castle_env.agent import BaseAgent
from castle_env.compiled import kernel
from castle_env.errors import AgentError
from castle_env.game import Game
from castle_env.kernels import Rules, RuleTable, is_over, mover_margin
from castle_env.position import Position, PositionArray, unstack

Ints = npt.NDArray[np.int64]

_MEMORY: Final = 1 << 22
_MAX_DEPTH: Final = 64
_PART: Final = re.compile(
    r"(?P<depth>[1-9][0-9]{0,1})|(?P<milliseconds>[1-9][0-9]{0,6})ms|nodes=(?P<nodes>[1-9][0-9]{0,9})",
    re.ASCII)
LIMIT_FORMS: Final = (
    "alphabeta:D:Tms, alphabeta:Tms, alphabeta:nodes=N or alphabeta:D:nodes=N with D up to "
    f"{_MAX_DEPTH}, T up to 9999999 and N up to 9999999999")


class Limits(NamedTuple):
    """What a move may cost; 0 means no limit of that kind."""

    depth: int = _MAX_DEPTH
    milliseconds: int = 0
    nodes: int = 0


def parse_limits(arguments: str) -> Limits | None:
    """The limits in an agent's name; None if it has none beyond a depth.

    Raises `AgentError` for a limit that makes no sense.
    """
    if "ms" not in arguments and "nodes" not in arguments:
        return None
    found: dict[str, int] = {}
    for part in arguments.split(":"):
        match = _PART.fullmatch(part)
        if match is None or match.lastgroup in found:
            raise _wrong(arguments)
        found[str(match.lastgroup)] = int(match[str(match.lastgroup)])
    limits = Limits(**found)
    if limits.depth > _MAX_DEPTH or list(found) != sorted(found, key=list(Limits._fields).index):
        raise _wrong(arguments)
    return limits


def _wrong(arguments: str) -> AgentError:
    return AgentError(f"agent {f'alphabeta:{arguments}'!r}; allowed: {LIMIT_FORMS}")


@kernel
def child_value(
    rules: Rules, work: Work, symmetries: Symmetries, table: Ints,
    child: Position, plies_left: int, claim: int, floor: int,
) -> int:
    """What a move that leads to `child` is worth to its mover.

    Exact if it is at least `floor`; if it is less, an upper bound that is less too.
    """
    if plies_left == 0 or is_over(rules, child):
        return -mover_margin(rules, child)
    window = Window(LOWEST, 1 - floor, 1 - floor)
    return -narrow(rules, work, symmetries, table, child, plies_left, claim, window)


@kernel
def deepen(
    rule_table: RuleTable, works: Records, all_symmetries: Records, table: Ints,
    position: Position, max_depth: int, claim: int, seed: int,
) -> int:
    """The action that the deepest finished search finds best, ties by lot.

    A search of one ply comes first, and always finishes. `claim` is TURN_LIMIT: it is an argument
    because numba would compile a second version of `search` for a literal, and not keep it on disk.
    """
    rules, work, symmetries = rule_table[0], works[0], all_symmetries[0]
    moves = np.zeros(MAX_MOVES, dtype=np.int64)
    count = list_scored(rules, position, moves)
    best_code = pick_best(moves, count, seed)
    for depth in range(2, max_depth + 1):
        floor = take_largest(moves, 0, count) >> CODE_BITS
        for index in range(count):
            code = take_largest(moves, index, count) & CODE_MASK
            child = play_code(rules, position, code)
            value = child_value(rules, work, symmetries, table, child, depth - 1, claim, floor)
            while index == 0 and value < floor and not work.stop:
                floor = value
                value = child_value(rules, work, symmetries, table, child, depth - 1, claim, floor)
            if work.stop:
                return action_of_code(best_code)
            floor = max(floor, value)
            moves[index] = value << CODE_BITS | code
        best_code = pick_best(moves, count, seed)
    return action_of_code(best_code)


class LimitedAlphaBeta(BaseAgent):
    """An `Agent` that searches the positions of a batch one by one, each within the limits."""

    def __init__(self, name: str, game: Game, limits: Limits) -> None:
        self.name = name
        self._limits: Final = limits
        self._game: Final = game
        self._symmetries: Final = symmetry_table(game)
        self._table: Final = new_table(_MEMORY)
        self._works = new_work(game, limits.nodes)
        self._stopped = False

    def __repr__(self) -> str:
        return f"LimitedAlphaBeta({self.name!r})"

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Ints:
        """A legal action for each position, shape (n,)."""
        seeds = rng.integers(np.iinfo(np.int64).max, size=len(states))
        actions = [self._choose(position, int(seed))
                   for position, seed in zip(unstack(states), seeds, strict=True)]
        return np.array(actions, dtype=np.int64)

    def stop(self) -> None:
        """End the search in hand and later ones at once, with the best move found so far.

        Other threads may call this.
        """
        self._stopped = True
        self._works["stop"] = 1

    def _choose(self, position: Position, seed: int) -> int:
        self._table[:] = 0
        works = self._works = new_work(self._game, self._limits.nodes)
        if self._stopped:
            works["stop"] = 1
        plies = min(self._limits.depth, self._game.rules.max_plies - position.ply)
        timer = Timer(self._limits.milliseconds / 1000, works.__setitem__, ("stop", 1))
        if self._limits.milliseconds:
            timer.start()
        try:
            return int(deepen(self._game.table, works, self._symmetries, self._table, position,
                              plies, TURN_LIMIT, seed))
        finally:
            timer.cancel()
