"""Training measured against a fixed panel of opponents, with a line of progress."""

import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from agents.networks.checkpoint import Checkpoint, CheckpointError
from agents.openings import longest_opening
from agents.solve.perfect_play import exact_move_values
from agents.training.config import RunConfig
from agents.training.learners import check_config
from agents.training.run import Evaluation, Progress, train
from castle_env import Agent, Game, make_agent
from castle_env.game_record import GameRecord
from castle_env.ruleset import STORM
from experiments.measure.decisions import random_positions
from experiments.measure.intervals import Interval, stratified_mean_interval
from experiments.measure.match import PANEL, check_match, play_match
from experiments.measure.records import Summary, summarise
from experiments.measure.truth_set import TruthSet, shipped_truth_set
from experiments.options import command_line
from experiments.output import tell
from experiments.progress import progress_bar

_SHORT_NAMES: Final = {"random": "random", "greedy": "greedy", "alphabeta:2": "ab2",
                       "alphabeta:4": "ab4"}
# Random plies before each measured game, or fewer where a ruleset's games are too short.
OPENING_PLIES: Final = 4
# Between two lines of progress where there is no terminal.
SECONDS_PER_LINE: Final = 30.0
# Regret is measured from this ply on, where the exact values of all moves are quickly found.
FIRST_JUDGED_PLY: Final = 6
# Positions of each ply taken from a shipped truth set, whose values are all known.
SHIPPED_POSITIONS: Final = 100

# First part of the seed of an agent's random numbers where it is judged.
_CHOICES: Final = 1


def check_training(game: Game, config: RunConfig) -> None:
    """Raise `CastleError` for what would end a run halfway."""
    for count in (config.evaluation_games, config.report_games):
        check_match(game, count, _opening_plies(game), config.seed)
    check_config(game, config)


def check_history(checkpoint: Checkpoint) -> None:
    """Raise `CheckpointError` for evaluations that a report could not show."""
    try:
        for evaluation in checkpoint.card["results"]["evaluations"]:
            if evaluation["regret"] is not None:
                Interval.from_dict(evaluation["regret"])
            shares = {row["opponent"]: Interval(*map(float, row["win_rate_interval"]))
                      for row in evaluation["rows"]}
            if tuple(shares) != PANEL:
                raise ValueError(f"it is against {', '.join(map(str, shares))}")
    except (ValueError, TypeError, LookupError) as error:
        raise CheckpointError(f"the card of checkpoint {str(checkpoint.path)!r} holds an "
                              f"evaluation that is none of the panel's: {error!r}") from error


def _opening_plies(game: Game) -> int:
    return min(OPENING_PLIES, longest_opening(game))


def learn(
    game: Game,
    config: RunConfig,
    folder: Path,
    checkpoint: Checkpoint | None = None,
    until: int | None = None,
    init_from: Checkpoint | None = None,
) -> tuple[int, list[Evaluation]]:
    """Train in a run's folder, with progress on standard error; see `agents.training.run.train`.

    Raises `KeyboardInterrupt` after a run that was stopped, having said how to go on with it.
    """
    torch.set_num_threads(config.threads)
    positions = config.regret_positions if game.rules.mode == STORM else 0
    panel = Panel(game, config.evaluation_games, positions, config.seed)
    total = config.steps if until is None else until
    with _showing_progress(total) as show:
        steps, evaluations = train(game, config, folder, panel.evaluate, show, checkpoint,
                                   command_line(), until=total, init_from=init_from)
    if steps < total:
        tell(f"stopped at {steps:,} of {total:,} steps; go on with: "
              f"castle train --resume {shlex.quote(str(folder))}")
        raise KeyboardInterrupt
    return steps, evaluations


