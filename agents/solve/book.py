"""Books: exact values of all positions of a storm ruleset up to a ply, up to symmetry.

A book is two files. `NAME.npy` is an array of BOOK_DTYPE, sorted, each row a key as drawn in
`agents.search.position_key` and the exact margin of the player to move, captures before the
position not counted. `NAME.json`, its card, tells the ruleset, how far the book reaches, the
SHA-256 of the array's file, and the command and the versions that made it.

Only positions of the last ply are solved; the others follow from them. While a book is made, each
solved position is written as a line to `NAME.journal`, from which a stopped build can go on.
"""

import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from agents.carded_file import read_card, read_with_card
from agents.locks import locked
from agents.runs import environment_info, write_with_card_atomic
from agents.search.board import board_of
from agents.search.position_key import Symmetries, canonical_key, symmetry_table
from agents.solve.storm_solver import DEFAULT_MEMORY, Solver, captured_margin
from agents.tasks import MapTasks, map_here
from castle_env.errors import CastleError, OptionError
from castle_env.game import Game
from castle_env.position import Position
from castle_env.ruleset import Ruleset

BOOK_DTYPE: Final = np.dtype([("low", "<i8"), ("high", "<i4"), ("value", "<i2")])
FORMAT: Final = 1
_CARD_KEYS: Final[Mapping[str, type]] = {"ruleset_digest": str, "plies": int, "positions": int}
SHIPPED: Final = Path(__file__).parents[1] / "data"

Key: TypeAlias = tuple[int, int]
Advance: TypeAlias = Callable[[int, int], None]
SolveTask: TypeAlias = tuple[Ruleset, int, Position]


class BookError(CastleError):
    """A book is missing, damaged, of another ruleset, or cannot be made."""


@dataclass(frozen=True)
class Book:
    """Exact values of every position of a ruleset up to `plies` plies from the start."""

    game: Game
    plies: int
    values: dict[Key, int]

    def value(self, position: Position) -> int | None:
        """The mover's exact margin under best play by both; None where the book has no answer."""
        if position.ply > self.plies:
            return None
        value = self.values.get(key_of(self.game, position))
        return None if value is None else value + captured_margin(self.game.rules, position)


def key_of(game: Game, position: Position) -> Key:
    """The key of a position, the same for all that symmetries of the ruleset join."""
    plies_left = game.rules.max_plies - position.ply
    low, high = canonical_key(_symmetries(game.rules), board_of(position), plies_left)[0]
    return int(low), int(high)


@cache
def _symmetries(rules: Ruleset) -> Symmetries:
    table: Symmetries = symmetry_table(Game(rules))[0]
    return table


# Making one


def build(
    game: Game,
    plies: int,
    out: Path,
    map_tasks: MapTasks = map_here,
    memory_bytes: int = DEFAULT_MEMORY,
    command: str = "",
    advance: Advance = lambda done, total: None,
) -> Book:
    """Make a book and write it to `out` (.npy) and its card; a build that was stopped goes on.

    A book that is there already is read and returned; anything else that is there stays.
    `map_tasks` solves positions, in each of its processes with a table of `memory_bytes`; the book
    is the same for any number of them. `advance` is told how many positions of the last ply are
    solved, and of how many. Raises `BookError` and `OptionError`.
    """
    if not 0 <= plies <= game.rules.max_plies:
        raise OptionError(f"book_plies is {plies}; allowed: 0 to {game.rules.max_plies} in ruleset "
                          f"{game.rules.name!r}")
    if out.suffix != ".npy":
        raise BookError(f"book {str(out)!r}; allowed: a file name that ends in .npy")
    Solver(game, 1)  # Refuses other modes before anything is written.
    with locked(out):
        return _finished(game, plies, out) or _build(game, plies, out, map_tasks, memory_bytes,
                                                     command, advance)


def _finished(game: Game, plies: int, out: Path) -> Book | None:
    """The book that a file holds already; raises `BookError` for anything else that is there."""
    card, journal = card_path(out), out.with_suffix(".journal")
    if card.exists():
        book = load_book(out, game)
        if book.plies != plies:
            raise BookError(f"book {str(out)!r} reaches ply {book.plies} and is left as it is; "
                            f"allowed: book_plies {book.plies}, or another file")
        return book
    if out.exists() and not journal.exists():
        raise BookError(f"{str(out)!r} exists already and is left as it is; choose another file")
    return None


def _build(
    game: Game, plies: int, out: Path, map_tasks: MapTasks, memory_bytes: int, command: str,
    advance: Advance,
) -> Book:
    layers = positions_by_ply(game, plies)
    journal = out.with_suffix(".journal")
    solved = _solve_all(game, layers[-1], journal, map_tasks, memory_bytes, advance)
    book = Book(game, plies, _backed_up(game, layers, solved))
    _write(book, out, command)
    journal.unlink(missing_ok=True)
    return book


def positions_by_ply(game: Game, plies: int) -> list[dict[Key, Position]]:
    """By ply, from 0 to `plies`: all positions that can be reached, one for each key."""
    start = game.initial_state()
    layers = [{key_of(game, start): start}]
    for _ in range(plies):
        after = (game.apply(position, action) for position in layers[-1].values()
                 for action in game.legal_actions(position))
        layers.append({key_of(game, position): position for position in after})
    return layers


