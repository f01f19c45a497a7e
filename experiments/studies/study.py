"""Studies: a base ruleset and lists of values for its keys, every combination of them a ruleset.

    description = "What the layout of strongholds is worth"
    base = "storm"                      # a preset's name, or a table of a ruleset's keys
    opening_plies = 2                   # see `experiments.studies.exact_cells`
    restrictions = ["never-captures"]   # see `agents.solve.restricted_solver`

    [[vary]]
    key = "factions_per_player"
    values = [3, 4]

    [[vary]]
    key = "victory_points.captured"     # a key of a table
    values = {none = 0, one = 1}        # values with names, which reports show

    [played]                            # agents play; see `Played`
    agents = ["alphabeta:4", "mcts:200"]
    games = 200

With `exact = false` nothing is solved, as in Sudden Death, which is too large for that.

What is computed for a ruleset is a cell. Its key is made of the ruleset's digest and of all that is
computed, so that a cell is the same in every study that asks for it.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import combinations_with_replacement, pairwise, product
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from agents.search.restriction import RESTRICTIONS
from castle_env import Ruleset, load_ruleset
from castle_env.errors import CastleError
from castle_env.ruleset import MODES, STORM

MOST_RULESETS: Final = 10_000
MOST_OPENING_PLIES: Final = 4
_KEYS: Final = ("description", "base", "exact", "opening_plies", "restrictions", "played", "vary")

_PLAYED: Final[Mapping[str, tuple[type, str]]] = MappingProxyType({
    "agents": (list, "a list of agents' names"),
    "skill": (list, "a list of agents' names, weakest first"),
    "restrictions": (list, f"a list of {', '.join(RESTRICTIONS)}"),
    "depth": (int, "an integer from 1 on"),
    "games": (int, "an even number from 2 on"),
    "opening_plies": (int, "an integer from 0 on"),
    "seed": (int, "an integer from 0 on"),
})


class StudyError(CastleError):
    """A study cannot be read, or some of its cells failed."""


@dataclass(frozen=True)
class Axis:
    """A ruleset's key and the values that it takes, by the names that reports show."""

    key: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """One thing to compute for one ruleset.

    kind: which function of `experiments.studies.cells.KINDS` computes it. params: its arguments, as
    plain values. seed: of its random streams; None where nothing is random.
    """

    kind: str
    rules: Ruleset
    params: Mapping[str, Any]
    seed: int | None = None

    @cached_property
    def key(self) -> str:
        """Sixteen hex digits, the same for all cells that compute the same (SHA-256)."""
        text = json.dumps([self.kind, self.rules.digest, dict(self.params), self.seed],
                          sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Played:
    """What is played under every ruleset of a study.

    agents: each plays itself and all others. skill: a search with a growing budget; each plays the
    one before it. restrictions: of `alphabeta:depth`, which plays itself without them. games: of
    each match, half from each seat, after `opening_plies` random plies from `seed`.
    """

    agents: tuple[str, ...] = ()
    skill: tuple[str, ...] = ()
    restrictions: tuple[str, ...] = ()
    depth: int = 4
    games: int = 200
    opening_plies: int = 4
    seed: int = 0

    @property
    def free(self) -> str:
        """The agent that the restricted ones play, and that tells what they lose."""
        return f"alphabeta:{self.depth}"

    def cells(self, rules: Ruleset) -> list[Cell]:
        """The matches under a ruleset, each once."""
        match = {"games": self.games, "opening_plies": self.opening_plies}
        pairs = [*combinations_with_replacement(self.agents, 2),
                 *((more, less) for less, more in pairwise(self.skill))]
        if self.restrictions:
            pairs.append((self.free, self.free))
        return [*(Cell("match", rules, {"agents": list(pair)} | match, self.seed)
                  for pair in dict.fromkeys(pairs)),
                *(Cell("restricted-match", rules, {"restriction": restriction, "depth": self.depth}
                       | match, self.seed) for restriction in self.restrictions)]


@dataclass(frozen=True)
class Study:
    """A study file. rulesets: every combination, by the names of its values in the order of axes.

    exact: whether rulesets are solved; played: what agents play. text: the file as it was read.
    """

    name: str
    description: str
    axes: tuple[Axis, ...]
    rulesets: Mapping[tuple[str, ...], Ruleset]
    exact: bool
    opening_plies: int
    restrictions: tuple[str, ...]
    played: Played | None
    text: str

    def cells(self) -> list[Cell]:
        """All that is to be computed, each thing once."""
        distinct = list({rules.digest: rules for rules in self.rulesets.values()}.values())
        cells: list[Cell] = []
        if self.exact:
            cells += [Cell("value", rules, {"opening_plies": self.opening_plies})
                      for rules in distinct]
            cells += [Cell("restricted", rules, {"restriction": restriction, "seat": seat})
                      for rules in distinct for restriction in self.restrictions
                      for seat in (0, 1)]
        if self.played is not None:
            cells += [cell for rules in distinct for cell in self.played.cells(rules)]
        return cells


def study_names() -> list[str]:
    """Names of the studies that come with the package, sorted."""
    folder = resources.files("experiments") / "studies"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir()
                  if file.name.endswith(".toml"))


def load_study(source: str | Path) -> Study:
    """The study of that name, or in a TOML file; raises `StudyError` naming file and key."""
    if str(source) in study_names():
        file = resources.files("experiments") / "studies" / f"{source}.toml"
        return parse_study(file.read_text(encoding="utf-8"), str(source))
    path = Path(source)
    if not path.is_file():
        raise StudyError(f"no study {str(source)!r}: neither a file nor one of "
                         f"{', '.join(study_names())}")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StudyError(f"cannot read study {str(source)!r}: {error}") from error
    return parse_study(text, path.stem)


