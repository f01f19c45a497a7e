"""`castle evaluate`: how one agent does against another, from both seats."""

from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

from castle_env import Agent, Game
from experiments.measure.match import agent_of, check_match, play_matches
from experiments.measure.records import records_file, summarise
from experiments.options import MatchOptions, command_line
from experiments.progress import progress_bar
from experiments.report import run_report as report


@dataclass(frozen=True, kw_only=True)
class Evaluate(MatchOptions):
    """Play two agents against each other and report win rates and VP margins for each seat."""

    agent: tyro.conf.Positional[str]
    """The agent that the report is about, such as ppo:PATH."""
    opponent: tyro.conf.Positional[str]
    """Its opponent, such as alphabeta:4."""


def run(options: Evaluate) -> None:
    """Play, print the table and write `results.json` and `report.md` into a new folder."""
    game = options.game()
    check_match(game, options.games, options.opening_plies, options.seed)
    pair = agent_of(game.rules, options.agent), agent_of(game.rules, options.opponent)
    options.start()
    with options.new_folder("evaluate") as folder:
        _play(options, game, pair, folder)


def _play(options: Evaluate, game: Game, pair: tuple[Agent, Agent], folder: Path) -> None:
    title = f"{options.agent} against {options.opponent} in {game.rules.name}"
    with (records_file(options.save_games, options.seed) as keep,
          progress_bar(title, options.games) as advance):
        records = play_matches(game, [(options.agent, options.opponent)], options.games,
                               options.opening_plies, options.seed, options.start().map,
                               advance, keep)
    summary = summarise(records, pair[0].name, pair[1].name, options.seed)
    report.write_results(folder, asdict(options), game, summary)
    path = report.write_report(folder, [
        report.intro(title, command_line(), game, options.seed),
        report.READING, report.summary_markdown([summary]),
        report.draw_summaries(folder, "match", f"{options.agent} in {game.rules.name}", [summary],
                              records),
    ])
    report.print_summaries([summary], title)
    print(f"report: {path}")
