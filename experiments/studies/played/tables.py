"""What agents played, as Markdown tables and as plain values."""

from collections.abc import Sequence
from typing import Any, Final

from experiments.measure.intervals import Interval
from experiments.measure.quality import METRICS
from experiments.report.plain_text import markdown_prose
from experiments.report.tables import SEAT_NAMES, Table, percent, plain, signed, to_markdown
from experiments.studies.played.findings import (
    RACES,
    STALLS,
    Match,
    PlayedCost,
    PlayedFindings,
    first_score,
    skill_of,
)
from experiments.studies.rulesets.study import RulesetStudy

_READING: Final = f"""\
Agents play each other and themselves, from both seats, after random openings; games with the same
moves count once. Rates are points (win 1, draw 1/2) with the 95% Wilson interval, means have 95%
bootstrap intervals. Komi, in steps of half a Victory Point, is what brings the seats nearest to 50%
when given to the first player. A ruleset is called a stall if {STALLS:.0%} of the games reach the
turn limit; of the others a race if factions enter in {RACES:.0%} of the plies or more, else a
siege.
"""
_COSTS_READING: Final = """\
A search that knows its own restriction plays the same search without one; VP lost is how much worse
its mean margin is than that of the unrestricted search in the same seat against itself. It makes a
forbidden move only where no other is legal.
"""


def results(found: PlayedFindings) -> dict[str, Any]:
    """Plain values for JSON, each with the key of its cell."""
    return {
        "matches": [_plain(match) for match in found.matches],
        "costs": [cost.to_dict() for cost in found.costs],
        "skill": {" ".join(labels): skill_of(ladder).to_dict()
                  for labels, ladder in found.ladders.items() if len(ladder) > 1},
    }


def _plain(match: Match) -> dict[str, Any]:
    shown = {name: value for name, value in match.result.items()
             if name in ("rows", "quality")}
    if match.is_self_play:
        shown["komi"] = match.komi.to_dict()
    return {"labels": match.labels, "cell": match.cell, "agents": match.agents,
            "character": match.character, **shown}


def tables(study: RulesetStudy, found: PlayedFindings) -> list[str]:
    """Markdown of all played results."""
    if not found.matches:
        return []
    alone, others, costs = found.alone, found.others, found.costs
    ladders = {labels: ladder for labels, ladder in found.ladders.items() if len(ladder) > 1}
    parts = ["## Matches\n", _READING]
    if alone:
        parts += ["### Agents against themselves\n", to_markdown(_self_play_table(study, alone))]
    if others:
        parts += ["### Agents against each other\n", to_markdown(_match_table(study, others))]
    if ladders:
        texts = "; ".join(f"{' '.join(labels) or study.name} {plain(skill_of(ladder))}"
                          for labels, ladder in ladders.items())
        parts.append("Skill trace (Ludii, SkillTrace; 1 if the larger budget always wins): "
                     f"{markdown_prose(texts)}.\n")
    if costs:
        parts += ["### Restricted play\n", _COSTS_READING, to_markdown(_costs_table(study, costs))]
    quality = _quality_table(alone or found.matches)
    return [*parts, "### Quality of the games\n", to_markdown(quality),
            to_markdown(_sources_table())]


def _self_play_table(study: RulesetStudy, matches: Sequence[Match]) -> Table:
    names = study.axis_keys
    cells = tuple((
        *match.labels, match.agents[0], str(match.row(0)["distinct_games"]),
        percent(first_score(match)), signed(match.margin(0)),
        _share(match, "drawishness"), signed(match.komi, 1),
        _number(match.quality("duration")), _share(match, "time-outs"), match.character,
        f"`{match.cell}`") for match in matches)
    columns = (*names, "agent", "games", "first scores", "first's margin", "drawn", "komi", "plies",
               "time-outs", "character", "cell")
    return Table("", columns, cells, frozenset(range(len(names) + 1, len(columns) - 2)))


def _share(match: Match, metric: str) -> str:
    value = match.quality(metric)
    return "–" if value is None else f"{value.estimate:.1%}"


def _number(value: Interval | None) -> str:
    return "–" if value is None else plain(value)


def _match_table(study: RulesetStudy, matches: Sequence[Match]) -> Table:
    names = study.axis_keys
    cells = tuple((
        *match.labels, *match.agents, str(match.row(None)["distinct_games"]),
        *(percent(match.points(seat)) for seat in (0, 1, None)),
        signed(match.margin(None)), f"`{match.cell}`") for match in matches)
    columns = (*names, "agent", "opponent", "games", "scores as first", "as second", "both",
               "VP margin", "cell")
    return Table("", columns, cells, frozenset(range(len(names) + 2, len(columns) - 1)))


def _costs_table(study: RulesetStudy, costs: Sequence[PlayedCost]) -> Table:
    names = study.axis_keys
    cells = tuple((*cost.labels, cost.restriction, SEAT_NAMES[cost.seat], f"{cost.value:+.2f}",
                   _number(cost.lost), f"`{cost.cell}`") for cost in costs)
    columns = (*names, "restriction", "restricted player", "first's margin", "VP lost", "cell")
    return Table("", columns, cells, frozenset({len(names) + 2, len(names) + 3}))


def _quality_table(matches: Sequence[Match]) -> Table:
    """A line for each measure, a column for each match; of few matches with intervals."""
    if len(matches) > 4:
        cells = tuple((match.name, match.agents[0], *(
            "–" if (value := match.quality(metric)) is None else f"{value.estimate:.2f}"
            for metric in METRICS)) for match in matches)
        columns = ("ruleset", "agent", *METRICS)
        return Table("", columns, cells, frozenset(range(2, len(columns))))
    cells = tuple((metric, *(_number(match.quality(metric)) for match in matches))
                  for metric in METRICS)
    columns = ("measure", *(f"{match.agents[0]} {match.name}".strip() for match in matches))
    return Table("", columns, cells, frozenset(range(1, len(columns))))


def _sources_table() -> Table:
    return Table("", ("measure", "what it is", "source of the formula"), tuple(
        (name, metric.meaning, metric.source) for name, metric in METRICS.items()))
