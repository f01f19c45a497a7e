"""Ablations: every variant with every seed, resumed, and told in one table."""

import json
from pathlib import Path

import pytest

from castle_env.errors import CastleError
from experiments.commands.ablate import (
    BASE,
    Ablate,
    ablation_table,
    mean_interval,
    parse_ablation,
    run,
)
from experiments.studies.cells import read_cells
from experiments.studies.study import StudyError

TINY = """
description = "Tiny"
ruleset = "storm"
seeds = [0, 1]
games = 4
positions = 0

[base]
steps = 128
num_envs = 16
n_steps = 4
batch_size = 32
channels = [4]
features = 8
lookahead = 1
baselines = ["random"]
snapshot_every = 64

[variants]
"one epoch" = {n_epochs = 1}
"""


def test_the_shipped_study_has_three_seeds_and_changes_one_thing_at_a_time():
    text = (Path(__file__).parents[1] / "experiments/studies/ablation.toml").read_text()
    study = parse_ablation(text, "ablation")
    assert all([cell.seed for cell in cells] == [0, 1, 2] for cells in study.cells.values())
    base = study.cells[BASE][0].params["config"]
    for variant, cells in study.cells.items():
        config = cells[0].params["config"]
        assert sum(config[key] != base[key] for key in base) == (variant != BASE), variant


def test_each_training_is_done_once_and_shown_in_the_table(tmp_path, monkeypatch, capsys):
    (tmp_path / "tiny.toml").write_text(TINY.replace("one epoch", "one pass"))
    run(Ablate(study=str(tmp_path / "tiny.toml"), name="tiny", runs=tmp_path))
    folder = tmp_path / "tiny"
    rows, _ = read_cells(folder / "cells.jsonl")
    assert len(rows) == 4
    assert all(row["result"]["steps"] == 128 for row in rows.values())
    assert "one pass" in capsys.readouterr().out
    assert "| one pass |" in (folder / "report.md").read_text()
    before = (folder / "cells.jsonl").read_bytes()
    run(Ablate(resume=folder))
    assert (folder / "cells.jsonl").read_bytes() == before


def test_a_config_that_is_no_good_is_told_before_anything_is_trained(tmp_path):
    (tmp_path / "bad.toml").write_text(TINY.replace("n_epochs = 1", "n_epochs = 0"))
    with pytest.raises(CastleError, match="n_epochs is 0; allowed"):
        run(Ablate(study=str(tmp_path / "bad.toml"), name="bad", runs=tmp_path))
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(("old", "new", "message"), [
    ("games = 4\n", "", "key 'games' is missing"),
    ("games = 4", "games = 'x'", "games is 'x'; allowed: a int"),
    ("seeds", "seed = 1\nseeds", "key 'seed' is unknown"),
])
def test_a_wrong_study_is_refused(old, new, message):
    with pytest.raises(StudyError, match=message):
        parse_ablation(TINY.replace(old, new), "tiny")


def test_the_table_has_means_over_seeds():
    study = parse_ablation(TINY, "tiny")
    rows = {}
    for cells in study.cells.values():
        for cell, rate in zip(cells, (0.4, 0.6), strict=True):
            rows[cell.key] = {"result": {
                "rows": [{"opponent": "random", "win_rate": rate}], "regret": None,
                "steps_per_second": 10 * rate}}
    table = ablation_table(study, json.loads(json.dumps(rows)))
    assert [row[0] for row in table.rows] == [BASE, "one epoch"]
    assert table.rows[0][1].startswith("50.0% [")
    assert table.rows[0][2:] == ("-", "5")


def test_intervals_are_those_of_students_t():
    """Three values with mean 2 and standard error 1/sqrt(3); t(0.975, 2) = 4.3027."""
    interval = mean_interval([1.0, 2.0, 3.0])
    assert interval.estimate == 2
    assert interval.high - 2 == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert not mean_interval([1.0]).is_known
