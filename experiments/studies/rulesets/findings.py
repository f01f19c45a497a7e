"""All that the rows of a study of rulesets say, and the report's parts that come of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.output import tell
from experiments.studies.cells import Row
from experiments.studies.played import pictures as played_pictures
from experiments.studies.played import tables as played_tables
from experiments.studies.played.findings import PlayedFindings, played_findings, played_sentences
from experiments.studies.rulesets.study import RulesetStudy
from experiments.studies.solved import pictures as solved_pictures
from experiments.studies.solved import proofs as proven
from experiments.studies.solved import tables as solved_tables
from experiments.studies.solved.findings import (
    Cost,
    Fairness,
    costs_of,
    fairness_of,
    solved_sentences,
)


@dataclass(frozen=True)
class RulesetFindings:
    """`experiments.studies.report.Findings` of a study of rulesets.

    rulesets, costs, proofs: from cells that are solved; played: from those that agents played.
    """

    study: RulesetStudy
    rulesets: Sequence[Fairness]
    costs: Sequence[Cost]
    proofs: Sequence[proven.Proven]
    played: PlayedFindings
    answer: str

    def results(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"axes": self.study.axis_keys, "rulesets": self.rulesets,
                "costs": [vars(cost) for cost in self.costs],
                "proofs": [vars(proof) for proof in self.proofs],
                "played": played_tables.results(self.played)}

    def pictures(self, folder: Path) -> list[str]:
        """Draw what there is to draw; Markdown that shows it."""
        return [*solved_pictures.draw(folder, self.study, self.rulesets, self.costs),
                *played_pictures.draw(folder, self.study, self.played)]

    def tables(self) -> list[str]:
        """Markdown of all results."""
        return [*solved_tables.tables(self.study, self.rulesets, self.costs),
                *proven.tables(self.study, self.proofs),
                *played_tables.tables(self.study, self.played)]

    def reading(self) -> list[str]:
        """How the tables are to be read."""
        return ([solved_tables.reading(self.study)] if self.rulesets else []) + (
            [proven.READING] if self.proofs else [])

    def show(self) -> None:
        """Print the answer."""
        tell(self.answer)


def find_rulesets(study: RulesetStudy, rows: Mapping[str, Row]) -> RulesetFindings:
    """All that is known so far; everything is found once."""
    rulesets = fairness_of(study, rows)
    costs = costs_of(study, rows, rulesets)
    proofs = proven.proofs_of(study, rows)
    played = played_findings(study, rows)
    solved = solved_sentences(study, rulesets, costs) + proven.proof_sentences(proofs)
    answer = _answer(solved, played_sentences(study, played))
    return RulesetFindings(study, rulesets, costs, proofs, played, answer)


def _answer(solved: Sequence[str], played: Sequence[str]) -> str:
    """What came out, in three sentences; fewer where there is less to tell."""
    sentences = [solved[0], *played[:2]] if solved and played else [*solved, *played]
    return " ".join(sentences) or "Nothing of the study could be computed."
