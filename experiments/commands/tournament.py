"""`castle tournament`: all pairs of several agents, from both seats, with ratings."""

from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import rich
import tyro

from castle_env import Agent, Game, OptionError
from experiments.measure import ratings
from experiments.measure.match import agent_of, check_match, play_matches
from experiments.measure.records import records_file, summarise
from experiments.options import MatchOptions, command_line
from experiments.progress import progress_bar
from experiments.report import plots
from experiments.report import run_report as report
from experiments.report.tables import cross_table_table, ratings_table, to_markdown, to_rich


@dataclass(frozen=True, kw_only=True)
class Tournament(MatchOptions):
    """Play all pairs of agents from both seats; cross-table and Bradley–Terry ratings."""

    agents: tyro.conf.Positional[tuple[str, ...]]
    """Two or more agents, such as random greedy alphabeta:2 ppo:PATH."""


def run(options: Tournament) -> None:
    """Play, print cross-table and ratings, and write them with pictures into a new folder."""
    game = options.game()
    check_match(game, options.games, options.opening_plies, options.seed)
    options.start()
    agents = [agent_of(game.rules, spec) for spec in options.agents]
    if len({agent.name for agent in agents}) < max(2, len(agents)):
        raise OptionError(f"agents are {' '.join(options.agents) or 'none'}; allowed: two or more, "
                          "all different")
    with options.new_folder("tournament") as folder:
        _play(options, game, agents, folder)


def _play(options: Tournament, game: Game, agents: list[Agent], folder: Path) -> None:
    pairs = list(combinations(agents, 2))
    with (records_file(options.save_games, options.seed) as keep,
          progress_bar("tournament", len(pairs) * options.games) as advance):
        records = play_matches(game, list(combinations(options.agents, 2)), options.games,
                               options.opening_plies, options.seed, options.start().map,
                               advance, keep)
    table = ratings.cross_table(records)
    rated = ratings.rate(table, np.random.default_rng(options.seed))
    cycles = ratings.find_cycles(table)
    summaries = [summarise(records, a.name, b.name, options.seed) for a, b in pairs]
    report.write_results(folder, asdict(options), game, {
        "ratings": rated, "cross_table": table, "cycles": cycles, "pairs": summaries})
    plots.cross_table(table.players, table.shares(), table.games(), folder / "cross-table.png",
                      game.rules.name)
    plots.ratings_plot({rating.player: rating.rating for rating in rated}, folder / "ratings.png",
                       game.rules.name)
    title = f"Tournament in {game.rules.name}"
    path = report.write_report(folder, [
        report.intro(title, command_line(), game, options.seed),
        "## Ratings\n", to_markdown(ratings_table(rated, "")), "![Ratings](ratings.png)\n",
        _cycles_text(cycles), "## Who beats whom\n", to_markdown(cross_table_table(table, "")),
        "![Cross-table](cross-table.png)\n",
        "## All pairs\n", report.READING, report.summary_markdown(summaries),
    ])
    rich.print(to_rich(cross_table_table(table, f"{title}: points of row against column")))
    rich.print(to_rich(ratings_table(rated, "Bradley–Terry ratings")))
    print(_cycles_text(cycles))
    print(f"report: {path}")


def _cycles_text(cycles: tuple[ratings.Cycle, ...]) -> str:
    if not cycles:
        return "No cycle: no agent is beaten by one that it, or one it beats, has beaten.\n"
    lines = [f"- {cycle} ({'certain' if cycle.is_certain else 'not certain'} at 95%)"
             for cycle in cycles]
    return "Cycles, which no single number can show:\n\n" + "\n".join(lines) + "\n"
