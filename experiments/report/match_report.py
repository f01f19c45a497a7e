"""The report of one agent against another."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from castle_env import Game
from castle_env.game_record import GameRecord
from experiments.measure.records import summarise
from experiments.options import command_line
from experiments.output import tell
from experiments.report import run_report as report


def write(
    folder: Path, game: Game, config: Mapping[str, Any], pair: tuple[str, str],
    records: Sequence[GameRecord], seed: int,
) -> None:
    """Write results, report and pictures into a folder, and print the table.

    pair: names of the agent that the report is about and of its opponent. seed: of the bootstrap.
    """
    title = f"{pair[0]} against {pair[1]} in {game.rules.name}"
    summary = summarise(records, *pair, seed)
    report.write_results(folder, config, game, summary)
    path = report.write_report(folder, [
        report.intro(title, command_line(), game, seed),
        report.READING, report.summary_markdown([summary]),
        report.draw_summaries(folder, "match", f"{pair[0]} in {game.rules.name}", [summary],
                              records),
    ])
    report.print_summaries([summary], title)
    tell(f"report: {path}")
