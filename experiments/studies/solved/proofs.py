"""What is proven of rulesets of Sudden Death: cells, findings, tables and sentences.

Margins are player 0's, in VP.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from agents.solve.sudden_death_solver import SuddenDeathSolver
from castle_env import Game
from experiments.report.sudden_death_proof import to_dict
from experiments.report.tables import Table, to_markdown
from experiments.studies.cells import Row
from experiments.studies.rulesets.study import RulesetStudy

MEMORY: Final = 1 << 28

READING: Final = """\
Values are exact: the first player's Victory Points minus the second's under best play by both, with
the length of the game in plies, where who is ahead hurries and who is behind delays. Two numbers
are bounds of a value that the positions searched did not settle. All hold for every turn limit of
at least the plies looked ahead.
"""


@dataclass(frozen=True)
class Proven:
    """What is proven of a ruleset of a study.

    labels: by the study's axes. cell: key of the row that all numbers come from. low, high: bounds
    of the margin under best play, None where there is none. length: plies to the end where they are
    equal. horizon: plies looked ahead. nodes: positions searched.
    """

    labels: tuple[str, ...]
    cell: str
    low: int | None
    high: int | None
    length: int | None
    horizon: int
    nodes: int

    @property
    def value(self) -> int | None:
        return self.low if self.low == self.high else None

    @property
    def text(self) -> str:
        """As in "+1 in 15", or "+1 to +2"."""
        if self.value is not None:
            return f"{self.value:+d} in {self.length}"
        low, high = ("any" if bound is None else f"{bound:+d}" for bound in (self.low, self.high))
        return f"{low} to {high}"


def proof_cell(game: Game, params: Mapping[str, Any], seed: int | None) -> dict[str, Any]:
    """The exact margin of player 0 from the start, or what `params["nodes"]` positions prove of it.

    Raises `AgentError` for storm.
    """
    start = game.initial_state()
    proof = SuddenDeathSolver(game, MEMORY).solve(start, max_nodes=params["nodes"])
    found = to_dict(game, start, proof)
    return {name: found[name] for name in ("value", "length", "low", "high", "mover_within",
                                           "opponent_within", "horizon", "nodes")}


def proofs_of(study: RulesetStudy, rows: Mapping[str, Row]) -> list[Proven]:
    """One for each ruleset of a study whose cell did not fail, in the study's order."""
    return [_proven(labels, row) for labels, row in study.rows_of("proof", rows)]


def _proven(labels: tuple[str, ...], row: Row) -> Proven:
    result = row["result"]
    return Proven(labels, row["key"], result["low"], result["high"], result["length"],
                  result["horizon"], result["nodes"])


def proof_sentences(proofs: Sequence[Proven]) -> list[str]:
    """What came out, in a sentence; none where nothing was asked."""
    if not proofs:
        return []
    values = [proof.value for proof in proofs if proof.value is not None]
    signs = Counter((value > 0) - (value < 0) for value in values)
    return [f"Of {len(proofs)} rulesets, {len(values)} are solved: best play by both wins "
            f"{signs[1]} for the first player, draws {signs[0]} and wins {signs[-1]} for the "
            "second."]


def tables(study: RulesetStudy, proofs: Sequence[Proven]) -> list[str]:
    """Values with a column for each value of the last axis, then each ruleset with its cell."""
    if not proofs:
        return []
    parts = ["## Values and the length of best play, in plies\n"]
    if study.axes:
        parts.append(to_markdown(_values_table(study, proofs)))
    return [*parts, to_markdown(_proofs_table(study, proofs))]


def _values_table(study: RulesetStudy, proofs: Sequence[Proven]) -> Table:
    *down, across = study.axes
    rows = []
    for labels, of_row in groupby(proofs, key=lambda proof: proof.labels[:-1]):
        known = {proof.labels[-1]: proof.text for proof in of_row}
        rows.append((*labels, *(known.get(label, "") for label in across.values)))
    return Table("", (*(axis.key for axis in down), *across.values), tuple(rows),
                 frozenset(range(len(down), len(down) + len(across.values))))


def _proofs_table(study: RulesetStudy, proofs: Sequence[Proven]) -> Table:
    names = study.axis_keys
    cells = tuple((*proof.labels, proof.text, str(proof.horizon), f"{proof.nodes:,}",
                   f"`{proof.cell}`") for proof in proofs)
    return Table("", (*names, "value", "plies looked ahead", "nodes", "cell"), cells,
                 frozenset(range(len(names), len(names) + 3)))