@contextmanager
def _showing_progress(total: int) -> Iterator[Callable[[Progress], None]]:
    """What shows progress: a bar in a terminal, elsewhere a line every `SECONDS_PER_LINE`."""
    console = Console(stderr=True, force_jupyter=False)
    if not console.is_terminal:
        yield _ProgressLines().show
        return
    columns = (BarColumn(bar_width=10), TextColumn("{task.fields[shown]}"), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("training", total=total, shown="")
        yield lambda progress: bar.update(task, completed=progress.steps,
                                          shown=_progress_text(progress))


class _ProgressLines:
    """Lines on standard error, the first at once and the last at the end."""

    def __init__(self) -> None:
        self._next = 0.0

    def show(self, progress: Progress) -> None:
        """Write a line if it is time for one."""
        if time.monotonic() < self._next and progress.steps < progress.total:
            return
        self._next = time.monotonic() + SECONDS_PER_LINE
        left = progress.seconds_left
        ending = f", {timedelta(seconds=round(left))} left" if math.isfinite(left) else ""
        tell(_progress_text(progress) + ending, file=sys.stderr, flush=True)


def _progress_text(progress: Progress) -> str:
    """Steps, speed, points against the panel and regret, short enough for 80 columns."""
    done = f"{progress.steps // 1000}k/{progress.total // 1000}k {progress.steps_per_second:,.0f}/s"
    if progress.evaluation is None:
        return done
    rates = [f"{_SHORT_NAMES[row['opponent']]} {row['win_rate']:.0%}"
             for row in progress.evaluation["rows"]]
    regret = progress.evaluation["regret"]
    return " ".join([done, *rates, *([f"regret {regret['estimate']:.2f}"] if regret else [])])


class Panel:
    """Measures agents as they learn: against fixed opponents and, in storm, against the truth.

    The games and positions are the same at every call and do not depend on those of training.
    """

    def __init__(self, game: Game, games: int, positions: int, seed: int) -> None:
        self._game: Final = game
        self._games: Final = games
        self._seed: Final = seed
        self._opponents: Final = [make_agent(name, game) for name in PANEL]
        self._regret: Final = RegretMeter(game, positions, seed) if positions else None

    def evaluate(self, agent: Agent) -> Evaluation:
        """A row for each opponent, and the regret where there is one; see `agents.training.run`."""
        regret = self._regret.measure(agent).to_dict() if self._regret else None
        return {"rows": [self._row(agent, opponent) for opponent in self._opponents],
                "regret": regret}

    def _row(self, agent: Agent, opponent: Agent) -> dict[str, Any]:
        records = play_match(self._game, (agent, opponent), self._games,
                             _opening_plies(self._game), self._seed)
        both = summarise(records, agent.name, opponent.name, self._seed).rows[-1]
        return {
            "opponent": opponent.name,
            "win_rate": both.win_rate.estimate,
            "win_rate_interval": [both.win_rate.estimate, both.win_rate.low, both.win_rate.high],
            "margin": both.margin.estimate,
            "distinct_games": both.distinct_games,
        }


class RegretMeter:
    """The exact regret of agents in VP per move, in the same positions for all of them.

    In a ruleset of which a truth set is shipped, `SHIPPED_POSITIONS` of each ply of it from
    `FIRST_JUDGED_PLY` to the end. Else `positions` random ones of each, whose exact values are
    found at the first call and kept.
    """

    def __init__(self, game: Game, positions: int, seed: int) -> None:
        self._game: Final = game
        self._positions: Final = positions
        self._seed: Final = seed

    def measure(self, agent: Agent) -> Interval:
        """Mean regret, each ply counting alike, with its 95% normal interval."""
        truth = self._truth
        actions = agent.select_actions(truth.states, np.random.default_rng([_CHOICES, self._seed]))
        regrets, plies = truth.regrets[np.arange(len(truth)), actions], truth.states["ply"]
        return stratified_mean_interval([regrets[plies == ply] for ply in np.unique(plies)])

    @cached_property
    def _truth(self) -> TruthSet:
        game = self._game
        shipped = shipped_truth_set()
        if shipped.card["ruleset_digest"] == game.rules.digest:
            return shipped.first_of_each_ply(SHIPPED_POSITIONS, FIRST_JUDGED_PLY)
        plies = range(min(FIRST_JUDGED_PLY, game.rules.max_plies - 1), game.rules.max_plies)
        states = np.concatenate([random_positions(game, self._positions, ply, self._seed)
                                 for ply in plies])
        return TruthSet(states, exact_move_values(game, states),
                        np.zeros(len(states), dtype=np.uint8), {})


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
