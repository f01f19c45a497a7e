"""`castle solve`: the exact value of a storm position, the best line, the worth of each move.

With `--book-plies` it makes a book of exact values instead.
"""

from contextlib import nullcontext, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Final

from rich.console import Console

from agents.locks import locked
from agents.runs import check_writable
from agents.search.horizon_plies import MAX_PLIES
from agents.solve import kept_proof
from agents.solve.book import build, card_path
from agents.solve.storm_solver import Solver
from agents.solve.sudden_death_solver import Proof, SuddenDeathSolver
from castle_env import Game, OptionError, Position, load_ruleset
from castle_env.ruleset import SUDDEN_DEATH
from experiments.options import (
    BackendOptions,
    OptionalFile,
    OptionalNumber,
    OptionalRulesetArgument,
    OptionalText,
    OutputOptions,
    command_line,
    memory_bytes,
)
from experiments.output import tell
from experiments.report import storm_proof, sudden_death_proof

SECONDS_BETWEEN_SAVES: Final = 600


@dataclass(frozen=True)
class Solve(BackendOptions, OutputOptions):
    """Prove what perfect play by both leads to. Ctrl-C prints what is proven so far."""

    preset: OptionalRulesetArgument = "storm"
    """A preset's name or the path of a TOML file."""
    ruleset: OptionalText = None
    """The path of a TOML file, or a preset's name, instead."""
    position: OptionalText = None
    """Text of the position to solve; the start when left out."""
    wdl: bool = False
    """Only whether the mover wins, draws or loses, which is sooner known."""
    memory: str = "256MiB"
    """Size of the table, as in 4GiB (B, KiB, MiB, GiB); all of default storm fits into 64MiB."""
    threads: int = 1
    """Threads that search together; results do not depend on it."""
    bounds: bool = False
    """Sudden death: stop after --plies, if need be with a lower and an upper bound."""
    plies: int = 16
    """With --bounds: plies within which an end may be forced, at most."""
    resume: bool = False
    """Sudden death: go on where an earlier run with --resume was stopped. Its table and what it has
    proven are kept in runs/, every ten minutes and at the end."""
    book_plies: OptionalNumber = None
    """Make a book instead: exact values of all positions up to this ply, up to symmetry. Stopped,
    the same command goes on where it was."""
    out: OptionalFile = None
    """File of the book (.npy); its card (.json) is written beside it. Each worker has a table of
    its own; the book does not depend on their number."""


def run(options: Solve) -> None:
    """Solve, print, and write the file if one was asked for; the same when interrupted."""
    game = Game(load_ruleset(options.ruleset or options.preset))
    if game.rules.mode == SUDDEN_DEATH:
        solve_sudden_death(options, game)
        return
    if options.bounds or options.plies != Solve.plies or options.resume:
        raise OptionError("--bounds, --plies and --resume are for sudden death; storm is solved to "
                          "its end")
    if options.book_plies is not None or options.out is not None:
        make_book(options, game)
        return
    position = (game.initial_state() if options.position is None
                else game.parse_position(options.position))
    console = Console(stderr=True)
    proven = storm_proof.Proven()
    with console.status("") as status:
        solver = Solver(game, memory_bytes(options.memory), options.threads,
                        lambda progress: status.update(
                            storm_proof.progress_text(game, progress)))
        try:
            storm_proof.prove(solver, position, options.wdl, proven)
        finally:
            status.stop()
            options.write_json(storm_proof.to_dict(game, position, proven, solver))
            tell(storm_proof.report(game, position, proven, solver))


def solve_sudden_death(options: Solve, game: Game) -> None:
    """Prove the value of a position, or bounds of it, print them, and write the file; what is
    proven when interrupted.
    """
    if options.wdl or options.book_plies is not None or options.out:
        raise OptionError("--wdl, --book-plies and --out are for storm; allowed in sudden death: "
                          "--position, --memory, --threads, --json, --quiet, --bounds, --plies, "
                          "--resume, --backend, --workers and --address")
    if options.threads != 1 and not options.is_default:
        raise OptionError("--threads goes without --backend, --workers and --address: each worker "
                          "searches in one thread")
    if not 1 <= options.plies <= MAX_PLIES:
        raise OptionError(f"plies is {options.plies}; allowed: an integer from 1 to {MAX_PLIES}")
    position = (game.initial_state() if options.position is None
                else game.parse_position(options.position))
    map_tasks = None if options.is_default else options.start().map
    path = kept_path(game, position) if options.resume else None
    with (locked(path) if path else nullcontext(),
          Console(stderr=True).status("") as status):
        kept: Kept | None = None

        def report(proof: Proof) -> None:
            status.update(sudden_death_proof.progress_text(proof))
            if kept:
                kept.save_now_and_then()

        solver = SuddenDeathSolver(game, memory_bytes(options.memory), report, map_tasks=map_tasks,
                                   threads=options.threads)
        kept = Kept(path, solver, position) if path else None
        try:
            solver.solve(position, options.plies if options.bounds else MAX_PLIES,
                         kept.known if kept else None)
        finally:
            status.stop()
            if kept:
                kept.save()
            options.write_json(sudden_death_proof.to_dict(game, position, solver.proof))
            tell(sudden_death_proof.report(game, position, solver.proof))


def kept_path(game: Game, position: Position) -> Path:
    """The file in runs/ in which the proof of a position is kept; makes the folder if it can."""
    folder, text = Path("runs"), game.format_position(position)
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
    return folder / f"proof-{game.rules.digest}-{sha256(text.encode()).hexdigest()[:8]}.npz"


class Kept:
    """A proof in a file: what an earlier run has proven, and what this one finds."""

    def __init__(self, path: Path, solver: SuddenDeathSolver, position: Position) -> None:
        self._path: Final = path
        self._solver: Final = solver
        self._position: Final = position
        self._saved = perf_counter()
        self.known: Proof | None = None
        if path.exists():
            self.known = kept_proof.load(path, solver, position)
        else:
            check_writable(path)

    def save_now_and_then(self) -> None:
        """Save what is proven, if the last time is some minutes ago."""
        if perf_counter() - self._saved >= SECONDS_BETWEEN_SAVES:
            self.save()

    def save(self) -> None:
        """Save what is proven, over the old file."""
        kept_proof.save(self._path, self._solver, self._position)
        self._saved = perf_counter()


def make_book(options: Solve, game: Game) -> None:
    """Make a book, showing how far it is."""
    if options.book_plies is None or options.out is None:
        raise OptionError("a book needs both --book-plies and --out")
    if options.position is not None or options.wdl or options.threads != 1:
        raise OptionError("--book-plies goes with --out, --memory, --backend, --workers, "
                          "--address, --json and --quiet alone")
    if card_path(options.out).exists():
        tell(f"{options.out} is there already")
    started = perf_counter()
    with Console(stderr=True).status("") as status:
        book = build(game, options.book_plies, options.out, options.start().map,
                     memory_bytes(options.memory), command_line(),
                     lambda done, total: status.update(
                         f"{done:,} of {total:,} positions of ply {options.book_plies} solved"))
    tell(f"book: {options.out} and {card_path(options.out)}, {len(book.values):,} positions, "
          f"start {book.value(game.initial_state()):+d} for A, in {perf_counter() - started:.0f} s")
    options.write_json({"book": options.out, "card": card_path(options.out),
                        "positions": len(book.values), "value": book.value(game.initial_state())})
