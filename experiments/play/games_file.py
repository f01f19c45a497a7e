"""Games written to a file while they are played, and games picked out of a file."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path

from agents.locks import locked
from agents.runs import RunError, check_writable
from castle_env.game_file import GameFileError, format_game, read_games
from castle_env.game_record import GameRecord

Save = Callable[[Iterable[GameRecord]], None]


@contextmanager
def new_games_file(path: Path | None) -> Iterator[Save]:
    """A function that adds games to a new file; it does nothing where `path` is None.

    Until the block ends the games stand in `path` with ".part" added, each written whole as soon as
    it is handed over, and cut off again if the disk is full; then, however the block ends, the file
    gets its name if there is a game in it. Raises `RunError` if one of the two exists already, but
    for an empty ".part" that nobody writes to, or cannot be written.
    """
    if path is None:
        yield lambda games: None
        return
    check_writable(path)
    part = path.with_name(path.name + ".part")
    with locked(part):
        for taken in (path, part):
            if os.path.lexists(taken) and (taken == path or taken.stat().st_size):
                raise RunError(f"{str(taken)!r} exists already and is left as it is; choose "
                               "another name for the games")
        with _part_file(path, part) as save:
            yield save


@contextmanager
def _part_file(path: Path, part: Path) -> Iterator[Save]:
    whole = 0

    def save(games: Iterable[GameRecord]) -> None:
        nonlocal whole
        for game in games:
            text = ("\n" if whole else "") + format_game(game)
            try:
                whole += _write(file, text.encode())
            except OSError as error:
                raise RunError(f"cannot write {str(part)!r}: {error.strerror or error}") from error

    with open(part, "wb", buffering=0) as file:
        try:
            yield save
        finally:
            file.truncate(whole)
            if not whole:
                part.unlink()
            elif os.path.lexists(path):
                raise RunError(f"{str(path)!r} has come to exist; the games are in {str(part)!r}")
            else:
                part.rename(path)


def _write(file: RawIOBase, data: bytes) -> int:
    """Write all of the data, at one go where the disk takes it; their number of bytes."""
    left = data
    while left:
        left = left[file.write(left) or 0:]
    return len(data)


def read_game(path: Path, number: int) -> GameRecord:
    """The game with this number, from 1 on, of a file; raises `GameFileError`.

    All of the file is read, so that what is wrong behind the game is seen too.
    """
    return nth_game(list(read_games(path)), number, str(path))


def nth_game(games: Sequence[GameRecord], number: int, name: str) -> GameRecord:
    """The game with this number of those in the file `name`; raises `GameFileError`."""
    if not 1 <= number <= len(games):
        raise GameFileError(f"game {number} of {name!r}; allowed: "
                            + (f"1 to {len(games)}" if games else "none, since it holds no games"))
    return games[number - 1]
