"""Tests lie where what they test lies, under its name."""

from pathlib import Path

import pytest
from places import ROOT, TESTS

PACKAGES = ("castle_env", "agents", "experiments")
# Tests of the project as a whole, and what tests share.
WHOLE = {"docs", "examples", "import_direction", "layout", "mutate_rules", "notebooks", "package",
         "site"}
NO_ROOMS = {"data", "helpers", "__pycache__"}


def misplaced(tests: Path, root: Path) -> list[str]:
    """Test files in rooms that are named after no module or folder there.

    `test_env.py` and `test_env_games.py` are tests of `env.py`.
    """
    found = []
    for file in sorted(tests.rglob("*/test_*.py")):
        room = root / file.parent.relative_to(tests)
        names = {path.stem for path in room.glob("*")} if room.is_dir() else set()
        subject = file.stem.removeprefix("test_")
        if not any(subject == name or subject.startswith(name + "_") for name in names):
            found.append(str(file.relative_to(tests)))
    return found


def test_tests_mirror_the_rooms() -> None:
    wrong = misplaced(TESTS, ROOT)
    assert not wrong, f"named after no module or folder of their room: {', '.join(wrong)}"


def test_only_tests_of_the_whole_lie_at_the_top() -> None:
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()}
    assert folders - NO_ROOMS == set(PACKAGES)
    assert {file.stem.removeprefix("test_") for file in TESTS.glob("test_*.py")} == WHOLE


@pytest.mark.parametrize("wrong", ["agents/test_search.py", "house/test_env.py"])
def test_a_misplaced_test_is_named(wrong: str, tmp_path: Path) -> None:
    for name in ("package/castle_env/env.py", "package/agents/solve/book.py",
                 "tests/castle_env/test_env.py", "tests/castle_env/test_env_games.py",
                 "tests/agents/test_solve.py", f"tests/{wrong}"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert misplaced(tmp_path / "tests", tmp_path / "package") == [wrong]
