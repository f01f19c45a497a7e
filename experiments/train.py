"""`castle train`: self-play training as a run that can be stopped and resumed."""

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import tyro

from agents.checkpoint import load_checkpoint, newest_checkpoint
from agents.runs import create_run_folder, unique_run_folder
from agents.train_config import TrainConfig
from castle_env import Game, OptionError, Ruleset
from experiments import report
from experiments.learning import learn, measure
from experiments.options import RUNS, Mode, chosen_game


@dataclass(frozen=True)
class Train:
    """Train an agent by self-play with MaskablePPO; Ctrl-C saves and stops, --resume goes on."""

    mode: Mode = "storm"
    """Which mode's default ruleset to play."""
    ruleset: str | None = None
    """A preset's name or a TOML file instead."""
    config: tyro.conf.OmitArgPrefixes[TrainConfig] = field(default_factory=TrainConfig)
    """How to train."""
    evaluation_games: int = 200
    """Games against each opponent of the panel in one evaluation."""
    report_games: int = 1000
    """Games against each opponent of the panel in the report at the end."""
    resume: Path | None = None
    """A run's folder to go on with; its mode, ruleset and options are kept."""
    until: int | None = None
    """With --resume: learner steps in all, when other than the run's own."""
    name: str | None = None
    """Name of the run's folder; one with the time is made up when left out."""
    runs: Path = RUNS
    """Where the folders of runs are."""


def run(options: Train) -> None:
    """Train a new agent, or go on with an old run, and write its report."""
    if options.resume is not None:
        checkpoint = load_checkpoint(newest_checkpoint(options.resume))
        game = Game(Ruleset.from_dict(checkpoint.card["ruleset"]))
        config = TrainConfig.from_dict(checkpoint.card["config"])
        config = config if options.until is None else replace(config, steps=options.until)
        folder = options.resume
        print(f"resuming {folder} at {checkpoint.card['steps']:,} steps")
    else:
        if options.until is not None:
            raise OptionError("until is for --resume; allowed without it: --steps")
        game, config, checkpoint = chosen_game(options.mode, options.ruleset), options.config, None
        folder = (unique_run_folder(options.runs, f"train-{game.rules.name}")
                  if options.name is None else create_run_folder(options.runs, options.name))
    steps, evaluations = learn(game, config, folder, options.evaluation_games, checkpoint)
    if steps < config.steps:
        print(f"stopped before {config.steps:,} steps; go on with: castle train --resume {folder}")
        return
    agent = f"ppo:{folder}"
    summaries, records = measure(game, agent, options.report_games, config.seed)
    title = f"{agent} in {game.rules.name} after {config.steps:,} steps"
    report.write_results(folder, config.to_dict(), game,
                         {"evaluations": evaluations, "final": summaries})
    path = report.write_report(folder, [
        report.intro(title, " ".join(["castle", *sys.argv[1:]]), game, config.seed),
        report.READING, report.summary_markdown(summaries),
        report.draw_learning(folder, "learning", agent, evaluations),
        report.draw_summaries(folder, "final", agent, summaries, records),
    ])
    report.print_summaries(summaries, title)
    print(f"report: {path}\nagent: {agent}")
