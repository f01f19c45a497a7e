"""Files of a dataset: NAME.npz or NAME.parquet, with a card, NAME.json, beside it.

Both kinds of file hold the columns of `Dataset`, whose lengths are the number of positions n. The
card says how the positions were made, what the columns are, and the SHA-256 of the file.
"""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from agents.carded_file import read_with_card
from agents.runs import write_with_card_atomic
from agents.solve.exact_values import ILLEGAL
from castle_env import Game, Ruleset
from castle_env.errors import CastleError
from castle_env.observation import ObservationDtype
from castle_env.position import POSITION_DTYPE, Position, PositionArray

if TYPE_CHECKING:
    import torch

FORMAT: Final = 1
SUFFIXES: Final = (".npz", ".parquet")

Columns: TypeAlias = dict[str, npt.NDArray[Any]]

# Columns with their dtypes; of those with a width each row has so many numbers.
_DTYPES: Final[Mapping[str, Any]] = {
    "states": np.int64, "masks": np.int8, "values": np.int16, "policies": np.float32,
    "actions": np.int64, "outcomes": np.int16}
_CARD_KEYS: Final[Mapping[str, type]] = {
    "format": int, "ruleset": dict, "ruleset_digest": str, "positions": int, "values": str,
    "sha256": str}


class DatasetError(CastleError):
    """A dataset is missing, damaged, or cannot be made."""


@dataclass(frozen=True)
class Dataset:
    """Positions with what is known of them; all is seen from the player to move.

    states: (n,), rows of `POSITION_DTYPE`. masks: (n, num_actions) int8, 1 = legal. values:
    (n, num_actions) int16, the margin in Victory Points after each action, -32768 where it is
    illegal, and everywhere in a dataset without values. policies: (n, num_actions) float32, equal
    shares for the actions of the greatest value, or without values 1 for the action that was
    played. actions: (n,) int64, what was played in the game that the position comes from. outcomes:
    (n,) int16, the margin at the end of that game. card: as the module describes.
    """

    states: PositionArray
    masks: npt.NDArray[np.int8]
    values: npt.NDArray[np.int16]
    policies: npt.NDArray[np.float32]
    actions: npt.NDArray[np.int64]
    outcomes: npt.NDArray[np.int16]
    card: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.states)

    @property
    def game(self) -> Game:
        """The game of the dataset's ruleset."""
        return Game(Ruleset.from_dict(self.card["ruleset"]))

    @property
    def best_values(self) -> npt.NDArray[np.int16]:
        """What each position is worth to the player to move, (n,) int16: its greatest value."""
        best: npt.NDArray[np.int16] = self.values.max(axis=1)
        return best

    def observations(self, dtype: ObservationDtype = "float32") -> npt.NDArray[Any]:
        """What the environments show of each position, (n, 18, 6, 6)."""
        return self.game.encode(self.states, dtype=dtype)[0]

    def arrays(self) -> Columns:
        """All columns as NumPy arrays, with `observations` and `best_values`."""
        return {"observations": self.observations(), "best_values": self.best_values,
                **{name: getattr(self, name) for name in _DTYPES}}

    def tensors(self, device: str = "cpu") -> "dict[str, torch.Tensor]":
        """The arrays but `states` as PyTorch tensors."""
        import torch

        return {name: torch.as_tensor(array, device=device)
                for name, array in self.arrays().items() if name != "states"}


def save_dataset(path: Path, dataset: Dataset) -> None:
    """Write the file and then its card, completed by columns, count and checksum."""
    columns: Columns = {name: getattr(dataset, name) for name in _DTYPES}
    columns["states"] = dataset.states.view(np.int64).reshape(len(dataset), -1)
    data = npz_bytes(columns) if path.suffix == ".npz" else _parquet_bytes(columns)
    write_with_card_atomic(path, data, card_of(path), {
        "format": FORMAT, **dataset.card, "positions": len(dataset),
        "columns": {name: {"dtype": str(array.dtype), "shape": array.shape}
                    for name, array in columns.items()},
        "sha256": hashlib.sha256(data).hexdigest()})


def load_dataset(path: str | PathLike[str]) -> Dataset:
    """The dataset in a file, its card beside it; raises `DatasetError`."""
    file = Path(path)
    check_suffix(file)
    card, data = read_with_card(file, "dataset", _CARD_KEYS, FORMAT, DatasetError)
    try:
        found = _read_npz(data) if file.suffix == ".npz" else _read_parquet(data)
        columns = {name: found[name] for name in _DTYPES}
    except (ValueError, KeyError, EOFError, OSError) as error:
        raise DatasetError(f"dataset {str(file)!r} holds no such columns: {error}") from None
    _check(file, columns, card)
    states = np.ascontiguousarray(columns.pop("states")).view(POSITION_DTYPE)[:, 0]
    return Dataset(states=states, **columns, card=card)


def card_of(path: Path) -> Path:
    """The card of a dataset's file."""
    return path.with_suffix(".json")


def check_suffix(path: Path) -> None:
    """Raise `DatasetError` for a name that says no kind of file."""
    if path.suffix not in SUFFIXES:
        raise DatasetError(f"dataset {str(path)!r}; allowed: a file name that ends in "
                           f"{' or '.join(SUFFIXES)}")
    if path.suffix == ".parquet":
        import_module("pyarrow.parquet")


def _check(path: Path, columns: Columns, card: Mapping[str, Any]) -> None:
    count, actions = card["positions"], Game(Ruleset.from_dict(card["ruleset"])).num_actions
    widths = {"states": (len(Position._fields),), "actions": (), "outcomes": ()}
    for name, array in columns.items():
        shape = (count, *widths.get(name, (actions,)))
        if array.shape != shape or array.dtype != _DTYPES[name]:
            raise DatasetError(f"dataset {str(path)!r} has {name} of shape {array.shape} and dtype "
                               f"{array.dtype}; allowed: {shape} and {np.dtype(_DTYPES[name])}")


def _read_npz(data: bytes) -> Columns:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in _DTYPES}


def npz_bytes(columns: Columns) -> bytes:
    """The columns as a compressed file of NumPy."""
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, states=columns["states"], masks=columns["masks"], values=columns["values"],
        policies=columns["policies"], actions=columns["actions"], outcomes=columns["outcomes"])
    return buffer.getvalue()


def _parquet_bytes(columns: Columns) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {name: pa.array(array) if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(
        pa.array(array.reshape(-1)), array.shape[1]) for name, array in columns.items()}
    buffer = io.BytesIO()
    pq.write_table(pa.table(table), buffer, compression="zstd")
    return buffer.getvalue()


def _read_parquet(data: bytes) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(data))
    found: Columns = {}
    for name in _DTYPES:
        column = table[name].combine_chunks()
        if pa.types.is_fixed_size_list(column.type):
            found[name] = column.flatten().to_numpy().reshape(len(column), -1)
        else:
            found[name] = column.to_numpy()
    return found


def without_values(count: int, actions: int) -> npt.NDArray[np.int16]:
    """The column of values where there are none."""
    return np.full((count, actions), ILLEGAL, dtype=np.int16)
