"""Compiled code and its cache, and what importing the package pulls in, in fresh processes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import castle_env

PACKAGE = Path(castle_env.__file__).parent
PERFT = """
from castle_env import Game, load_ruleset
game = Game(load_ruleset("storm"))
print(game.perft(game.initial_state(), 4))
"""
EXPECTED = "3056\n"
HEAVY = ("torch", "pygame", "stable_baselines3", "sb3_contrib", "matplotlib", "agents",
         "experiments")


def start(code: str, root: Path = PACKAGE.parent, **environment: str) -> subprocess.Popen[str]:
    """A Python process that finds `castle_env` below `root`."""
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, text=True,
        env=os.environ | {"PYTHONPATH": str(root)} | environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        output, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    return output, errors


CALLER = """
from castle_env.compiled import kernel
from house.rules.doubling import double

@kernel
def twice_and_one(number: int) -> int:
    return double(number) + 1

print(twice_and_one(5))
"""
CALLEE = """
from castle_env.compiled import kernel
from house.numbers import FACTOR

@kernel
def double(number: int) -> int:
    return number * FACTOR
"""


@pytest.fixture
def package_copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package in which nothing is compiled yet."""
    shutil.copytree(PACKAGE, tmp_path / "castle_env",
                    ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def compiled_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def test_eight_processes_share_an_empty_cache(tmp_path: Path) -> None:
    processes = [start(PERFT, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(8)]
    assert [finish(process) for process in processes] == [(EXPECTED, "")] * 8
    assert compiled_files(tmp_path)
    assert not list(tmp_path.rglob("*.tmp.*"))
    assert finish(start(PERFT, NUMBA_CACHE_DIR=str(tmp_path))) == (EXPECTED, "")


def test_an_unwritable_cache_is_a_warning(package_copy: Path) -> None:
    blocker = package_copy / "castle_env" / "__pycache__"
    blocker.write_text("a file where Python and numba want a folder")
    nowhere = str(blocker / "below")
    output, errors = finish(start(
        PERFT, package_copy, NUMBA_CACHE_DIR=nowhere, HOME=nowhere, XDG_CACHE_HOME=nowhere))
    assert output == EXPECTED
    assert errors.count("UserWarning: compiled code is not kept between runs") == 1
    assert blocker.is_file()


def test_a_full_disk_is_a_warning(tmp_path: Path) -> None:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    output, errors = finish(start(full + PERFT, NUMBA_CACHE_DIR=str(tmp_path)))
    assert output == EXPECTED
    assert errors.count("UserWarning: compiled code is not kept between runs") == 1
    assert not compiled_files(tmp_path)


@pytest.mark.parametrize(
    ("pattern", "damage"),
    [("*.nbc", b""), ("*.nbi", b"no pickle"), ("*.nbi", b"\x80\x04cnowhere\nnothing\n.")],
)
def test_a_damaged_cache_is_a_warning_and_mended(
    tmp_path: Path, pattern: str, damage: bytes
) -> None:
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    finish(start(PERFT, **environment))
    for file in tmp_path.rglob(pattern):
        file.write_bytes(damage)
    output, errors = finish(start(PERFT, **environment))
    assert output == EXPECTED
    assert "UserWarning: compiled code is not kept between runs" in errors
    assert finish(start(PERFT, **environment)) == (EXPECTED, "")


def test_a_cache_folder_that_cannot_be_made_does_no_harm(package_copy: Path) -> None:
    blocker = package_copy / "file"
    blocker.touch()
    nowhere = str(blocker / "below")
    assert finish(start(PERFT, package_copy, NUMBA_CACHE_DIR=nowhere)) == (EXPECTED, "")


def test_a_change_in_another_file_makes_kept_code_stale(package_copy: Path) -> None:
    mask = """
from castle_env import Game, load_ruleset
game = Game(load_ruleset("storm"))
print(game.legal_action_mask(game.initial_state()).sum())
"""
    assert finish(start(mask, package_copy)) == ("8\n", "")
    kernels = package_copy / "castle_env" / "kernels.py"
    rule = "occupied & ~spread(fixed, occupied, direction ^ 1)"
    text = kernels.read_text(encoding="utf-8")
    assert text.count(rule) == 1
    kernels.write_text(text.replace(rule, f"{rule} & 0"), encoding="utf-8")
    assert finish(start(mask, package_copy)) == ("1\n", "")


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("house/rules/doubling.py", "* FACTOR", "* FACTOR + 100", "111\n"),
        ("house/numbers.py", "2", "3", "16\n"),
        ("house/numbers.py", "from plain import FACTOR", "FACTOR = 7", "36\n"),
        ("plain.py", "2", "4", "21\n"),
    ],
)
def test_kernels_of_other_folders_and_packages_are_compiled_in_anew(
    tmp_path: Path, file: str, old: str, new: str, expected: str
) -> None:
    number = "from plain import FACTOR\n" if "plain" in old + file else "FACTOR = 2\n"
    files = {"house/calls/caller.py": CALLER, "house/rules/doubling.py": CALLEE,
             "house/numbers.py": number, "plain.py": "FACTOR = 2\n"}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    search = os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])
    call = "import house.calls.caller"
    assert finish(start(call, tmp_path, PYTHONPATH=search)) == ("11\n", "")
    changed = files[file].replace(old, new)
    assert changed != files[file]
    (tmp_path / file).write_text(changed, encoding="utf-8")
    assert finish(start(call, tmp_path, PYTHONPATH=search)) == (expected, "")


def test_import_is_light() -> None:
    code = "import sys, castle_env; print([name for name in sys.argv[1:] if name in sys.modules])"
    process = subprocess.run([sys.executable, "-W", "error", "-c", code, *HEAVY], text=True,
                             capture_output=True, check=True, timeout=60)
    assert process.stdout.strip() == "[]"
