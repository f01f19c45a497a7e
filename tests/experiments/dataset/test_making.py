"""Datasets: right values and outcomes, whoever computes them, with stops or without."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ended import Ended

from agents.solve.perfect_play import PerfectPlay
from agents.tasks import Result, Task, ignore
from castle_env import Game, load_ruleset
from castle_env.game_arrays import game_arrays
from castle_env.position import unstack
from experiments.backend import LocalBackend
from experiments.dataset.files import Dataset, DatasetError, load_dataset
from experiments.dataset.making import GAMES, Question, make_dataset

STORM = Game(load_ruleset("storm"))
CASTLE = Callable[..., Ended]


def question(**changes: Any) -> Question:
    given: dict[str, Any] = {"plies": (12, 15), "valuation": "exact",
                             "players": ("random", "greedy"), "opening_plies": 3, "seed": 5}
    return Question(STORM.rules, **given | changes)


def here(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    on_done: Callable[[int, Result], None] = ignore,
) -> list[Result]:
    """Tasks in reverse order, as workers might finish them."""
    results: dict[int, Result] = {}
    for index in reversed(range(len(tasks))):
        results[index] = function(tasks[index])
        on_done(index, results[index])
    return [results[index] for index in range(len(tasks))]


def same(one: Dataset, other: Dataset) -> bool:
    ours, theirs = one.arrays(), other.arrays()
    return all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_values_policies_and_outcomes(tmp_path: Path) -> None:
    dataset = make_dataset(question(), 150, tmp_path / "p", here)
    assert len(dataset) == len(set(unstack(dataset.states))) == 150
    assert set(dataset.states["ply"]) <= {12, 13, 14, 15}
    play = PerfectPlay(STORM)
    for row in range(0, 150, 10):
        position = unstack(dataset.states[row:row + 1])[0]
        values = play.move_values(position).values
        assert {action: dataset.values[row, action] for action in STORM.legal_actions(position)
                } == values
        assert set(np.flatnonzero(dataset.policies[row])) == set(
            play.move_values(position).best_actions)
        assert dataset.masks[row, dataset.actions[row]] == 1
    # In the last ply the action that was played leads to the outcome.
    last = np.flatnonzero(dataset.states["ply"] == 15)
    assert len(last)
    assert np.array_equal(dataset.values[last, dataset.actions[last]], dataset.outcomes[last])


def test_search_values_in_sudden_death(tmp_path: Path) -> None:
    """At depth 1 the margin after each move; deeper, the best move's value is what it forces."""
    game = Game(load_ruleset("sudden-death"))
    one = make_dataset(Question(game.rules, (4, 30), "search", depth=1, players=("random",)), 40,
                       tmp_path / "one", here)
    assert one.values.shape == (40, 169)
    for row, position in enumerate(unstack(one.states)):
        for action in game.legal_actions(position):
            points = game.victory_points(game.apply(position, action))
            margin = points[0] - points[1]
            assert one.values[row, action] == (-margin if position.ply & 1 else margin)
    two = make_dataset(Question(game.rules, (4, 30), "search", depth=2, players=("random",)), 10,
                       tmp_path / "two", here)
    for row, position in enumerate(unstack(two.states)):
        for action in game.legal_actions(position):
            child = game.apply(position, action)
            replies = [child] if game.is_terminal(child) else [
                game.apply(child, reply) for reply in game.legal_actions(child)]
            margins = [points[0] - points[1] for points in map(game.victory_points, replies)]
            worst = -max(margins) if position.ply & 1 else min(margins)
            assert two.values[row, action] == worst


