"""The truth set: as large as it says, and true."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.solve.book import key_of
from agents.solve.exact_values import ILLEGAL
from agents.solve.perfect_play import PerfectPlay
from castle_env import Game, load_ruleset
from castle_env.position import unstack
from experiments.measure.truth_making import EVERY, WHOLE_PLIES, make_truth_set
from experiments.measure.truth_set import (
    TruthSetError,
    load_truth_set,
    save_truth_set,
    shipped_truth_set,
)

STORM = Game(load_ruleset("storm"))
# Positions of each of these plies that are proven anew; earlier ones take seconds each.
PROVEN_AGAIN = dict.fromkeys(range(9, 16), 6) | {8: 2, 7: 1}


def test_it_is_as_large_and_as_mixed_as_its_card_says() -> None:
    truth = shipped_truth_set()
    assert len(truth) >= 20_000
    plies, counts = np.unique(truth.states["ply"], return_counts=True)
    assert plies.tolist() == list(range(2, 16))
    assert {str(ply): int(count) for ply, count in zip(plies, counts, strict=True)} == {
        ply: sum(row.values()) for ply, row in truth.card["by_ply"].items()}
    names = list(truth.card["sources"])
    assert names[0] == EVERY
    assert {"random", "greedy", "alphabeta:4", "mcts:100"} < set(names)
    assert any(name.startswith(("ppo", "az")) for name in names)
    for number, name in enumerate(names):
        told = sum(row[name] for row in truth.card["by_ply"].values())
        assert np.count_nonzero(truth.sources == number) == told > 0


def test_positions_are_distinct_up_to_symmetry_and_leave_a_choice() -> None:
    truth = shipped_truth_set()
    keys = {(key_of(STORM, position), position.ply) for position in unstack(truth.states)}
    assert len(keys) == len(truth)
    assert ((truth.values != ILLEGAL).sum(axis=1) > 1).all()
    assert np.array_equal(truth.values != ILLEGAL, STORM.legal_action_masks(truth.states) == 1)


def test_early_plies_agree_with_the_book() -> None:
    truth, play = shipped_truth_set(), PerfectPlay(STORM)
    early = np.isin(truth.states["ply"], WHOLE_PLIES)
    assert early.sum() == 6 + 44
    for position, values in zip(unstack(truth.states[early]), truth.values[early], strict=True):
        assert values.max() == play.value(position)


def test_a_random_sample_is_proven_anew() -> None:
    truth, play = shipped_truth_set(), PerfectPlay(STORM)
    rng = np.random.default_rng(11)
    for ply, count in PROVEN_AGAIN.items():
        for row in rng.choice(np.flatnonzero(truth.states["ply"] == ply), count, replace=False):
            (position,) = unstack(truth.states[row:row + 1])
            proven = {action: -play.solver.solve(STORM.apply(position, action))
                      if ply < 15 else _margin_at_the_end(position, action)
                      for action in STORM.legal_actions(position)}
            stored = {int(action): int(truth.values[row, action])
                      for action in np.flatnonzero(truth.values[row] != ILLEGAL)}
            assert proven == stored, STORM.format_position(position)


def _margin_at_the_end(position: Any, action: Any) -> Any:
    """The mover's margin where the action ends the game, by the rules alone."""
    first, second = STORM.victory_points(STORM.apply(position, action))
    return first - second if position.ply % 2 == 0 else second - first


def test_regrets_are_what_is_lost_against_the_best_move() -> None:
    truth = shipped_truth_set().first_of_each_ply(3, 6)
    assert truth.states["ply"].tolist() == [ply for ply in range(6, 16) for _ in range(3)]
    for values, regrets in zip(truth.values, truth.regrets, strict=True):
        legal = values != ILLEGAL
        assert np.array_equal(regrets[legal], values[legal].max() - values[legal])
        assert np.isnan(regrets[~legal]).all()
        assert regrets[legal].min() == 0


def test_the_same_seed_makes_the_same_file(tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        truth = make_truth_set(STORM, ("random", "greedy"), seed, {12: 4, 15: 6})
        save_truth_set(tmp_path / f"{name}.npz", truth)
        assert truth.card["by_ply"]["12"] == {EVERY: 0, "random": 2, "greedy": 2}
    one, two, other = ((tmp_path / f"{name}.npz").read_bytes() for name in ("one", "two", "other"))
    assert one == two != other
    again = load_truth_set(tmp_path / "one.npz")
    assert len(again) == 6 + 44 + 10
    assert np.array_equal(again.values != ILLEGAL, STORM.legal_action_masks(again.states) == 1)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A small truth set in a file."""
    path = tmp_path / "truth.npz"
    save_truth_set(path, shipped_truth_set().first_of_each_ply(1, 12))
    return path


def test_damage_is_noticed(copy: Path) -> None:
    assert len(load_truth_set(copy)) == 4
    data = bytearray(copy.read_bytes())
    data[len(data) // 2] ^= 1
    copy.write_bytes(data)
    with pytest.raises(TruthSetError, match="SHA-256 is not that of its card"):
        load_truth_set(copy)


@pytest.mark.parametrize(("changes", "message"), [
    ({"positions": 5}, "has 4 states"), ({"format": 2}, "format 2; allowed: 1"),
    ({"sources": None}, "allowed: a JSON object with")])
def test_a_card_that_tells_something_else_is_refused(
    copy: Path, changes: dict[str, Any], message: str
) -> None:
    card = copy.with_suffix(".json")
    card.write_text(json.dumps(json.loads(card.read_text()) | changes))
    with pytest.raises(TruthSetError, match=message):
        load_truth_set(copy)


def test_a_missing_file_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(TruthSetError, match="cannot read truth set"):
        load_truth_set(tmp_path / "none.npz")
