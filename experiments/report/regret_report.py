"""The report on how far the moves of agents are from perfect play."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import rich

from castle_env import Game
from experiments.measure.decisions import SOURCES, Decision, RegretRow, summarise_decisions
from experiments.options import command_line
from experiments.output import tell
from experiments.report import plots
from experiments.report import run_report as report
from experiments.report.tables import SEAT_NAMES, Table, percent, plain, to_markdown, to_rich

# How the tables are to be read.
READING: Final = """\
Every legal move has an exact value: the Victory Point margin for the mover under best play by both
after it. Regret is the value of the best move minus that of the move chosen; an optimal move has
none. A win is lost where the best move wins and the chosen one only draws or loses: as a share of
all moves, and as a count of the positions that were won.

Positions come from own games (the agent in both seats, after random opening plies) and from random
play (the same positions for all agents). Positions that are the same up to symmetry count once for
each agent, with one choice. Intervals are 95% bootstrap intervals over games. Seat "first" moves at
even plies.
"""


def write(
    folder: Path, game: Game, config: Mapping[str, Any], decisions: Sequence[Decision], seed: int
) -> None:
    """Write results, report and pictures into a folder, and print the summary."""
    rows = summarise_decisions(decisions, seed)
    title = f"Regret in {game.rules.name}"
    report.write_results(folder, config, game, {
        "rows": rows, "decisions": [asdict(decision) for decision in decisions]})
    path = report.write_report(folder, [
        report.intro(title, command_line(), game, seed), READING,
        "## Summary\n", to_markdown(summary_table(rows, (None,), "")),
        _draw(folder, rows, game.rules.name),
        "## By seat\n", to_markdown(summary_table(rows, (0, 1), "")), *_by_ply(rows),
    ])
    rich.print(to_rich(terminal_table(rows, title)))
    tell(f"report: {path}")


def _all_plies(rows: Sequence[RegretRow], seats: Sequence[int | None]) -> list[RegretRow]:
    """The rows of whole games, those of one source after those of the other."""
    return [row for source in SOURCES for row in rows
            if row.source == source and row.ply is None and row.seat in seats]


def summary_table(rows: Sequence[RegretRow], seats: Sequence[int | None], title: str) -> Table:
    """All plies together, a line per source, agent and seat."""
    cells = tuple(
        (row.source, row.agent, SEAT_NAMES[row.seat], str(row.moves), plain(row.regret),
         percent(row.optimal), percent(row.loses_win), f"{row.lost_wins} of {row.won}")
        for row in _all_plies(rows, seats))
    columns = ("positions", "agent", "seat", "moves", "regret in VP per move", "optimal moves",
               "moves that lose a win", "wins lost")
    return Table(title, columns, cells, frozenset(range(3, 8)))


def terminal_table(rows: Sequence[RegretRow], title: str) -> Table:
    """The same for both seats in the 80 columns of a terminal."""
    cells = tuple((row.source, row.agent, plain(row.regret), percent(row.optimal, 0),
                   f"{row.lost_wins} of {row.won}") for row in _all_plies(rows, (None,)))
    columns = ("positions", "agent", "VP per move", "optimal", "wins lost")
    return Table(title, columns, cells, frozenset(range(2, 5)))


def _by_ply(rows: Sequence[RegretRow]) -> list[str]:
    """Markdown of a table per measure, with a line per source and ply and a column per agent."""
    return [text for heading, cell in (
        ("Regret in VP per move, by ply", lambda row: plain(row.regret)),
        ("Optimal moves, by ply", lambda row: percent(row.optimal, 0)),
        ("Moves that lose a win, by ply", lambda row: percent(row.loses_win, 0)),
    ) for text in (f"## {heading}\n", to_markdown(_ply_table(rows, cell)))]


def _ply_table(rows: Sequence[RegretRow], cell: Callable[[RegretRow], str]) -> Table:
    found = {(row.source, row.ply, row.agent): row for row in rows if row.ply is not None}
    agents = tuple(dict.fromkeys(row.agent for row in rows))
    lines = sorted({(SOURCES.index(source), ply) for source, ply, _ in found})
    cells = tuple(
        (SOURCES[source], str(ply), SEAT_NAMES[ply & 1],
         *(cell(found[SOURCES[source], ply, agent]) for agent in agents))
        for source, ply in lines)
    return Table("", ("positions", "ply", "seat", *agents), cells,
                 frozenset({1, *range(3, 3 + len(agents))}))


def _draw(folder: Path, rows: Sequence[RegretRow], subject: str) -> str:
    """Draw regret and optimal moves by ply; Markdown that shows them."""
    regret: plots.PlyCurves = {}
    optimal: plots.PlyCurves = {}
    for row in rows:
        if row.ply is not None:
            for curves, value in ((regret, row.regret), (optimal, row.optimal)):
                curves.setdefault(row.agent, {}).setdefault(row.source, []).append((row.ply, value))
    plots.regret_by_ply(regret, folder / "regret.png", subject)
    plots.optimal_by_ply(optimal, folder / "optimal-moves.png", subject)
    return "![Regret by ply](regret.png)\n\n![Optimal moves by ply](optimal-moves.png)\n"
