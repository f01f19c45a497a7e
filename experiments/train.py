"""`castle train`: self-play training as a run that can be stopped and resumed."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import tyro

from agents.checkpoint import Checkpoint, CheckpointError, load_checkpoint, newest_checkpoint
from agents.train_config import TrainConfig
from castle_env import Game, OptionError, Ruleset
from experiments import report
from experiments.learning import check_training, learn, measure
from experiments.options import GameOptions, command_line


@dataclass(frozen=True, kw_only=True)
class Train(GameOptions):
    """Train an agent by self-play with MaskablePPO; Ctrl-C saves and stops, --resume goes on."""

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


def run(options: Train) -> None:
    """Train a new agent, or go on with an old run, and write its report."""
    game, config, checkpoint = _new(options) if options.resume is None else _resumed(options)
    check_training(game, config, options.evaluation_games, options.report_games)
    folder = options.resume or options.new_folder(f"train-{game.rules.name}")
    steps, evaluations = learn(game, config, folder, options.evaluation_games, checkpoint)
    agent = f"ppo:{folder}"
    summaries, records = measure(game, agent, options.report_games, config.seed)
    title = f"{agent} in {game.rules.name} after {steps:,} steps"
    report.write_results(folder, config.to_dict(), game,
                         {"steps": steps, "evaluations": evaluations, "final": summaries})
    path = report.write_report(folder, [
        report.intro(title, command_line(), game, config.seed),
        report.READING, report.summary_markdown(summaries),
        report.draw_learning(folder, "learning", agent, evaluations),
        report.draw_summaries(folder, "final", agent, summaries, records),
    ])
    report.print_summaries(summaries, title)
    print(f"report: {path}\nagent: {agent}")


def _new(options: Train) -> tuple[Game, TrainConfig, None]:
    if options.until is not None:
        raise OptionError("until is for --resume; allowed without it: --steps")
    return options.game(), options.config, None


def _resumed(options: Train) -> tuple[Game, TrainConfig, Checkpoint]:
    assert options.resume is not None
    checkpoint = load_checkpoint(newest_checkpoint(options.resume))
    if "optimizer" not in checkpoint.tensors:
        raise CheckpointError(f"checkpoint {str(checkpoint.path)!r} holds a network only; allowed: "
                              "one of a training run, which can go on")
    game = Game(Ruleset.from_dict(checkpoint.card["ruleset"]))
    config = TrainConfig.from_dict(checkpoint.card["config"])
    steps = checkpoint.tensors["steps"]
    if options.until is not None:
        config = replace(config, steps=options.until)
        if options.until < steps:
            raise OptionError(f"until is {options.until}; allowed: an integer from {steps} on, the "
                              f"steps that {str(options.resume)!r} has behind it")
    print(f"resuming {options.resume} at {steps:,} steps")
    return game, config, checkpoint
