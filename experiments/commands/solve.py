"""`castle solve`: the exact value of a storm position, the best line, the worth of each move.

With `--book-plies` it makes a book of exact values instead.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import tyro
from rich.console import Console

from agents.runs import check_writable, write_json_atomic
from agents.search.horizon_search import MAX_PLIES
from agents.solve.book import build, card_path
from agents.solve.storm_solver import SearchProgress, Solver
from agents.solve.sudden_death_solver import SuddenDeathSolver
from castle_env import Game, OptionError, Position, load_ruleset
from castle_env.ruleset import SUDDEN_DEATH
from experiments.options import BackendOptions, command_line
from experiments.report import bounds as sudden_death

_UNITS: Final = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_MEMORY: Final = re.compile(r"([1-9][0-9]*)(B|KiB|MiB|GiB)")
_RESULTS: Final = {1: "wins", 0: "draws", -1: "loses"}


@dataclass(frozen=True)
class Solve(BackendOptions):
    """Prove what perfect play by both leads to. Ctrl-C prints what is proven so far."""

    preset: tyro.conf.Positional[str] = "storm"
    """A preset's name or the path of a TOML file."""
    ruleset: str | None = None
    """The path of a TOML file, or a preset's name, instead."""
    position: str | None = None
    """Text of the position to solve; the start when left out."""
    wdl: bool = False
    """Only whether the mover wins, draws or loses, which is sooner known."""
    json: Path | None = None
    """Also write the results to this file."""
    memory: str = "256MiB"
    """Size of the table, as in 4GiB (B, KiB, MiB, GiB); all of default storm fits into 64MiB."""
    threads: int = 1
    """Threads that search together in storm; results do not depend on it."""
    bounds: bool = False
    """Sudden death: stop after --plies, if need be with a lower and an upper bound."""
    plies: int = 16
    """With --bounds: plies within which an end may be forced, at most."""
    book_plies: int | None = None
    """Make a book instead: exact values of all positions up to this ply, up to symmetry. Stopped,
    the same command goes on where it was."""
    out: Path | None = None
    """File of the book (.npy); its card (.json) is written beside it. Each worker has a table of
    its own; the book does not depend on their number."""


@dataclass
class Proven:
    """What is proven of a position so far, for the mover: see `Solver`."""

    result: int | None = None
    value: int | None = None
    line: list[int] = field(default_factory=list)
    moves: dict[int, int] = field(default_factory=dict)
    complete: bool = False


def run(options: Solve) -> None:
    """Solve, print, and write the file if one was asked for; the same when interrupted."""
    game = Game(load_ruleset(options.ruleset or options.preset))
    if options.json:
        check_writable(options.json)
    if game.rules.mode == SUDDEN_DEATH:
        solve_sudden_death(options, game)
        return
    if options.bounds or options.plies != Solve.plies:
        raise OptionError("--bounds and --plies are for sudden death; storm is solved to its end")
    if options.book_plies is not None or options.out is not None:
        make_book(options, game)
        return
    position = (game.initial_state() if options.position is None
                else game.parse_position(options.position))
    console = Console(stderr=True)
    proven = Proven()
    with console.status("") as status:
        solver = Solver(game, memory_bytes(options.memory), options.threads,
                        lambda progress: status.update(progress_text(game, progress)))
        try:
            prove(solver, position, options.wdl, proven)
        finally:
            status.stop()
            print(report(game, position, proven, solver))
            if options.json:
                write_json_atomic(options.json, to_dict(game, position, proven, solver))


def solve_sudden_death(options: Solve, game: Game) -> None:
    """Prove the value of a position, or bounds of it, print them, and write the file; what is
    proven when interrupted.
    """
    if (options.wdl or options.threads != 1 or options.book_plies is not None or options.out
            or not options.is_default):
        raise OptionError("--wdl, --threads, --book-plies, --out, --backend, --workers and "
                          "--address are for storm; allowed in sudden death: --position, --memory, "
                          "--json, --bounds and --plies")
    if not 1 <= options.plies <= MAX_PLIES:
        raise OptionError(f"plies is {options.plies}; allowed: an integer from 1 to {MAX_PLIES}")
    position = (game.initial_state() if options.position is None
                else game.parse_position(options.position))
    with Console(stderr=True).status("") as status:
        solver = SuddenDeathSolver(
            game, memory_bytes(options.memory),
            lambda proof: status.update(sudden_death.progress_text(proof)))
        try:
            solver.solve(position, options.plies if options.bounds else MAX_PLIES)
        finally:
            status.stop()
            print(sudden_death.report(game, position, solver.proof))
            if options.json:
                write_json_atomic(options.json,
                                  sudden_death.to_dict(game, position, solver.proof))


