"""`castle rulesets`: the presets and what sets them apart."""

from dataclasses import dataclass
from typing import Any

import rich

from castle_env import Ruleset, load_ruleset, preset_names
from castle_env.board import SQUARE_NAMES
from experiments.options import OutputOptions
from experiments.report.tables import Table, to_rich


@dataclass(frozen=True)
class Rulesets(OutputOptions):
    """List the rulesets that come with the package, and what sets each apart."""


def run(options: Rulesets) -> None:
    """Print one line for each preset."""
    presets = [load_ruleset(name) for name in preset_names()]
    rows = tuple((rules.name, rules.mode, rules.digest, differences(rules)) for rules in presets)
    rich.print(to_rich(Table("rulesets", ("name", "mode", "digest", "differs in"), rows)))
    options.write_json({"rulesets": [rules.to_dict() | {"digest": rules.digest}
                                     for rules in presets]})


def differences(rules: Ruleset) -> str:
    """The keys in which a ruleset differs from its mode's default, with their values."""
    default = _flat(Ruleset.from_dict({"mode": rules.mode}).to_dict())
    changed = [f"{key} = {_text(key, value)}" for key, value in _flat(rules.to_dict()).items()
               if key != "name" and value != default.get(key)]
    return ", ".join(changed) or "nothing: the default"


def _flat(keys: dict[str, Any]) -> dict[str, Any]:
    points = keys.pop("victory_points")
    return keys | {f"victory_points.{key}": value for key, value in points.items()}


def _text(key: str, value: Any) -> str:
    if key == "strongholds":
        return " ".join(name for name, here in zip(SQUARE_NAMES, "".join(value), strict=True)
                        if here == "#")
    return str(value)
