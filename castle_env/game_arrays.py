"""Games as arrays: every position that was met, what was played there, and how the game ended."""

from collections.abc import Iterable
from os import PathLike
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from castle_env.errors import CastleError
from castle_env.game_file import read_games
from castle_env.game_record import GameRecord
from castle_env.position import PositionArray, stack
from castle_env.ruleset import Ruleset


class GameArraysError(CastleError):
    """Games that have no common arrays."""


class GameArrays(NamedTuple):
    """The m positions of several games of one ruleset in which a move was made, game by game.

    states: (m,), rows of `POSITION_DTYPE`. masks: (m, num_actions) int8, 1 = legal. actions: (m,)
    int64, what was played. outcomes: (m,) int16, the margin in Victory Points at the end of the
    game for the player to move; UNKNOWN where the game was left. games: (m,) int64, numbers of the
    games, from 0 on. chosen: (m,) bool, False in plies of a random opening.
    """

    rules: Ruleset
    states: PositionArray
    masks: npt.NDArray[np.int8]
    actions: npt.NDArray[np.int64]
    outcomes: npt.NDArray[np.int16]
    games: npt.NDArray[np.int64]
    chosen: npt.NDArray[np.bool_]


# The outcome of a game that was left: less than any margin.
UNKNOWN = int(np.iinfo(np.int16).min)


def game_arrays(games: str | PathLike[str] | Iterable[GameRecord]) -> GameArrays:
    """The games of a .castle file, or of records, as arrays.

    Raises `GameArraysError` for no games and for games of several rulesets, and what reading a file
    raises.
    """
    records = list(read_games(games) if isinstance(games, str | PathLike) else games)
    rules = {record.rules for record in records}
    if len(rules) != 1:
        names = ", ".join(sorted(one.name for one in rules))
        raise GameArraysError(f"games of {f'rulesets {names}' if rules else 'no ruleset'}; "
                              "allowed: one game or more, all of one ruleset")
    states = stack([state for record in records for state in record.states()[:-1]])
    plies = [record.plies for record in records]
    margins = [UNKNOWN if record.outcome is None else record.outcome.margin for record in records]
    outcomes = np.repeat(np.array(margins, dtype=np.int16), plies)
    theirs = (states["ply"] & 1 == 1) & (outcomes != UNKNOWN)
    return GameArrays(
        records[0].rules, states, records[0].game.legal_action_masks(states),
        np.array([action for record in records for action in record.actions], dtype=np.int64),
        np.where(theirs, -outcomes, outcomes), np.repeat(np.arange(len(records)), plies),
        np.concatenate([np.arange(record.plies) >= record.opening_plies for record in records]))
