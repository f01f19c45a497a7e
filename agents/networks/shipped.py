"""Trained agents that come with the package: `ppo-storm`, `ppo-sudden-death`, `az-storm`.

Their cards beside the weights, `agents/data/NAME.json`, say how they were made.
"""

from importlib import resources
from pathlib import Path
from typing import Final

SHIPPED: Final = ("ppo-storm", "ppo-sudden-death", "az-storm")


def shipped_path(name: str) -> Path:
    """The file of a shipped agent's weights."""
    return Path(str(resources.files("agents") / "data" / f"{name}.pt"))
