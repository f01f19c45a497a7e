"""`Game`: the rules of one ruleset as pure functions of positions, for one and for many at once."""

import operator
from dataclasses import dataclass
from typing import Any, Final, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from castle_env import batch, kernels, notation, single
from castle_env.board import STORM_ACTIONS, SUDDEN_DEATH_ACTIONS, steps_off_board
from castle_env.errors import ActionError, IllegalActionError, OptionError
from castle_env.observation import (
    CELLS,
    OBSERVATION_DTYPES,
    OBSERVATION_SHAPE,
    ObservationDtype,
    Planes,
    eight_numbers,
    plane_divisors,
)
from castle_env.position import POSITION_DTYPE, Position, PositionArray
from castle_env.reasons import why_illegal
from castle_env.rule_table import rule_table
from castle_env.ruleset import STORM, SUDDEN_DEATH, Ruleset
from castle_env.symmetry import Symmetry, symmetries_of

POINT_ROWS: Final = ("captured", "besieging", "contact", "controlled", "survivor", "squares")

# Why a game ended.
ALL_TURNS_PLAYED: Final = "all_turns_played"
LAST_FACTION_ENTERED: Final = "last_faction_entered"
TURN_LIMIT: Final = "turn_limit"


# What stands for one action: an int, a NumPy integer, or a NumPy array that holds one and no axis.
Action: TypeAlias = SupportsIndex
# Truth values, which Python takes for integers, and which are no actions.
_FLAGS: Final = (bool, np.bool_)


