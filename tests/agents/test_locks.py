"""Locks: one process at a time, whose death frees them; a second one is told who holds it."""

import re
from pathlib import Path

import pytest
from other_process import somewhere_else

from agents.locks import locked
from agents.runs import RunError


def test_a_second_process_is_told_who_holds_a_folder_or_a_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "file"):
        with somewhere_else(path) as other, pytest.raises(RunError) as refused, locked(path):
            pass
        assert re.fullmatch(rf"{re.escape(repr(str(path)))} is in use by process {other.pid} "
                            r"\(-c .*\); allowed: one process at a time", str(refused.value))
        with locked(path), locked(path):  # the holder was killed
            pass
        assert list(tmp_path.iterdir()) == []


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot lock"), locked(tmp_path / "none" / "file"):
        pass
