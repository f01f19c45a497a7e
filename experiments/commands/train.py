"""`castle train`: self-play training as a run that can be stopped and resumed."""

from argparse import ArgumentError, ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import tyro

from agents.locks import locked
from agents.networks.checkpoint import (
    Checkpoint,
    CheckpointError,
    load_checkpoint,
    newest_checkpoint,
)
from agents.networks.policy import checkpoint_path
from agents.training.config import (
    AZ_PRESETS,
    CONFIGS,
    PRESETS,
    Algorithm,
    AZConfig,
    PPOConfig,
    Preset,
    RunConfig,
    read_config,
)
from agents.training.resuming import check_card
from castle_env import Game, OptionError, Ruleset
from experiments.measure.panel import check_history, check_training, learn, measure
from experiments.options import (
    GameOptions,
    OptionalAgent,
    OptionalFolder,
    OptionalNumber,
    command_line,
)
from experiments.output import results_before_output, tell
from experiments.report import run_report as report


@dataclass(frozen=True, kw_only=True)
class Train(GameOptions):
    """Train an agent by self-play; Ctrl-C saves and stops, --resume goes on."""

    algorithm: Algorithm = "ppo"
    """ppo: MaskablePPO in games against itself. az: expert iteration, that is, the network learns
    what searches with it find; its options are those of castle train --algorithm az --help."""
    preset: Preset = "standard"
    """What the options of training are where they are not given: quick (about 2 CPU minutes for one
    mode), standard (about 10) or strong (about 40; the shipped agents come from it)."""
    config: tyro.conf.OmitArgPrefixes[PPOConfig] = field(default_factory=PPOConfig)
    """How to train."""
    init_from: OptionalAgent = None
    """A shipped agent's name, a checkpoint or a run's folder whose weights training begins with."""
    resume: OptionalFolder = None
    """A run's folder to go on with, under its own options; of the other
    options only --until, --json and --quiet go with it."""
    until: OptionalNumber = None
    """With --resume: learner steps in all, when other than the run's own; beyond those the learning
    rate stays at its last value."""

    @classmethod
    def defaults(cls, arguments: Sequence[str]) -> "Train | TrainAZ":
        """What holds where `arguments` say nothing else: the config of the preset they name."""
        parser = ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
        parser.add_argument("--preset", choices=list(PRESETS), default=cls.preset)
        parser.add_argument("--algorithm", choices=list(CONFIGS), default=cls.algorithm)
        try:
            given = parser.parse_known_args(arguments)[0]
        except ArgumentError:
            return cls()  # the message for a wrong value is that of all options
        if given.algorithm == "az":
            return TrainAZ(preset=given.preset, config=AZ_PRESETS[given.preset])
        return cls(preset=given.preset, config=PRESETS[given.preset])


@dataclass(frozen=True, kw_only=True)
class TrainAZ(Train):
    """Train an agent by expert iteration; Ctrl-C saves and stops, --resume goes on."""

    algorithm: Algorithm = "az"
    config: tyro.conf.OmitArgPrefixes[AZConfig] = field(  # type: ignore[assignment]
        default_factory=AZConfig)
    """How to train."""


def run(options: Train) -> None:
    """Train a new agent, or go on with an old run, and write its report."""
    if options.resume is not None:
        _resume(options, options.resume)
        return
    if options.until is not None:
        raise OptionError("until is for --resume; allowed without it: --steps")
    game = options.game()
    check_training(game, options.config)
    init_from = None
    if options.init_from is not None:
        init_from = load_checkpoint(checkpoint_path(options.init_from), game)
    with options.new_folder(f"train-{game.rules.name}") as folder:
        _learn_and_measure(game, options.config, folder, init_from=init_from)
    options.write_results_of(folder)


def _resume(options: Train, folder: Path) -> None:
    if replace(options, json=None, quiet=False) != Train(resume=folder, until=options.until):
        raise OptionError("other options than --until, --json and --quiet are given with --resume; "
                          "allowed: none, since a run goes on under its own")
    newest_checkpoint(folder)
    with locked(folder), results_before_output(folder):
        _go_on(options, folder)


def _go_on(options: Train, folder: Path) -> None:
    checkpoint = load_checkpoint(newest_checkpoint(folder))
    if "optimizer" not in checkpoint.tensors:
        raise CheckpointError(f"checkpoint {str(checkpoint.path)!r} holds a network only; allowed: "
                              "one of a training run, which can go on")
    check_card(checkpoint)
    config, steps = read_config(checkpoint), checkpoint.tensors["steps"]
    if options.until is not None and options.until < steps:
        raise OptionError(f"until is {options.until}; allowed: an integer from {steps} on, the "
                          f"steps that {str(folder)!r} has behind it")
    game = Game(Ruleset.from_dict(checkpoint.card["ruleset"]))
    check_training(game, config)
    check_history(checkpoint)
    tell(f"resuming {folder} at {steps:,} steps")
    _learn_and_measure(game, config, folder, checkpoint, options.until)
    options.write_results_of(folder)


def _learn_and_measure(
    game: Game,
    config: RunConfig,
    folder: Path,
    checkpoint: Checkpoint | None = None,
    until: int | None = None,
    init_from: Checkpoint | None = None,
) -> None:
    steps, evaluations = learn(game, config, folder, checkpoint, until, init_from)
    agent = f"ppo:{folder}"
    summaries, records = measure(game, agent, config.report_games, config.seed)
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
    tell(f"report: {path}\nagent: {agent}")
