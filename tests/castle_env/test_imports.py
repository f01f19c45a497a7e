"""Environments work beside any package called `agents`; what it hides is said in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from castle_env.imports import explain_import_error

# An editable installation finds its modules in a way of its own, which no folder can hide.
AS_INSTALLED = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Editable" not in repr(finder)]
"""
PLAY = """
import gymnasium as gym
import castle_env
from castle_env import castle_v1

for opponent in ("random", "greedy"):
    env = gym.make("castle_env/Storm-v1", opponent=opponent)
    env.reset(seed=1)
    env.step(env.action_space.sample())
    envs = gym.make_vec("castle_env/SuddenDeath-v1", num_envs=2, opponent=opponent)
    envs.reset(seed=1)
castle_v1.env().reset(seed=1)
print("played")
"""
MAKE = """
from castle_env import Game, MissingPackageError, load_ruleset, make_agent

try:
    make_agent({agent!r}, Game(load_ruleset("storm")))
except MissingPackageError as error:
    print(error)
"""
HIDING = {
    "a package": "agents/__init__.py",
    "a module": "agents.py",
}
DECOYS = HIDING | {"a folder without __init__": "agents/notes.txt"}


def python(folder: Path, code: str) -> str:
    """What a Python process prints that looks for modules in `folder` first, and then in ours."""
    path = os.pathsep.join([str(folder), str(ROOT)])
    done = subprocess.run([sys.executable, "-W", "error", "-c", AS_INSTALLED + code], cwd=folder,
                          text=True, env=os.environ | {"PYTHONPATH": path}, capture_output=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_decoy(file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    file.touch()


@pytest.mark.parametrize("file", DECOYS.values(), ids=DECOYS)
def test_environments_do_not_need_the_package_agents(tmp_path: Path, file: str) -> None:
    make_decoy(tmp_path / file)
    assert python(tmp_path, PLAY) == "played\n"


@pytest.mark.parametrize("file", HIDING.values(), ids=HIDING)
def test_a_hidden_agent_is_told_with_what_hides_it(tmp_path: Path, file: str) -> None:
    make_decoy(tmp_path / file)
    said = python(tmp_path, MAKE.format(agent="alphabeta:2"))
    assert "agents.search.alphabeta:make" in said
    assert str(tmp_path / file) in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("agent", ["ppo-storm", "ppo:runs/x"])
def test_a_missing_package_is_told_with_the_command_that_installs_it(
    tmp_path: Path, agent: str
) -> None:
    hidden = "import sys\nsys.modules['torch'] = None\n"
    said = python(tmp_path, hidden + MAKE.format(agent=agent))
    assert "needs torch; install it with: pip install 'storm-the-castle[train]'\n" in said


def test_pixels_without_pygame(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["pygame"] = None
import gymnasium as gym
import castle_env

env = gym.make("castle_env/Storm-v1", render_mode="rgb_array")
env.reset(seed=1)
try:
    env.render()
except castle_env.MissingPackageError as error:
    print(error)
"""
    assert python(tmp_path, code) == (
        "drawing pixels needs pygame; install it with: pip install 'storm-the-castle[play]'\n")


def test_an_environment_is_made_without_an_import(tmp_path: Path) -> None:
    code = """
import gymnasium as gym

env = gym.make("castle_env:castle_env/Storm-v1")
envs = gym.make_vec("castle_env:castle_env/SuddenDeath-v1", num_envs=2)
print(env.spec.id, envs.spec.id)
"""
    assert python(tmp_path, code) == "castle_env/Storm-v1 castle_env/SuddenDeath-v1\n"


def test_a_fault_of_ours_is_not_taken_for_a_hidden_package() -> None:
    ours = ImportError("cannot import name 'x' from 'agents.search.moves'",
                       name="agents.search.moves")
    assert explain_import_error(ours, "somebody") is None
    assert explain_import_error(ModuleNotFoundError("no json5", name="json5"), "somebody") is None


def test_the_game_for_openspiel_says_what_to_install() -> None:
    hidden = "import sys\nsys.modules['pyspiel'] = None\n"
    done = subprocess.run([sys.executable, "-c", hidden + "import castle_env.openspiel_game"],
                          cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stderr.splitlines()[-1].endswith(
        "castle_env.openspiel_game needs pyspiel; install it with: "
        "pip install 'storm-the-castle[openspiel]'")
