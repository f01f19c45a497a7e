"""The newest positions of self-play with what a network is to say of them, in compact arrays."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.training.resuming import check_boards
from castle_env.game import Game
from castle_env.position import POSITION_DTYPE, PositionArray
from castle_env.ruleset import STORM

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Masks = npt.NDArray[np.int8]
Probabilities = npt.NDArray[np.uint16]

# The most legal actions of a position: a lane in each direction of storm, and four steps more for
# each faction that can be on the board in sudden death. There are never more than these.
_STORM_ACTIONS: Final = 24
_SUDDEN_DEATH_ACTIONS: Final = 56
_ONE: Final = 65_535
_BITBOARDS: Final = ("own", "opposing", "strongholds", "bastion")
_COUNTS: Final = tuple(name for name in POSITION_DTYPE.names or () if name not in _BITBOARDS)


class Samples(NamedTuple):
    """Positions (n,), policies as `pack` gives them (n, most actions), and values in rewards (n,).
    """

    states: PositionArray
    policies: Probabilities
    values: Floats


def most_actions(game: Game) -> int:
    """The most legal actions that a position can have."""
    return _STORM_ACTIONS if game.rules.mode == STORM else _SUDDEN_DEATH_ACTIONS


def pack(game: Game, policies: Floats, masks: Masks) -> Probabilities:
    """Probabilities of the legal actions alone, in their order, as 16-bit shares of 1.

    policies, masks: (n, num_actions). Gives (n, most actions).
    """
    packed = np.zeros((len(policies), most_actions(game)), dtype=np.uint16)
    legal = masks == 1
    packed[_places(masks, packed.shape[1])] = np.rint(policies[legal] * _ONE)
    return packed


def unpack(packed: Probabilities, masks: Masks) -> Floats:
    """The policies (n, num_actions) that were packed; they add up to 1 again."""
    policies = np.zeros(masks.shape, dtype=np.float32)
    policies[masks == 1] = packed[_places(masks, packed.shape[1])]
    policies /= policies.sum(axis=1, keepdims=True)
    return policies


def _places(masks: Masks, width: int) -> npt.NDArray[np.bool_]:
    """Which of the places of packed rows are in use."""
    used: npt.NDArray[np.bool_] = np.arange(width) < masks.sum(axis=1, dtype=np.int64)[:, None]
    return used


class ReplayWindow:
    """A ring of the newest `size` samples.

    added: how many have been put in so far. filled: how many of them are still there.
    """

    def __init__(self, game: Game, size: int) -> None:
        self.size: Final = size
        self.added = 0
        self._states: Final = np.zeros(size, dtype=POSITION_DTYPE)
        self._policies: Final = np.zeros((size, most_actions(game)), dtype=np.uint16)
        self._values: Final = np.zeros(size, dtype=np.float32)

    def add(self, samples: Samples) -> None:
        """Put samples in, over the oldest ones where the window is full."""
        for first in range(0, len(samples.values), self.size):
            some = slice(first, first + self.size)
            part = Samples(samples.states[some], samples.policies[some], samples.values[some])
            rows = (self.added + np.arange(len(part.values))) % self.size
            self._states[rows], self._policies[rows], self._values[rows] = part
            self.added += len(rows)

    @property
    def filled(self) -> int:
        """How many samples there are."""
        return min(self.size, self.added)

    def draw(self, count: int, rng: np.random.Generator) -> Samples:
        """Samples (count,), each any of the window's."""
        rows = rng.integers(self.filled, size=count)
        return Samples(self._states[rows], self._policies[rows], self._values[rows])

    def get_state(self) -> dict[str, Any]:
        """What the window holds, as plain values and small arrays."""
        states = self._states[:self.filled]
        return {
            "added": self.added,
            "bitboards": np.stack([states[name] for name in _BITBOARDS]),
            "counts": np.stack([states[name] for name in _COUNTS]).astype(np.int16),
            "policies": self._policies[:self.filled].view(np.int16).copy(),
            "values": self._values[:self.filled].copy(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Take up what `get_state` gave."""
        self.added = state["added"]
        used = slice(self.filled)
        for name, column in zip(_BITBOARDS, state["bitboards"], strict=True):
            self._states[name][used] = column
        for name, column in zip(_COUNTS, state["counts"], strict=True):
            self._states[name][used] = column
        check_boards(self._states[used])
        self._policies[used] = state["policies"].view(np.uint16)
        self._values[used] = state["values"]
