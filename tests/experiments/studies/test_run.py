"""Balance studies: read strictly, computed once, resumed, and reported with their sources."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from narrow import narrow
from places import ROOT
from quick_pictures import quick_pictures
from small_runs import Castle, wait_until

from agents.solve.storm_solver import Solver
from castle_env import AgentError, Game, OptionError, Position, Ruleset
from experiments.backend import LocalBackend
from experiments.commands.ablate import Ablate
from experiments.commands.ablate import run as run_ablate
from experiments.commands.balance import Balance, run
from experiments.studies import cells as cells_module
from experiments.studies.cells import Cell, Row, compute, read_cells, run_cells
from experiments.studies.keys import StudyError
from experiments.studies.load import load_study, parse_study, study_names
from experiments.studies.rulesets.study import RulesetStudy
from experiments.studies.run import findings_of
from experiments.studies.solved.cells import opening_positions, value_cell
from experiments.studies.solved.findings import Fairness, costs_of, fairness_of, most_balanced

RESULTS = ROOT / "docs" / "results"
SMALL = """\
description = "Two layouts"
base = "storm"
opening_plies = 2
restrictions = ["never-captures", "random-first-half"]

[[vary]]
key = "factions_per_player"
values = [1, 2]

[[vary]]
key = "strongholds"
[vary.values]
one = ["......", "......", "..#...", "......", "......", "......"]
edge = ["......", "......", "......", "......", ".#....", "....#."]

[[vary]]
key = "victory_points.captured"
values = { none = 0, three = 3 }
"""
# One ruleset of two that no storm solver can play.
MIXED = """\
base = "storm"
[[vary]]
key = "factions_per_player"
values = [1, 2]
"""
ONE = Game(Ruleset.from_dict({
    "mode": "storm", "factions_per_player": 2,
    "strongholds": ["......", "......", "......", "......", ".#....", "....#."]}))


@pytest.fixture(autouse=True)
def small_pictures() -> Iterator[None]:
    with quick_pictures():
        yield


def study_file(folder: Path, text: str = SMALL) -> str:
    (folder / "study.toml").write_text(text)
    return str(folder / "study.toml")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the command has run the study."""
    place = tmp_path_factory.mktemp("small")
    with quick_pictures():
        run(Balance(study=study_file(place), runs=place, name="b"))
    return place / "b"


def value_of(game: Game, position: Position) -> int:
    """Player 0's margin; every line is followed, nothing remembered."""
    if game.is_terminal(position):
        first, second = game.victory_points(position)
        return first - second
    values = [value_of(game, game.apply(position, action))
              for action in game.legal_actions(position)]
    return min(values) if position.ply & 1 else max(values)


def without_time(rows: dict[str, Any]) -> dict[str, Any]:
    return {key: {name: value for name, value in row.items() if name != "cpu_seconds"}
            for key, row in rows.items()}


# Studies


def test_every_combination_is_a_ruleset() -> None:
    study = narrow(parse_study(SMALL, "small"), RulesetStudy)
    assert len(study.rulesets) == 8
    rules = study.rulesets["2", "edge", "three"]
    assert (rules.factions_per_player, rules.max_plies) == (2, 4)
    assert rules.strongholds == ONE.rules.strongholds
    assert rules.victory_points.captured == 3
    assert rules.name == "factions_per_player=2 strongholds=edge victory_points.captured=three"
    cells = study.cells()
    assert Counter(cell.kind for cell in cells) == {"value": 8, "restricted": 32}
    assert len({cell.key for cell in cells}) == len(cells)


def test_cells_are_the_same_in_every_study_that_asks_for_them() -> None:
    whole = narrow(parse_study(SMALL, "small"), RulesetStudy)
    part = parse_study(SMALL.replace("values = [1, 2]", "values = [2]"), "part")
    assert {cell.key for cell in part.cells()} < {cell.key for cell in whole.cells()}
    rules = whole.rulesets["2", "edge", "three"]
    keys = {Cell("value", rules, {"opening_plies": plies}, seed).key
            for plies in (1, 2) for seed in (None, 0, 1)}
    assert len(keys) == 6
    twice = narrow(parse_study("base = 'storm'\n[[vary]]\nkey = 'victory_points.captured'\n"
                               "values = {default = 1, one = 1}", "twice"), RulesetStudy)
    assert (len(twice.rulesets), len(twice.cells())) == (2, 1)


