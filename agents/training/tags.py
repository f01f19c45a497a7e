"""Names under which training logs, and its config as TensorBoard shows it."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from stable_baselines3.common.logger import HParam


def tag(*parts: str) -> str:
    """Parts of a name joined by "/", with "_" in place of white space."""
    return "/".join(re.sub(r"\s+", "_", part) for part in parts)


def config_text(config: Mapping[str, Any]) -> str:
    """A table of all options in Markdown."""
    rows = (f"| {name} | `{json.dumps(value)}` |" for name, value in config.items())
    return "\n".join(["| option | value |", "|---|---|", *rows])


def config_hparams(config: Mapping[str, Any], metrics: Iterable[str]) -> HParam:
    """The options for TensorBoard's page of hyperparameters, beside the newest of some scalars."""
    plain = {name: value if isinstance(value, bool | int | float | str) else json.dumps(value)
             for name, value in config.items()}
    return HParam(plain, dict.fromkeys(metrics, 0.0))
