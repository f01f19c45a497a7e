"""What training cells hold: how strong agents become under a config, measured by the panel."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

import torch

from agents.training.run import Evaluation, train
from castle_env import Agent, Game, Ruleset
from castle_env.ruleset import STORM
from experiments.measure.panel import Panel
from experiments.studies.trained.plain import PlainConfig, train_plain
from experiments.studies.trained.study import config_of

# All agents meet the same opponents in the same openings, and judge the same positions.
PANEL_SEED: Final = 1_000_003


def training_cell(game: Game, params: Mapping[str, Any], seed: int | None) -> dict[str, Any]:
    """Train with `params["config"]` and `seed`; the panel's rows and regret at the end.

    `params["games"]` are played against each opponent; in storm regret is measured in
    `params["positions"]` positions of each ply. evaluations: all that were made, from before
    training on, each with "steps", "cpu_minutes", "rows" and "regret". steps_per_second counts
    training alone, in the company of whatever else the machine was doing.
    """
    config = config_of(params, seed or 0)
    torch.set_num_threads(config.threads)
    positions = params["positions"] if game.rules.mode == STORM else 0
    panel = _panel(json.dumps(game.rules.to_dict()), params["games"], positions)
    started = perf_counter()
    measuring = 0.0

    def evaluate(agent: Agent) -> Evaluation:
        nonlocal measuring
        began = perf_counter()
        found = panel.evaluate(agent)
        measuring += perf_counter() - began
        return found

    if isinstance(config, PlainConfig):
        steps, evaluations = train_plain(game, config, evaluate)
    else:
        with TemporaryDirectory() as folder:
            steps, evaluations = train(game, config, Path(folder), evaluate)
    seconds = perf_counter() - started - measuring
    return evaluations[-1] | {"steps": steps, "steps_per_second": round(steps / seconds),
                              "evaluations": evaluations}


@lru_cache(maxsize=1)
def _panel(ruleset: str, games: int, positions: int) -> Panel:
    """Kept from cell to cell, since exact values take longer than many a training."""
    return Panel(Game(Ruleset.from_dict(json.loads(ruleset))), games, positions, PANEL_SEED)
