"""The truth set: positions of default storm with the exact value of every move, for measuring.

It is two files in `experiments/data`. `truth-storm.npz` holds arrays over n positions: `states`
(n, 9) int64, the fields of `Position`; `values` (n, 24) int8, the mover's exact margin in Victory
Points at the end of the game after each slide, ABSENT where it is illegal; `sources` (n,) uint8,
who played up to there, as an index into the list of the card. `truth-storm.json`, the card, says
how the positions were made (see `experiments.measure.truth_making`), how many there are, and the
SHA-256 of the arrays' file, which is verified whenever they are read.

Rows are in the order of plies, and in random order within a ply. No two positions are the same up
to symmetry and the captures before them, and each leaves a choice of two moves or more.
"""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.carded_file import read_with_card
from agents.runs import write_with_card_atomic
from agents.solve.exact_values import ILLEGAL, Values
from castle_env import Game
from castle_env.board import ENTRIES
from castle_env.errors import CastleError
from castle_env.position import POSITION_DTYPE, PositionArray
from castle_env.ruleset import Ruleset

FORMAT: Final = 1
ABSENT: Final = int(np.iinfo(np.int8).min)
NAME: Final = "truth-storm.npz"

_KEYS: Final[Mapping[str, type]] = {"format": int, "ruleset": dict, "ruleset_digest": str,
                                    "positions": int, "sources": dict, "sha256": str}


class TruthSetError(CastleError):
    """A truth set is missing, damaged, or cannot be made."""


@dataclass(frozen=True)
class TruthSet:
    """Positions with the exact value of every move.

    states: (n,). values: (n, num_actions) int16, the mover's margin in VP after each action,
    ILLEGAL where it may not be played. sources: (n,), indices into the names of the card's
    "sources". card: as the module describes.
    """

    states: PositionArray
    values: Values
    sources: npt.NDArray[np.uint8]
    card: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.states)

    @property
    def regrets(self) -> npt.NDArray[np.float64]:
        """VP that each action throws away, (n, num_actions); NaN for illegal ones."""
        legal = self.values != ILLEGAL
        regrets: npt.NDArray[np.float64] = np.where(
            legal, self.values.max(axis=1, keepdims=True) - self.values.astype(np.float64), np.nan)
        return regrets

    def first_of_each_ply(self, count: int, from_ply: int = 0) -> "TruthSet":
        """Of each ply from `from_ply` on the first `count` positions, or all where there are fewer.
        """
        plies = self.states["ply"]
        rows = np.concatenate([np.flatnonzero(plies == ply)[:count]
                               for ply in np.unique(plies[plies >= from_ply])])
        return TruthSet(self.states[rows], self.values[rows], self.sources[rows], self.card)


def save_truth_set(path: Path, truth: TruthSet) -> None:
    """Write the arrays and then their card, completed by count and checksum."""
    buffer = io.BytesIO()
    values = np.where(truth.values == ILLEGAL, ABSENT, truth.values)[:, :ENTRIES]
    np.savez_compressed(
        buffer, states=truth.states.view(np.int64).reshape(len(truth), -1),
        values=values.astype(np.int8), sources=truth.sources)
    data = buffer.getvalue()
    write_with_card_atomic(path, data, path.with_suffix(".json"), {
        "format": FORMAT, **truth.card, "positions": len(truth),
        "sha256": hashlib.sha256(data).hexdigest()})


def load_truth_set(path: Path) -> TruthSet:
    """The truth set in a file (.npz, its card beside it); raises `TruthSetError`."""
    card, data = read_with_card(path, "truth set", _KEYS, FORMAT, TruthSetError)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            states, slides, sources = (arrays[name] for name in ("states", "values", "sources"))
        states = np.ascontiguousarray(states, dtype=np.int64).view(POSITION_DTYPE)[:, 0]
    except (ValueError, KeyError, EOFError, OSError) as error:
        raise TruthSetError(f"truth set {str(path)!r} holds no such arrays: {error}") from None
    count = card["positions"]
    if (len(states), slides.shape, sources.shape) != (count, (count, ENTRIES), (count,)):
        raise TruthSetError(f"truth set {str(path)!r} has {len(states)} states, values of shape "
                            f"{slides.shape} and {len(sources)} sources; allowed: {count} of each")
    actions = Game(Ruleset.from_dict(card["ruleset"])).num_actions
    values = np.full((count, actions), ILLEGAL, dtype=np.int16)
    values[:, :ENTRIES] = np.where(slides == ABSENT, ILLEGAL, slides.astype(np.int16))
    return TruthSet(states, values, sources, card)


@lru_cache(maxsize=1)
def shipped_truth_set() -> TruthSet:
    """That of default storm, which comes with the package."""
    with resources.as_file(resources.files("experiments") / "data") as folder:
        return load_truth_set(Path(folder) / NAME)
