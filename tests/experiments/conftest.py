"""What tests of several rooms of experiments share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ended import Ended
from quick_pictures import quick_pictures

from experiments.cli import main


@pytest.fixture
def castle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Runs the command in an empty folder and in this process, with pictures of one pixel."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Ended:
        monkeypatch.setattr("sys.argv", ["castle", *map(str, arguments)])
        status: Any = 0
        try:
            with quick_pictures():
                main()
        except SystemExit as end:
            status = end.code or 0
        captured = capsys.readouterr()
        return Ended(status, captured.out, captured.err)

    return call
