"""Studies of rulesets: a base and lists of values for its keys, each combination a ruleset.

    description = "What the layout of strongholds is worth"
    base = "storm"                      # a preset's name, or a table of a ruleset's keys
    opening_plies = 2                   # see `experiments.studies.solved.cells`
    restrictions = ["never-captures"]   # see `agents.search.restriction`

    [[vary]]
    key = "factions_per_player"
    values = [3, 4]

    [[vary]]
    key = "victory_points.captured"     # a key of a table
    values = {none = 0, one = 1}        # values with names, which reports show

    [played]                            # agents play; see `Played`
    agents = ["alphabeta:4", "mcts:200"]
    games = 200

With `exact = false` storm is not solved. In Sudden Death, `proof_nodes` gives the number of
positions to search for the value of each ruleset, or for bounds of it: see
`experiments.studies.solved.proofs`.
"""

import json
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise, product
from math import prod
from typing import Any, ClassVar, Final

from agents.openings import longest_opening
from agents.search.alphabeta import MAX_DEPTH
from agents.search.restriction import RESTRICTIONS
from castle_env import Game, Ruleset, load_ruleset
from castle_env.errors import CastleError, quoted
from castle_env.ruleset import MODES, STORM
from experiments.limits import MAX_SEED
from experiments.measure.match import agent_of
from experiments.studies.cells import Cell, Row
from experiments.studies.keys import (
    StudyError,
    check_keys,
    checked,
    checked_games,
    checked_integer,
    checked_texts,
    wrong,
)

MAX_RULESETS: Final = 10_000
MAX_OPENING_PLIES: Final = 4
MAX_PROOF_NODES: Final = 10**12
_KEYS: Final = ("description", "base", "exact", "proof_nodes", "opening_plies", "restrictions",
                "played", "vary")

_PLAYED: Final = ("agents", "skill", "restrictions", "depth", "games", "opening_plies", "seed")


@dataclass(frozen=True)
class Axis:
    """A ruleset's key and the values that it takes, by the names that reports show."""

    key: str
    values: Mapping[str, Any]


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
class RulesetStudy:
    """A study file. rulesets: every combination, by the names of its values in the order of axes.

    exact: whether rulesets are solved. proof_nodes: see above; 0 for none. played: what agents
    play. text: the file as it was read.
    """

    command: ClassVar = "balance"
    subject: ClassVar = "rulesets"

    name: str
    description: str
    axes: tuple[Axis, ...]
    rulesets: Mapping[tuple[str, ...], Ruleset]
    exact: bool
    proof_nodes: int
    opening_plies: int
    restrictions: tuple[str, ...]
    played: Played | None
    text: str

    @property
    def mode(self) -> str:
        """That of the first ruleset."""
        return next(iter(self.rulesets.values())).mode

    @property
    def axis_keys(self) -> tuple[str, ...]:
        """The rulesets' keys that vary, in the order of axes."""
        return tuple(axis.key for axis in self.axes)

    def rows_of(
        self, kind: str, rows: Mapping[str, Row]
    ) -> list[tuple[tuple[str, ...], Row]]:
        """Names and row of each ruleset whose cell of this kind did not fail, in order."""
        by_digest = {row["digest"]: row for row in rows.values()
                     if row["kind"] == kind and "result" in row}
        return [(labels, by_digest[rules.digest])
                for labels, rules in self.rulesets.items() if rules.digest in by_digest]

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
        if self.proof_nodes:
            cells += [Cell("proof", rules, {"nodes": self.proof_nodes}) for rules in distinct]
        if self.played is not None:
            cells += [cell for rules in distinct for cell in self.played.cells(rules)]
        return cells

    def check(self, cells: Collection[Cell]) -> None:
        """Raise `StudyError` for agents that some of the cells could not be played by."""
        for rules, name in dict.fromkeys((cell.rules, agent) for cell in cells
                                         for agent in cell.params.get("agents", ())):
            try:
                agent_of(rules, name)
            except CastleError as error:
                raise StudyError(f"study {self.name!r}, {rules.name}: {error}") from error


