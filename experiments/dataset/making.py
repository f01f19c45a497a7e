"""Makes a dataset, part by part: games are played or read, positions drawn from them and valued.

A part is a pure function of the question and its number, so that the dataset depends neither on the
number of workers nor on stops. Parts that are done stand in a folder beside the file until it is
written.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count, product
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from agents.runs import RunError, write_bytes_atomic, write_json_atomic
from agents.search.searched_values import searched_values
from agents.solve.exact_values import ILLEGAL, Values
from agents.solve.perfect_play import perfect_play_of
from agents.tasks import MapTasks
from castle_env import Game, Ruleset
from castle_env.game_arrays import UNKNOWN, GameArrays, game_arrays
from castle_env.game_record import GameRecord
from castle_env.position import PositionArray
from experiments.dataset.files import Dataset, DatasetError, npz_bytes, without_values
from experiments.measure.match import agent_of, open_games, play_out

# exact: proven to the end of the game, in storm. search: so many plies ahead. none: no values.
Valuation: TypeAlias = Literal["exact", "search", "none"]

# Games of a part.
GAMES: Final = 64
# So many parts without a new position end the search for more.
_PATIENCE: Final = 20
_QUESTION: Final = "question.json"
_COLUMNS: Final = ("states", "masks", "values", "policies", "actions", "outcomes")


@dataclass(frozen=True)
class Question:
    """What a dataset is to hold.

    plies: the first and the last ply of its positions. players: agents, each of which plays each
    seat. opening_plies: games start after 0 to so many random plies, from which no positions are
    taken. per_game: positions drawn from a game; None takes all of these plies. records: games that
    are taken instead of playing any.
    """

    rules: Ruleset
    plies: tuple[int, int]
    valuation: Valuation
    depth: int = 0
    players: tuple[str, ...] = ()
    opening_plies: int = 0
    per_game: int | None = 1
    seed: int = 0
    records: tuple[GameRecord, ...] = ()

    def about(self) -> dict[str, Any]:
        """Plain values for a card."""
        plain = {key: value for key, value in asdict(replace(self, records=())).items()
                 if key not in ("rules", "valuation", "records")}
        return {"ruleset": self.rules.to_dict(), "ruleset_digest": self.rules.digest,
                "values": self.valuation, **plain, "games_read": len(self.records)}


@dataclass(frozen=True)
class Part:
    """A part of a dataset for a backend to make."""

    question: Question
    number: int


def make_dataset(
    question: Question, positions: int | None, folder: Path, map_tasks: MapTasks,
    advance: Callable[[int], None] = lambda done: None,
) -> Dataset:
    """The first `positions` distinct positions that the parts hold; None takes all of read games.

    folder: where parts are kept, those of an earlier call for the same question too; the caller
    removes it once the dataset is written. `advance` is told of new positions. Raises
    `DatasetError` where the games do not have so many.
    """
    _open_folder(folder, question)
    found = _Distinct(positions)
    ended = ceil(len(question.records) / GAMES) if question.records else None
    numbers, idle = count(), 0
    while not found.enough and (ended is None or found.parts < ended) and idle < _PATIENCE:
        wanted = _parts_wanted(found, positions, question)
        batch = [number for number in (next(numbers) for _ in range(wanted))
                 if ended is None or number < ended]
        before = len(found)
        for columns in _parts(question, batch, folder, map_tasks):
            found.add(columns)
        advance(len(found) - before)
        idle = 0 if len(found) > before else idle + wanted
    if positions is not None and not found.enough:
        raise DatasetError(f"{positions:,} positions are wanted, but the games have "
                           f"{len(found):,} different ones; allowed: at most so many, or other "
                           "plies, players or opening_plies")
    return found.dataset(question)


def _parts_wanted(found: "_Distinct", positions: int | None, question: Question) -> int:
    """How many parts to make at once; it depends on what was found, and on nothing else."""
    if positions is None:
        return max(1, ceil(len(question.records) / GAMES))
    by_part = len(found) / found.parts if found.parts else GAMES * (question.per_game or 1)
    return min(1024, max(1, ceil((positions - len(found)) / max(1.0, by_part))))


class _Distinct:
    """Columns of positions, each of which is there once: as it was met first."""

    def __init__(self, most: int | None) -> None:
        self.parts = 0
        self._most: Final = most
        self._seen: Final = set[bytes]()
        self._kept: Final = list[dict[str, npt.NDArray[Any]]]()

    def __len__(self) -> int:
        return len(self._seen)

    @property
    def enough(self) -> bool:
        return self._most is not None and len(self) >= self._most

    def add(self, columns: dict[str, npt.NDArray[Any]]) -> None:
        self.parts += 1
        rows = []
        for row, state in enumerate(columns["states"]):
            key = state.tobytes()
            if key not in self._seen and not self.enough:
                self._seen.add(key)
                rows.append(row)
        self._kept.append({name: column[rows] for name, column in columns.items()})

    def dataset(self, question: Question) -> Dataset:
        if not len(self):
            raise DatasetError("the games have no position of these plies; allowed: finished games "
                               "that reach them")
        whole = {name: np.concatenate([part[name] for part in self._kept]) for name in _COLUMNS}
        return Dataset(**whole, card=question.about())


def _parts(
    question: Question, numbers: Sequence[int], folder: Path, map_tasks: MapTasks
) -> list[dict[str, npt.NDArray[Any]]]:
    """Parts in the order of their numbers; those that are missing are made, and kept as made."""
    missing = [number for number in numbers if not _path(folder, number).exists()]

    def keep(index: int, columns: dict[str, npt.NDArray[Any]]) -> None:
        write_bytes_atomic(_path(folder, missing[index]), npz_bytes(columns))

    map_tasks(make_part, [Part(question, number) for number in missing], keep)
    return [_load(_path(folder, number)) for number in numbers]


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.npz"


def _load(path: Path) -> dict[str, npt.NDArray[Any]]:
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in _COLUMNS}


def _open_folder(folder: Path, question: Question) -> None:
    """Make the folder of parts; raises `DatasetError` where it is that of another question."""
    asked = question.about() | {"games": hash_of(question.records)}
    try:
        folder.mkdir(exist_ok=True)
        file = folder / _QUESTION
        if not file.exists():
            write_json_atomic(file, asked)
        before = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"cannot make folder {str(folder)!r}: {error.strerror or error}") from error
    if before != json.loads(json.dumps(asked)):
        raise DatasetError(f"folder {str(folder)!r} holds parts of another dataset; allowed: the "
                           "same options as before, or the folder removed")


def make_part(part: Part) -> dict[str, npt.NDArray[Any]]:
    """The columns of a part: positions drawn from its games, with what is known of them."""
    question = part.question
    rng = np.random.default_rng([question.seed, part.number])
    records = (list(question.records[part.number * GAMES:(part.number + 1) * GAMES])
               or _play(question, part.number, rng))
    games = game_arrays(records)
    rows = _draw(question, games, rng)
    states, masks, actions = games.states[rows], games.masks[rows], games.actions[rows]
    values = _values(question, states)
    return {"states": states, "masks": masks, "values": values,
            "policies": _policies(values, masks, actions), "actions": actions,
            "outcomes": games.outcomes[rows]}


def _play(question: Question, number: int, rng: np.random.Generator) -> list[GameRecord]:
    """The games of a part, which are all of the same two players from openings of one length."""
    game = Game(question.rules)
    pairs = list(product(question.players, repeat=2))
    first, second = (agent_of(question.rules, name) for name in pairs[number % len(pairs)])
    plies = int(rng.integers(question.opening_plies + 1))
    states, opening = open_games(game, GAMES, plies, rng)
    return play_out(game, (first, second), states, opening, rng)


def _draw(
    question: Question, games: GameArrays, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Rows of positions: of each finished game some of those in the plies that are asked for."""
    low, high = question.plies
    plies = games.states["ply"]
    fits = (plies >= low) & (plies <= high) & (games.outcomes != UNKNOWN) & games.chosen
    rows = np.flatnonzero(fits)
    if question.per_game is None:
        return rows
    order = rng.permutation(len(rows))
    by_game = order[np.argsort(games.games[rows[order]], kind="stable")]
    starts = np.searchsorted(games.games[rows[by_game]], games.games[rows[by_game]])
    return np.sort(rows[by_game[np.arange(len(rows)) - starts < question.per_game]])


