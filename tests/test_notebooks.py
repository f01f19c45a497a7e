"""Every notebook runs from top to bottom."""

import sys
from types import ModuleType

import nbformat
import pytest
from places import ROOT
from shortened import shortened

from castle_env import agent

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"), key=lambda path: path.name)


def code_of(name: str) -> list[nbformat.NotebookNode]:
    notebook = nbformat.read(ROOT / "notebooks" / name, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", [path.name for path in NOTEBOOKS])
def test_notebook_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "_registered", dict(agent._registered))
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    vars(main)["display"] = lambda shown: None
    for number, cell in enumerate(code_of(name), start=1):
        exec(compile(shortened(cell.source), f"{name}, cell {number}", "exec"), vars(main))


@pytest.mark.parametrize("name", [path.name for path in NOTEBOOKS])
def test_notebook_is_kept_with_its_output(name: str) -> None:
    cells = code_of(name)
    assert cells
    assert all(cell.execution_count for cell in cells)
    assert any("image/" in kind for cell in cells for output in cell.outputs
               for kind in output.get("data", {}))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS
