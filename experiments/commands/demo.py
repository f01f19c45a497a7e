"""`castle demo`: from nothing to trained and measured agents for both modes, in minutes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from agents.runs import RunError, create_run_folder
from agents.training.config import PRESETS, PPOConfig
from castle_env import Game, load_ruleset
from castle_env.errors import CastleError
from experiments.measure.panel import check_training, learn, measure
from experiments.options import (
    MODES,
    RESULTS,
    Mode,
    OptionalFolder,
    RunOptions,
    command_line,
)
from experiments.output import tell
from experiments.report import run_report as report
from experiments.report.gain import gain_sentence
from experiments.report.plain_text import markdown_code

# How often each agent is measured while it trains, the untrained network not counted.
EVALUATIONS: Final = 8


@dataclass(frozen=True)
class Promise:
    """What training gains at least over the untrained network, and where it ends.

    greedy: share of the points against greedy; regret: VP per move, None where there is none;
    random: share of the points against random that the trained agent has.
    """

    greedy: float
    regret: float | None = None
    random: float = 0.95


PROMISES: Final[Mapping[Mode, Promise]] = {
    "storm": Promise(greedy=0.35, regret=1.0), "sudden-death": Promise(greedy=0.30)}


class DemoError(CastleError):
    """Training did not gain what the demo promises."""


@dataclass(frozen=True, kw_only=True)
class Demo(RunOptions):
    """Train a small agent for each mode by self-play, measure both, and write a report."""

    steps: int = 300_000
    """Learner steps for each mode."""
    games: int = 400
    """Games against each opponent of the panel, half from each seat."""
    seed: int = 0
    """Seed of training and games."""
    check: OptionalFolder = None
    """Folder of a demo that was run before: only say what its training gained, and fail where that
    is less than promised."""


def run(options: Demo) -> None:
    """Train and measure both modes; print the tables and where the report is."""
    if options.check is not None:
        options.write_results_of(*(options.check / mode for mode in MODES))
        check(options.check)
        return
    config = replace(PRESETS["quick"], steps=options.steps, seed=options.seed,
                     report_games=options.games,
                     evaluate_every=max(1, options.steps // EVALUATIONS))
    for mode in MODES:
        check_training(Game(load_ruleset(mode)), config)
    with options.new_folder("demo") as folder:
        _train_and_measure(options, config, folder)
    options.write_results_of(*(folder / mode for mode in MODES))


def _train_and_measure(options: Demo, config: PPOConfig, folder: Path) -> None:
    parts = [
        "# Self-play agents for both modes\n",
        f"Trained and measured by {markdown_code(command_line())} with seed {options.seed}; each "
        f"mode's numbers stand in its `{RESULTS}`.\n\n{report.circumstances()}",
        report.READING,
    ]
    for mode in MODES:
        parts += run_mode(mode, config, folder)
    path = report.write_report(folder, parts)
    tell(f"report: {path}")


def run_mode(mode: Mode, config: PPOConfig, folder: Path) -> list[str]:
    """Train and measure an agent in a folder of its own; the parts of the report about it."""
    game = Game(load_ruleset(mode))
    own_folder = create_run_folder(folder, mode)
    steps, evaluations = learn(game, config, own_folder)
    agent, subject = f"ppo:{own_folder}", f"the agent trained for {mode}"
    summaries, records = measure(game, agent, config.report_games, config.seed)
    report.write_results(own_folder, config.to_dict(), game,
                         {"evaluations": evaluations, "final": summaries})
    report.print_summaries(summaries, f"{agent} after {steps:,} steps")
    tell(f"{gain_sentence(evaluations)}\n")
    return [
        f"## {game.rules.name}\n",
        report.draw_learning(folder, mode, subject, evaluations),
        f"The agent {markdown_code(agent)}, measured at the end; results in `{mode}/{RESULTS}`:\n",
        report.summary_markdown(summaries),
        report.draw_summaries(folder, mode, subject, summaries, records),
    ]


def check(folder: Path) -> None:
    """Print what the training of a demo gained; raises `DemoError` where it is too little."""
    broken = []
    for mode, promise in PROMISES.items():
        results = _results(folder / mode / RESULTS)
        tell(f"{mode}: {gain_sentence(results['evaluations'])}")
        broken += [f"{mode}: {text}" for text in broken_promises(results, promise)]
    if broken:
        raise DemoError(f"the demo in {str(folder)!r} gained too little; {'; '.join(broken)}")


def broken_promises(results: Mapping[str, Any], promise: Promise) -> list[str]:
    """What is less than promised in the results of a mode, in words."""
    first, last = results["evaluations"][0], results["evaluations"][-1]
    gained = _points(last["rows"], "greedy") - _points(first["rows"], "greedy")
    final = _points([row for summary in results["final"] for row in summary["rows"]
                     if row["seat"] is None], "random")
    broken = []
    if first["steps"] != 0:
        broken.append(f"the first evaluation is at step {first['steps']}; promised: 0")
    if gained < promise.greedy:
        broken.append(f"{gained:+.1%} of the points against greedy; promised: "
                      f"{promise.greedy:+.1%}")
    if final < promise.random:
        broken.append(f"{final:.1%} of the points against random; promised: {promise.random:.1%}")
    if promise.regret is not None:
        less = first["regret"]["estimate"] - last["regret"]["estimate"]
        if less < promise.regret:
            broken.append(f"{-less:+.2f} VP of regret; promised: {-promise.regret:+.2f}")
    return broken


def _points(rows: list[Mapping[str, Any]], opponent: str) -> float:
    """Share of the points against an opponent, from rows of evaluations or summaries."""
    rate = next(row["win_rate"] for row in rows if row["opponent"] == opponent)
    return float(rate["estimate"] if isinstance(rate, Mapping) else rate)


def _results(file: Path) -> Mapping[str, Any]:
    try:
        results: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))["results"]
        return {"evaluations": results["evaluations"], "final": results["final"]}
    except OSError as error:
        raise RunError(f"cannot read {str(file)!r}: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise RunError(f"{str(file)!r} holds no results of a demo: {error!r}") from error
