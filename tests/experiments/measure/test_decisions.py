"""Regret of agents: exact in hand-checked positions, none for perfect play, and the command."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from places import DATA

from agents.solve.perfect_play import PerfectPlay
from castle_env import (
    Agent,
    AgentError,
    BaseAgent,
    Game,
    Position,
    Ruleset,
    load_ruleset,
    make_agent,
)
from castle_env.position import PositionArray, unstack
from castle_env.symmetry import map_bits
from experiments.cli import main
from experiments.measure import decisions
from experiments.measure.decisions import (
    OWN_GAMES,
    RANDOM_PLAY,
    Choice,
    Decision,
    choices_in_own_games,
    choices_in_random_play,
    choose_and_judge,
    judge_all,
    summarise_decisions,
)

STORM = Game(load_ruleset("storm"))
SMALL = Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": 3}))
RECORDS = json.loads((DATA / "exact_values.json").read_text("utf-8"))
# B moves, wins by 6 with its best moves and can as well draw or lose.
TURNING = next(record for record in RECORDS["positions"] if record["position"].endswith("1,0 13"))
AGENTS = ("random", "greedy", "alphabeta:2")
Regret = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def storm_play() -> PerfectPlay:
    return PerfectPlay(STORM)


@pytest.fixture(scope="module")
def small_play() -> PerfectPlay:
    return PerfectPlay(SMALL)


class Perfect(BaseAgent):
    """Takes the last of the best moves, or with `sign` -1 of the worst."""

    def __init__(self, play: PerfectPlay, sign: int = 1) -> None:
        self.name, self._play, self._sign = f"perfect {sign}", play, sign

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        return np.array([self._choose(position) for position in unstack(states)])

    def _choose(self, position: Position) -> int:
        values = self._play.move_values(position).values
        return max(values, key=lambda action: (self._sign * values[action], action))


def choice(record: dict[str, Any], move: str, agent: str = "x") -> Choice:
    return Choice(agent, OWN_GAMES, 0, STORM.parse_position(record["position"]),
                  STORM.parse_action(move))


def turned(position: Position, symmetry: tuple[Any, Any]) -> Position:
    fields = ("own", "opposing", "strongholds", "bastion")
    return position._replace(**{field: map_bits(symmetry[0], getattr(position, field))
                                for field in fields})


# What a choice is worth


@pytest.mark.parametrize(("move", "value", "regret_of_it", "loses_win"), [
    ("Sc", 6, 0, False), ("Se", 6, 0, False), ("Ne", 1, 5, False), ("Sd", 0, 6, True),
    ("E1", 0, 6, True), ("Na", -1, 7, True), ("W2", -2, 8, True)])
def test_a_choice_in_a_known_position(
    storm_play: PerfectPlay, move: str, value: int, regret_of_it: int, loses_win: bool
) -> None:
    decision = decisions.judge(storm_play, choice(TURNING, move))
    assert (decision.position, decision.action) == (TURNING["position"], move)
    assert (decision.ply, decision.best, decision.value) == (13, 6, value)
    assert (decision.regret, decision.loses_win) == (regret_of_it, loses_win)


def test_values_agree_with_the_referee_in_all_symmetric_images(storm_play: PerfectPlay) -> None:
    late = [record for record in RECORDS["positions"]
            if int(record["position"].split()[-1]) >= 12][:6]
    assert late
    for record in late:
        position = STORM.parse_position(record["position"])
        sign = -1 if position.ply & 1 else 1
        known = {STORM.parse_action(move): sign * value
                 for move, value in record["move_values"].items()}
        for symmetry in STORM.symmetries():
            image = turned(position, symmetry)
            assert storm_play.canonical(image)[0] == storm_play.canonical(position)[0]
            assert storm_play.move_values(image).values == {
                int(symmetry[1][action]): value for action, value in known.items()}


def test_a_position_and_its_images_count_once_for_each_agent(storm_play: PerfectPlay) -> None:
    first = choice(TURNING, "Sd")
    position = STORM.parse_position(TURNING["position"])
    square_map, action_map = STORM.symmetries()[3]
    image = Choice("x", OWN_GAMES, 1, turned(position, (square_map, action_map)),
                   int(action_map[STORM.parse_action("Sc")]))
    done: list[int] = []
    judged = judge_all(storm_play, [first, image, choice(TURNING, "Sc", "y")], done.append)
    assert [(decision.agent, decision.regret) for decision in judged] == [("x", 6), ("y", 0)]
    assert done == [1, 1, 1]


@pytest.mark.parametrize(("best", "value", "loses_win"), [
    (1, 1, False), (1, 0, True), (1, -1, True), (7, 1, False), (0, -3, False), (0, 0, False),
    (-1, -9, False)])
def test_only_a_win_can_be_lost(best: int, value: int, loses_win: bool) -> None:
    decision = Decision("x", OWN_GAMES, 0, 12, "", "", value, best)
    assert decision.loses_win is loses_win
    assert decision.regret == best - value


def test_rows_of_hand_made_decisions() -> None:
    made = [Decision("x", OWN_GAMES, game, ply, "", "", value, best)
            for game, ply, value, best in (
                (0, 12, 3, 3), (0, 13, -2, 2), (1, 12, 0, 1), (1, 13, -5, -4))]
    rows = {(row.seat, row.ply): row for row in summarise_decisions(made, seed=0)}
    assert list(rows) == [(None, None), (0, None), (1, None), (0, 12), (1, 13)]
    both, first, second = rows[None, None], rows[0, None], rows[1, None]
    assert (both.moves, both.won, both.lost_wins) == (4, 3, 2)
    assert (both.regret.estimate, both.optimal.estimate, both.loses_win.estimate) == (1.5, .25, .5)
    assert not both.regret.is_known  # two games do not tell how much games differ
    assert (first.regret.estimate, first.optimal.estimate, first.loses_win.estimate) == (.5, .5, .5)
    assert (second.regret.estimate, second.lost_wins, second.won) == (2.5, 1, 1)
    assert rows[1, 13].regret == second.regret


# Agents


def test_perfect_play_has_no_regret_and_the_worst_has_most(small_play: PerfectPlay) -> None:
    plies = range(2, SMALL.rules.max_plies)
    agents: list[Agent] = [
        Perfect(small_play), make_agent("random", SMALL), Perfect(small_play, -1)]
    choices = [made for agent in agents for made in (
        *choices_in_own_games(SMALL, agent, 8, plies, 0),
        *choices_in_random_play(SMALL, agent, 8, plies, 0))]
    rows = [row for row in summarise_decisions(judge_all(small_play, choices), 0)
            if (row.source, row.seat) == (RANDOM_PLAY, None)]
    perfect, middling, worst = rows
    assert perfect.regret.estimate == 0
    assert not perfect.regret.is_known
    assert (perfect.optimal.estimate, perfect.lost_wins) == (1, 0)
    assert perfect.won > 0
    assert 0 < middling.regret.estimate < worst.regret.estimate
    assert worst.lost_wins > 0


def test_greedy_is_between_random_and_perfect_late_in_storm(storm_play: PerfectPlay) -> None:
    plies = range(11, STORM.rules.max_plies)
    choices = [made for name in ("random", "greedy") for made in choices_in_random_play(
        STORM, make_agent(name, STORM), 16, plies, 1)]
    rows = [row for row in summarise_decisions(judge_all(storm_play, choices), 0)
            if row.ply is None]
    for seat in (None, 0, 1):
        random, greedy = (row for row in rows if row.seat == seat)
        assert random.regret.estimate > greedy.regret.estimate > 0
        assert random.optimal.estimate < greedy.optimal.estimate < 1


def test_games_go_on_from_the_choices_and_random_play_is_the_same_for_all() -> None:
    plies = range(3, SMALL.rules.max_plies)
    greedy, random = (make_agent(name, SMALL) for name in ("greedy", "random"))
    own = choices_in_own_games(SMALL, greedy, 5, plies, 0)
    after = {(made.game, made.position.ply): made for made in own}
    assert len(after) == len(own) == 5 * len(plies)
    for (game, ply), made in after.items():
        if ply + 1 in plies:
            assert SMALL.apply(made.position, made.action) == after[game, ply + 1].position
    one, two = (choices_in_random_play(SMALL, agent, 5, plies, 0) for agent in (greedy, random))
    assert [made.position for made in one] == [made.position for made in two]
    assert len({made.game for made in one}) == len(one)
    assert one == choices_in_random_play(SMALL, greedy, 5, plies, 0)
    assert two != choices_in_random_play(SMALL, random, 5, plies, 1)


def test_decisions_depend_on_the_seed_and_not_on_who_else_is_measured(
    small_play: PerfectPlay
) -> None:
    def measured(names: list[str], seed: int) -> list[Decision]:
        agents = [make_agent(name, SMALL) for name in names]
        return [decision for decision in choose_and_judge(small_play, agents, games=4, positions=4,
                                                          from_ply=4, opening_plies=2, seed=seed)
                if decision.agent == "random"]

    alone = measured(["random"], 0)
    assert {decision.ply for decision in alone} == {4, 5}
    assert measured(["random"], 0) == measured(["greedy", "random"], 0) == alone
    assert measured(["random"], 1) != alone


# The command


@pytest.fixture
def castle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Regret:
    """Runs `castle regret` on a small ruleset in an empty folder; status, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "small.toml").write_text("mode = 'storm'\nfactions_per_player = 3\n")

    def call(*arguments: object) -> tuple[int, str, str]:
        line = ["castle", "regret", "--ruleset", "small.toml", *map(str, arguments)]
        monkeypatch.setattr("sys.argv", line)
        status = 0
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def results(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text("utf-8"))["results"]


