"""Rulesets: every choice the source leaves open is a key of a small TOML file."""

import hashlib
import json
import os
import tomllib
from dataclasses import asdict, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any, Final

from castle_env.board import SIZE
from castle_env.errors import RulesetError, quoted

STORM: Final = "storm"
SUDDEN_DEATH: Final = "sudden_death"
MODES: Final = (STORM, SUDDEN_DEATH)
ENTRY_LANES: Final = ("all", "own_axis", "central", "home_edge")
ENTRY_STYLES: Final = ("slide", "step")
CAPTURE_CREDITS: Final = ("opponent", "enemy_only")

MAX_FACTIONS: Final = 8
MAX_PLIES: Final = 10_000
MAX_POINTS: Final = 100
FOUR_CENTRAL: Final = ("......", "......", "..##..", "..##..", "......", "......")


def canonical_mode(mode: str) -> str:
    """The one form of a mode's name, "sudden_death" also for "sudden-death"."""
    return mode.replace("-", "_")


@dataclass(frozen=True)
class VictoryPoints:
    """Victory Points for each thing counted at the end; the terms are added up.

    captured: token of the opponent's that was lost (see `Ruleset.capture_credit`).
    besieging: own faction orthogonally adjacent to at least one stronghold.
    contact: pair of an own faction and a stronghold orthogonally adjacent to it.
    controlled: stronghold with strictly more own than opposing factions adjacent.
    survivor: own faction on the board.
    squares: six ranks of six integers, rank 6 first, for an own faction standing there.
    """

    captured: int = 1
    besieging: int = 1
    contact: int = 0
    controlled: int = 2
    survivor: int = 0
    squares: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "squares":
                _check_integer(f"victory_points.{field.name}", getattr(self, field.name),
                               -MAX_POINTS, MAX_POINTS)
        if self.squares is not None:
            object.__setattr__(self, "squares", _square_points(self.squares))


@dataclass(frozen=True)
class Ruleset:
    """One complete set of rules; make it with `load_ruleset` or `Ruleset.from_dict`.

    `strongholds` and `victory_points.squares` are written rank 6 first. Raises `RulesetError`
    naming the key, what was given and what is allowed.
    """

    name: str
    mode: str
    strongholds: tuple[str, ...]
    factions_per_player: int
    max_plies: int
    entry_lanes: str
    entry_style: str
    steps_must_push: bool
    capture_credit: str
    victory_points: VictoryPoints

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise _wrong("name", self.name, "a text that is not empty")
        if isinstance(self.mode, str) and canonical_mode(self.mode) in MODES:
            object.__setattr__(self, "mode", canonical_mode(self.mode))
        _check_choice("mode", self.mode, MODES)
        object.__setattr__(self, "strongholds", _stronghold_rows(self.strongholds))
        _check_integer("factions_per_player", self.factions_per_player, 1, MAX_FACTIONS)
        _check_integer("max_plies", self.max_plies, 1, MAX_PLIES)
        _check_choice("entry_lanes", self.entry_lanes, ENTRY_LANES)
        _check_choice("entry_style", self.entry_style, ENTRY_STYLES)
        if not isinstance(self.steps_must_push, bool):
            raise _wrong("steps_must_push", self.steps_must_push, "true or false")
        _check_choice("capture_credit", self.capture_credit, CAPTURE_CREDITS)
        if not isinstance(self.victory_points, VictoryPoints):
            raise _wrong("victory_points", self.victory_points, "a table")
        if self.mode == STORM:
            self._check_storm()

    def _check_storm(self) -> None:
        plies = 2 * self.factions_per_player
        if self.max_plies != plies:
            raise _wrong("max_plies", self.max_plies,
                         f"{plies} in storm (2 x factions_per_player), or leave it out")
        if self.entry_lanes != "all":
            raise _wrong("entry_lanes", self.entry_lanes, '"all" in storm')
        if self.entry_style != "slide":
            raise _wrong("entry_style", self.entry_style, '"slide" in storm')

    @classmethod
    def from_dict(cls, keys: dict[str, Any]) -> "Ruleset":
        """Ruleset with the keys of a TOML file; `mode` is required, the rest have defaults."""
        if not isinstance(keys, dict):
            raise RulesetError(f"a ruleset is a table of keys, not {quoted(keys)}")
        _check_keys(keys, [field.name for field in fields(cls)], "")
        if "mode" not in keys:
            raise RulesetError(f"ruleset key 'mode' is missing; allowed: {_choices(MODES)}")
        given = dict(keys)
        if isinstance(given["mode"], str) and canonical_mode(given["mode"]) in MODES:
            given["mode"] = canonical_mode(given["mode"])
        _check_choice("mode", given["mode"], MODES)
        points = given.pop("victory_points", {})
        if not isinstance(points, dict):
            raise _wrong("victory_points", points, "a table")
        _check_keys(points, [field.name for field in fields(VictoryPoints)], "victory_points.")
        return cls(**(_defaults(given) | given), victory_points=VictoryPoints(**points))

    def to_dict(self) -> dict[str, Any]:
        """All keys with plain values (lists, dicts, text, numbers); `from_dict` takes them back."""
        keys: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        if keys["victory_points"]["squares"] is None:
            del keys["victory_points"]["squares"]
        return keys

    @property
    def digest(self) -> str:
        """Twelve hex digits that are equal when all keys but the name are equal (SHA-256)."""
        meaning = {key: value for key, value in self.to_dict().items() if key != "name"}
        text = json.dumps(meaning, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def preset_names() -> list[str]:
    """Names of the rulesets that come with the package, sorted."""
    folder = resources.files("castle_env") / "rulesets"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir()
                  if file.name.endswith(".toml"))


