"""Parts of a study's report about what agents played: pictures, tables, plain values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from castle_env.ruleset import SUDDEN_DEATH
from experiments.measure.intervals import Interval
from experiments.measure.quality import METRICS
from experiments.report import plots
from experiments.report.tables import SEAT_NAMES, Table, percent, signed, to_markdown
from experiments.studies import balance_plots, played_plots
from experiments.studies.cells import Row
from experiments.studies.played import (
    RACES,
    STALLS,
    Match,
    PlayedCost,
    first_score,
    interval,
    ladder_of,
    matches_of,
    played_costs,
    skill_of,
)
from experiments.studies.study import Study

_LEADS: Final = 12

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
its mean margin is than that of the unrestricted search in the same seat against itself. What it may
not do it does only when nothing else is legal.
"""


def results(study: Study, rows: Mapping[str, Row]) -> dict[str, Any]:
    """Plain values for JSON, each with the key of its cell."""
    return {
        "matches": [_plain(match) for match in matches_of(study, rows)],
        "costs": [vars(cost) | {"lost": cost.lost.to_dict()} for cost in played_costs(study, rows)],
        "skill": {" ".join(labels): skill_of(ladder)
                  for labels, ladder in _ladders(study, rows).items() if len(ladder) > 1},
    }


def _plain(match: Match) -> dict[str, Any]:
    shown = {name: value for name, value in match.result.items()
             if name in ("rows", "quality", "komi")}
    return {"labels": match.labels, "cell": match.cell, "agents": match.agents,
            "character": match.character, **shown}


def _ladders(study: Study, rows: Mapping[str, Row]) -> dict[tuple[str, ...], list[Match]]:
    return {} if study.played is None else ladder_of(study.played, matches_of(study, rows))


def pictures(folder: Path, study: Study, rows: Mapping[str, Row]) -> list[str]:
    """Draw what there is to draw; Markdown that shows it."""
    alone = [match for match in matches_of(study, rows) if match.is_self_play]
    shown = []
    if alone:
        played_plots.margins_by_ruleset(alone, folder / "margins.png", study.name)
        shown.append("## Who wins when equals play, and by how much?\n\n"
                     "![Margins of the first player](margins.png)\n")
        played_plots.leads_over_time(alone[:_LEADS], folder / "leads.png", study.name)
        shown.append("## When is a game decided?\n\n![Lead over time](leads.png)\n")
    if next(iter(study.rulesets.values())).mode == SUDDEN_DEATH and len(alone) > 1:
        played_plots.races_and_sieges(alone, folder / "readings.png", study.name)
        shown.append("## Race, siege or stall?\n\n![Length and entries](readings.png)\n")
    ladders = _ladders(study, rows)
    if ladders:
        plots.win_rates({f"{match.agents[1]} {match.name}".strip(): {
            SEAT_NAMES[seat]: interval(match.row(seat)["win_rate"]) for seat in (0, 1)}
            for ladder in ladders.values() for match in ladder},
            folder / "skill.png", "the search with the next larger budget")
        shown.append("## Does skill pay?\n\n![Deeper against shallower search](skill.png)\n")
    costs = played_costs(study, rows)
    if costs:
        balance_plots.restriction_costs(costs, folder / "played-restrictions.png", study.name,
                                        "the unrestricted search")
        shown.append("## What are the parts of the game worth, as played?\n\n"
                     "![Cost of restricted play](played-restrictions.png)\n")
    return shown


def tables(study: Study, rows: Mapping[str, Row]) -> list[str]:
    """Markdown of all played results."""
    matches, costs = matches_of(study, rows), played_costs(study, rows)
    if not matches:
        return []
    alone = [match for match in matches if match.is_self_play]
    others = [match for match in matches if not match.is_self_play]
    ladders = {labels: ladder for labels, ladder in _ladders(study, rows).items()
               if len(ladder) > 1}
    parts = ["## Matches\n", _READING]
    if alone:
        parts += ["### Agents against themselves\n", to_markdown(_self_play_table(study, alone))]
    if others:
        parts += ["### Agents against each other\n", to_markdown(_match_table(study, others))]
    if ladders:
        texts = "; ".join(f"{' '.join(labels) or study.name} {skill_of(ladder):.2f}"
                          for labels, ladder in ladders.items())
        parts.append(f"Skill trace (Ludii, SkillTrace; 1 if the larger budget always wins): "
                     f"{texts}.\n")
    if costs:
        parts += ["### Restricted play\n", _COSTS_READING, to_markdown(_costs_table(study, costs))]
    return [*parts, "### Quality of the games\n", to_markdown(_quality_table(alone or matches)),
            to_markdown(_sources_table())]


def _labels(study: Study) -> tuple[str, ...]:
    return tuple(axis.key for axis in study.axes)


def _self_play_table(study: Study, matches: Sequence[Match]) -> Table:
    names = _labels(study)
    cells = tuple((
        *match.labels, match.agents[0], str(match.row(0)["distinct_games"]),
        percent(first_score(match)), signed(interval(match.row(0)["margin"])),
        _share(match, "drawishness"), signed(interval(match.result["komi"]["komi"]), 1),
        _number(match.quality("duration")), _share(match, "time-outs"), match.character,
        f"`{match.cell}`") for match in matches)
    columns = (*names, "agent", "games", "first scores", "first's margin", "drawn", "komi", "plies",
               "time-outs", "character", "cell")
    return Table("", columns, cells, frozenset(range(len(names) + 1, len(columns) - 2)))


def _share(match: Match, metric: str) -> str:
    value = match.quality(metric)
    return "–" if value is None else f"{value.estimate:.1%}"


def _number(value: Interval | None) -> str:
    if value is None:
        return "–"
    ends = f" [{value.low:.2f}, {value.high:.2f}]" if value.is_known else ""
    return f"{value.estimate:.2f}{ends}"


def _match_table(study: Study, matches: Sequence[Match]) -> Table:
    names = _labels(study)
    cells = tuple((
        *match.labels, *match.agents, str(match.row(None)["distinct_games"]),
        *(percent(interval(match.row(seat)["win_rate"])) for seat in (0, 1, None)),
        signed(interval(match.row(None)["margin"])), f"`{match.cell}`") for match in matches)
    columns = (*names, "agent", "opponent", "games", "scores as first", "as second", "both",
               "VP margin", "cell")
    return Table("", columns, cells, frozenset(range(len(names) + 2, len(columns) - 1)))


def _costs_table(study: Study, costs: Sequence[PlayedCost]) -> Table:
    names = _labels(study)
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
