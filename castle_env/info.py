"""What environments tell in `info`: numbers, under the same keys at every step.

    action_mask       (num_actions,) int8, 1 = legal
    seat              0 or 1, whose step this is; -1 in self-play when a game has just started
    played_action     the action that was played, -1 when there was none
    illegal_action    1 when the action that was given was illegal
    end_reason        0 while the game goes on, else a number of `END_REASONS`
    winner            0 or 1; -1 for a draw and while the game goes on
    margin            Victory Points of player 0 minus those of player 1
    victory_points    (2,) int64 of player 0 and player 1
    points_by_row     (2, 6) int64, the same by row of the table, in the order of `POINT_ROWS`

The last three are 0 while the game goes on. With `text_info=True` also `position`, the text form
of the position, and `end_reason_text`, "" while the game goes on. Batched environments put one
more axis, of games, in front, and beside each key a boolean `_key` that is true where it holds.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from castle_env import batch
from castle_env.batch_turns import (
    BY_ROW,
    FACTION_ENTERED,
    ILLEGAL,
    LOST_BY_ACTION,
    MARGIN,
    PLAYED,
    POINTS,
    REASON,
    TURN_LIMIT_REACHED,
    TURNS_PLAYED,
    WINNER,
)
from castle_env.game import (
    ALL_TURNS_PLAYED,
    LAST_FACTION_ENTERED,
    POINT_ROWS,
    TURN_LIMIT,
    Game,
)
from castle_env.position import PositionArray, unstack
from castle_env.ruleset import STORM

ILLEGAL_ACTION: Final = "illegal_action"
END_REASONS: Final = ("", ALL_TURNS_PLAYED, LAST_FACTION_ENTERED, TURN_LIMIT, ILLEGAL_ACTION)

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def infos_of(told: Ints, count: int) -> dict[str, Ints]:
    """All keys but the mask for a batch of `count` games, as parts of what its steps tell.

    told: (TOLD * count,), see `castle_env.batch_turns`.
    """
    return {
        "seat": told[:PLAYED * count],
        "played_action": told[PLAYED * count:ILLEGAL * count],
        "illegal_action": told[ILLEGAL * count:REASON * count],
        "end_reason": told[REASON * count:WINNER * count],
        "winner": told[WINNER * count:MARGIN * count],
        "margin": told[MARGIN * count:POINTS * count],
        "victory_points": told[POINTS * count:BY_ROW * count].reshape(count, 2),
        "points_by_row": told[BY_ROW * count:].reshape(count, 2, len(POINT_ROWS)),
    }


def no_end_info() -> dict[str, Any]:
    """The five keys from `end_reason` on while a game goes on."""
    return {"end_reason": 0, "winner": -1, "margin": 0,
            "victory_points": np.zeros(2, dtype=np.int64),
            "points_by_row": np.zeros((2, len(POINT_ROWS)), dtype=np.int64)}


def one_end_info(game: Game, states: PositionArray, loser: int) -> dict[str, Any]:
    """The same keys of a game that is over, whose states have shape (1,).

    loser: who has lost by an illegal action, or -1.
    """
    points = np.empty((1, 2, len(POINT_ROWS)), dtype=np.int64)
    batch.write_points(game.table, states, points)
    first, second = map(sum, points[0].tolist())
    reason, winner = TURNS_PLAYED, -1 if first == second else int(first < second)
    if game.rules.mode != STORM:
        entered = states["opposing_hand"][0] == 0
        reason = FACTION_ENTERED if entered else TURN_LIMIT_REACHED
    if loser >= 0:
        reason, winner = LOST_BY_ACTION, 1 - loser
    return {"end_reason": reason, "winner": winner, "margin": first - second,
            "victory_points": np.array((first, second)), "points_by_row": points[0]}


def tell_starts(info: dict[str, Any], games: Ints, seats: Any) -> None:
    """Write into infos of a batch that these games have just started, in these `seats`."""
    start = {"seat": seats, "played_action": -1, "illegal_action": 0, **no_end_info()}
    for key, value in start.items():
        info[key][games] = value


def text_infos(game: Game, states: PositionArray, reasons: Ints) -> dict[str, npt.NDArray[Any]]:
    """Texts of a batch, as object arrays of shape (n,)."""
    positions = [game.format_position(position) for position in unstack(states)]
    return {"position": np.array(positions, dtype=object),
            "end_reason_text": np.array([END_REASONS[reason] for reason in reasons], dtype=object)}


def with_flags(info: dict[str, Any], flags: Flags) -> dict[str, Any]:
    """Infos of a batch with a `_key` beside each key, true where `flags`, shape (n,), are."""
    copies = np.empty((len(info), len(flags)), dtype=np.bool_)
    copies[:] = flags
    return info | {f"_{key}": copy for key, copy in zip(info, copies, strict=True)}


def scatter(values: npt.NDArray[Any], chosen: Flags) -> npt.NDArray[Any]:
    """Rows of the chosen games as rows of all games, zero elsewhere (None for objects)."""
    spread = np.zeros((len(chosen), *values.shape[1:]), dtype=values.dtype)
    if values.dtype == np.object_:
        spread[:] = None
    spread[chosen] = values
    return spread


class FinalObservations(list[Any]):
    """What finished games looked like at their end: an observation or None for each game.

    Gymnasium has an object array in this place. This list can be read as one, by number, slice or
    boolean mask, and other than an object array it can be turned into tensors.
    """

    def __getitem__(self, chosen: Any) -> Any:
        """One entry, or an object array of the chosen ones."""
        if isinstance(chosen, int | np.integer):
            return super().__getitem__(int(chosen))
        array = np.full(len(self), None, dtype=object)
        for index, observation in enumerate(self):
            array[index] = observation
        return array[chosen]


def final_infos(
    planes: npt.NDArray[Any], masks: npt.NDArray[np.int8], info: dict[str, Any], ended: Flags,
    as_dict: bool,
) -> dict[str, Any]:
    """What SAME_STEP mode tells of games that have `ended`, (n,), before others take their places.

    planes, masks: (k, PLANES, 6, 6) and (k, num_actions) of these games alone, which as
    observations are planes or `as_dict`. info: of all games, without masks.
    """
    observations: list[Any] = [None] * len(ended)
    for game, seen, mask in zip(np.flatnonzero(ended), planes, masks, strict=True):
        observations[game] = {"observation": seen, "action_mask": mask} if as_dict else seen
    ends = {"action_mask": scatter(masks, ended)}
    ends |= {key: scatter(values[ended], ended) for key, values in info.items()}
    return {"final_obs": FinalObservations(observations), "_final_obs": ended.copy(),
            "final_info": with_flags(ends, ended), "_final_info": ended.copy()}
