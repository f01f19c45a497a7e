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

import pytest
from places import ROOT

EXAMPLES = ROOT / "examples"
POINTS = r"has [\d.]+% \[[\d.]+, [\d.]+\] of the points against random"
# Modules that an example needs besides ours, how it is made short, and what it tells.
RUNS = {
    "sb3_maskable_ppo": ((), ["--steps", "2048", "--games", "20"], [POINTS]),
    "cleanrl_ppo": ((), ["--steps", "2048", "--games", "20"], [POINTS]),
    "tianshou_ppo": (("tianshou",), ["--steps", "2048", "--games", "20"],
                     [r"10 games of two agents have 160 plies", POINTS]),
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
def test_example_runs(name: str, tmp_path: Path) -> None:
    modules, arguments, patterns = RUNS[name]
    missing = [module for module in modules if find_spec(module) is None]
    if missing and "FRAMEWORKS" not in os.environ:
        pytest.skip(f"needs {missing[0]}")
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", *arguments], cwd=tmp_path,
                          env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for pattern in patterns:
        assert re.search(pattern, done.stdout), done.stdout


def test_every_example_is_short_run_and_told_of() -> None:
    page = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    assert {file.stem for file in EXAMPLES.glob("*.py")} == {*RUNS, *ELSEWHERE}
    for name in (*RUNS, *ELSEWHERE):
        assert f"(../examples/{name}.py)" in page
        assert len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) < 100