def test_shipped_studies() -> None:
    assert {"storm-small", "storm-full", "storm-restricted"} <= set(study_names())
    small, full = (narrow(load_study(name), RulesetStudy) for name in ("storm-small", "storm-full"))
    assert len({rules.digest for rules in small.rulesets.values()}) >= 200
    assert {rules.factions_per_player for rules in small.rulesets.values()} == {3, 4, 5, 6}
    assert len({rules.digest for rules in full.rulesets.values()}) >= 12
    assert {rules.factions_per_player for rules in full.rulesets.values()} == {8}


def test_shipped_results_hold_all_cells_of_their_studies() -> None:
    # Trainings change with the options of training, and matches with the weights of networks; what
    # rulesets are worth does not.
    folders = [RESULTS / name for name in study_names()
               if isinstance(study := load_study(name), RulesetStudy) and study.exact]
    assert len(folders) == 4
    for folder in folders:
        study = narrow(load_study(folder / "study.toml", "balance"), RulesetStudy)
        rows = read_cells(folder / "cells.jsonl")[0]
        assert {cell.key for cell in study.cells()} <= set(rows)
        assert findings_of(study, rows).answer in (folder / "report.md").read_text()


def test_a_study_of_another_command_is_told_with_that_command(tmp_path: Path) -> None:
    presets = resources.files("experiments") / "studies" / "presets"
    (tmp_path / "study.toml").write_text((presets / "ablation.toml").read_text())
    for source, options in (("ablation", Balance(study="ablation")),
                            (f"--resume {tmp_path}", Balance(resume=tmp_path))):
        said = ("about trainings, so castle balance does not run it; "
                f"allowed: castle ablate {source}")
        with pytest.raises(StudyError, match=re.escape(said)):
            run(options)
    with pytest.raises(StudyError, match=r"allowed: castle balance storm-small$"):
        run_ablate(Ablate(study="storm-small"))


