"""The examples: each trains for a moment, plays no illegal move, and ends in a result.

The environments refuse illegal moves with an error, which would end a program. Examples of
frameworks that are not installed here are run by `.ci/frameworks`, where none may be left out.
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

import pytest
from places import ROOT

EXAMPLES = ROOT / "examples"
POINTS = r"has [\d.]+% \[[\d.]+, [\d.]+\] of the points against random"
# Modules that an example needs besides ours, how it is made short, and what it tells.
RUNS = {
    "sb3_maskable_ppo": ((), ["--steps", "2048", "--games", "8"], [POINTS]),
    "cleanrl_ppo": ((), ["--steps", "1024", "--games", "8"], [POINTS]),
    "tianshou_ppo": (("tianshou",), ["--steps", "2048", "--games", "20"], [POINTS]),
    "tianshou_selfplay": (("tianshou",), ["--steps", "2048", "--games", "20"], [POINTS]),
    "torchrl_ppo": (("torchrl",), ["--steps", "2048", "--games", "20"],
                    [r"PettingZoo wrapper has 16 plies", POINTS]),
    "skrl_ppo": (("skrl",), ["--steps", "2048", "--games", "20"], [POINTS]),
    # RLlib cannot be imported without the last ones.
    "rllib_ppo": (("ray", "tree", "lz4", "pyarrow", "pandas", "ormsgpack"),
                  ["--mode", "sudden_death", "--steps", "500", "--games", "20"],
                  [POINTS + r" after (5\d\d|\d,\d{3}) plies"]),
    "openspiel_game": (("pyspiel",), ["--games", "2", "--simulations", "5"],
                       [r"MCTS has [\d.]+ points of 2 games", r"of random: 0\.417",
                        r"after CFR: 0\.0\d\d", r"Returns\(\) = \[-?\d"]),
}


# Run by `tests/experiments/dataset/test_files.py`, which has a dataset for it.
ELSEWHERE = ("value_network",)


@pytest.mark.parametrize("name", RUNS)
def test_example_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a process of its own where it needs more than we do, else in this one."""
    modules, arguments, patterns = RUNS[name]
    missing = [module for module in modules if find_spec(module) is None]
    if missing and "FRAMEWORKS" not in os.environ:
        pytest.skip(f"needs {missing[0]}")
    program = [str(EXAMPLES / f"{name}.py"), *arguments]
    monkeypatch.chdir(tmp_path)
    if modules:
        subprocess.run([sys.executable, *program], env=os.environ | {"OMP_NUM_THREADS": "1"},
                       check=True, timeout=600)
    else:
        monkeypatch.setattr(sys, "argv", program)
        run_path(program[0], run_name="__main__")
    told = capfd.readouterr().out
    for pattern in patterns:
        assert re.search(pattern, told), told


def test_every_example_is_short_run_and_told_of() -> None:
    page = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    assert {file.stem for file in EXAMPLES.glob("*.py")} == {*RUNS, *ELSEWHERE}
    for name in (*RUNS, *ELSEWHERE):
        assert f"(../examples/{name}.py)" in page
        assert len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) < 100