def test_command_writes_results_report_and_pictures(
    castle: Regret, tmp_path: Path
) -> None:
    sizes = ("--games", 5, "--positions", 4, "--from-ply", 0, "--opening-plies", 2)
    status, output, errors = castle(*AGENTS, *sizes, "--name", "a")
    assert (status, "report: runs/a/report.md" in output) == (0, True), errors
    assert max(map(len, output.splitlines())) <= 80
    folder = tmp_path / "runs" / "a"
    assert sorted(path.name for path in folder.iterdir()) == [
        "optimal-moves.png", "regret.png", "report.md", "results.json"]
    text = (folder / "report.md").read_text("utf-8")
    for picture in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text):
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")
    for heading in ("Summary", "By seat", "Regret in VP per move, by ply"):
        assert f"## {heading}\n" in text
    found = results(folder)
    plies = {source: {row["ply"] for row in found["rows"] if row["source"] == source} - {None}
             for source in (OWN_GAMES, RANDOM_PLAY)}
    assert plies == {OWN_GAMES: {2, 3, 4, 5}, RANDOM_PLAY: {0, 1, 2, 3, 4, 5}}
    assert {row["agent"] for row in found["rows"]} == set(AGENTS)
    regrets = [made["best"] - made["value"] for made in found["decisions"]
               if (made["agent"], made["source"]) == ("greedy", RANDOM_PLAY)]
    row = next(row for row in found["rows"] if (row["agent"], row["source"]) == (
        "greedy", RANDOM_PLAY))
    assert (row["moves"], row["regret"]["estimate"]) == (len(regrets), np.mean(regrets))
    assert castle(*AGENTS, *sizes, "--name", "b")[0] == 0
    assert results(tmp_path / "runs" / "b") == found