def load_ruleset(source: str | Path) -> Ruleset:
    """Ruleset from a preset's name, with "-" or "_", or the path of a TOML file.

    Raises `RulesetError` that names the file and the key at fault.
    """
    preset = str(source).replace("_", "-")
    if preset in preset_names():
        file = resources.files("castle_env") / "rulesets" / f"{preset}.toml"
        return Ruleset.from_dict(tomllib.loads(file.read_text(encoding="utf-8")))
    if not isinstance(source, str | Path) or not os.path.isfile(source):
        raise RulesetError(f"no ruleset {str(source)!r}: neither a file nor one of "
                           f"{_choices(preset_names())}")
    path = Path(source)
    try:
        keys = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise RulesetError(f"{path}: not a readable TOML file: {error}") from error
    try:
        return Ruleset.from_dict({"name": path.stem, **keys})
    except RulesetError as error:
        raise RulesetError(f"{path}: {error}") from error


def _defaults(given: dict[str, Any]) -> dict[str, Any]:
    storm = given["mode"] == STORM
    factions = given.get("factions_per_player", MAX_FACTIONS)
    _check_integer("factions_per_player", factions, 1, MAX_FACTIONS)
    return {
        "name": "unnamed",
        "strongholds": FOUR_CENTRAL,
        "factions_per_player": MAX_FACTIONS,
        "max_plies": 2 * factions if storm else 120,
        "entry_lanes": "all" if storm else "own_axis",
        "entry_style": "slide",
        "steps_must_push": False,
        "capture_credit": "opponent",
    }


def _stronghold_rows(rows: Any) -> tuple[str, ...]:
    allowed = "six strings of six characters, '.' or '#', with at least one '#'"
    if not isinstance(rows, list | tuple) or len(rows) != SIZE:
        raise _wrong("strongholds", rows, allowed)
    for row in rows:
        if not isinstance(row, str) or len(row) != SIZE or set(row) - set(".#"):
            raise _wrong("strongholds", rows, allowed)
    if "#" not in "".join(rows):
        raise _wrong("strongholds", rows, allowed)
    return tuple(rows)


def _square_points(rows: Any) -> tuple[tuple[int, ...], ...]:
    key, allowed = "victory_points.squares", "six lists of six integers, rank 6 first"
    if not isinstance(rows, list | tuple) or len(rows) != SIZE:
        raise _wrong(key, rows, allowed)
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) != SIZE:
            raise _wrong(key, rows, allowed)
        for points in row:
            _check_integer(key, points, -MAX_POINTS, MAX_POINTS)
    return tuple(tuple(row) for row in rows)


def _check_keys(keys: dict[str, Any], allowed: list[str], prefix: str) -> None:
    for key in keys:
        if key not in allowed:
            raise RulesetError(f"unknown ruleset key {quoted(prefix + str(key))}; "
                               f"allowed: {_choices([prefix + name for name in allowed])}")


def _check_choice(key: str, value: Any, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise _wrong(key, value, _choices(allowed))


def _check_integer(key: str, value: Any, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _wrong(key, value, f"an integer from {low} to {high}")


def _choices(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(names)


def _wrong(key: str, given: Any, allowed: str) -> RulesetError:
    return RulesetError(f"ruleset key '{key}' is {quoted(given)}; allowed: {allowed}")
