"""Played studies: read strictly, the same for one seed, told by rows that can be traced."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from narrow import narrow
from quick_pictures import quick_pictures

from castle_env import Game, Ruleset, load_ruleset
from experiments.commands.balance import Balance, run
from experiments.studies import cells
from experiments.studies.cells import Cell, Row, compute, read_cells
from experiments.studies.keys import StudyError
from experiments.studies.load import load_study, parse_study
from experiments.studies.played import findings
from experiments.studies.played.cells import komi_of, margin_cost, match_cell
from experiments.studies.played.findings import (
    Match,
    matches_of,
    played_findings,
    played_sentences,
)
from experiments.studies.rulesets.study import Played, RulesetStudy

SMALL = """\
description = "How steps are played"
base = { mode = "sudden_death", factions_per_player = 3, max_plies = 12 }
exact = false

[[vary]]
key = "steps_must_push"
values = { free = false, must-push = true }

[played]
agents = ["greedy", "random"]
skill = ["alphabeta:1", "alphabeta:2", "alphabeta:3"]
restrictions = ["never-captures"]
depth = 2
games = 8
seed = 5
"""
STORM = load_ruleset("storm")


def test_cells_of_a_study() -> None:
    study = narrow(parse_study(SMALL, "small"), RulesetStudy)
    cells = study.cells()
    assert {cell.kind for cell in cells} == {"match", "restricted-match"}
    first = [cell for cell in cells if cell.rules is study.rulesets["free",]]
    assert [cell.params.get("agents") or cell.params["restriction"] for cell in first] == [
        ["greedy", "greedy"], ["greedy", "random"], ["random", "random"],
        ["alphabeta:2", "alphabeta:1"], ["alphabeta:3", "alphabeta:2"],
        ["alphabeta:2", "alphabeta:2"], "never-captures"]
    assert {cell.seed for cell in cells} == {5}
    assert len({cell.key for cell in cells}) == len(cells) == 14


def test_shipped_studies_are_played() -> None:
    readings = narrow(load_study("sudden-death-readings"), RulesetStudy)
    assert len(readings.rulesets) == len({rules.digest for rules in readings.rulesets.values()})
    assert {rules.entry_lanes for rules in readings.rulesets.values()} == {
        "own_axis", "central", "home_edge", "all"}
    for name in ("played-storm", "played-sudden-death"):
        study = narrow(load_study(name), RulesetStudy)
        assert study.played is not None
        assert not study.exact
        assert len(study.rulesets) == 1


@pytest.mark.parametrize(("text", "said"), [
    ("exact = 1", "key 'exact' is 1; allowed: true or false"),
    ("[played]\nagent = 'greedy'", "'played.agent' is 'greedy'; allowed: only agents, skill"),
    ("[played]\nagents = 'greedy'", "'played.agents' is 'greedy'; allowed: a list"),
    ("[played]\nskill = [1]", "'played.skill' is [1]"),
    ("[played]\ngames = true", "'played.games' is True"),
    ("[played]\nrestrictions = ['never-wins']", "never-captures"),
    ("played = 3", "key 'played' is 3; allowed: a table"),
])
def test_refuses_studies(text: str, said: str) -> None:
    with pytest.raises(StudyError, match=re.escape(said)):
        parse_study(f"base = 'storm'\n{text}", "wrong")


def test_a_cell_is_the_same_each_time() -> None:
    params = {"agents": ["greedy", "greedy"], "games": 8, "opening_plies": 3}
    game = Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": 5}))
    one, other = (match_cell(game, params, 1) for _ in range(2))
    assert one == other != match_cell(game, params, 2)
    assert json.loads(json.dumps(one)) == one
    first = one["rows"][0]
    assert sum(one["margins"]["0"].values()) == first["distinct_games"]
    assert [row[0] for row in one["leads"]["exact"]] == list(range(3, 11))
    assert one["leads"]["exact"][-1][2] == pytest.approx(first["margin"]["estimate"], abs=1e-3)
    mean = sum(int(margin) * count for margin, count in one["margins"]["0"].items())
    assert mean / first["distinct_games"] == pytest.approx(first["margin"]["estimate"])


def test_agents_that_cannot_play_fail_their_cell() -> None:
    rules = load_ruleset("storm-towers")
    row = compute(Cell("match", rules, {"agents": ["ppo-storm", "greedy"], "games": 2,
                                        "opening_plies": 0}, 0))
    assert "error" in row
    assert "result" not in row


def test_other_weights_are_another_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"agents": ["ppo-storm", "greedy"], "games": 2, "opening_plies": 0}
    mine = Cell("match", STORM, params, 0)
    assert set(mine.weights) == {"ppo-storm"}
    monkeypatch.setattr(cells, "weights_of", lambda names: {"ppo-storm": "other"})
    assert Cell("match", STORM, params, 0).key != mine.key
    row = compute(Cell("match", STORM, params | {"agents": ["greedy", "greedy"]}, 0))
    assert row["weights"] == {"ppo-storm": "other"}


# Komi and costs


@pytest.mark.parametrize(("margins", "komi"), [
    ({"-2": 4}, 2), ({"0": 2}, 0), ({"1": 1, "3": 1}, -2), ({"5": 1, "-5": 1}, 0),
    # With komi 4 player 0 has 5/8 of the points, with 3.5 it has 1/4.
    ({"-4": 3, "1": 1}, 3.5 + 0.5 * (1 / 2 - 1 / 4) / (5 / 8 - 1 / 4)),
])
def test_komi(margins: dict[str, int], komi: float) -> None:
    found = komi_of(margins, 0)
    assert found.estimate == pytest.approx(komi)
    assert found.low - 1e-9 <= komi <= found.high + 1e-9


def test_cost_of_a_restriction() -> None:
    restricted, free = {"-4": 30, "-2": 30}, {"1": 50}
    lost = margin_cost(restricted, free, 0, 0)
    assert lost.estimate == pytest.approx(4)
    assert 3.5 < lost.low < 4 < lost.high < 4.5
    assert margin_cost(restricted, free, 1, 0).estimate == pytest.approx(-4)


# What a study says


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study, run by the command once."""
    place = tmp_path_factory.mktemp("played")
    (place / "small.toml").write_text(SMALL)
    with quick_pictures():
        run(Balance(study=str(place / "small.toml"), runs=place, name="p"))
    return place / "p"


