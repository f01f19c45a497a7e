"""`SuddenDeathSolver`: exact values and proven bounds of sudden-death positions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from threading import Thread
from time import perf_counter
from typing import Final, TypeAlias

from agents.search.horizon_search import (
    HIGHEST,
    LOWEST,
    MAX_PLIES,
    MOVER_ENDS,
    OPPONENT_ENDS,
    TURN_LIMIT,
    ask,
    new_entries,
    new_work,
)
from agents.search.position_key import symmetry_table
from castle_env.errors import AgentError, OptionError
from castle_env.game import Game
from castle_env.position import Position
from castle_env.ruleset import SUDDEN_DEATH

DEFAULT_MEMORY: Final = 1 << 28

_SECONDS_BETWEEN_REPORTS: Final = 0.5


@dataclass(frozen=True)
class Proof:
    """What is proven of a position: its value for the mover lies from `low` to `high`.

    mover_within: the mover can force `low` and the game's end within so many plies, however the
    opponent delays; None when it takes the turn limit, or `low` says nothing. opponent_within: the
    same for the opponent and `high`. horizon: plies looked ahead. Where both are numbers, bounds
    are the same for every turn limit of at least `horizon` plies more.
    """

    low: int = LOWEST
    high: int = HIGHEST
    mover_within: int | None = None
    opponent_within: int | None = None
    horizon: int = 0
    nodes: int = 0
    seconds: float = 0.0

    @property
    def value(self) -> int | None:
        """The margin under best play by both; None while it is not known."""
        return self.low if self.low == self.high else None

    @property
    def length(self) -> int | None:
        """Plies to the end under best play: who is ahead hurries, who is behind delays.

        In a draw the player hurries that can force one sooner. None while the value is not known.
        When only the turn limit decides, the plies left until then, which is `horizon`.
        """
        if self.value is None:
            return None
        within = {1: [self.mover_within], -1: [self.opponent_within],
                  0: [self.mover_within, self.opponent_within]}[(self.low > 0) - (self.low < 0)]
        return min((plies for plies in within if plies is not None), default=self.horizon)


Report: TypeAlias = Callable[[Proof], None]


class SuddenDeathSolver:
    """Perfect play where the game's length is up to the players; what it finds stays in its table.

    It looks ahead 1, 2, 3 ... plies and asks what each player can force if it has to end the game
    within them by bringing on its last faction. Such promises hold for every later turn limit; when
    those of both players meet, that is the value. If they never do, the turn limit is the horizon.

    Values are Victory Point margins seen from the player to move. All are exact: entries of the
    table hold whole positions. `memory_bytes` bounds the table and `report` is called now and then.
    Ctrl-C (KeyboardInterrupt) ends a search within milliseconds; `proof` then has what is proven.
    Raises `AgentError` for storm and for turn limits beyond 1,000 plies.
    """

    def __init__(
        self,
        game: Game,
        memory_bytes: int = DEFAULT_MEMORY,
        report: Report | None = None,
        use_symmetries: bool = True,
    ) -> None:
        rules = game.rules
        if rules.mode != SUDDEN_DEATH or rules.max_plies > MAX_PLIES:
            raise AgentError(
                f"the sudden-death solver cannot play ruleset {rules.name!r} with mode "
                f"{rules.mode!r} and max_plies {rules.max_plies}; allowed: mode {SUDDEN_DEATH!r} "
                f"and at most {MAX_PLIES} plies")
        if memory_bytes < 1:
            raise OptionError(f"memory is {memory_bytes!r} bytes; allowed: an integer from 1 on")
        self.game: Final = game
        self.proof = Proof()
        self._report: Final = report
        self._table: Final = new_entries(memory_bytes)
        self._symmetries: Final = symmetry_table(game, use_symmetries)
        self._work: Final = new_work(game)
        self._started, self._before = perf_counter(), 0

    @property
    def nodes(self) -> int:
        """Positions searched since the solver was made."""
        return int(self._work["nodes"][0])

    def solve(self, position: Position, max_horizon: int = MAX_PLIES) -> Proof:
        """The value, or bounds of it where looking `max_horizon` plies ahead does not settle it.

        A finished game has its margin, at horizon 0.
        """
        self._started, self._before = perf_counter(), self.nodes
        self.proof = Proof()
        left = self.game.rules.max_plies - position.ply
        if self.game.is_terminal(position):
            self._settle(self._margin_now(position))
            left = 0
        for horizon in range(1, min(left, max_horizon) + 1):
            if self.proof.low == self.proof.high:
                break
            self.proof = replace(self.proof, horizon=horizon)
            self._look(position, horizon, horizon == left)
            self._note()
        return self.proof

    def each_move_value(self, position: Position) -> Iterator[tuple[int, int]]:
        """Each legal action with its exact value for the mover, as they are found."""
        for action in self.game.legal_actions(position):
            value = self.solve(self.game.apply(position, action)).value
            if value is None:
                raise AssertionError(f"no value after {action} in "
                                     f"{self.game.format_position(position)!r}")
            yield action, -value

    # Inside

    def _look(self, position: Position, horizon: int, is_limit: bool) -> None:
        """Better the bounds by what can be forced within the horizon."""
        low = self._narrow(position, horizon, MOVER_ENDS)
        if low > self.proof.low:
            self.proof = replace(self.proof, low=low, mover_within=horizon)
        high = self._narrow(position, horizon, OPPONENT_ENDS)
        if high < self.proof.high:
            self.proof = replace(self.proof, high=high, opponent_within=horizon)
        if is_limit:
            self._settle(self._narrow(position, horizon, TURN_LIMIT))

    def _settle(self, value: int) -> None:
        """Note the value that holds at the turn limit; earlier promises of it stay."""
        proof = self.proof
        self.proof = replace(
            proof, low=value, high=value,
            mover_within=proof.mover_within if proof.low == value else None,
            opponent_within=proof.opponent_within if proof.high == value else None)

    def _narrow(self, position: Position, left: int, claim: int) -> int:
        """The margin with this horizon and claim, by null windows within what is proven so far.

        Each window is next to the bound found before (MTD(f)), and the first at the end where the
        margin was at the last horizon.
        """
        low, high = self.proof.low, self.proof.high
        guess = {MOVER_ENDS: low, OPPONENT_ENDS: high, TURN_LIMIT: 0}[claim]
        guess = guess if LOWEST < guess < HIGHEST else 0
        while low < high:
            beta = max(min(guess + 1 if guess <= low else guess, high), low + 1)
            guess = self._ask(position, left, claim, beta)
            if guess >= beta:
                low = min(guess, high)
            else:
                high = max(guess, low)
        return low

    def _ask(self, position: Position, left: int, claim: int, beta: int) -> int:
        """A bound of a margin, found in a thread of its own, so that Ctrl-C is heard meanwhile."""
        bounds: list[int] = []
        self._work["stop"] = 0
        thread = Thread(target=lambda: bounds.append(int(ask(
            self.game.table, self._work, self._symmetries, self._table, position, left, claim,
            beta))))
        thread.start()
        try:
            while thread.is_alive():
                thread.join(_SECONDS_BETWEEN_REPORTS)
                self._note()
        finally:
            self._work["stop"] = thread.is_alive()
            thread.join()
        return bounds[0]

    def _margin_now(self, position: Position) -> int:
        points = self.game.victory_points(position)
        mover = position.ply & 1
        return points[mover] - points[1 - mover]

    def _note(self) -> None:
        """Add nodes and time to the proof; report, if somebody listens."""
        self.proof = replace(self.proof, nodes=self.nodes - self._before,
                             seconds=perf_counter() - self._started)
        if self._report:
            self._report(self.proof)
