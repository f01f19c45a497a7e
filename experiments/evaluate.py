"""`castle evaluate`: how one agent does against another, from both seats."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

from agents.runs import create_run_folder, unique_run_folder
from castle_env import make_agent
from experiments import report
from experiments.match import check_match, play_match
from experiments.options import RUNS, Mode, chosen_game
from experiments.progress import progress_bar
from experiments.records import summarise


@dataclass(frozen=True)
class Evaluate:
    """Play two agents against each other and report win rates and VP margins for each seat."""

    agent: tyro.conf.Positional[str]
    """The agent that the report is about, such as ppo:PATH."""
    opponent: tyro.conf.Positional[str]
    """Its opponent, such as alphabeta:4."""
    mode: Mode = "storm"
    """Which mode's default ruleset to play."""
    ruleset: str | None = None
    """A preset's name or a TOML file instead."""
    games: int = 1000
    """Games in all, half from each seat."""
    opening_plies: int = 4
    """Random plies before the agents take over; each opening is played from both seats."""
    seed: int = 0
    """Seed of openings and agents."""
    name: str | None = None
    """Name of the run's folder; one with the time is made up when left out."""
    runs: Path = RUNS
    """Where the folders of runs are."""


def run(options: Evaluate) -> None:
    """Play, print the table and write `results.json` and `report.md` into a new folder."""
    game = chosen_game(options.mode, options.ruleset)
    check_match(game, options.games, options.opening_plies, options.seed)
    pair = make_agent(options.agent, game), make_agent(options.opponent, game)
    folder = (unique_run_folder(options.runs, "evaluate") if options.name is None
              else create_run_folder(options.runs, options.name))
    with progress_bar(f"{options.agent} against {options.opponent}", options.games) as advance:
        records = play_match(game, pair, options.games, options.opening_plies, options.seed,
                             advance)
    summary = summarise(records, pair[0].name, pair[1].name, options.seed)
    report.write_results(folder, asdict(options), game, summary)
    title = f"{options.agent} against {options.opponent} in {game.rules.name}"
    path = report.write_report(folder, [
        report.intro(title, " ".join(["castle", *sys.argv[1:]]), game, options.seed),
        report.READING, report.summary_markdown([summary]),
        report.draw_summaries(folder, "match", f"{options.agent} in {game.rules.name}", [summary],
                              records),
    ])
    report.print_summaries([summary], title)
    print(f"report: {path}")