def make_book(options: Solve, game: Game) -> None:
    """Make a book, showing how far it is."""
    if options.book_plies is None or options.out is None:
        raise OptionError("a book needs both --book-plies and --out")
    if options.position is not None or options.wdl or options.json or options.threads != 1:
        raise OptionError("--book-plies goes with --out, --memory, --backend, --workers and "
                          "--address alone")
    started = perf_counter()
    with Console(stderr=True).status("") as status:
        book = build(game, options.book_plies, options.out, options.start().map,
                     memory_bytes(options.memory), command_line(),
                     lambda done, total: status.update(
                         f"{done:,} of {total:,} positions of ply {options.book_plies} solved"))
    print(f"book: {options.out} and {card_path(options.out)}, {len(book.values):,} positions, "
          f"start {book.value(game.initial_state()):+d} for A, in {perf_counter() - started:.0f} s")


def memory_bytes(text: str) -> int:
    """Number of bytes from text such as "4GiB"; raises `OptionError`."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise OptionError(f"memory is {text!r}; allowed: a whole number with a unit, as in 4GiB "
                          f"({', '.join(_UNITS)})")
    return int(match[1]) * _UNITS[match[2]]


def prove(solver: Solver, position: Position, wdl: bool, out_proven: Proven) -> None:
    """Answer everything that is asked, noting each answer as soon as it is proven."""
    if wdl:
        out_proven.result = solver.wdl(position)
    else:
        out_proven.value = solver.solve(position)
        out_proven.result = (out_proven.value > 0) - (out_proven.value < 0)
        out_proven.line = solver.principal_variation(position)
        for action, value in solver.each_move_value(position):
            out_proven.moves[action] = value
    out_proven.complete = True


def names_of(game: Game, actions: tuple[int, ...] | list[int]) -> list[str]:
    """Text of a line of play."""
    return [game.format_action(action) for action in actions]


def bounds_text(progress: SearchProgress) -> str:
    """The mover's margin as far as it is known at the depth in hand."""
    bounds = [f"at least {progress.low}"] * (progress.low is not None)
    bounds += [f"at most {progress.high}"] * (progress.high is not None)
    return f"depth {progress.depth} of {progress.plies_left}: {', '.join(bounds) or 'any value'}"


def progress_text(game: Game, progress: SearchProgress) -> str:
    """One line about a search under way."""
    return (f"{bounds_text(progress)}  {progress.nodes:,} nodes  "
            f"{progress.nodes_per_second / 1e6:.1f} M/s  table {progress.table_fill:.1%}  "
            f"{' '.join(names_of(game, progress.line))}")


def report(game: Game, position: Position, proven: Proven, solver: Solver) -> str:
    """What is proven, as text."""
    mover, progress = "AB"[position.ply & 1], solver.progress()
    lines = [f"position: {game.format_position(position)}"]
    if proven.result is None:
        lines.append(f"result:   not proven yet; {bounds_text(progress)}")
    else:
        margin = "" if proven.value is None else f", margin {proven.value:+d} for {mover}"
        lines.append(f"result:   {mover} to move {_RESULTS[proven.result]}{margin}")
    if proven.line:
        lines.append(f"line:     {' '.join(names_of(game, proven.line))}")
    if proven.moves:
        best_first = sorted(proven.moves, key=lambda action: -proven.moves[action])
        lines.append("moves:    " + "  ".join(
            f"{game.format_action(action)} {proven.moves[action]:+d}" for action in best_first))
    if not proven.complete:
        lines.append("stopped before everything was proven")
    lines.append(f"search:   {progress.nodes:,} nodes in {progress.seconds:.1f} s, "
                 f"{progress.nodes_per_second / 1e6:.1f} M/s, table {progress.table_fill:.1%} full")
    return "\n".join(lines)


def to_dict(game: Game, position: Position, proven: Proven, solver: Solver) -> dict[str, Any]:
    """What is proven, as plain values; margins are the mover's."""
    progress = solver.progress()
    return {
        "ruleset": game.rules.to_dict(),
        "position": game.format_position(position),
        "complete": proven.complete,
        "result": None if proven.result is None else _RESULTS[proven.result],
        "value": proven.value,
        "line": names_of(game, proven.line),
        "move_values": {game.format_action(action): value
                        for action, value in proven.moves.items()},
        "nodes": progress.nodes,
        "seconds": progress.seconds,
    }
