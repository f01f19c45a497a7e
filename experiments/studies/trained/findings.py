"""What the rows of a study of trainings say: means over seeds, a line for each variant."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import rich

from experiments.measure.intervals import Interval, student_mean_interval
from experiments.output import tell
from experiments.report.tables import Table, percent, plain, to_markdown, to_rich
from experiments.studies.cells import Row
from experiments.studies.trained.pictures import Point, curve_of, learning_curves
from experiments.studies.trained.study import BASE, TrainingStudy

_READING: Final = """\
Each line is a way to train; where there is a base, it changes one thing of that. Points: their
share (win 1, draw 1/2) against each opponent of the panel, both seats, from random openings; regret
in VP per move from ply 6 on. Mean over the seeds, with the 95% interval of Student's t: it says how
much another seed may differ.
"""


@dataclass(frozen=True)
class Variant:
    """What a variant comes to, as means over those seeds whose training did not fail.

    cells: keys of their rows. points: share of the points against each opponent, by its name.
    regret: None where it is not measured. steps_per_second: the median. curve: all evaluations,
    from before training on.
    """

    name: str
    cells: Sequence[str]
    points: Mapping[str, Interval]
    regret: Interval | None
    steps_per_second: float
    curve: Sequence[Point]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        points = {opponent: share.to_dict() for opponent, share in self.points.items()}
        return vars(self) | {"points": points,
                             "regret": None if self.regret is None else self.regret.to_dict(),
                             "curve": [asdict(point) for point in self.curve]}


@dataclass(frozen=True)
class TrainingFindings:
    """`experiments.studies.report.Findings` of a study of trainings."""

    study: TrainingStudy
    variants: Sequence[Variant]
    answer: str

    def results(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"variants": self.variants}

    def pictures(self, folder: Path) -> list[str]:
        """The learning curves, where trainings were measured on the way; Markdown that shows them.
        """
        curves = {variant.name: variant.curve for variant in self.variants
                  if len(variant.curve) > 2}
        if not curves:
            return []
        learning_curves(curves, folder / "learning-curves.png", self.study.rules.name)
        return ["![Learning curves over learner steps and over CPU minutes]"
                "(learning-curves.png)\n"]

    def tables(self) -> list[str]:
        """Markdown of all results."""
        return ["## Variants\n", to_markdown(self.table())] if self.variants else []

    def reading(self) -> list[str]:
        """How the table is to be read."""
        return [_READING]

    def show(self) -> None:
        """Print the table and the answer."""
        if self.variants:
            rich.print(to_rich(self.table(with_cells=False)))
        tell(self.answer)

    def table(self, with_cells: bool = True) -> Table:
        """A line for each variant; with the keys of its cells or, for a terminal, without."""
        opponents = tuple(self.variants[0].points)
        lines = tuple((
            variant.name, *(percent(variant.points[name]) for name in opponents),
            "–" if variant.regret is None else plain(variant.regret),
            f"{variant.steps_per_second:,.0f}",
            *([" ".join(f"`{key}`" for key in variant.cells)] if with_cells else []))
            for variant in self.variants)
        columns = ("variant", *opponents, "regret", "steps/s", *(["cell"] if with_cells else []))
        return Table(self.study.description, columns, lines,
                     frozenset(range(1, len(opponents) + 3)))


def find_trainings(study: TrainingStudy, rows: Mapping[str, Row]) -> TrainingFindings:
    """All that is known so far; everything is found once."""
    found = [_variant(name, [rows[cell.key] for cell in cells if _is_done(rows, cell.key)])
             for name, cells in study.variants.items()
             if any(_is_done(rows, cell.key) for cell in cells)]
    return TrainingFindings(study, found, _answer(found))


def _is_done(rows: Mapping[str, Row], key: str) -> bool:
    return key in rows and "result" in rows[key]


def _variant(name: str, rows: Sequence[Row]) -> Variant:
    results = [row["result"] for row in rows]
    opponents = [row["opponent"] for row in results[0]["rows"]]
    regrets = [result["regret"]["estimate"] for result in results if result["regret"]]
    return Variant(
        name=name,
        cells=[row["key"] for row in rows],
        points={opponent: _of_shares(student_mean_interval(
                    [result["rows"][place]["win_rate"] for result in results]))
                for place, opponent in enumerate(opponents)},
        regret=student_mean_interval(regrets) if regrets else None,
        steps_per_second=float(np.median([result["steps_per_second"] for result in results])),
        # Trainings of old studies kept the last evaluation alone.
        curve=curve_of([result.get("evaluations", []) for result in results]),
    )


def _answer(variants: Sequence[Variant]) -> str:
    """The base, the strongest and the weakest variant against the last opponent of the panel."""
    if not variants:
        return "Nothing of the study could be computed."
    opponent = list(variants[0].points)[-1]
    shares = {variant.name: variant.points[opponent] for variant in variants}
    ranked = sorted(shares.keys() - {BASE}, key=lambda name: (-shares[name].estimate, name))
    told = {"": [BASE], "the most: ": ranked[:1], "the least: ": ranked[1:][-1:]}
    texts = [f"{words}{name} {percent(shares[name])}" for words, names in told.items()
             for name in names if name in shares]
    return (f"Share of the points against {opponent}, mean over "
            f"{max(len(variant.cells) for variant in variants)} seeds: {'; '.join(texts)}.")


def _of_shares(mean: Interval) -> Interval:
    """The interval of a mean of shares, which cannot lie below 0 or above 1."""
    if not mean.is_known:
        return mean
    return Interval(mean.estimate, max(0.0, mean.low), min(1.0, mean.high))