@pytest.mark.parametrize(("text", "said"), [
    ("base = ", "no TOML"),
    ("bases = 'storm'", "unknown key 'bases'; allowed: description, base"),
    ("description = 'no base'", "key 'base' is None"),
    ("base = 'chess'", "no ruleset 'chess'"),
    ("base = 'storm'\nopening_plies = 0", "key 'opening_plies' is 0; allowed: an integer from 1"),
    ("base = 'storm'\nopening_plies = true", "key 'opening_plies' is True"),
    ("base = 'storm'\nrestrictions = ['never-wins']", "never-captures"),
    ("base = 'storm'\nvary = 1", "key 'vary' is 1"),
    ("base = 'storm'\n[[vary]]\nkey = 'mode'\nvalues = []", "not empty"),
    ("base = 'storm'\n[[vary]]\nvalues = [1]", "`key`"),
    ("base = 'storm'\n[[vary]]\nkey = 'wings'\nvalues = [1]", "unknown ruleset key 'wings'"),
    ("base = 'storm'\n[[vary]]\nkey = 'factions_per_player'\nvalues = [3, 9]",
     "factions_per_player=9: ruleset key 'factions_per_player' is 9"),
    ("base = 'storm'\n" + "[[vary]]\nkey = 'mode'\nvalues = ['storm']\n" * 2, "each key once"),
    ("base = 'storm'\n[[vary]]\nkey = 'max_plies'\nvalues = " + str(list(range(10_001))),
     "at most 10,000"),
])
def test_refuses_studies(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_study(text, "wrong")


# Values


def test_value_cell_is_the_truth() -> None:
    result = value_cell(ONE, {"opening_plies": 2}, None)
    start = ONE.initial_state()
    first = {ONE.format_action(action): value_of(ONE, ONE.apply(start, action))
             for action in ONE.legal_actions(start)}
    assert result["value"] == value_of(ONE, start) == max(first.values())
    assert result["first_moves"] == first
    chances: defaultdict[str, Fraction] = defaultdict(Fraction)
    for action in ONE.legal_actions(start):
        after = ONE.apply(start, action)
        for reply in ONE.legal_actions(after):
            share = Fraction(1, len(first) * len(ONE.legal_actions(after)))
            chances[str(value_of(ONE, ONE.apply(after, reply)))] += share
    assert len(chances) > 1
    assert result["openings"] == {margin: pytest.approx(float(share))
                                  for margin, share in chances.items()}


@pytest.mark.parametrize("plies", [0, 1, 2, 3, 9])
def test_openings_have_all_the_probability(plies: int) -> None:
    positions = opening_positions(ONE, plies)
    assert sum(chance for _, chance in positions) == 1
    assert {position.ply for position, _ in positions} == {min(plies, 4)}


def test_fairness() -> None:
    fair = Fairness(("a",), "d", "c", -2, {"Na": -2, "Nb": 1, "Nc": -3}, 0.25, 0.9)
    assert (fair.komi, fair.fairest_move, fair.by_opponent) == (2, "Nb", -3)
    assert fair.by_lot == pytest.approx(-4 / 3)
    drawn = Fairness(("b",), "d", "c", 0, {"Na": 0}, 0.5, 0.0)
    even = Fairness(("c",), "d", "c", -1, {"Na": -1}, 0.55, 0.8)
    assert [ruleset.labels for ruleset in most_balanced([fair, drawn, even])] == [("c",), ("a",)]


def test_what_restrictions_cost(done: Path) -> None:
    study = narrow(parse_study(SMALL, "small"), RulesetStudy)
    rows = read_cells(done / "cells.jsonl")[0]
    rulesets = fairness_of(study, rows)
    assert [ruleset.labels for ruleset in rulesets] == list(study.rulesets)
    costs = costs_of(study, rows, rulesets)
    assert len(costs) == 32
    assert all(cost.cost >= 0 for cost in costs)
    assert any(cost.cost > 0 for cost in costs)
    values = {labels: Solver(Game(rules), 1 << 16).solve(Game(rules).initial_state())
              for labels, rules in study.rulesets.items()}
    for cost in costs:
        assert cost.value == values[cost.labels] + cost.cost * (2 * cost.seat - 1)


# Cells


def test_workers_make_the_same_cells(tmp_path: Path) -> None:
    cells = parse_study(SMALL, "small").cells()[:6]
    one = run_cells(cells, tmp_path / "one.jsonl", LocalBackend(1), "castle")
    two = run_cells(cells, tmp_path / "two.jsonl", LocalBackend(2), "castle")
    assert without_time(one) == without_time(two)
    assert list(one) == [cell.key for cell in cells]


@pytest.mark.parametrize("torn", [b"", b'{"key": "abc'])
def test_finished_cells_are_never_computed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torn: bytes
) -> None:
    cells, file = parse_study(SMALL, "small").cells(), tmp_path / "cells.jsonl"
    computed: list[str] = []

    def counted(cell: Cell) -> Row:
        computed.append(cell.key)
        return compute(cell)

    monkeypatch.setattr(cells_module, "compute", counted)

    def stop(done: int) -> None:
        if len(computed) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, file, LocalBackend(1), "first", stop)
    assert len(read_cells(file)[0]) == 5
    file.write_bytes(file.read_bytes() + torn)
    rows = run_cells(cells, file, LocalBackend(1), "second")
    assert sorted(computed) == sorted(cell.key for cell in cells)
    assert Counter(row["command"] for row in rows.values()) == {
        "first": 5, "second": len(cells) - 5}
    assert read_cells(file)[0] == rows


