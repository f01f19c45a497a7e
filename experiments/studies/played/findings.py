"""What the played cells of a study say: matches by ruleset, what restrictions cost, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from castle_env.ruleset import SUDDEN_DEATH
from experiments.measure.intervals import Interval, rate_interval
from experiments.measure.quality import skill_trace
from experiments.report.tables import percent, signed
from experiments.studies.cells import Row
from experiments.studies.played.cells import komi_of, margin_cost
from experiments.studies.restrictions import costs_sentence
from experiments.studies.rulesets.study import Played, RulesetStudy

# A ruleset stalls if at least this share of games reaches the turn limit. Of the others it is a
# race if factions enter in at least half of the plies, else a siege.
STALLS: Final = 0.25
RACES: Final = 0.5
# Of the bootstrap of komis.
KOMI_SEED: Final = 0


@dataclass(frozen=True)
class Match:
    """A played cell. labels: of its ruleset, by the study's axes. agents: the names in the cell."""

    labels: tuple[str, ...]
    cell: str
    agents: tuple[str, str]
    result: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Of its ruleset."""
        return " ".join(self.labels)

    @property
    def is_self_play(self) -> bool:
        """Whether an agent meets itself."""
        return self.agents[0] == self.agents[1]

    def row(self, seat: int | None) -> Mapping[str, Any]:
        """The first agent from a seat, or both; see `experiments.measure.records.SummaryRow`."""
        row: Mapping[str, Any] = next(row for row in self.result["rows"] if row["seat"] == seat)
        return row

    def counts(self, seat: int) -> tuple[int, int, int]:
        """Wins, draws and losses of the first agent from a seat."""
        row = self.row(seat)
        return row["wins"], row["draws"], row["losses"]

    def points(self, seat: int | None) -> Interval:
        """The first agent's share of the points from a seat, or both."""
        return rate_interval(*map(self.counts, (0, 1) if seat is None else (seat,)))

    def margin(self, seat: int | None) -> Interval:
        """The first agent's mean VP margin from a seat, or both."""
        return Interval.from_dict(self.row(seat)["margin"])

    @property
    def komi(self) -> Interval:
        """What brings the seats to 50% when an agent plays itself; see `komi_of`."""
        return komi_of(self.result["margins"]["0"], KOMI_SEED)

    def quality(self, metric: str) -> Interval | None:
        """A measure of `experiments.measure.quality.METRICS`, if the games have it."""
        value = self.result["quality"].get(metric)
        return None if value is None else Interval.from_dict(value)

    @property
    def character(self) -> str:
        """"race", "siege" or "stall"."""
        shares = {name: self.result["quality"][name]["estimate"] for name in ("time-outs",
                                                                              "entries")}
        if shares["time-outs"] >= STALLS:
            return "stall"
        return "race" if shares["entries"] >= RACES else "siege"


@dataclass(frozen=True)
class PlayedFindings:
    """All that the played cells of a study say; ladders are those of `ladders_of`."""

    matches: Sequence[Match]
    costs: Sequence["PlayedCost"]
    ladders: Mapping[tuple[str, ...], Sequence[Match]]

    @property
    def alone(self) -> list[Match]:
        """Matches of agents against themselves."""
        return [match for match in self.matches if match.is_self_play]

    @property
    def others(self) -> list[Match]:
        """Matches of agents against each other."""
        return [match for match in self.matches if not match.is_self_play]


def played_findings(study: RulesetStudy, rows: Mapping[str, Row]) -> PlayedFindings:
    """What is known so far, found once; nothing where nothing is played."""
    if study.played is None:
        return PlayedFindings((), (), {})
    matches = matches_of(study, rows)
    return PlayedFindings(matches, played_costs(study, rows, matches),
                          ladders_of(study.played, matches))


def matches_of(study: RulesetStudy, rows: Mapping[str, Row]) -> list[Match]:
    """All plain matches that are known, in the study's order."""
    return [Match(labels, row["key"], tuple(row["params"]["agents"]), row["result"])
            for labels, row in _played_rows(study, rows, "match")]


def _played_rows(
    study: RulesetStudy, rows: Mapping[str, Row], kind: str
) -> list[tuple[tuple[str, ...], Row]]:
    if study.played is None:
        return []
    found = [(labels, rows.get(cell.key)) for labels, rules in study.rulesets.items()
             for cell in study.played.cells(rules) if cell.kind == kind]
    return [(labels, row) for labels, row in found if row is not None and "result" in row]


@dataclass(frozen=True)
class PlayedCost:
    """What a restriction costs a searching player in a seat, against the same without it.

    value: player 0's mean margin; cost: the mean margin lost, in VP.
    """

    labels: tuple[str, ...]
    cell: str
    restriction: str
    seat: int
    value: float
    lost: Interval

    @property
    def cost(self) -> float:
        """The mean alone, as for costs that are exact."""
        return self.lost.estimate

    @property
    def interval(self) -> Interval | None:
        """That of the mean, where there are games enough for one."""
        return self.lost if self.lost.is_known else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return vars(self) | {"lost": self.lost.to_dict()}