def study_of_rulesets(keys: Mapping[str, Any], text: str, name: str) -> RulesetStudy:
    """The study with these keys, which `text` holds; raises `StudyError`."""
    check_keys(keys, _KEYS, (), name)
    axes = _axes(keys.get("vary", []), name)
    rulesets = _rulesets(_base(keys.get("base"), name), axes, name)
    study = RulesetStudy(
        name=name,
        description=checked(keys.get("description", name), str, "description", "a text", name),
        axes=axes,
        rulesets=rulesets,
        exact=checked(keys.get("exact", True), bool, "exact", "true or false", name),
        proof_nodes=checked_integer(keys.get("proof_nodes", 0), "proof_nodes", name, 0,
                                    MAX_PROOF_NODES),
        opening_plies=checked_integer(keys.get("opening_plies", 1), "opening_plies", name, 1,
                                      MAX_OPENING_PLIES),
        restrictions=_restrictions(keys.get("restrictions", []), "restrictions", name),
        played=(_played(keys["played"], rulesets.values(), name) if "played" in keys else None),
        text=text,
    )
    if not study.cells():
        raise StudyError(f"study {name!r} asks for nothing; allowed: exact = true, proof_nodes, or "
                         "a table [played]")
    if study.exact and any(rules.mode != STORM for rules in rulesets.values()):
        raise wrong(name, "exact", True, "exact = false outside storm; proof_nodes is for Sudden "
                                         "Death")
    if study.proof_nodes and any(rules.mode == STORM for rules in rulesets.values()):
        raise wrong(name, "proof_nodes", study.proof_nodes, "none in storm, where exact = true "
                                                            "solves every ruleset")
    return study


def _played(value: Any, rulesets: Collection[Ruleset], name: str) -> Played:
    keys = dict(checked(value, dict, "played", f"a table with {', '.join(_PLAYED)}", name))
    for key in keys:
        if key not in _PLAYED:
            raise wrong(name, f"played.{key}", keys[key], f"only {', '.join(_PLAYED)}")
    longest = min(longest_opening(Game(rules)) for rules in rulesets)
    given = {f"played.{key}": value for key, value in keys.items()}
    played = Played(
        agents=checked_texts(keys.get("agents", []), "played.agents", "a list of agents' names",
                             name),
        skill=checked_texts(keys.get("skill", []), "played.skill",
                            "a list of agents' names, weakest first", name),
        restrictions=_restrictions(keys.get("restrictions", []), "played.restrictions", name),
        depth=checked_integer(keys.get("depth", Played.depth), "played.depth", name, 1, MAX_DEPTH),
        games=checked_games(keys.get("games", Played.games), "played.games", name),
        opening_plies=checked_integer(keys.get("opening_plies", Played.opening_plies),
                                      "played.opening_plies", name, 0, longest),
        seed=checked_integer(keys.get("seed", Played.seed), "played.seed", name, 0, MAX_SEED))
    if not (played.agents or len(played.skill) > 1 or played.restrictions):
        raise wrong(name, "played", given, "agents, a skill of two agents or more, or restrictions")
    return played


def _restrictions(value: Any, key: str, name: str) -> tuple[str, ...]:
    allowed = f"a list of {', '.join(RESTRICTIONS)}"
    restrictions = checked_texts(value, key, allowed, name)
    if not set(restrictions) <= set(RESTRICTIONS):
        raise wrong(name, key, value, allowed)
    return restrictions


def _base(value: Any, name: str) -> dict[str, Any]:
    """The keys that all rulesets share. A preset's turn limit goes, as factions may vary."""
    if isinstance(value, str):
        value = load_ruleset(value).to_dict()
        if value["mode"] == STORM:
            del value["max_plies"]
    if not isinstance(value, dict):
        raise wrong(name, "base", value, f"a preset's name, or a table with mode = "
                                          f"{' or '.join(MODES)} and other keys of a ruleset")
    return value


def _axes(value: Any, name: str) -> tuple[Axis, ...]:
    tables = checked(value, list, "vary", "tables, each headed [[vary]]", name)
    axes = tuple(_axis(table, name) for table in tables)
    keys = [axis.key for axis in axes]
    if len(set(keys)) < len(keys):
        raise wrong(name, "vary", keys, "each key once")
    if prod(len(axis.values) for axis in axes) > MAX_RULESETS:
        raise wrong(name, "vary", keys, f"at most {MAX_RULESETS:,} combinations of values")
    return axes


def _axis(table: Any, name: str) -> Axis:
    allowed = "a table with a text `key` and a list, or a table, of `values`, not empty"
    if not isinstance(table, dict) or set(table) != {"key", "values"}:
        raise wrong(name, "vary", table, allowed)
    key, values = table["key"], table["values"]
    if isinstance(values, list):
        labels = [_label(value) for value in values]
        if len(set(labels)) < len(labels):
            raise wrong(name, f"vary.{quoted(key)}", values,
                        "values that read differently, or a table of them by names")
        values = dict(zip(labels, values, strict=True))
    if not isinstance(key, str) or not key or not isinstance(values, dict) or not values:
        raise wrong(name, "vary", table, allowed)
    return Axis(key, values)


def _label(value: Any) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, default=str)
    except ValueError:  # an integer of too many digits; the ruleset refuses it
        return quoted(value)


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
