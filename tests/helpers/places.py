"""Where the project's files are."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
DATA = TESTS / "data"
ROOT = TESTS.parent