@pytest.fixture
def two_factions_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells with one faction each are solved, those with two are not."""
    def value_or_fail(game: Game, params: Any, seed: int | None) -> dict[str, Any]:
        if game.rules.factions_per_player == 2:
            raise AgentError("cannot solve two factions")
        return value_cell(game, params, seed)

    monkeypatch.setattr("experiments.studies.solved.cells.value_cell", value_or_fail)


@pytest.mark.usefixtures("two_factions_fail")
def test_a_failing_cell_does_not_stop_the_others_and_is_tried_again(tmp_path: Path) -> None:
    cells, file = parse_study(MIXED, "mixed").cells(), tmp_path / "cells.jsonl"
    assert len(cells) == 2
    for _ in range(2):
        rows = list(run_cells(cells, file, LocalBackend(1), "castle").values())
        assert "result" in rows[0]
        assert "cannot solve two factions" in rows[1]["error"]
    assert file.read_text().count(cells[0].key) == 1
    assert file.read_text().count(cells[1].key) == 2


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "cells.jsonl"
    file.write_text('{"key": "a"}\n[]\n')
    with pytest.raises(ValueError, match="line 2"):
        read_cells(file)


# The command


def test_command(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = done
    run(Balance(resume=folder))
    assert f"report: {folder / 'report.md'}" in capsys.readouterr().out
    report, page = (folder / "report.md").read_text(), (folder / "report.html").read_text()
    results = json.loads((folder / "results.json").read_text())
    rows = read_cells(folder / "cells.jsonl")[0]
    paragraphs = report.split("\n\n")
    assert paragraphs[1].strip() == results["answer"]
    assert len(re.findall(r"\. |\.$", results["answer"])) == 3
    assert set(re.findall(r"`([0-9a-f]{16})`", report)) == set(rows)
    assert all(row["command"] and "seed" in row for row in rows.values())
    pictures = re.findall(r"\]\((.*?)\)", report)
    assert pictures == ["values.png", "balance.png", "first-moves.png", "restrictions.png"]
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    assert page.count("data:image/png;base64,") == 4
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "<table>" in page
    assert [ruleset["value"] for ruleset in results["rulesets"]] == [
        rows[ruleset["cell"]]["result"]["value"] for ruleset in results["rulesets"]]


def test_command_resumes_with_a_larger_study(tmp_path: Path) -> None:
    small = SMALL.replace("values = [1, 2]", "values = [1]").replace(', "random-first-half"', "")
    run(Balance(study=study_file(tmp_path, small), runs=tmp_path, name="b"))
    before = (tmp_path / "b" / "cells.jsonl").read_bytes()
    run(Balance(resume=tmp_path / "b"))
    assert (tmp_path / "b" / "cells.jsonl").read_bytes() == before
    assert json.loads((tmp_path / "b" / "results.json").read_text())["study"] == "study"
    (tmp_path / "b" / "results.json").unlink()
    run(Balance(resume=tmp_path / "b"))
    assert "\nStudy `b`, 12 cells computed by `" in (tmp_path / "b" / "report.md").read_text()
    run(Balance(study=study_file(tmp_path), resume=tmp_path / "b"))
    assert (tmp_path / "b" / "cells.jsonl").read_bytes().startswith(before)
    assert len(read_cells(tmp_path / "b" / "cells.jsonl")[0]) == 40
    assert (tmp_path / "b" / "study.toml").read_text() == SMALL


@pytest.mark.usefixtures("two_factions_fail")
def test_command_reports_failures(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"1 of 2 cells failed.*--resume.*two factions"):
        run(Balance(study=study_file(tmp_path, MIXED), runs=tmp_path, name="b"))
    report = (tmp_path / "b" / "report.md").read_text()
    assert "## 1 cells that failed" in report
    assert "cannot solve two factions" in report


def test_ctrl_c_keeps_finished_cells(tmp_path: Path) -> None:
    study = study_file(tmp_path, SMALL.replace("values = [1, 2]", "values = [1, 8]")
                       .replace('base = "storm"', 'base = "storm-towers"'))
    process = Castle("balance", study, "--runs", tmp_path / "runs", "--name", "b")
    file = tmp_path / "runs" / "b" / "cells.jsonl"
    wait_until(lambda: file.exists() and file.stat().st_size > 0, process)
    process.send_signal(2)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert all("result" in row for row in read_cells(file)[0].values())


def test_refuses_wrong_requests(tmp_path: Path) -> None:
    for options, said in ((Balance(), "no study is given"),
                          (Balance(resume=tmp_path, name="b"), "allowed: one of them"),
                          (Balance(study="storm-small", workers=0), "workers is 0")):
        with pytest.raises(OptionError, match=said):
            run(options)
    with pytest.raises(StudyError, match="storm-small"):
        run(Balance(study="chess"))
    with pytest.raises(StudyError, match="no study"):
        run(Balance(resume=tmp_path))
