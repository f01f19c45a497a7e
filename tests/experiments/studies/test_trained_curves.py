"""Learning curves: a plain yardstick that trains as the library has it, and the picture of all."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from narrow import narrow
from quick_pictures import quick_pictures
from sb3_contrib import MaskablePPO

from castle_env import Game, OptionError, load_ruleset
from experiments.studies.load import load_study, parse_study
from experiments.studies.trained import plain
from experiments.studies.trained.findings import find_trainings
from experiments.studies.trained.pictures import Point, curve_of
from experiments.studies.trained.plain import PlainConfig, train_plain
from experiments.studies.trained.study import PLAIN, TrainingStudy, config_of

STORM = Game(load_ruleset("storm"))
# Decisions in one rollout of one game; MaskablePPO itself has 2,048.
ROLLOUT = 64


def evaluation(steps: Any, minutes: Any, points: Any, regret: Any) -> Any:
    """An evaluation as trainings make them."""
    return {"steps": steps, "cpu_minutes": minutes,
            "rows": [{"opponent": name, "win_rate": points} for name in ("random", "greedy")],
            "regret": None if regret is None else {"estimate": regret, "low": None, "high": None}}


def test_plain_training_is_measured_from_the_untrained_network_on(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "MaskablePPO", partial(MaskablePPO, n_steps=ROLLOUT))
    chosen = []

    def evaluate(agent: Any) -> Any:
        states = STORM.initial_states(3)
        actions = agent.select_actions(states, np.random.default_rng(0))
        assert (STORM.legal_action_masks(states)[np.arange(3), actions] == 1).all()
        weights = [tensor.clone() for tensor in agent._model.policy.parameters()]
        chosen.append(weights)
        return {"rows": [], "regret": None}

    config = PlainConfig(steps=ROLLOUT + 1, num_envs=1, evaluate_every=20, opponent="random")
    steps, evaluations = train_plain(STORM, config, evaluate)
    # Every rollout ends beyond several evaluations that were due; each is made once.
    assert [found["steps"] for found in evaluations] == [0, ROLLOUT, 2 * ROLLOUT]
    assert steps == 2 * ROLLOUT
    minutes = [found["cpu_minutes"] for found in evaluations]
    assert 0 <= minutes[0] < minutes[1] < minutes[2]
    assert any((before != after).any() for before, after in zip(*chosen[:2], strict=True))


@pytest.mark.parametrize(("given", "message"), [
    ({"channels": 3}, "unknown training option 'channels'; allowed: steps"),
    ({"num_envs": 0}, "num_envs is 0; allowed")])
def test_a_wrong_option_of_a_plain_training_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        config_of({"algorithm": PLAIN, "config": given}, 0)


def test_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(OptionError, match="algorithm is 'dqn'; allowed: ppo, az, plain"):
        config_of({"algorithm": "dqn", "config": {}}, 0)


def test_the_shipped_study_trains_three_ways_with_three_seeds() -> None:
    study = narrow(load_study("curves"), TrainingStudy)
    assert [[cell.seed for cell in cells] for cells in study.variants.values()] == [[0, 1, 2]] * 3
    params = [cells[0].params for cells in study.variants.values()]
    assert [given.get("algorithm", "ppo") for given in params] == ["plain", "ppo", "az"]
    for given in params:
        config = given["config"]
        assert config["evaluate_every"] == -(-config["steps"] // 8)
        assert config_of(given, 1).steps == config["steps"]


def test_a_curve_has_the_evaluations_of_all_seeds_side_by_side() -> None:
    seeds = [[evaluation(0, 0.0, 0.1, 3.0), evaluation(100, 1.0, 0.4, 2.0)],
             [evaluation(0, 0.0, 0.2, 2.5), evaluation(100, 1.5, 0.5, 1.0)]]
    assert curve_of(seeds) == [
        Point(steps=(0, 0), cpu_minutes=(0, 0), points=(0.1, 0.2), regret=(3.0, 2.5)),
        Point(steps=(100, 100), cpu_minutes=(1.0, 1.5), points=(0.4, 0.5), regret=(2.0, 1.0))]
    assert curve_of([[], []]) == []


TINY = """
description = "Tiny"
ruleset = "storm"
seeds = [0]
games = 4
positions = 0
evaluations = 3

[variants]
"plainly" = {algorithm = "plain", steps = 3000}
"""


def test_the_report_shows_the_curves_of_trainings_that_were_measured_on_the_way(
    tmp_path: Path
) -> None:
    study = narrow(parse_study(TINY, "tiny"), TrainingStudy)
    (cell,) = study.cells()
    evaluations = [evaluation(1000 * k, k, 0.2 * k, 3.0 - k / 2) for k in range(4)]
    row = {"key": cell.key, "result": evaluations[-1] | {
        "steps_per_second": 7, "evaluations": evaluations}}
    findings = find_trainings(study, {cell.key: row})
    with quick_pictures():
        (shown,) = findings.pictures(tmp_path)
    assert "(learning-curves.png)" in shown
    assert (tmp_path / "learning-curves.png").is_file()
    kept = json.loads(json.dumps([variant.to_dict() for variant in findings.variants]))
    assert [point["steps"] for point in kept[0]["curve"]] == [[0], [1000], [2000], [3000]]
    del row["result"]["evaluations"]
    assert find_trainings(study, {cell.key: row}).pictures(tmp_path) == []
