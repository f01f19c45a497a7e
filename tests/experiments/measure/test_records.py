"""Summaries of games: seats, viewpoints, and games that were played twice."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from castle_env import Outcome, load_ruleset
from castle_env.errors import OptionError
from castle_env.game_file import format_game, parse_games
from castle_env.game_record import GameRecord, GameRecordError, Note, record_game
from experiments.measure.records import distinct_games, summarise

STORM = load_ruleset("storm")


def game(
    first: Any, second: Any, winner: Any, moves: Any, margin: Any = None, ruleset: Any = "storm",
    reason: Any = "all_turns_played"
) -> Any:
    """Record of a game; the margin is 3 to the winner unless told."""
    if margin is None:
        margin = {0: 3, None: 0, 1: -3}[winner]
    actions = tuple(int.from_bytes(word.encode()) for word in moves.split())
    return GameRecord(replace(STORM, name=ruleset), actions,
                      Outcome(winner, margin, (5 + margin, 5), {}, reason), (first, second))


def test_two_deterministic_players_repeat_one_game_per_seat() -> None:
    """40 games of argmax against argmax are 2."""
    records = [game("a", "b", 0, "x y z"), game("b", "a", 0, "x y w")] * 20
    first, second, both = summarise(records, "a", "b").rows
    assert (both.games, both.distinct_games) == (40, 2)
    assert (first.games, first.distinct_games, first.wins) == (20, 1, 1)
    assert (second.games, second.distinct_games, second.losses) == (20, 1, 1)
    assert both.win_rate.high - both.win_rate.low > 0.6
    assert len(distinct_games(records)) == 2


def test_same_moves_by_others_are_another_game() -> None:
    records = [game("a", "b", 0, "x"), game("b", "a", 0, "x"), game("a", "c", 0, "x"),
               game("a", "b", 0, "x", ruleset="other"), game("a", "b", 0, "x y")]
    assert len(distinct_games(records + records)) == 5


def test_viewpoint_is_the_first_named_agents() -> None:
    records = [game("a", "b", 0, "1", margin=4), game("a", "b", 0, "2", margin=2),
               game("a", "b", None, "3"), game("b", "a", 0, "4 5 6", margin=7),
               game("b", "c", 0, "7"), game("c", "a", 0, "8")]
    first, second, both = summarise(records, "a", "b").rows
    assert [row.seat for row in (first, second, both)] == [0, 1, None]
    assert (first.wins, first.draws, first.losses) == (2, 1, 0)
    assert (second.wins, second.draws, second.losses) == (0, 0, 1)
    assert (both.wins, both.draws, both.losses, both.games) == (2, 1, 1, 4)
    assert both.win_rate.estimate == 2.5 / 4
    assert first.margin.estimate == 2
    assert second.margin.estimate == -7
    assert both.mean_plies == 6 / 4
    other = summarise(records, "b", "a").rows
    assert [row.win_rate.estimate for row in other] == [1.0, 0.5 / 3, 1.5 / 4]
    assert other[2].margin.estimate == -both.margin.estimate


def test_rows_per_ruleset_and_reasons() -> None:
    records = [game("a", "b", 0, "1", ruleset="two", reason="turn_limit"),
               game("a", "b", 0, "2", ruleset="one"), game("a", "b", 1, "3", ruleset="one"),
               game("a", "b", 1, "4", ruleset="one", reason="turn_limit")]
    rows = summarise(records, "a", "b").rows
    assert [(row.ruleset, row.seat) for row in rows] == [
        ("one", 0), ("one", None), ("two", 0), ("two", None)]
    assert rows[0].reasons == {"all_turns_played": 2, "turn_limit": 1}


def test_an_agent_against_itself_has_no_row_for_both_seats() -> None:
    rows = summarise([game("a", "a", 0, "1"), game("a", "a", 0, "2")], "a", "a").rows
    assert [(row.seat, row.win_rate.estimate, row.margin.estimate) for row in rows] == [
        (0, 1.0, 3.0), (1, 0.0, -3.0)]


def test_order_of_games_changes_nothing() -> None:
    rng = random.Random(0)
    records = [game(*rng.choice([("a", "b"), ("b", "a")]), rng.choice([0, 1, None]), str(number))
               for number in range(60)]
    expected = summarise(records, "a", "b", seed=3)
    for _ in range(5):
        rng.shuffle(records)
        assert summarise(records, "a", "b", seed=3) == expected


def test_no_games_is_an_error_that_names_the_agents() -> None:
    with pytest.raises(OptionError, match="'a' and 'c'"):
        summarise([game("a", "b", 0, "1")], "a", "c")


def test_summaries_go_through_json() -> None:
    summary = summarise([game("a", "b", None, "x y")], "a", "b")
    assert json.loads(json.dumps(summary.to_dict()))["rows"][0]["draws"] == 1


def test_the_same_moves_from_another_start_are_another_game() -> None:
    one = record_game(STORM, (2, 3), players=("a", "b"))
    other = replace(one, start=one.states()[1])
    assert len(distinct_games([one, other, one])) == 2


# Records


def test_round_trip_through_text() -> None:
    record = record_game(STORM, (2, 3), players=("a", "b"), opening_plies=1, seed=3,
                         notes=(Note(1.5), Note()))
    assert "opening-plies: 1" in format_game(record)
    assert parse_games(format_game(record)) == [record]


def test_a_record_grows_and_is_cut() -> None:
    record = record_game(STORM, (2, 3), opening_plies=2, notes=(Note(1.5), Note(comment="so")))
    longer = record.extended(4, None)
    assert (longer.actions, longer.note(1), longer.note(2)) == (
        (2, 3, 4), Note(comment="so"), Note())
    assert longer.cut(2) == record
    assert (record.cut(1).opening_plies, record.cut(1).notes) == (1, (Note(1.5),))
    assert record.cut(2) is record
    assert record_game(STORM).extended(2, None) == record_game(STORM, (2,))


def test_equal_games_are_equal_records() -> None:
    record = record_game(STORM, (2, 3))
    assert record == replace(record, notes=(Note(), Note()))
    assert hash(record) == hash(record_game(STORM, (2, 3)))


def test_only_a_finished_game_has_points() -> None:
    with pytest.raises(GameRecordError, match="left after 2 plies has no outcome"):
        record_game(STORM, (2, 3)).points_of(0)


@pytest.mark.parametrize("fields", [{"players": ["a"]}, {"players": (1, 2)}, {"seed": -1},
                                    {"seed": True}, {"date": "today"}, {"opening_plies": 1},
                                    {"opening_plies": -1}, {"notes": (Note(),)}])
def test_what_is_no_record_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(GameRecordError, match="allowed"):
        GameRecord(STORM, (), None, **fields)
