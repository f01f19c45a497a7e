"""Trained agents that come with the package, by PPO and by expert iteration, for each mode.

Their cards beside the weights, `agents/data/NAME.json`, say how they were made.
"""

from importlib import resources
from pathlib import Path
from typing import Final

SHIPPED: Final = ("ppo-storm", "ppo-sudden-death", "az-storm", "az-sudden-death")


def shipped_path(name: str) -> Path:
    """The file of a shipped agent's weights."""
    return Path(str(resources.files("agents") / "data" / f"{name}.pt"))
