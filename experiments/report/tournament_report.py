"""The report of a tournament: ratings, cross-table, cycles and all pairs."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import rich

from castle_env import Game
from castle_env.game_record import GameRecord
from experiments.measure import ratings
from experiments.measure.records import summarise
from experiments.options import command_line
from experiments.output import tell
from experiments.report import plots
from experiments.report import run_report as report
from experiments.report.plain_text import markdown_text
from experiments.report.tables import cross_table_table, ratings_table, to_markdown, to_rich

RATINGS_READING: Final = """\
Bradley–Terry ratings on the Elo scale: 400 points are odds of 10 to 1, and the mean of all players
is 0. They are the likeliest ones with Jeffreys' prior, which is worth one game less than there are
players. Intervals are those of the profile likelihood, at 95%. A player who won or lost everything
has one limit only, and one between such players none; what is estimated there rests on the prior.
"""


def write(
    folder: Path, game: Game, config: Mapping[str, Any], agents: Sequence[str],
    records: Sequence[GameRecord], seed: int,
) -> None:
    """Write results, report and pictures into a folder, and print cross-table and ratings.

    agents: names, each pair of which has played. seed: of the bootstrap.
    """
    table = ratings.cross_table(records)
    rated = ratings.rate(table)
    cycles = ratings.find_cycles(table)
    summaries = [summarise(records, a, b, seed) for a, b in combinations(agents, 2)]
    report.write_results(folder, config, game, {
        "ratings": rated, "cross_table": table, "cycles": cycles, "pairs": summaries})
    plots.cross_table(table.players, table.shares(), table.games(), folder / "cross-table.png",
                      game.rules.name)
    plots.ratings_plot({rating.player: rating.rating for rating in rated}, folder / "ratings.png",
                       game.rules.name)
    title = f"Tournament in {game.rules.name}"
    path = report.write_report(folder, [
        report.intro(title, command_line(), game, seed),
        "## Ratings\n", RATINGS_READING, to_markdown(ratings_table(rated, "")),
        "![Ratings](ratings.png)\n",
        _cycles_text(cycles, markdown_text), "## Who beats whom\n",
        to_markdown(cross_table_table(table, "")),
        "![Cross-table](cross-table.png)\n",
        "## All pairs\n", report.READING, report.summary_markdown(summaries),
    ])
    rich.print(to_rich(cross_table_table(table, f"{title}: points of row against column")))
    rich.print(to_rich(ratings_table(rated, "Bradley–Terry ratings")))
    tell(_cycles_text(cycles, str))
    tell(f"report: {path}")


def _cycles_text(cycles: tuple[ratings.Cycle, ...], shown: Callable[[str], str]) -> str:
    """The cycles, each in a line, in the words that `shown` makes of names."""
    if not cycles:
        return "No cycle: no agent is beaten by one that it, or one it beats, has beaten.\n"
    lines = [f"- {shown(str(cycle))} ({'certain' if cycle.is_certain else 'not certain'} at 95%)"
             for cycle in cycles]
    return "Cycles, which no single number can show:\n\n" + "\n".join(lines) + "\n"