@dataclass(frozen=True)
class Outcome:
    """How a game ended.

    winner: 0, 1, or None for a draw. margin: Victory Points of player 0 minus those of player 1.
    victory_points: (player 0, player 1). by_row: the same for each row of the table. reason:
    "all_turns_played", "last_faction_entered" or "turn_limit".
    """

    winner: int | None
    margin: int
    victory_points: tuple[int, int]
    by_row: dict[str, tuple[int, int]]
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as they go into `info`: winner is -1 for a draw.

        Gymnasium's vector environments stack infos and take only values of one type for a key.
        """
        return vars(self) | {"winner": -1 if self.winner is None else self.winner}


class Game:
    """The functional interface to the rules; positions go in and come out, nothing is kept.

    Methods on one `Position` check what they are given. Those on a batch take an array of shape
    (n,) with dtype `POSITION_DTYPE` and trust it. Masks are int8 with 1 = legal; margins are seen
    from player 0; observations are relative to the player to move.
    """

    def __init__(self, rules: Ruleset) -> None:
        self.rules: Final = rules
        self.table: Final = rule_table(rules)
        self._rules: Final = self.table[0]
        self.eights: Final = {dtype: eight_numbers(rules, dtype) for dtype in OBSERVATION_DTYPES}
        self.divisors: Final = {dtype: plane_divisors(rules, dtype)
                                 for dtype in OBSERVATION_DTYPES}
        self.num_actions: Final = STORM_ACTIONS if rules.mode == STORM else SUDDEN_DEATH_ACTIONS

    def __repr__(self) -> str:
        return f"Game({self.rules.name!r})"

    # One position

    def initial_state(self) -> Position:
        """The start: strongholds on their squares, all factions in hand, player 0 to move."""
        factions = self.rules.factions_per_player
        return Position(0, 0, int(self._rules["strongholds"]), 0, factions, factions, 0, 0, 0)

    def current_player(self, state: Position) -> int:
        """0 or 1; in a position where the game is over, the player whose turn it would be."""
        return state.ply & 1

    def is_terminal(self, state: Position) -> bool:
        """Whether the game is over by its rules."""
        return bool(single.over(self.table, tuple(state)))

    def legal_action_mask(self, state: Position) -> npt.NDArray[np.int8]:
        """Shape (num_actions,), int8, 1 = legal; all zero once the game is over."""
        mask = np.empty(self.num_actions, dtype=np.int8)
        single.mask(self.table, tuple(state), mask)
        return mask

    def legal_actions(self, state: Position) -> list[int]:
        """Indices of the legal actions in ascending order; empty once the game is over."""
        return single.list_actions(self.table, tuple(state))

    def apply(self, state: Position, action: Action) -> Position:
        """The position after an action.

        Raises `ActionError` for what is no action of this mode and `IllegalActionError`, which
        names move and position, for one that may not be played here.
        """
        number = self.check_action(action)
        after = single.apply(self.table, tuple(state), number)
        if after[-1] < 0:
            raise self.illegal(state, number)
        return Position._make(after)

    def check_action(self, action: object) -> int:
        """The action's number; `ActionError` unless it is an integer in range."""
        try:
            number = -1 if isinstance(action, _FLAGS) else operator.index(
                action)  # type: ignore[arg-type]
        except TypeError:
            number = -1
        if not 0 <= number < self.num_actions:
            raise ActionError(f"{action!r} is no action; allowed: one integer from 0 to "
                              f"{self.num_actions - 1}")
        return number

    def illegal(self, state: Position, action: int) -> IllegalActionError:
        """The error that says why an action in range may not be played in a position."""
        name = ("a step off the board" if steps_off_board(action)
                else repr(self.format_action(action)))
        where = f"in position {self.format_position(state)!r}"
        if self.is_terminal(state):
            return IllegalActionError(f"action {action} ({name}) comes after the end of the game "
                                      f"{where}")
        names = " ".join(self.format_action(legal) for legal in self.legal_actions(state))
        return IllegalActionError(f"action {action} ({name}) is illegal {where}: "
                                  f"{self.why_illegal(state, action)}; legal: {names}")

    def why_illegal(self, state: Position, action: Action) -> str | None:
        """Why an action may not be played, such as "no token to push in this lane"; None if it may.

        Raises `ActionError` for what is no action of this mode.
        """
        return why_illegal(self.table, state, self.check_action(action))

    def victory_points(self, state: Position) -> tuple[int, int]:
        """Victory Points of player 0 and player 1 as the position stands."""
        first, second = self._points(state)
        return sum(first), sum(second)

    def outcome(self, state: Position) -> Outcome | None:
        """Winner, margin, points by row and why the game ended; None while it goes on."""
        if not self.is_terminal(state):
            return None
        first, second = self._points(state)
        margin = sum(first) - sum(second)
        return Outcome(
            winner=None if margin == 0 else int(margin < 0),
            margin=margin,
            victory_points=(sum(first), sum(second)),
            by_row=dict(zip(POINT_ROWS, zip(first, second, strict=True), strict=True)),
            reason=self._reason(state),
        )

    def _points(self, state: Position) -> tuple[tuple[int, ...], tuple[int, ...]]:
        own, opposing = single.points(self.table, tuple(state))
        first, second = (opposing, own) if state.ply & 1 else (own, opposing)
        return tuple(map(int, first)), tuple(map(int, second))

    def _reason(self, state: Position) -> str:
        if self.rules.mode == STORM:
            return ALL_TURNS_PLAYED
        return LAST_FACTION_ENTERED if state.opposing_hand == 0 else TURN_LIMIT

    # Text

    def parse_position(self, text: str) -> Position:
        """Position from its text form; raises `PositionError` that says what is wrong."""
        return notation.parse_position(self.rules, text)

    def format_position(self, state: Position) -> str:
        """Text form of a position; `parse_position` gives the position back."""
        return notation.format_position(self.rules, state)

    def parse_action(self, text: str) -> int:
        """Action index from text such as "Nc", "c3c4" or "pass"; raises `ActionError`."""
        return notation.parse_action(text, self.num_actions)

    def format_action(self, action: Action) -> str:
        """Text of an action index; raises `ActionError` for what names no action."""
        return notation.format_action(self.check_action(action), self.num_actions)

    # The tree and its symmetries

    def perft(self, state: Position, depth: int) -> int:
        """Number of action sequences of exactly `depth` plies from here; passes count."""
        if isinstance(depth, bool) or not isinstance(depth, int) or depth < 0:
            raise OptionError(f"depth is {depth!r}; allowed: an integer from 0 on")
        return int(kernels.perft(self._rules, state, depth))

    def observation(
        self, state: Position, player: int, dtype: ObservationDtype = "float32"
    ) -> Planes:
        """What `player` sees, to move or not: shape (PLANES, 6, 6), relative to it.

        The planes are listed in `castle_env.observation`; those of legal entries are empty for the
        player who is not to move.
        """
        planes = np.empty(CELLS, dtype=dtype)
        single.view(self.table, tuple(state), player, self.divisors[dtype],
                    self.eights[dtype], planes)
        return planes.reshape(OBSERVATION_SHAPE)

    def symmetries(self) -> list[Symmetry]:
        """The ruleset's board symmetries as (square map, action map) pairs, identity first.

        A token on square s goes to square_map[s]; action a becomes action_map[a]. Players keep
        their seats.
        """
        return symmetries_of(self.table[0], self.num_actions)

    # Batches

    def initial_states(self, count: int) -> PositionArray:
        """A batch of `count` games at their start."""
        return np.full(count, np.array(self.initial_state(), dtype=POSITION_DTYPE))

    def legal_action_masks(self, states: PositionArray) -> npt.NDArray[np.int8]:
        """Shape (n, num_actions), int8; rows of games that are over are all zero."""
        masks = np.empty((len(states), self.num_actions), dtype=np.int8)
        batch.write_masks(self.table, states, masks)
        return masks

    def apply_actions(
        self, states: PositionArray, actions: npt.NDArray[np.int64]
    ) -> PositionArray:
        """The positions after one action each; raises as `advance` does."""
        return self.advance(states, actions)[0]

    def advance(
        self, states: PositionArray, actions: npt.NDArray[np.int64]
    ) -> tuple[PositionArray, npt.NDArray[np.bool_]]:
        """The positions after one action each, and whether each ends its game.

        Raises `ActionError` and `IllegalActionError` for the first action at fault.
        """
        numbers = self.action_array(actions, len(states))
        after = np.empty_like(states)
        over = np.empty(len(states), dtype=np.bool_)
        at_fault = batch.apply_actions(self.table, states, numbers, after, over)
        if at_fault >= 0:
            raise self.illegal_in_batch(states, numbers, at_fault)
        return after, over

    def illegal_in_batch(
        self, states: PositionArray, actions: npt.NDArray[np.int64], index: int
    ) -> IllegalActionError:
        """The error for the action of one position, which is known to be at fault.

        Raises `ActionError` where that is out of range.
        """
        return self.illegal(Position(*states[index].item()), self.check_action(actions[index]))

    def action_array(self, actions: object, count: int) -> npt.NDArray[np.int64]:
        """Actions as int64, shape (count,); `ActionError` unless they are that many integers."""
        try:
            given = np.asarray(actions)
        except ValueError:
            raise ActionError(f"actions are {actions!r}; allowed: integers of shape ({count},)"
                              ) from None
        if given.shape != (count,) or given.dtype.kind not in "iu":
            raise ActionError(f"actions have shape {given.shape} and dtype {given.dtype}; allowed: "
                              f"integers of shape ({count},)")
        return np.ascontiguousarray(given, dtype=np.int64)

    def terminals(self, states: PositionArray) -> npt.NDArray[np.bool_]:
        """Shape (n,): whether each game is over."""
        over = np.empty(len(states), dtype=np.bool_)
        batch.write_terminals(self.table, states, over)
        return over

    def margins(self, states: PositionArray) -> npt.NDArray[np.int64]:
        """Shape (n,): Victory Points of player 0 minus those of player 1 as positions stand."""
        margins = np.empty(len(states), dtype=np.int64)
        batch.write_margins(self.table, states, margins)
        return margins

    def lost_tokens(self, states: PositionArray) -> npt.NDArray[np.int64]:
        """Shape (n, 2): tokens that player 0 and player 1 have lost, whoever pushed them off."""
        lost = np.empty((len(states), 2), dtype=np.int64)
        batch.write_lost_tokens(self.table, states, lost)
        return lost

    def outcomes(self, states: PositionArray) -> dict[str, Any]:
        """The fields of `Outcome` as arrays, for a batch of games that are over.

        winner: (n,) int64, -1 for a draw. margin: (n,) int64. victory_points: (n, 2) int64.
        by_row: row -> (n, 2) int64. reason: (n,) text.
        """
        points = np.empty((len(states), 2, len(POINT_ROWS)), dtype=np.int64)
        batch.write_points(self.table, states, points)
        totals = points.sum(axis=2)
        margins = totals[:, 0] - totals[:, 1]
        return {
            "winner": np.where(margins == 0, -1, (margins < 0).astype(np.int64)),
            "margin": margins,
            "victory_points": totals,
            "by_row": {row: points[:, :, index] for index, row in enumerate(POINT_ROWS)},
            "reason": np.where(states["opposing_hand"] == 0, LAST_FACTION_ENTERED, TURN_LIMIT)
            if self.rules.mode == SUDDEN_DEATH else np.full(len(states), ALL_TURNS_PLAYED),
        }

    def encode(
        self,
        states: PositionArray,
        players: npt.NDArray[np.int64] | None = None,
        dtype: ObservationDtype = "float32",
    ) -> tuple[Planes, npt.NDArray[np.int8]]:
        """Observations (n, PLANES, 6, 6) of `dtype` and masks (n, num_actions) int8 in one pass.

        Observations are what `players`, shape (n,), see; without them, the players to move.
        """
        players = states["ply"] & 1 if players is None else players
        planes = np.empty((len(states), CELLS), dtype=dtype)
        masks = np.empty((len(states), self.num_actions), dtype=np.int8)
        batch.encode(self.table, states, players, self.divisors[dtype], self.eights[dtype], planes,
                     masks)
        return planes.reshape(len(states), *OBSERVATION_SHAPE), masks

    def observations(self, states: PositionArray) -> Planes:
        """Shape (n, PLANES, 6, 6), float32; the planes are listed in `castle_env.observation`."""
        return self.encode(states)[0]

    def random_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Shape (n,): a uniformly random legal action for each position."""
        actions = np.empty(len(states), dtype=np.int64)
        batch.choose_randomly(self.table, states, rng.random(len(states)), actions)
        return actions
