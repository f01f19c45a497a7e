"""What solved rulesets come to, as Markdown tables and how to read them."""

from collections.abc import Sequence
from typing import Final

from experiments.report.tables import SEAT_NAMES, Table, to_markdown
from experiments.studies.rulesets.study import RulesetStudy
from experiments.studies.solved.findings import (
    BEST,
    DECISIVE,
    Cost,
    Fairness,
    most_balanced,
    plies_text,
)

_READING: Final = """\
Values are exact: the first player's Victory Points minus the second's under best play by both.
Komi is what makes that fair, given to the first player. The fairest first move is the one after
which the margin is nearest to 0, as a first player would choose under the pie rule, where the
second may take over the first one's side; "by lot" is the mean margin if the first move is drawn
at random, "by opponent" the margin if the second player chooses it. "First scores" and "decided"
are about openings of {plies} drawn at random, with best play after them: the first player's points,
a draw being half a win, and the share of openings that is not drawn. A ruleset counts as decisive
from {decisive:.0%} decided on.
"""


def reading(study: RulesetStudy) -> str:
    """How the tables are to be read."""
    return _READING.format(plies=plies_text(study), decisive=DECISIVE)


def tables(study: RulesetStudy, rulesets: Sequence[Fairness], costs: Sequence[Cost]) -> list[str]:
    best = most_balanced(rulesets)[:BEST]
    parts = []
    if best and len(rulesets) > 1:
        parts += ["## The most balanced decisive rulesets\n",
                  to_markdown(_fairness_table(study, best))]
    if costs:
        parts += ["## Restricted play\n", to_markdown(_costs_table(study, costs))]
    if rulesets:
        parts += ["## All rulesets\n", to_markdown(_fairness_table(study, rulesets))]
    return parts


def _fairness_table(study: RulesetStudy, rulesets: Sequence[Fairness]) -> Table:
    names = study.axis_keys
    cells = tuple((
        *ruleset.labels, f"{ruleset.value:+d}", f"{ruleset.komi:+d}",
        f"{ruleset.fairest_move} ({ruleset.first_moves[ruleset.fairest_move]:+d})",
        f"{ruleset.by_lot:+.2f}", f"{ruleset.by_opponent:+d}", f"{ruleset.first_score:.1%}",
        f"{ruleset.decided:.1%}", f"`{ruleset.cell}`") for ruleset in rulesets)
    columns = (*names, "value", "komi", "fairest first move", "by lot", "by opponent",
               "first scores", "decided", "cell")
    return Table("", columns, cells, frozenset(range(len(names), len(columns) - 1)))


def _costs_table(study: RulesetStudy, costs: Sequence[Cost]) -> Table:
    names = study.axis_keys
    cells = tuple((*cost.labels, cost.restriction, SEAT_NAMES[cost.seat], f"{cost.value:+.2f}",
                   f"{cost.cost:.2f}", f"`{cost.cell}`") for cost in costs)
    columns = (*names, "restriction", "restricted player", "value", "VP lost", "cell")
    return Table("", columns, cells, frozenset({len(names) + 2, len(names) + 3}))
