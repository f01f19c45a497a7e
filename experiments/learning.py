"""Training measured against a fixed panel of opponents, with a line of progress."""

import shlex
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from agents.checkpoint import Checkpoint
from agents.openings import check_opening_plies, longest_opening
from agents.train_config import TrainConfig
from agents.trainer import check_device
from agents.training import Progress, train
from castle_env import Agent, Game, make_agent
from experiments.match import check_match, play_match
from experiments.progress import progress_bar
from experiments.records import GameRecord, Summary, summarise

# Every agent is measured against the same opponents, whatever it trained against.
PANEL: Final = ("random", "greedy", "alphabeta:2")
# Random plies before each measured game, or fewer where a ruleset's games are too short.
OPENING_PLIES: Final = 4


def check_training(game: Game, config: TrainConfig) -> None:
    """Raise `CastleError` for what would end a run halfway."""
    for count in (config.evaluation_games, config.report_games):
        check_match(game, count, _opening_plies(game), config.seed)
    check_opening_plies(game, config.opening_plies)
    check_device(config.device)
    for name in config.baselines:
        make_agent(name, game)


def _opening_plies(game: Game) -> int:
    return min(OPENING_PLIES, longest_opening(game))


def learn(
    game: Game,
    config: TrainConfig,
    folder: Path,
    checkpoint: Checkpoint | None = None,
) -> tuple[int, list[dict[str, Any]]]:
    """Train in a run's folder, with progress in the terminal; see `agents.training.train`.

    Raises `KeyboardInterrupt` after a run that was stopped, having said how to go on with it.
    """
    torch.set_num_threads(config.threads)
    columns = (BarColumn(bar_width=10), TextColumn("{task.fields[shown]}"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=config.steps, shown="")

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.steps, shown=_progress_text(progress))

        evaluate = partial(_evaluate, game, config.seed, config.evaluation_games)
        steps, evaluations = train(game, config, folder, evaluate, show, checkpoint)
    if steps < config.steps:
        print(f"stopped at {steps:,} of {config.steps:,} steps; go on with: "
              f"castle train --resume {shlex.quote(str(folder))}")
        raise KeyboardInterrupt
    return steps, evaluations


def _progress_text(progress: Progress) -> str:
    """Steps, speed and win rates against the panel, short enough for 80 columns."""
    rates = " ".join(f"{row['opponent']} {row['win_rate']:.0%}" for row in progress.evaluation)
    done = f"{progress.steps // 1000}k/{progress.total // 1000}k"
    return f"{done} {progress.steps_per_second:,.0f}/s {rates}"


def _evaluate(game: Game, seed: int, games: int, agent: Agent, steps: int) -> list[dict[str, Any]]:
    """One row for each opponent of the panel; the games do not depend on those of training."""
    rows = []
    for opponent in (make_agent(name, game) for name in PANEL):
        records = play_match(game, (agent, opponent), games, _opening_plies(game), seed)
        both = summarise(records, agent.name, opponent.name, seed).rows[-1]
        rows.append({
            "opponent": opponent.name,
            "win_rate": both.win_rate.estimate,
            "win_rate_interval": [both.win_rate.estimate, both.win_rate.low, both.win_rate.high],
            "margin": both.margin.estimate,
            "distinct_games": both.distinct_games,
        })
    return rows


def measure(
    game: Game, agent: str, games: int, seed: int
) -> tuple[list[Summary], list[GameRecord]]:
    """Results of an agent against each opponent of the panel, and the games behind them."""
    player = make_agent(agent, game)
    summaries, records = [], []
    with progress_bar(f"measuring {agent}", games * len(PANEL)) as advance:
        for name in PANEL:
            records += play_match(game, (player, make_agent(name, game)), games,
                                  _opening_plies(game), seed, advance)
            summaries.append(summarise(records, player.name, name, seed))
    return summaries, records
