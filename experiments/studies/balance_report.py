"""The report of a balance study: Markdown with pictures, the same as one HTML file, and JSON."""

from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np
from markdown import markdown

from agents.runs import environment_info, write_json_atomic, write_text_atomic
from experiments.report import run_report as report
from experiments.report.tables import SEAT_NAMES, Table, to_markdown
from experiments.studies import balance_plots, played, played_report
from experiments.studies.cells import Row
from experiments.studies.fairness import (
    DECISIVE,
    Cost,
    Fairness,
    costs_of,
    fairness_of,
    most_balanced,
)
from experiments.studies.study import Study

# How many rulesets are numbered as the most balanced, and shown with their first moves.
_BEST: Final = 5
_BOARDS: Final = 8

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
_TRACING: Final = """\
Every number comes from the row of `cells.jsonl` whose key is in the column "cell"; the row has the
command that computed it, and its seed where anything is random. Exact values have none. What the
names of values stand for is in `study.toml`.
"""

_STYLE: Final = """\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff }
img { max-width: 100%; height: auto } sub { color: #666; vertical-align: baseline }
table { border-collapse: collapse; font-size: 14px; display: block; overflow-x: auto }
td, th { border-bottom: 1px solid #ddd; padding: .2rem .6rem }
code { background: #f4f4f4 }
"""


def write(folder: Path, study: Study, rows: Mapping[str, Row], command: str) -> Path:
    """Write `results.json`, `report.md` with its pictures and `report.html`; the path of the first.

    Raises `RunError`.
    """
    rulesets = fairness_of(study, rows)
    costs = costs_of(study, rows, rulesets)
    write_json_atomic(folder / "results.json", {
        "study": study.name, "description": study.description, "command": command,
        "environment": environment_info(), "answer": answer(study, rows),
        "axes": [axis.key for axis in study.axes], "rulesets": rulesets,
        "costs": [vars(cost) for cost in costs], "played": played_report.results(study, rows),
        "failed": [row for row in rows.values() if "error" in row],
    })
    parts = [
        f"# {study.description}\n", answer(study, rows) + "\n",
        f"Study `{study.name}`, {len(rows)} cells; command `{command}`.\n",
        report.circumstances(), *_pictures(folder, study, rulesets, costs),
        *played_report.pictures(folder, study, rows),
        *_tables(study, rulesets, costs), *played_report.tables(study, rows),
        "## How to read this\n",
        *([_READING.format(plies=_plies(study), decisive=DECISIVE)] if rulesets else []), _TRACING,
        *_failures(rows),
    ]
    path = report.write_report(folder, parts)
    write_text_atomic(folder / "report.html", to_html("\n".join(parts), folder, study.description))
    return path


