"""The score: a protocol that is fixed, counts every ply alike, and knows what chance would show."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from agents.tasks import ignore, map_here
from castle_env import AgentError, Game, load_ruleset
from castle_env.agent import _registered
from castle_env.errors import OptionError
from castle_env.position import PositionArray
from experiments.commands import score as command
from experiments.commands.score import ScoreOptions, row_columns
from experiments.measure import score as protocol
from experiments.measure.intervals import stratified_mean_interval
from experiments.measure.match import PANEL
from experiments.measure.score import LATER_PLIES, chance, load_openings, move_rows, score
from experiments.measure.truth_set import TruthSet, shipped_truth_set

GAMES = {mode: Game(load_ruleset(mode)) for mode in ("storm", "sudden-death")}
STORM = GAMES["storm"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> TruthSet:
    """The protocol with a few openings and positions of each ply."""
    truth = shipped_truth_set().first_of_each_ply(5)
    monkeypatch.setattr(protocol, "shipped_truth_set", lambda: truth)
    monkeypatch.setattr(command, "shipped_truth_set", lambda: truth)
    monkeypatch.setattr(protocol, "load_openings", lambda game: load_openings(game)[:6])
    monkeypatch.setattr(protocol, "ROUNDS", {"storm": 2, "sudden_death": 1})
    monkeypatch.setattr(protocol, "GROUP", 4)
    monkeypatch.setattr(protocol, "_AT_ONCE", 7)
    return truth


def test_openings_are_legal_distinct_and_of_the_promised_length() -> None:
    for mode, plies, count in (("storm", 2, 48), ("sudden-death", 4, 624)):
        game = GAMES[mode]
        openings = load_openings(game)
        assert len(set(openings)) == len(openings) == count
        for opening in openings:
            state = game.initial_state()
            for action in opening:
                state = game.apply(state, action)
            assert state.ply == plies
        assert 2 * count * protocol.ROUNDS[game.rules.mode] == 1248
    first = STORM.initial_state()
    assert set(load_openings(STORM)) == {
        (one, two) for one in STORM.legal_actions(first)
        for two in STORM.legal_actions(STORM.apply(first, one))}


def test_best_and_worst_moves_are_told_from_chance() -> None:
    truth = shipped_truth_set()
    regrets = truth.regrets
    perfect = move_rows(truth, np.nanmin(regrets, axis=1), np.ones(len(truth)))
    worst = move_rows(truth, np.nanmax(regrets, axis=1), np.zeros(len(truth)))
    for best, middle, bad in zip(perfect, chance(truth), worst, strict=True):
        assert best.regret.to_dict() == {"estimate": 0, "low": None, "high": None}
        assert best.optimal.estimate == 1
        assert 0.5 < middle.regret.low < middle.regret.high < bad.regret.low
        assert 0 < middle.optimal.low < middle.optimal.high < 1
        assert best.moves == middle.moves == bad.moves
    assert perfect[0].moves == len(truth)


def test_every_ply_counts_alike_however_many_positions_it_has() -> None:
    truth = shipped_truth_set()
    plies = truth.states["ply"]
    rows = move_rows(truth, plies.astype(np.float64), (plies == 15).astype(np.float64))
    assert rows[0].regret.estimate == np.mean(range(2, 16))
    assert (rows[1].first, rows[1].last) == LATER_PLIES
    assert rows[1].optimal.estimate == pytest.approx(1 / 10)


def test_an_interval_over_strata_is_that_of_the_textbook() -> None:
    rng = np.random.default_rng(0)
    strata = [rng.normal(mean, 1 + mean, 50 + 20 * mean) for mean in range(3)]
    interval = stratified_mean_interval(strata)
    parts = [values.var(ddof=1) / len(values) / 9 for values in strata]
    error = math.sqrt(sum(parts))
    freedom = sum(parts)**2 / sum(part**2 / (len(values) - 1)
                                  for part, values in zip(parts, strata, strict=True))
    assert interval.estimate == pytest.approx(np.mean([values.mean() for values in strata]))
    width = 2 * float(stats.t.ppf(0.975, freedom)) * error
    assert interval.high - interval.low == pytest.approx(width, rel=1e-5)
    assert not stratified_mean_interval([np.ones(5), np.ones(1)]).is_known
    with pytest.raises(OptionError):
        stratified_mean_interval([np.ones(2), np.ones(0)])


def test_the_random_player_scores_what_chance_says() -> None:
    """Its moves on the truth set, within five standard errors of the exact expectation."""
    truth = shipped_truth_set()
    tasks = [protocol.MovesTask(STORM.rules, "random", first)
             for first in range(0, len(truth), 512)]
    actions = np.concatenate(map_here(protocol.choose_moves, tasks))
    regrets = truth.regrets[np.arange(len(truth)), actions]
    for played, expected in zip(move_rows(truth, regrets, regrets == 0), chance(truth),
                                strict=True):
        error = (played.regret.high - played.regret.low) / 3.92
        assert abs(played.regret.estimate - expected.regret.estimate) < 5 * error


def test_the_order_in_which_tasks_are_done_changes_nothing(small: TruthSet) -> None:
    def backwards(function: Any, tasks: Any, on_done: Any = ignore) -> Any:
        results = map_here(function, tasks[::-1], on_done)
        return results[::-1]

    done: list[int] = []
    here = score(STORM, "greedy", map_here, done.append)
    assert here == score(STORM, "greedy", backwards)
    assert len(done) == protocol.task_count(STORM, "greedy")
    assert [row.opponent for row in here.points] == [name for name in PANEL if name != "greedy"]
    assert here.against("greedy") is None
    assert all(row.games == 2 * 6 * 2 for row in here.points)
    assert here.moves[0].moves == len(small)


def test_sudden_death_has_points_alone(small: TruthSet) -> None:
    found = score(GAMES["sudden-death"], "random", map_here)
    assert found.moves == ()
    assert [row.games for row in found.points] == [12] * 3
    assert all(row.distinct_games == row.games for row in found.points)


@pytest.mark.parametrize("mode", GAMES)
def test_the_command_writes_table_row_and_results(
    small: TruthSet, mode: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ScoreOptions(agent="greedy", mode=mode, runs=tmp_path, name="one",
                           json=tmp_path / "score.json")
    command.run(options)
    shown = capsys.readouterr().out
    assert "score v1" in shown
    results = json.loads((tmp_path / "one" / "results.json").read_text())["results"]
    assert json.loads((tmp_path / "score.json").read_text()) == results
    assert results["protocol"] == "score v1"
    assert len(results["chance"]["points"]) == 3
    command.run(replace(options, name="two", markdown=True))
    row = capsys.readouterr().out
    assert row.count("\n") == 1
    assert row.count("|") == len(row_columns(mode == "storm")) + 1
    assert "`castle score greedy --mode " in row
    assert row in (tmp_path / "one" / "report.md").read_text()


def test_an_agent_that_is_unknown_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="nobody"):
        command.run(ScoreOptions(agent="nobody", runs=tmp_path))
    assert not list(tmp_path.iterdir())


def test_an_agent_of_ones_own_is_scored(small: TruthSet, monkeypatch: pytest.MonkeyPatch) -> None:
    class First:
        name = "first"

        def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Any:
            return STORM.legal_action_masks(states).argmax(axis=1)

    monkeypatch.setitem(_registered, "first", lambda arguments, game: First())
    found = score(STORM, "first", map_here)
    assert found.agent == "first"
    assert len(found.points) == 4