def test_workers_and_stops_change_nothing(tmp_path: Path) -> None:
    asked = question(plies=(14, 15), per_game=2)
    straight = make_dataset(asked, 300, tmp_path / "a", here)
    assert same(straight, make_dataset(asked, 300, tmp_path / "b", LocalBackend(2).map))

    made: list[int] = []

    def stopping(function: Any, tasks: Any, on_done: Any = None) -> Any:
        for index, task in enumerate(tasks):
            if len(made) == 2:
                raise KeyboardInterrupt
            on_done(index, function(task))
            made.append(index)

    with pytest.raises(KeyboardInterrupt):
        make_dataset(asked, 300, tmp_path / "c", stopping)

    def counting(function: Any, tasks: Any, on_done: Any = None) -> Any:
        made.extend(task.number for task in tasks)
        return here(function, tasks, on_done)

    assert same(straight, make_dataset(asked, 300, tmp_path / "c", counting))
    assert made[2:]
    assert set(made[2:]).isdisjoint({0, 1})
    with pytest.raises(DatasetError, match="another dataset"):
        make_dataset(question(seed=6), 300, tmp_path / "c", here)


def test_more_positions_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"the games have 1 different ones"):
        make_dataset(question(plies=(0, 0), valuation="none", opening_plies=0), 2, tmp_path, here)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_the_command(castle: CASTLE, tmp_path: Path, suffix: str) -> None:
    ended = castle("dataset", f"d.{suffix}", "--positions", 30, "--plies", 13, 15, "--players",
                   "random", "--json", "about.json")
    assert ended.status == 0
    assert f"d.{suffix}: 30 positions" in ended.output
    dataset = load_dataset(tmp_path / f"d.{suffix}")
    assert len(dataset) == 30
    assert dataset.card["command"].startswith("castle dataset")
    assert json.loads((tmp_path / "about.json").read_text())["positions"] == 30
    assert {path.name for path in tmp_path.iterdir()} == {f"d.{suffix}", "d.json", "about.json"}
    before = (tmp_path / "d.json").read_bytes()
    for other in ("npz", "parquet"):  # they would have the same card
        again = castle("dataset", f"d.{other}", "--positions", 30)
        assert again.status == 2
        assert "exists already" in again.errors
    assert (tmp_path / "d.json").read_bytes() == before


def test_games_of_a_file(castle: CASTLE, tmp_path: Path) -> None:
    """All that was chosen in them, with what was played as the policy."""
    games = GAMES + 6
    castle("evaluate", "random", "greedy", "--games", games, "--save-games", "g.castle")
    assert castle("dataset", "d.npz", "--games", "g.castle", "--values", "none").status == 0
    dataset, arrays = load_dataset(tmp_path / "d.npz"), game_arrays(tmp_path / "g.castle")
    chosen = arrays.states[arrays.chosen]
    assert set(unstack(dataset.states)) == set(unstack(chosen))
    assert len(dataset) == len(set(unstack(chosen)))
    assert (dataset.values == -32768).all()
    assert np.array_equal(dataset.policies.argmax(axis=1), dataset.actions)
    assert (dataset.policies.sum(axis=1) == 1).all()


@pytest.mark.parametrize(("arguments", "text"), [
    (["d.csv"], "ends in .npz or .parquet"),
    (["d.npz", "--positions", 0], "positions is 0"),
    (["d.npz", "--plies", 9, 16], "plies are 9 16; allowed: two integers from 0 to 15"),
    (["d.npz", "--plies", 9, 8], "the lesser first"),
    (["d.npz", "--mode", "sudden-death", "--values", "exact"], "search or none"),
    (["d.npz", "--depth", 0], "depth is 0"),
    (["d.npz", "--seed", -1], "seed is -1"),
    (["d.npz", "--players", "chess"], "no agent 'chess'"),
    (["d.npz", "--opening-plies", 15], "opening_plies is 15"),
    (["d.npz", "--games", "nowhere.castle"], "nowhere.castle"),
    (["nowhere/d.npz"], "cannot write 'nowhere/d.npz'"),
])
def test_bad_options_are_one_message_and_nothing_is_written(
    castle: CASTLE, tmp_path: Path, arguments: list[object], text: str
) -> None:
    ended = castle("dataset", *arguments)
    assert (ended.status, ended.output) == (2, "")
    assert text in ended.errors
    assert list(tmp_path.iterdir()) == []
