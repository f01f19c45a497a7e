"""Studies of proofs: values and bounds of readings of Sudden Death, each with its row."""

import json
import re
from pathlib import Path

import pytest
from narrow import narrow
from places import ROOT

from experiments.commands.balance import Balance, run
from experiments.studies.cells import Cell, compute, read_cells
from experiments.studies.keys import StudyError
from experiments.studies.load import load_study, parse_study
from experiments.studies.rulesets.study import RulesetStudy
from experiments.studies.solved.proofs import Proven, proofs_of, tables

SMALL = """\
description = "Two ways to enter"
base = "sudden-death"
exact = false
proof_nodes = 2_000

[[vary]]
key = "factions_per_player"
values = [2, 3, 6]

[[vary]]
key = "entry_style"
values = ["slide", "step"]
"""


def test_values_and_bounds_are_told_with_their_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two and three factions are solved by so few positions, six are not."""
    (tmp_path / "small.toml").write_text(SMALL)
    run(Balance(study=str(tmp_path / "small.toml"), runs=tmp_path, name="one"))
    said = "Of 6 rulesets, 4 are solved: best play by both wins 4 for the first player, draws 0"
    assert said in " ".join(capsys.readouterr().out.split())
    report = (tmp_path / "one" / "report.md").read_text()
    assert "| factions_per_player | slide | step |" in report
    assert "| 2 | +3 in 3 | +3 in 3 |" in report
    assert "| 3 | +1 in 5 | +2 in 5 |" in report
    rows = read_cells(tmp_path / "one" / "cells.jsonl")[0]
    study = narrow(parse_study(SMALL, "small"), RulesetStudy)
    proofs = proofs_of(study, rows)
    assert [proof.labels for proof in proofs] == list(study.rulesets)
    assert all(f"`{proof.cell}`" in report for proof in proofs)
    for proof in proofs[-2:]:
        assert proof.value is None
        assert 2_000 <= proof.nodes < 2_100
        assert proof.text in report
    results = json.loads((tmp_path / "one" / "results.json").read_text())
    assert results["proofs"][0]["low"] == results["proofs"][0]["high"] == 3


def test_a_cell_is_the_same_each_time() -> None:
    rules = narrow(parse_study(SMALL, "small"), RulesetStudy).rulesets["6", "slide"]
    one, other = (compute(Cell("proof", rules, {"nodes": 30_000}))["result"] for _ in range(2))
    assert one == other
    assert 30_000 <= one["nodes"] < 30_100


@pytest.mark.parametrize(("low", "high", "length", "text"), [
    (3, 3, 5, "+3 in 5"), (-1, 2, None, "-1 to +2"), (None, 0, None, "any to +0"),
    (-4, None, None, "-4 to any")])
def test_how_a_proof_reads(
    low: int | None, high: int | None, length: int | None, text: str
) -> None:
    assert Proven((), "x", low, high, length, 5, 1).text == text


@pytest.mark.parametrize(("text", "said"), [
    ("base = 'storm'\nexact = false\nproof_nodes = 5",
     "'proof_nodes' is 5; allowed: none in storm"),
    ("base = 'sudden-death'\nexact = false\nproof_nodes = -1", "'proof_nodes' is -1; allowed"),
    ("base = 'sudden-death'\nexact = false\nproof_nodes = true", "'proof_nodes' is True"),
    ("base = 'sudden-death'\nexact = false\nproof_nodes = 0", "asks for nothing"),
    ("base = 'sudden-death'\nproof_nodes = 5", "'exact' is True; allowed: exact = false"),
])
def test_refuses_studies(text: str, said: str) -> None:
    with pytest.raises(StudyError, match=re.escape(said)):
        parse_study(text, "wrong")


def test_the_shipped_results_are_those_of_the_study() -> None:
    folder = ROOT / "docs" / "results" / "sudden-death-values"
    study = narrow(load_study(folder / "study.toml"), RulesetStudy)
    rows = read_cells(folder / "cells.jsonl")[0]
    assert {cell.key for cell in load_study("sudden-death-values").cells()} == set(rows)
    proofs = proofs_of(study, rows)
    assert len(proofs) == 80
    assert all(proof.value is not None for proof in proofs)
    assert tables(study, proofs)[1] in (folder / "report.md").read_text()


def test_the_shipped_study_has_every_reading() -> None:
    study = narrow(load_study("sudden-death-values"), RulesetStudy)
    readings = {(rules.entry_lanes, rules.entry_style, rules.steps_must_push)
                for rules in study.rulesets.values()}
    assert len(readings) == 16
    assert {rules.factions_per_player for rules in study.rulesets.values()} >= {2, 3, 4, 5, 6}