@pytest.fixture(scope="module")
def rows(folder: Path) -> dict[str, Row]:
    return read_cells(folder / "cells.jsonl")[0]


def test_costs_follow_from_the_cells(rows: dict[str, Row]) -> None:
    study = narrow(parse_study(SMALL, "small"), RulesetStudy)
    costs = played_findings(study, rows).costs
    assert [(cost.labels, cost.seat) for cost in costs] == [
        ((name,), seat) for name in ("free", "must-push") for seat in (0, 1)]
    for cost in costs:
        free = next(match for match in matches_of(study, rows)
                    if match.labels == cost.labels and match.agents == ("alphabeta:2",) * 2)
        margin = rows[cost.cell]["result"]["rows"][cost.seat]["margin"]["estimate"]
        mine = free.row(0)["margin"]["estimate"] * (-1 if cost.seat else 1)
        assert cost.cost == pytest.approx(mine - margin)


def test_answer_has_three_sentences(rows: dict[str, Row]) -> None:
    study = narrow(parse_study(SMALL, "small"), RulesetStudy)
    sentences = played_sentences(study, played_findings(study, rows))
    assert len(sentences) == 3
    assert "the first player scores" in sentences[0]
    assert "Of 2 readings" in sentences[1]
    assert "alphabeta:3 against alphabeta:2" in sentences[2]
    storm = Played(agents=("greedy",), games=4, restrictions=("never-captures",), depth=1)
    single = narrow(parse_study(
        "base = {mode = 'storm', factions_per_player = 4}\nexact = false\n"
        "[played]\nagents = ['greedy']\n"
        "restrictions = ['never-captures']\ndepth = 1\ngames = 4", "s"), RulesetStudy)
    assert single.played == storm
    found = played_findings(single, {cell.key: compute(cell) for cell in single.cells()})
    sentences = played_sentences(single, found)
    assert [sentence.split()[0] for sentence in sentences] == ["When", "The", "Restricted"]


def test_everything_is_found_once(
    tmp_path: Path, rows: dict[str, Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.toml").write_text(SMALL)
    (tmp_path / "cells.jsonl").write_text("".join(json.dumps(row) + "\n"
                                                  for row in rows.values()))
    calls: Counter[str] = Counter()
    for name in ("matches_of", "ladders_of", "margin_cost", "played_costs"):
        whole = getattr(findings, name)
        monkeypatch.setattr(findings, name, lambda *given, name=name, whole=whole: (
            calls.update([name]), whole(*given))[1])
    with quick_pictures():
        run(Balance(resume=tmp_path))
    costs = json.loads((tmp_path / "results.json").read_text())["played"]["costs"]
    assert len(costs) == 4
    assert calls == {"matches_of": 1, "ladders_of": 1, "played_costs": 1, "margin_cost": 4}


@pytest.mark.parametrize(("time_outs", "entries", "character"), [
    (0.3, 0.9, "stall"), (0.2, 0.6, "race"), (0.0, 0.4, "siege")])
def test_character(time_outs: float, entries: float, character: str) -> None:
    quality = {"time-outs": {"estimate": time_outs}, "entries": {"estimate": entries}}
    assert Match(("a",), "c", ("x", "x"), {"quality": quality}).character == character


def test_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "cells.jsonl").read_bytes()
    with quick_pictures():
        run(Balance(resume=folder))
    assert (folder / "cells.jsonl").read_bytes() == before
    report, page = (folder / "report.md").read_text(), (folder / "report.html").read_text()
    results = json.loads((folder / "results.json").read_text())
    known = read_cells(folder / "cells.jsonl")[0]
    assert results["answer"] in capsys.readouterr().out
    assert report.split("\n\n")[1].strip() == results["answer"]
    assert set(re.findall(r"`([0-9a-f]{16})`", report)) == set(known)
    assert {match["cell"] for match in results["played"]["matches"]} < set(known)
    assert all(row["command"] and row["seed"] == 5 for row in known.values())
    pictures = re.findall(r"\]\((.*?)\)", report)
    assert pictures == ["margins.png", "leads.png", "readings.png", "skill.png",
                        "played-restrictions.png"]
    assert page.count("data:image/png;base64,") == len(pictures)
