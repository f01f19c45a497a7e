"""What to say where a module cannot be imported: what to install, or which file hides ours."""

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

PROJECT: Final = "storm-the-castle"
OUR_PACKAGES: Final = ("castle_env", "agents", "experiments")

# Modules that the core does without, and the extra of the project that installs each.
EXTRAS: Final[Mapping[str, str]] = MappingProxyType({
    "torch": "train",
    "stable_baselines3": "train",
    "sb3_contrib": "train",
    "onnx": "train",
    "tensorboard": "train",
    "matplotlib": "report",
    "scipy": "report",
    "networkx": "report",
    "markdown": "report",
    "PIL": "play",
    "pygame": "play",
    "fastapi": "play",
    "pydantic": "train",
    "starlette": "play",
    "uvicorn": "play",
    "ray": "ray",
    "pyspiel": "openspiel",
    "open_spiel": "openspiel",
    "pyarrow": "data",
})


def explain_import_error(error: ImportError, needed_by: str) -> str | None:
    """One line on why `needed_by` cannot be imported, with the remedy.

    None where the fault is neither a package that an extra installs nor one of ours that another
    package or folder of the same name hides.
    """
    package = (error.name or "").partition(".")[0]
    if package in EXTRAS:
        return (f"{needed_by} needs {package}; install it with: "
                f"pip install '{PROJECT}[{EXTRAS[package]}]'")
    if package not in OUR_PACKAGES:
        return None
    place = _place(package)
    if place is not None and Path(place).is_relative_to(Path(__file__).parents[1] / package):
        return None
    if place is None:
        return f"{needed_by} needs {package}, which is not installed; {PROJECT} has it"
    return (f"{needed_by} needs {error.name} of {PROJECT}, but Python finds {package} in {place}, "
            "which hides it; rename that, or take its folder off the module search path")


def _place(package: str) -> str | None:
    """The file or folder in which Python finds a top-level package, or None."""
    found = sys.modules.get(package) or find_spec(package)
    spec = getattr(found, "__spec__", None) or found
    folders = list(getattr(spec, "submodule_search_locations", None) or [])
    return getattr(spec, "origin", None) or (folders[0] if folders else None)
