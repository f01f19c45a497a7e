"""The one loader of studies: it says which kind a file is, and which command runs it."""

import tomllib
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, TypeAlias

from experiments.studies.keys import StudyError
from experiments.studies.rulesets.study import RulesetStudy, study_of_rulesets
from experiments.studies.trained.study import TrainingStudy, study_of_trainings

Study: TypeAlias = RulesetStudy | TrainingStudy

# Keys that only a study of trainings has.
_OF_TRAININGS: Final = frozenset({"ruleset", "variants", "seeds"})


def study_names() -> list[str]:
    """Names of the studies that come with the package, sorted."""
    return sorted(file.name.removesuffix(".toml") for file in _presets().iterdir()
                  if file.name.endswith(".toml"))


def load_study(source: str | Path, command: str | None = None, call: str = "") -> Study:
    """The study of that name, or in a TOML file; raises `StudyError` naming file and key.

    Raises it also for a study that another command runs than `command`, and names the right one
    with its arguments: `call`, or else the source.
    """
    if str(source) in study_names():
        text, name = (_presets() / f"{source}.toml").read_text(encoding="utf-8"), str(source)
    else:
        text, name = _text_of(Path(source)), Path(source).stem
    kind = _kind_of(_keys_of(text, name))
    if command is not None and command != kind.command:
        raise StudyError(f"study {str(source)!r} is about {kind.subject}, so castle {command} "
                         f"does not run it; allowed: castle {kind.command} {call or source}")
    return parse_study(text, name)


def parse_study(text: str, name: str) -> Study:
    """The study in a TOML text, of whichever kind; raises `StudyError` and `CastleError`."""
    keys = _keys_of(text, name)
    if _kind_of(keys) is TrainingStudy:
        return study_of_trainings(keys, text, name)
    return study_of_rulesets(keys, text, name)


def _keys_of(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"study {name!r} is no TOML: {error}") from None


def _kind_of(keys: Mapping[str, Any]) -> type[Study]:
    return TrainingStudy if _OF_TRAININGS & keys.keys() else RulesetStudy


def _presets() -> Traversable:
    return resources.files("experiments") / "studies" / "presets"


def _text_of(path: Path) -> str:
    if not path.is_file():
        raise StudyError(f"no study {str(path)!r}: neither a file nor one of "
                         f"{', '.join(study_names())}")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StudyError(f"cannot read study {str(path)!r}: {error}") from error