@pytest.mark.parametrize(("arguments", "mentioned"), [
    (["random", "--ruleset", "sudden-death"], ["'sudden_death'", "'storm'"]),
    ([], ["agents are none"]),
    (["random", "random"], ["all different"]),
    (["random", "--games", 0], ["games is 0", "from 1 to"]),
    (["random", "--positions", -1], ["positions is -1", "from 1 to"]),
    (["random", "--seed", -1], ["seed is -1"]),
    (["random", "--from-ply", 6], ["from_ply is 6", "0 to 5", "'small'"]),
    (["random", "--from-ply", -1], ["from_ply is -1"]),
    (["random", "--opening-plies", 5], ["opening_plies is 5", "0 to 4"]),
    (["gready"], ["'gready'", "greedy"])])
def test_bad_input_is_one_message_and_nothing_is_written(
    castle: Regret, tmp_path: Path, arguments: list[Any], mentioned: list[str]
) -> None:
    status, output, errors = castle(*arguments)
    assert (status, output) == (2, "")
    assert errors.startswith("castle: ")
    assert errors.count("\n") == 1
    assert all(text in errors for text in mentioned)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_other_modes_have_no_exact_values() -> None:
    with pytest.raises(AgentError, match="'storm'"):
        PerfectPlay(Game(load_ruleset("sudden-death")))


def test_ctrl_c_leaves_nothing(
    castle: Regret, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[Choice] = []

    def interrupted(play: PerfectPlay, made: Choice) -> Decision:
        judged.append(made)
        if len(judged) == 5:
            raise KeyboardInterrupt
        return judge(play, made)

    judge = decisions.judge
    monkeypatch.setattr(decisions, "judge", interrupted)
    status, _, errors = castle("random")
    assert (status, errors.splitlines()[-1]) == (130, "castle: stopped")
    assert len(judged) == 5
    assert list((tmp_path / "runs").iterdir()) == []
