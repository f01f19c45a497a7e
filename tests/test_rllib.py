"""The RLlib example trains on masks: 500 plies, and the environment refused none of them."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from places import ROOT

EXAMPLE = ROOT / "notebooks" / "rllib_self_play.py"
# RLlib cannot be imported without these, and importing it here would raise its own warnings.
NEEDED = ("ray", "tree", "lz4", "pyarrow", "pandas", "ormsgpack")


@pytest.mark.skipif(not all(map(find_spec, NEEDED)), reason="needs the extra ray")
@pytest.mark.parametrize("mode", ["storm", "sudden_death"])
def test_example_plays_legally(mode: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, EXAMPLE, "--mode", mode, "--steps", "500"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    plies = int(re.findall(r"^([\d,]+) plies", done.stdout, re.MULTILINE)[-1].replace(",", ""))
    assert plies >= 500
