"""Compiled code and its cache, and what importing the package pulls in, in fresh processes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from forked import Forked, run_code
from places import ROOT

from castle_env.compiled import _CacheFile

HEAVY = ("torch", "pygame", "stable_baselines3", "sb3_contrib", "matplotlib", "agents",
         "experiments")


# A package with kernels, which takes less long to compile than the rules.
FILES = {
    "house/calls/caller.py": """
from castle_env.compiled import kernel
from house.rules.doubling import double

@kernel
def twice_and_one(number: int) -> int:
    return double(number) + 1

print(twice_and_one(5))
""",
    "house/rules/doubling.py": """
from castle_env.compiled import kernel
from house.numbers import FACTOR

@kernel
def double(number: int) -> int:
    return number * FACTOR
""",
    "house/numbers.py": "from plain import FACTOR\n",
    "plain.py": "FACTOR = 2\n",
}
# Calls itself with a constant, and without one.
RECURSIVE = """
from castle_env.compiled import kernel

@kernel
def last_even(number: int, even: bool) -> bool:
    if number == 0:
        return even
    return last_even(number - 1, not even) if number & 1 else last_even(number - 1, True)

@kernel
def ask(number: int) -> bool:
    return last_even(number, True)

print(ask(6))
"""
CALL = "import house.calls.caller"
EXPECTED = "11\n"
# The first call has a flag, whose type is not that of the number in the second.
SUM_TO = """
from castle_env.compiled import kernel

@kernel
def sum_to(number: int, sign: int) -> int:
    return 0 if number == 0 else sign * number + sum_to(number - 1, -sign)

@kernel
def both(number: int) -> int:
    return sum_to(number, True)

print(both(5))
"""
EIGHT_CALLS = """
from importlib import import_module
from multiprocessing import get_context
import castle_env.compiled

processes = [get_context("fork").Process(target=import_module, args=["house.calls.caller"])
             for _ in range(8)]
for process in processes:
    process.start()
for process in processes:
    process.join()
    assert process.exitcode == 0
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder with the package, of which nothing is compiled yet."""
    for name, text in FILES.items():
        path = tmp_path / "code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "code"


def outcome(code: str, house: Path, **environment: str) -> tuple[str, str]:
    """Output and errors of a program in a process of its own, which has to succeed."""
    process = Forked(run_code, code, str(house), environment)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output, errors


def compiled_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_eight_processes_share_an_empty_cache(house: Path, tmp_path: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert outcome(EIGHT_CALLS, house, **cache) == (EXPECTED * 8, "")
    assert len(compiled_files(tmp_path / "cache")) == 2
    assert not list(tmp_path.rglob("*.tmp.*"))
    assert outcome(CALL, house, **cache) == (EXPECTED, "")


def test_an_unwritable_cache_is_a_warning(house: Path) -> None:
    blockers = [house / "house" / folder / "__pycache__" for folder in ("calls", "rules")]
    for blocker in blockers:
        blocker.write_text("a file where Python and numba want a folder")
    nowhere = str(blockers[0] / "below")
    output, errors = outcome(
        CALL, house, NUMBA_CACHE_DIR=nowhere, HOME=nowhere, XDG_CACHE_HOME=nowhere)
    assert output == EXPECTED
    assert errors.count("UserWarning: compiled code is not kept between runs") == 1
    assert all(blocker.is_file() for blocker in blockers)


def test_a_full_disk_is_a_warning(house: Path, tmp_path: Path) -> None:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    search = os.pathsep.join([str(house), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", full + CALL], cwd=house, text=True, capture_output=True, timeout=300,
        env=os.environ | {"PYTHONPATH": search, "NUMBA_CACHE_DIR": str(tmp_path / "cache")})
    assert (done.returncode, done.stdout) == (0, EXPECTED)
    assert done.stderr.count("UserWarning: compiled code is not kept between runs") == 1
    assert not compiled_files(tmp_path)


def test_a_damaged_cache_is_a_warning_and_mended(house: Path, tmp_path: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    outcome(CALL, house, **cache)
    for pattern, damage in (("*.nbc", b""), ("*.nbi", b"no pickle"),
                            ("*.nbi", b"\x80\x04cnowhere\nnothing\n.")):
        for file in tmp_path.rglob(pattern):
            file.write_bytes(damage)
        output, errors = outcome(CALL, house, **cache)
        assert output == EXPECTED
        assert "UserWarning: compiled code is not kept between runs" in errors
        assert outcome(CALL, house, **cache) == (EXPECTED, "")


def test_a_cache_folder_that_cannot_be_made_does_no_harm(house: Path, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.touch()
    assert outcome(CALL, house, NUMBA_CACHE_DIR=str(blocker / "below")) == (EXPECTED, "")


def test_a_change_in_any_file_makes_kept_code_stale(house: Path) -> None:
    """In one that is imported from another folder or package, be it for a number."""
    assert outcome(CALL, house) == (EXPECTED, "")
    for file, text, expected in (
            ("plain.py", "FACTOR = 4\n", "21\n"),
            ("house/numbers.py", "FACTOR = 7\n", "36\n"),
            ("house/numbers.py", "FACTOR = 3\n", "16\n"),
            ("house/rules/doubling.py",
             FILES["house/rules/doubling.py"].replace("* FACTOR", "* FACTOR + 100"), "116\n")):
        (house / file).write_text(text, encoding="utf-8")
        assert outcome(CALL, house) == (expected, "")


def test_recursion_through_other_types_is_compiled_anew(house: Path, tmp_path: Path) -> None:
    """Numba would load such code with a call to the address 0."""
    (house / "sums.py").write_text(SUM_TO, encoding="utf-8")
    for _ in range(2):
        output, errors = outcome("import sums", house, NUMBA_CACHE_DIR=str(tmp_path))
        assert output == "3\n"
        assert "UserWarning: compiled code is not kept between runs: sum_to" in errors


def test_a_function_that_calls_itself_comes_from_the_disk_as_it_was(house: Path) -> None:
    (house / "recursive.py").write_text(RECURSIVE, encoding="utf-8")
    for _ in range(2):
        assert outcome("import recursive", house) == ("False\n", "")


def test_processes_that_save_at_once_find_each_its_own_code(tmp_path: Path) -> None:
    """The other one has seen nothing yet, and saves while this one is about to write its code."""
    one: Any = _CacheFile(str(tmp_path), "name", ())  # type: ignore[no-untyped-call]
    other: Any = _CacheFile(str(tmp_path), "name", ())  # type: ignore[no-untyped-call]
    other._load_index = dict
    write = one._save_data

    def write_after_the_other(name: str, data: object) -> None:
        other.save("int", "code for an int")
        write(name, data)

    one._save_data = write_after_the_other
    one.save("float", "code for a float")
    assert (one.load("float"), one.load("int")) == ("code for a float", "code for an int")


def test_import_is_light() -> None:
    code = "import sys, castle_env; print([name for name in sys.argv[1:] if name in sys.modules])"
    process = subprocess.run([sys.executable, "-W", "error", "-c", code, *HEAVY], text=True,
                             capture_output=True, check=True, timeout=60)
    assert process.stdout.strip() == "[]"