def played_costs(
    study: RulesetStudy, rows: Mapping[str, Row], matches: Sequence[Match]
) -> list[PlayedCost]:
    """All costs that are known, by ruleset, restriction and seat."""
    costs = []
    free = {match.labels: match for match in matches
            if study.played is not None and match.agents == (study.played.free,) * 2}
    for labels, row in _played_rows(study, rows, "restricted-match"):
        if labels not in free:
            continue
        for seat in (0, 1):
            mine = row["result"]["margins"][str(seat)]
            value = sum(int(margin) * count for margin, count in mine.items()) / sum(mine.values())
            lost = margin_cost(mine, free[labels].result["margins"]["0"], seat, row["seed"])
            costs.append(PlayedCost(labels, row["key"], row["params"]["restriction"], seat, value,
                                    lost))
    return costs


def ladders_of(played: Played, matches: Sequence[Match]) -> dict[tuple[str, ...], list[Match]]:
    """For each ruleset the matches of a search against the same with less budget, weakest first."""
    ladders: dict[tuple[str, ...], list[Match]] = {}
    for less, more in pairwise(played.skill):
        for match in matches:
            if match.agents == (more, less):
                ladders.setdefault(match.labels, []).append(match)
    return ladders


def skill_of(ladder: Sequence[Match]) -> Interval:
    """`skill_trace` of a ruleset's ladder."""
    return skill_trace([[match.counts(seat) for seat in (0, 1)] for match in ladder])


# In words


def played_sentences(study: RulesetStudy, found: PlayedFindings) -> list[str]:
    """What was found, as up to three sentences."""
    if not found.alone:
        return []
    sentences = [_seats(found.alone)]
    if len(study.rulesets) > 1 and study.mode == SUDDEN_DEATH:
        sentences.append(_characters(found.alone))
    else:
        sentences.append(_komis(found.alone))
    if found.ladders:
        sentences.append(_skill(found.ladders))
    elif found.costs:
        sentences.append(costs_sentence(found.costs))
    return sentences


def first_score(match: Match) -> Interval:
    """The first player's share of the points when an agent plays itself."""
    return match.points(0)


def _seats(alone: Sequence[Match]) -> str:
    if len({match.labels for match in alone}) == 1:
        texts = [f"{match.agents[0]} {percent(first_score(match))}" for match in alone]
        return ("When agents play themselves from random openings, the first player scores: "
                + ", ".join(texts) + ".")
    ranked = sorted(alone, key=_first_share)
    low, high = ranked[0], ranked[-1]
    even = min(alone, key=lambda match: abs(_first_share(match) - 0.5))
    return (f"When agents play themselves from random openings, the first player scores "
            f"{_first_share(low):.0%} ({low.name}) to {_first_share(high):.0%} ({high.name}) of "
            f"the points, and {_first_share(even):.1%} where that is most even ({even.name}, "
            f"{even.agents[0]}).")


def _first_share(match: Match) -> float:
    return first_score(match).estimate


def _characters(alone: Sequence[Match]) -> str:
    agent = alone[0].agents[0]
    of_agent = [match for match in alone if match.agents[0] == agent]
    by_kind = {kind: [match.name for match in of_agent if match.character == kind]
               for kind in ("race", "siege", "stall")}
    usual = max(by_kind, key=lambda kind: len(by_kind[kind]))
    texts = [f"{len(names)} {'is' if len(names) == 1 else 'are'} a {kind}"
             + (f" ({'; '.join(names)})" if names and kind != usual else "")
             for kind, names in by_kind.items()]
    return f"Of {len(of_agent)} readings played by {agent}, {', '.join(texts)}."


def _komis(alone: Sequence[Match]) -> str:
    texts = [f"{match.agents[0]} {signed(match.komi, 1)}"
             for match in alone]
    return "The komi that brings the seats to 50%, in VP: " + ", ".join(texts) + "."


def _skill(ladders: Mapping[tuple[str, ...], Sequence[Match]]) -> str:
    best = [matches[-1] for matches in ladders.values()]
    more, less = best[0].agents
    scores = [[match.points(seat) for match in best] for seat in (0, 1)]
    if len(best) == 1:
        (first,), (second,) = scores
        return (f"Skill pays: {more} scores {percent(first)} as first and {percent(second)} as "
                f"second player against {less}.")
    ends = [f"{min(share.estimate for share in shares):.0%} to "
            f"{max(share.estimate for share in shares):.0%}" for shares in scores]
    return (f"The larger budget, {more} against {less}, scores {ends[0]} as first and {ends[1]} as "
            "second player, depending on the ruleset.")
