"""The script that breaks the rules: each of its edits still fits the source."""

from runpy import run_path

import pytest
from places import ROOT, TESTS

MUTATIONS = run_path(str(TESTS / "mutate_rules.py"))["MUTATIONS"]


@pytest.mark.parametrize("name", MUTATIONS)
def test_an_edit_stands_once_in_its_file(name: str) -> None:
    old, new, file = MUTATIONS[name]
    text = (ROOT / "castle_env" / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    assert new != old
