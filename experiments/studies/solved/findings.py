"""How fair rulesets are, from the exact values in their cells. Margins are player 0's, in VP."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from experiments.measure.intervals import Interval
from experiments.studies.cells import Row
from experiments.studies.restrictions import costs_sentence
from experiments.studies.rulesets.study import RulesetStudy

# A ruleset is called decisive if at least this share of random openings is not drawn.
DECISIVE: Final = 0.75
# How many rulesets are shown as the most balanced.
BEST: Final = 5


@dataclass(frozen=True)
class Fairness:
    """A ruleset of a study.

    labels: by the study's axes. cell: key of the row that all numbers come from. value: margin
    under best play. komi: what makes it fair, given to player 0. first_moves: margin after each.
    fairest_move: the one after which the margin is nearest to 0, as under the pie rule, where the
    second player may take over the first one's side. by_lot: mean margin if the first move is
    drawn by lot; by_opponent: margin if the second player chooses it. first_score: points of
    player 0, a draw being half a win, after the study's random openings and best play from there;
    decided: share of them that is not drawn.
    """

    labels: tuple[str, ...]
    digest: str
    cell: str
    value: int
    first_moves: Mapping[str, int]
    first_score: float
    decided: float

    @property
    def komi(self) -> int:
        return -self.value

    @property
    def fairest_move(self) -> str:
        return min(self.first_moves, key=lambda move: abs(self.first_moves[move]))

    @property
    def by_lot(self) -> float:
        return sum(self.first_moves.values()) / len(self.first_moves)

    @property
    def by_opponent(self) -> int:
        return min(self.first_moves.values())

    @property
    def gap(self) -> float:
        """How far player 0's score is from an even one."""
        return abs(self.first_score - 0.5)

    @property
    def name(self) -> str:
        return " ".join(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return vars(self) | {name: getattr(self, name) for name in (
            "name", "komi", "fairest_move", "by_lot", "by_opponent")}


def fairness_of(study: RulesetStudy, rows: Mapping[str, Row]) -> list[Fairness]:
    """One for each ruleset of a study whose cell did not fail, in the study's order."""
    return [_fairness(labels, row) for labels, row in study.rows_of("value", rows)]


def _fairness(labels: tuple[str, ...], row: Row) -> Fairness:
    result = row["result"]
    openings = {int(margin): chance for margin, chance in result["openings"].items()}
    drawn = openings.get(0, 0.0)
    won = sum(chance for margin, chance in openings.items() if margin > 0)
    return Fairness(
        labels=labels,
        digest=row["digest"],
        cell=row["key"],
        value=result["value"],
        first_moves=result["first_moves"],
        first_score=won + drawn / 2,
        decided=1 - drawn,
    )


def most_balanced(rulesets: Iterable[Fairness]) -> list[Fairness]:
    """The decisive ones, those with the most even scores first; where equal, the lower value."""
    decisive = [ruleset for ruleset in rulesets if ruleset.decided >= DECISIVE]
    return sorted(decisive, key=lambda ruleset: (round(ruleset.gap, 9), abs(ruleset.value)))


@dataclass(frozen=True)
class Cost:
    """What a restriction costs the player in a seat: the margin lost against a perfect opponent."""

    labels: tuple[str, ...]
    cell: str
    restriction: str
    seat: int
    value: float
    cost: float

    @property
    def interval(self) -> Interval | None:
        """None: the cost is exact."""
        return None


def costs_of(
    study: RulesetStudy, rows: Mapping[str, Row], rulesets: Sequence[Fairness]
) -> list[Cost]:
    """All costs that are known, by ruleset, restriction and seat."""
    found = {(row["digest"], row["params"]["restriction"], row["params"]["seat"]): row
             for row in rows.values() if row["kind"] == "restricted" and "result" in row}
    costs = []
    for ruleset in rulesets:
        for restriction in study.restrictions:
            for seat in (0, 1):
                row = found.get((ruleset.digest, restriction, seat))
                if row is not None:
                    value = row["result"]["value"]
                    lost = (ruleset.value - value) * (1 - 2 * seat) + 0.0  # no -0.0
                    costs.append(Cost(ruleset.labels, row["key"], restriction, seat, value, lost))
    return costs


# In words


def solved_sentences(
    study: RulesetStudy, rulesets: Sequence[Fairness], costs: Sequence[Cost]
) -> list[str]:
    """What came out, in two or three sentences, the values first; none where nothing is solved."""
    if not rulesets:
        return []
    last = costs_sentence(costs) if costs else _balance_sentence(study, rulesets)
    if len(rulesets) == 1:
        return [f"Best play by both leads to {rulesets[0].value:+d} VP for the first player.", last]
    return [_values_sentence(rulesets), _draws_sentence(study, rulesets), last]


def plies_text(study: RulesetStudy) -> str:
    """Length of the study's random openings."""
    return "1 ply" if study.opening_plies == 1 else f"{study.opening_plies} plies"


def _values_sentence(rulesets: Sequence[Fairness]) -> str:
    values = [ruleset.value for ruleset in rulesets]
    signs = Counter((value > 0) - (value < 0) for value in values)
    return (f"Of {len(values)} rulesets, best play by both wins {signs[1]} for the first player, "
            f"draws {signs[0]} and wins {signs[-1]} for the second, with first-player margins from "
            f"{min(values):+d} to {max(values):+d} VP and {np.mean(values):+.2f} on average.")


def _draws_sentence(study: RulesetStudy, rulesets: Sequence[Fairness]) -> str:
    drawn = [ruleset for ruleset in rulesets if ruleset.value == 0]
    if not drawn:
        return "None comes out at 0."
    if len(drawn) <= 2 or not study.axes:
        return f"{len(drawn)} come out at 0: {'; '.join(ruleset.name for ruleset in drawn)}."
    counts = [Counter(ruleset.labels[index] for ruleset in drawn)
              for index in range(len(study.axes))]
    index = max(range(len(counts)), key=lambda index: counts[index].most_common(1)[0][1]
                / len(drawn) * len(study.axes[index].values))
    shares = ", ".join(f"{label} {count}" for label, count in counts[index].most_common())
    return f"{len(drawn)} come out at 0, by {study.axes[index].key}: {shares}."


def _balance_sentence(study: RulesetStudy, rulesets: Sequence[Fairness]) -> str:
    best = most_balanced(rulesets)
    if not best:
        return f"None is decisive, with {DECISIVE:.0%} of random openings decided."
    first = best[0]
    return (f"The most balanced of the {len(best)} decisive ones is {first.name}: after openings "
            f"of {plies_text(study)} drawn at random the first player scores "
            f"{first.first_score:.1%} and {first.decided:.1%} are decided, with a value of "
            f"{first.value:+d}.")