def to_html(text: str, folder: Path, title: str) -> str:
    """A page that needs no other file: Markdown with the pictures it names, from `folder`."""
    body = markdown(text, extensions=["tables"])
    for picture in sorted(folder.glob("*.png")):
        data = b64encode(picture.read_bytes()).decode()
        body = body.replace(f'src="{picture.name}"', f'src="data:image/png;base64,{data}"')
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{escape(title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
            f"{body}\n</body>\n</html>\n")


def _plies(study: Study) -> str:
    return "1 ply" if study.opening_plies == 1 else f"{study.opening_plies} plies"


# The answer in three sentences


def answer(study: Study, rows: Mapping[str, Row]) -> str:
    """What came out, in three sentences; fewer where there is less to tell."""
    rulesets = fairness_of(study, rows)
    as_played = played.answer(study, rows)
    if not rulesets:
        return " ".join(as_played) or "Nothing of the study could be computed."
    if as_played:
        return " ".join([_values_sentence(rulesets), *as_played[:2]])
    costs = costs_of(study, rows, rulesets)
    last = _costs_sentence(costs) if costs else _balance_sentence(study, rulesets)
    if len(rulesets) == 1:
        return f"Best play by both leads to {rulesets[0].value:+d} VP for the first player. {last}"
    return " ".join([_values_sentence(rulesets), _draws_sentence(study, rulesets), last])


def _values_sentence(rulesets: Sequence[Fairness]) -> str:
    values = [ruleset.value for ruleset in rulesets]
    signs = Counter((value > 0) - (value < 0) for value in values)
    return (f"Of {len(values)} rulesets, best play by both wins {signs[1]} for the first player, "
            f"draws {signs[0]} and wins {signs[-1]} for the second, with first-player margins from "
            f"{min(values):+d} to {max(values):+d} VP and {np.mean(values):+.2f} on average.")


def _draws_sentence(study: Study, rulesets: Sequence[Fairness]) -> str:
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


def _balance_sentence(study: Study, rulesets: Sequence[Fairness]) -> str:
    best = most_balanced(rulesets)
    if not best:
        return f"None is decisive, with {DECISIVE:.0%} of random openings decided."
    first = best[0]
    return (f"The most balanced of the {len(best)} decisive ones is {first.name}: after openings "
            f"of {_plies(study)} drawn at random the first player scores {first.first_score:.1%} "
            f"and {first.decided:.1%} are decided, with a value of {first.value:+d}.")


def _costs_sentence(costs: Sequence[Cost]) -> str:
    means = {name: [np.mean([cost.cost for cost in costs
                             if (cost.restriction, cost.seat) == (name, seat)])
                    for seat in (0, 1)] for name in dict.fromkeys(cost.restriction
                                                                  for cost in costs)}
    ranked = sorted(means, key=lambda name: -sum(means[name]))
    texts = [f"{name} {means[name][0]:.1f} and {means[name][1]:.1f}" for name in ranked]
    return ("Restricted play costs the first and the second player these VP on average: "
            + ", ".join(texts) + ".")


# Pictures and tables


def _pictures(
    folder: Path, study: Study, rulesets: Sequence[Fairness], costs: Sequence[Cost]
) -> list[str]:
    """Draw what there is to draw; Markdown that shows it."""
    shown = []
    if len(rulesets) > 1:
        balance_plots.values_map(study.axes, rulesets, folder / "values.png", study.name)
        shown.append("## Which rulesets are fair?\n\n![Value of each ruleset](values.png)\n")
        balance_plots.balance_and_decision(rulesets, most_balanced(rulesets)[:_BEST],
                                           folder / "balance.png", study.name)
        shown.append("## Which are balanced and still decisive?\n\n"
                     "![Balance and decisiveness](balance.png)\n")
    boards = _boards(study, rulesets)
    if boards:
        balance_plots.first_moves_map(boards, folder / "first-moves.png", study.name)
        shown.append("## Where does the first move matter?\n\nOf each layout the ruleset whose "
                     "first moves differ most.\n\n![First moves on the board](first-moves.png)\n")
    if costs:
        balance_plots.restriction_costs(costs, folder / "restrictions.png", study.name)
        shown.append("## What are the parts of the game worth?\n\n"
                     "![Cost of restricted play](restrictions.png)\n")
    return shown


def _boards(
    study: Study, rulesets: Sequence[Fairness]
) -> dict[str, tuple[Sequence[str], Mapping[str, int]]]:
    """Boards for the picture of first moves: for each layout the ruleset where they differ most."""
    ranked = sorted(rulesets, key=lambda ruleset: min(ruleset.first_moves.values())
                    - max(ruleset.first_moves.values()))
    by_layout: dict[tuple[str, ...], Fairness] = {}
    for ruleset in ranked:
        by_layout.setdefault(study.rulesets[ruleset.labels].strongholds, ruleset)
    return {ruleset.name or study.name: (ranks, ruleset.first_moves)
            for ranks, ruleset in list(by_layout.items())[:_BOARDS]}


def _tables(study: Study, rulesets: Sequence[Fairness], costs: Sequence[Cost]) -> list[str]:
    best = most_balanced(rulesets)[:_BEST]
    parts = []
    if best and len(rulesets) > 1:
        parts += ["## The most balanced decisive rulesets\n",
                  to_markdown(_fairness_table(study, best))]
    if costs:
        parts += ["## Restricted play\n", to_markdown(_costs_table(study, costs))]
    if rulesets:
        parts += ["## All rulesets\n", to_markdown(_fairness_table(study, rulesets))]
    return parts


def _fairness_table(study: Study, rulesets: Sequence[Fairness]) -> Table:
    names = tuple(axis.key for axis in study.axes)
    cells = tuple((
        *ruleset.labels, f"{ruleset.value:+d}", f"{ruleset.komi:+d}",
        f"{ruleset.fairest_move} ({ruleset.first_moves[ruleset.fairest_move]:+d})",
        f"{ruleset.by_lot:+.2f}", f"{ruleset.by_opponent:+d}", f"{ruleset.first_score:.1%}",
        f"{ruleset.decided:.1%}", f"`{ruleset.cell}`") for ruleset in rulesets)
    columns = (*names, "value", "komi", "fairest first move", "by lot", "by opponent",
               "first scores", "decided", "cell")
    return Table("", columns, cells, frozenset(range(len(names), len(columns) - 1)))


def _costs_table(study: Study, costs: Sequence[Cost]) -> Table:
    names = tuple(axis.key for axis in study.axes)
    cells = tuple((*cost.labels, cost.restriction, SEAT_NAMES[cost.seat], f"{cost.value:+.2f}",
                   f"{cost.cost:.2f}", f"`{cost.cell}`") for cost in costs)
    columns = (*names, "restriction", "restricted player", "value", "VP lost", "cell")
    return Table("", columns, cells, frozenset({len(names) + 2, len(names) + 3}))


def _failures(rows: Mapping[str, Row]) -> list[str]:
    failed: list[dict[str, Any]] = [row for row in rows.values() if "error" in row]
    if not failed:
        return []
    cells = tuple((row["ruleset"], row["kind"], row["error"], f"`{row['key']}`")
                  for row in failed)
    return [f"## {len(failed)} cells that failed\n",
            to_markdown(Table("", ("ruleset", "kind", "error", "cell"), cells))]