def _values(question: Question, states: PositionArray) -> Values:
    game = Game(question.rules)
    if question.valuation == "exact":
        return perfect_play_of(question.rules).values_of_moves(states)
    if question.valuation == "search":
        return searched_values(game, states, question.depth)
    return without_values(len(states), game.num_actions)


def _policies(
    values: Values, masks: npt.NDArray[np.int8], actions: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    """Equal shares for the best actions, or where there are no values 1 for what was played."""
    best = (values == values.max(axis=1, keepdims=True)) & (values != ILLEGAL)
    played = np.zeros(masks.shape, dtype=np.bool_)
    played[np.arange(len(actions)), actions] = True
    chosen = np.where(best.any(axis=1, keepdims=True), best, played)
    shares: npt.NDArray[np.float32] = (chosen / chosen.sum(axis=1, keepdims=True)).astype(
        np.float32)
    return shares


def hash_of(records: Sequence[GameRecord]) -> str:
    """A checksum of the games that are read."""
    digest = hashlib.sha256()
    for record in records:
        digest.update(repr((record.rules.digest, record.start, record.actions)).encode())
    return digest.hexdigest()


def remove_parts(folder: Path) -> None:
    """Remove the folder of parts, once the dataset is written."""
    shutil.rmtree(folder, ignore_errors=True)
