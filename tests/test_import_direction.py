"""Imports go one way, castle_env <- agents <- experiments, and the tree has no other folders."""

import ast
import fnmatch
import sys
from pathlib import Path

import pytest
from places import ROOT

FOLDERS = {"castle_env", "agents", "experiments", "notebooks", "tests", "docs", "examples", ".ci"}
LEARNING = {"torch", "stable_baselines3", "sb3_contrib", "onnx", "pydantic"}

# What each package may import besides itself and the standard library.
ALLOWED = {
    "castle_env": {"numpy", "numba", "gymnasium", "pettingzoo", "pygame", "pyspiel",
                   "open_spiel"},
    "agents": {"filelock", "numpy", "numba", "gymnasium", "castle_env", *LEARNING},
}


def imported(file: Path) -> set[str]:
    """Top-level names of all modules a file imports, wherever in the file."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def imports_of(package: str) -> dict[str, set[str]]:
    return {str(file.relative_to(ROOT)): imported(file)
            for file in sorted((ROOT / package).rglob("*.py"))}


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("castle_env", {"agents", "experiments", "tests", *LEARNING}),
        ("agents", {"experiments", "tests"}),
        ("experiments", {"tests"}),
    ],
)
def test_imports_go_one_way(package: str, forbidden: set[str]) -> None:
    wrong = {file: names & forbidden for file, names in imports_of(package).items()}
    assert not any(wrong.values()), wrong


@pytest.mark.parametrize("package", ALLOWED)
def test_packages_import_only_what_they_may(package: str) -> None:
    allowed = set(sys.stdlib_module_names) | {package} | ALLOWED[package]
    others = {file: names - allowed for file, names in imports_of(package).items()}
    assert not any(others.values()), others


def test_pygame_is_imported_lazily() -> None:
    for file in (ROOT / "castle_env").rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert "pygame" not in ast.unparse(node), file


def test_top_level_folders() -> None:
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - {".git"}
    kept = {name for name in folders if not any(fnmatch.fnmatch(name, p) for p in ignored if p)}
    assert kept <= FOLDERS
