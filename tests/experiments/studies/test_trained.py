"""Ablations: every variant with every seed, resumed, and told in one table."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from narrow import narrow

from agents.training import config
from agents.training.config import RunConfig
from castle_env.errors import CastleError
from experiments.commands.ablate import Ablate, run
from experiments.measure.intervals import student_mean_interval
from experiments.studies.cells import read_cells
from experiments.studies.keys import StudyError
from experiments.studies.load import load_study, parse_study
from experiments.studies.trained.findings import find_trainings
from experiments.studies.trained.study import BASE, TrainingStudy, config_of

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
channels = 4
hidden = 8
opponents = "uniform"
baselines = ["random"]

[variants]
"two epochs" = {n_epochs = 2}
"""


def test_the_shipped_study_has_three_seeds_and_changes_one_thing_at_a_time() -> None:
    study = narrow(load_study("ablation"), TrainingStudy)
    assert all([cell.seed for cell in cells] == [0, 1, 2] for cells in study.variants.values())
    base = study.variants[BASE][0].params["config"]
    for variant, cells in study.variants.items():
        config = cells[0].params["config"]
        assert sum(config[key] != base[key] for key in base) == (variant != BASE), variant


def test_each_training_is_done_once_and_shown_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.toml").write_text(TINY.replace("two epochs", "two passes"))
    run(Ablate(study=str(tmp_path / "tiny.toml"), name="tiny", runs=tmp_path))
    folder = tmp_path / "tiny"
    rows, _ = read_cells(folder / "cells.jsonl")
    assert len(rows) == 4
    assert all(row["result"]["steps"] == 128 for row in rows.values())
    output = capsys.readouterr().out
    assert "two passes" in output
    assert "| two passes |" in (folder / "report.md").read_text()
    assert "<td>two passes</td>" in (folder / "report.html").read_text().replace(
        '<td style="text-align: left;">', "<td>")
    results = json.loads((folder / "results.json").read_text())
    assert results["answer"] in " ".join(output.split())
    assert [variant["name"] for variant in results["variants"]] == [BASE, "two passes"]
    assert {key for variant in results["variants"] for key in variant["cells"]} == set(rows)
    rates = [row["result"]["rows"][0]["win_rate"] for row in rows.values()]
    means = [variant["points"]["random"]["estimate"] for variant in results["variants"]]
    assert means == pytest.approx([sum(rates[:2]) / 2, sum(rates[2:]) / 2])
    before = (folder / "cells.jsonl").read_bytes()
    run(Ablate(resume=folder))
    assert (folder / "cells.jsonl").read_bytes() == before


def test_a_config_that_is_no_good_is_told_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(TINY.replace("n_epochs = 2", "n_epochs = 0"))
    with pytest.raises(CastleError, match="n_epochs is 0; allowed"):
        run(Ablate(study=str(tmp_path / "bad.toml"), name="bad", runs=tmp_path))
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(("old", "new", "message"), [
    ("games = 4\n", "", "key 'games' is missing"),
    ("games = 4", "games = 'x'", "key 'games' is 'x'; allowed: an even number"),
    ("seeds", "seed = 1\nseeds", "unknown key 'seed'; allowed: description, ruleset"),
    ("[0, 1]", "[0, true]", "key 'seeds' is True; allowed: an integer"),
    ("games = 4", "games = 4\nevaluations = 0", "'evaluations' is 0; allowed: an integer from 1"),
    ("{n_epochs = 2}", "1", "key 'variants.two epochs' is 1; allowed: a table"),
    ("{n_epochs = 2}", "{algorithm = 'luck'}", "algorithm' is 'luck'; allowed: ppo"),
])
def test_a_wrong_study_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(CastleError, match=message):
        parse_study(TINY.replace(old, new), "tiny")


def test_the_table_has_means_over_seeds() -> None:
    study = narrow(parse_study(TINY, "tiny"), TrainingStudy)
    rows = {}
    for cells in study.variants.values():
        for cell, rate in zip(cells, (0.4, 0.6), strict=True):
            rows[cell.key] = {"key": cell.key, "result": {
                "rows": [{"opponent": "random", "win_rate": rate}], "regret": None,
                "steps_per_second": 10 * rate}}
    table = find_trainings(study, json.loads(json.dumps(rows))).table()
    assert [row[0] for row in table.rows] == [BASE, "two epochs"]
    assert table.rows[0][1].startswith("50.0% [")
    assert table.rows[0][2:4] == ("–", "5")


def test_intervals_are_those_of_students_t() -> None:
    """Three values with mean 2 and standard error 1/sqrt(3); t(0.975, 2) = 4.3027."""
    interval = student_mean_interval([1.0, 2.0, 3.0])
    assert interval.estimate == 2
    assert interval.high - 2 == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert not student_mean_interval([1.0]).is_known


def test_the_history_of_evaluations_is_kept(tmp_path: Path) -> None:
    text = TINY.replace("games = 4", "games = 4\nevaluations = 2").replace("[0, 1]", "[0]")
    (tmp_path / "tiny.toml").write_text(text)
    run(Ablate(study=str(tmp_path / "tiny.toml"), name="tiny", runs=tmp_path))
    for row in read_cells(tmp_path / "tiny" / "cells.jsonl")[0].values():
        history = row["result"]["evaluations"]
        assert [found["steps"] for found in history] == [0, 64, 128]
        assert history[-1]["rows"] == row["result"]["rows"]
        minutes = [found["cpu_minutes"] for found in history]
        assert minutes == sorted(minutes)


@dataclass(frozen=True)
class Luck(RunConfig):
    """Another algorithm's options."""

    steps: int = 5
    dice: int = 1
    algorithm: ClassVar[Any] = "luck"


def test_variants_may_have_other_algorithms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their options are their own; cells of the default are those that they always were."""
    monkeypatch.setattr(config, "CONFIGS", {**config.CONFIGS, "luck": Luck})
    monkeypatch.setattr("experiments.studies.trained.study.ALGORITHMS", ("ppo", "luck"))
    more = TINY + "'by luck' = {algorithm = 'luck', dice = 2}\n"
    study = narrow(parse_study(more, "tiny"), TrainingStudy)
    cells = study.variants["by luck"]
    assert [(cell.params["algorithm"], cell.seed) for cell in cells] == [("luck", 0), ("luck", 1)]
    assert config_of(cells[1].params, 1) == Luck(
        steps=5, dice=2, seed=1, evaluate_every=5, checkpoint_every=5)
    assert {cell.key for cell in parse_study(TINY, "tiny").cells()} == {
        cell.key for cell in study.cells() if "algorithm" not in cell.params}


def test_failed_trainings_are_told_after_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise ValueError("no luck")

    monkeypatch.setattr("experiments.studies.trained.cells.train", fail)
    (tmp_path / "tiny.toml").write_text(TINY)
    with pytest.raises(StudyError, match=r"4 of 4 cells failed.*castle ablate --resume.*no luck"):
        run(Ablate(study=str(tmp_path / "tiny.toml"), name="tiny", runs=tmp_path))
    assert "## 4 cells that failed" in (tmp_path / "tiny" / "report.md").read_text()
