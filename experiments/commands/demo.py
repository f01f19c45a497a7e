"""`castle demo`: from nothing to trained and measured agents for both modes, in minutes."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agents.runs import create_run_folder
from agents.training.config import PRESETS, PPOConfig
from castle_env import Game, load_ruleset
from experiments.measure.panel import check_training, learn, measure
from experiments.options import MODES, Mode, RunOptions, command_line
from experiments.report import run_report as report

# How often each agent is measured while it trains.
EVALUATIONS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Demo(RunOptions):
    """Train a small agent for each mode by self-play, measure both, and write a report."""

    steps: int = 500_000
    """Learner steps for each mode."""
    games: int = 400
    """Games against each opponent of the panel, half from each seat."""
    seed: int = 0
    """Seed of training and games."""


def run(options: Demo) -> None:
    """Train and measure both modes; print the tables and where the report is."""
    config = replace(PRESETS["quick"], steps=options.steps, seed=options.seed,
                     report_games=options.games,
                     evaluate_every=max(1, options.steps // EVALUATIONS))
    for mode in MODES:
        check_training(Game(load_ruleset(mode)), config)
    with options.new_folder("demo") as folder:
        _train_and_measure(options, config, folder)


def _train_and_measure(options: Demo, config: PPOConfig, folder: Path) -> None:
    parts = [
        "# Self-play agents for both modes\n",
        f"Trained and measured by `{command_line()}` with seed {options.seed}; each mode's numbers "
        f"stand in its `results.json`.\n\n{report.circumstances()}",
        report.READING,
    ]
    for mode in MODES:
        parts += run_mode(mode, config, folder)
    path = report.write_report(folder, parts)
    print(f"report: {path}")


def run_mode(mode: Mode, config: PPOConfig, folder: Path) -> list[str]:
    """Train and measure an agent in a folder of its own; the parts of the report about it."""
    game = Game(load_ruleset(mode))
    own_folder = create_run_folder(folder, mode)
    steps, evaluations = learn(game, config, own_folder)
    agent = f"ppo:{own_folder}"
    summaries, records = measure(game, agent, config.report_games, config.seed)
    report.write_results(own_folder, config.to_dict(), game,
                         {"evaluations": evaluations, "final": summaries})
    report.print_summaries(summaries, f"{agent} after {steps:,} steps")
    return [
        f"## {game.rules.name}\n",
        f"`{agent}` after {steps:,} steps; results in `{mode}/results.json`.\n",
        report.summary_markdown(summaries),
        report.draw_learning(folder, mode, agent, evaluations),
        report.draw_summaries(folder, mode, agent, summaries, records),
    ]
