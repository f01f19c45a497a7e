"""Files of datasets: the same columns from both kinds, and what is wrong with a damaged one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from places import ROOT

from castle_env import Game, load_ruleset
from experiments.dataset.files import Dataset, DatasetError, load_dataset, save_dataset
from experiments.dataset.making import Part, Question, make_part

STORM = load_ruleset("storm")
QUESTION = Question(STORM, (13, 15), "exact", players=("random",), opening_plies=2)


def made() -> Dataset:
    return Dataset(**make_part(Part(QUESTION, 0)), card=QUESTION.about())


def same(one: Dataset, other: Dataset) -> bool:
    ours, theirs = one.arrays(), other.arrays()
    return list(ours) == list(theirs) and all(
        ours[name].dtype == theirs[name].dtype and np.array_equal(ours[name], theirs[name])
        for name in ours)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_what_is_written_is_read(tmp_path: Path, suffix: str) -> None:
    dataset = made()
    save_dataset(tmp_path / f"d{suffix}", dataset)
    found = load_dataset(str(tmp_path / f"d{suffix}"))
    assert same(found, dataset)
    assert found.game.rules == STORM
    card = json.loads((tmp_path / "d.json").read_text())
    assert card == found.card
    assert card["columns"]["values"] == {"dtype": "int16", "shape": [len(dataset), 25]}


def test_the_columns() -> None:
    dataset = made()
    game, count = Game(STORM), len(dataset)
    arrays = dataset.arrays()
    assert arrays["observations"].shape == (count, 18, 6, 6)
    assert np.array_equal(arrays["observations"], game.observations(dataset.states))
    assert np.array_equal(dataset.masks, game.legal_action_masks(dataset.states))
    assert np.array_equal(dataset.values > -32768, dataset.masks == 1)
    assert np.array_equal(arrays["best_values"], dataset.values.max(axis=1))
    assert dataset.observations("uint8").dtype == np.uint8
    best = dataset.values == dataset.best_values[:, None]
    assert np.allclose(dataset.policies, best / best.sum(axis=1, keepdims=True))


def test_tensors() -> None:
    dataset = made()
    tensors = dataset.tensors()
    assert set(tensors) == set(dataset.arrays()) - {"states"}
    for name, tensor in tensors.items():
        assert torch.equal(tensor, torch.as_tensor(dataset.arrays()[name]))


def test_the_example_learns_and_is_what_the_page_shows(tmp_path: Path) -> None:
    example = ROOT / "examples" / "value_network.py"
    code = example.read_text(encoding="utf-8")
    page = (ROOT / "docs" / "dataset.md").read_text(encoding="utf-8")
    assert code.partition("import sys")[2] in page
    parts = [make_part(Part(QUESTION, number)) for number in range(20)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    save_dataset(tmp_path / "d.npz", Dataset(**columns, card=QUESTION.about()))
    done = subprocess.run([sys.executable, example, "d.npz"], cwd=tmp_path, check=True, text=True,
                          capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    error, guess = map(float, re.findall(r"(\d\.\d\d) VP", done.stdout))
    assert error < 0.8 * guess


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_damaged_files_are_one_clear_error(tmp_path: Path, suffix: str) -> None:
    file, card = tmp_path / f"d{suffix}", tmp_path / "d.json"
    save_dataset(file, made())
    data, about = file.read_bytes(), json.loads(card.read_text())

    def wrong(text: str, content: bytes = data, **changes: Any) -> None:
        file.write_bytes(content)
        card.write_text(json.dumps(about | changes))
        with pytest.raises(DatasetError, match=text):
            load_dataset(file)

    wrong("damaged", data[:-1])
    wrong("format 2", format=2)
    wrong("JSON object with", positions="1")
    wrong("of shape .* allowed", positions=about["positions"] + 1)
    card.write_text("{")
    with pytest.raises(DatasetError, match="no JSON"):
        load_dataset(file)
    card.unlink()
    with pytest.raises(DatasetError, match="cannot read dataset"):
        load_dataset(file)
    with pytest.raises(DatasetError, match=r"ends in \.npz or \.parquet"):
        load_dataset(tmp_path / "d.csv")
