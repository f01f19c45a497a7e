"""What `castle solve` proves of a storm position, as text and as plain values."""

from dataclasses import dataclass, field
from typing import Any, Final

from agents.solve.storm_solver import SearchProgress, Solver
from castle_env import Game, Position

_RESULTS: Final = {1: "wins", 0: "draws", -1: "loses"}


@dataclass
class Proven:
    """What is proven of a position so far, for the mover: see `Solver`."""

    result: int | None = None
    value: int | None = None
    line: list[int] = field(default_factory=list)
    moves: dict[int, int] = field(default_factory=dict)
    complete: bool = False


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