def _backed_up(
    game: Game, layers: list[dict[Key, Position]], solved: dict[Key, int]
) -> dict[Key, int]:
    """Values of all positions, computed back from those of the last layer, `solved`."""
    book = Book(game, len(layers) - 1, dict(solved))
    for layer in layers[-2::-1]:
        for key, position in layer.items():
            after = [book.value(game.apply(position, action))
                     for action in game.legal_actions(position)]
            best = max(-value for value in after if value is not None)
            book.values[key] = best - captured_margin(game.rules, position)
    return book.values


def _solve_all(
    game: Game, positions: dict[Key, Position], journal: Path, map_tasks: MapTasks,
    memory_bytes: int, advance: Advance
) -> dict[Key, int]:
    """Values by key, captures left out; each one is in the journal as soon as it is known."""
    solved, whole = _read_journal(game, journal, positions)
    todo = [position for key, position in positions.items() if key not in solved]
    try:
        with open(journal, "ab") as file:
            file.truncate(whole)
            if not whole:
                file.write(_journal_head(game))
            advance(len(solved), len(positions))

            def keep(index: int, margin: int) -> None:
                low, high = key_of(game, todo[index])
                solved[low, high] = margin - captured_margin(game.rules, todo[index])
                file.write(f"{low} {high} {solved[low, high]}\n".encode())
                file.flush()
                advance(len(solved), len(positions))

            map_tasks(_solve, [(game.rules, memory_bytes, position) for position in todo], keep)
    except OSError as error:
        raise BookError(f"cannot write {str(journal)!r}: {error.strerror or error}") from error
    return solved


def _journal_head(game: Game) -> bytes:
    return f"book of ruleset {game.rules.digest}\n".encode()


def _read_journal(
    game: Game, journal: Path, positions: dict[Key, Position]
) -> tuple[dict[Key, int], int]:
    """Values by key, and how many bytes are whole lines; a killed process leaves part of one."""
    try:
        data = journal.read_bytes() if journal.exists() else b""
    except OSError as error:
        raise BookError(f"cannot read {str(journal)!r}: {error.strerror or error}") from error
    head, *lines = data[:data.rfind(b"\n") + 1].splitlines(keepends=True) or [b""]
    if head and head != _journal_head(game):
        raise BookError(f"journal {str(journal)!r} begins with {head[:60]!r}; allowed: "
                        f"{_journal_head(game)!r}; remove it to start anew")
    try:
        rows = [tuple(map(int, line.split())) for line in lines]
        solved = {(low, high): value for low, high, value in rows if (low, high) in positions}
    except ValueError:
        raise BookError(f"journal {str(journal)!r} is damaged; remove it to start anew") from None
    return solved, len(head) + sum(map(len, lines))


@lru_cache(maxsize=1)
def _solver_of(rules: Ruleset, memory_bytes: int) -> Solver:
    return Solver(Game(rules), memory_bytes)


def _solve(task: SolveTask) -> int:
    """The mover's exact margin; a process keeps the table that it fills."""
    rules, memory_bytes, position = task
    return _solver_of(rules, memory_bytes).solve(position)


def _write(book: Book, out: Path, command: str) -> None:
    """Write the array and then its card."""
    rows = np.array(sorted((*key, value) for key, value in book.values.items()), dtype=BOOK_DTYPE)
    buffer = io.BytesIO()
    np.save(buffer, rows, allow_pickle=False)
    data = buffer.getvalue()
    made_by = environment_info()
    write_with_card_atomic(out, data, card_path(out), {
        "format": FORMAT,
        "ruleset": book.game.rules.to_dict(),
        "ruleset_digest": book.game.rules.digest,
        "plies": book.plies,
        "positions": len(rows),
        "sha256": hashlib.sha256(data).hexdigest(),
        "command": command,
        "versions": {"python": made_by["python"], **made_by["packages"]},
    })


# Reading one


def card_path(path: Path) -> Path:
    """Where the card of a book is."""
    return path.with_suffix(".json")


def load_book(path: Path, game: Game) -> Book:
    """The book in a file (.npy, its card beside it); raises `BookError` for all that is wrong."""
    card, data = read_with_card(path, "book", _CARD_KEYS, FORMAT, BookError)
    if card["ruleset_digest"] != game.rules.digest:
        raise BookError(f"book {str(path)!r} is of ruleset {card['ruleset_digest']!r}; allowed: "
                        f"{game.rules.digest!r}, the digest of {game.rules.name!r}")
    try:
        rows: npt.NDArray[np.void] = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise BookError(f"book {str(path)!r} is no array: {error}") from None
    if rows.dtype != BOOK_DTYPE or rows.shape != (card["positions"],):
        raise BookError(f"book {str(path)!r} has shape {rows.shape} and dtype {rows.dtype}; "
                        f"allowed: {(card['positions'],)} and {BOOK_DTYPE}")
    return Book(game, card["plies"], {(low, high): value for low, high, value in rows.tolist()})


def shipped_book(game: Game) -> Book | None:
    """The book of a ruleset that comes with the package, if there is one."""
    for path in sorted(SHIPPED.glob("*.npy")):
        card = read_card(path, "book", _CARD_KEYS, FORMAT, BookError)
        if card["ruleset_digest"] == game.rules.digest:
            return load_book(path, game)
    return None