def parse_study(text: str, name: str) -> Study:
    """The study in a TOML text; raises `StudyError`."""
    try:
        keys = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"study {name!r} is no TOML: {error}") from None
    for key in keys:
        if key not in _KEYS:
            raise StudyError(f"study {name!r} has an unknown key {key!r}; allowed: "
                             f"{', '.join(_KEYS)}")
    axes = _axes(keys.get("vary", []), name)
    base = _base(keys.get("base"), name)
    return Study(
        name=name,
        description=_checked(keys.get("description", name), str, "description", "a text", name),
        axes=axes,
        rulesets=_rulesets(base, axes, name),
        exact=_exact(keys.get("exact", True), name),
        opening_plies=_opening_plies(keys.get("opening_plies", 1), name),
        restrictions=_restrictions(keys.get("restrictions", []), name),
        played=_played(keys["played"], name) if "played" in keys else None,
        text=text,
    )


def _checked(value: Any, kind: type, key: str, allowed: str, name: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _wrong(name, key, value, allowed)
    return value


def _wrong(name: str, key: str, value: Any, allowed: str) -> StudyError:
    return StudyError(f"study {name!r}: key '{key}' is {value!r}; allowed: {allowed}")


def _exact(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, "exact", value, "true or false")
    return value


def _played(value: Any, name: str) -> Played:
    keys = dict(_checked(value, dict, "played", f"a table with {', '.join(_PLAYED)}", name))
    for key, given in keys.items():
        if key not in _PLAYED:
            raise _wrong(name, f"played.{key}", given, f"only {', '.join(_PLAYED)}")
        kind, allowed = _PLAYED[key]
        _checked(given, kind, f"played.{key}", allowed, name)
        if kind is list and not all(isinstance(text, str) for text in given):
            raise _wrong(name, f"played.{key}", given, allowed)
    keys |= {key: tuple(given) for key, given in keys.items() if _PLAYED[key][0] is list}
    if "restrictions" in keys:
        keys["restrictions"] = _restrictions(list(keys["restrictions"]), name)
    return Played(**keys)


def _opening_plies(value: Any, name: str) -> int:
    allowed = f"an integer from 1 to {MOST_OPENING_PLIES}"
    number: int = _checked(value, int, "opening_plies", allowed, name)
    if not 1 <= number <= MOST_OPENING_PLIES:
        raise _wrong(name, "opening_plies", value, allowed)
    return number


def _restrictions(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not set(map(str, value)) <= set(RESTRICTIONS):
        raise _wrong(name, "restrictions", value, f"a list of {', '.join(RESTRICTIONS)}")
    return tuple(dict.fromkeys(value))


def _base(value: Any, name: str) -> dict[str, Any]:
    """The keys that all rulesets share. A preset's turn limit goes, as factions may vary."""
    if isinstance(value, str):
        value = load_ruleset(value).to_dict()
        if value["mode"] == STORM:
            del value["max_plies"]
    if not isinstance(value, dict):
        raise _wrong(name, "base", value, f"a preset's name, or a table with mode = "
                                          f"{' or '.join(MODES)} and other keys of a ruleset")
    return value


def _axes(value: Any, name: str) -> tuple[Axis, ...]:
    tables = _checked(value, list, "vary", "tables, each headed [[vary]]", name)
    axes = tuple(_axis(table, name) for table in tables)
    keys = [axis.key for axis in axes]
    if len(set(keys)) < len(keys):
        raise _wrong(name, "vary", keys, "each key once")
    if prod(len(axis.values) for axis in axes) > MOST_RULESETS:
        raise _wrong(name, "vary", keys, f"at most {MOST_RULESETS:,} combinations of values")
    return axes


def _axis(table: Any, name: str) -> Axis:
    allowed = "a table with a text `key` and a list, or a table, of `values`, not empty"
    if not isinstance(table, dict) or set(table) != {"key", "values"}:
        raise _wrong(name, "vary", table, allowed)
    key, values = table["key"], table["values"]
    if isinstance(values, list):
        values = {_label(value): value for value in values}
    if not isinstance(key, str) or not key or not isinstance(values, dict) or not values:
        raise _wrong(name, "vary", table, allowed)
    return Axis(key, values)


def _label(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _rulesets(
    base: dict[str, Any], axes: tuple[Axis, ...], name: str
) -> dict[tuple[str, ...], Ruleset]:
    rulesets = {}
    for labels in product(*(axis.values for axis in axes)):
        keys = deepcopy(base)
        for axis, label in zip(axes, labels, strict=True):
            _set(keys, axis.key, axis.values[label])
        keys["name"] = " ".join(
            f"{axis.key}={label}" for axis, label in zip(axes, labels, strict=True)) or name
        try:
            rulesets[labels] = Ruleset.from_dict(keys)
        except CastleError as error:
            raise StudyError(f"study {name!r}, {keys['name']}: {error}") from error
    return rulesets


def _set(keys: dict[str, Any], key: str, value: Any) -> None:
    """Set a key, the dots in which lead into tables; a wrong one is found out by the ruleset."""
    *tables, last = key.split(".")
    for table in tables:
        inner = keys.setdefault(table, {})
        if not isinstance(inner, dict):
            keys[table] = inner = {}
        keys = inner
    keys[last] = value
