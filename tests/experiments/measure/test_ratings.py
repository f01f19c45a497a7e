"""Ratings: direction, independence of order, draws, extremes, cycles."""

import itertools
import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from narrow import present

from castle_env import Outcome, load_ruleset
from castle_env.errors import OptionError
from castle_env.game_record import GameRecord
from experiments.measure.ratings import cross_table, find_cycles, rate

numbers = itertools.count()


def games(
    first: Any, second: Any, wins: Any, draws: Any, losses: Any, ruleset: Any = "storm"
) -> Any:
    """Distinct games with these results of `first`, who sits in seat 0."""
    winners = [0] * wins + [None] * draws + [1] * losses
    rules = replace(load_ruleset("storm"), name=ruleset)
    outcomes = [Outcome(winner, {0: 2, None: 0, 1: -2}[winner], (3, 3), {}, "all_turns_played")
                for winner in winners]
    return [GameRecord(rules, (next(numbers),), outcome, (first, second)) for outcome in outcomes]


def ratings_of(records: Any) -> Any:
    """Ratings by player."""
    return {rating.player: rating for rating in rate(cross_table(records))}


@pytest.mark.parametrize("winner", ["a", "b"])
def test_who_wins_is_rated_higher(winner: str) -> None:
    """From either seat, and whatever the names."""
    loser = "b" if winner == "a" else "a"
    for records in (games(winner, loser, 9, 0, 3), games(loser, winner, 3, 0, 9)):
        ratings = ratings_of(records)
        assert ratings[winner].rating.estimate > 0 > ratings[loser].rating.estimate
        assert ratings[winner].points == 9
        assert rate(cross_table(records))[0].player == winner


def test_one_more_win_raises_the_rating() -> None:
    before = games("a", "b", 5, 0, 5) + games("b", "c", 5, 0, 5)
    after = before + games("a", "b", 1, 0, 0)
    assert (ratings_of(after)["a"].rating.estimate > ratings_of(before)["a"].rating.estimate)


def test_order_of_games_changes_nothing() -> None:
    """Ratings, intervals, table and cycles are the same after 20 shuffles."""
    rng = random.Random(1)
    records = [record for first, second in itertools.permutations("abcd", 2)
               for record in games(first, second, *(rng.randrange(8) for _ in range(3)))]
    expected_table = cross_table(records)
    expected = rate(expected_table)
    for _ in range(20):
        rng.shuffle(records)
        table = cross_table(records)
        assert table.to_dict() == expected_table.to_dict()
        assert find_cycles(table) == find_cycles(expected_table)
        assert rate(table) == expected


def test_repeated_games_count_once() -> None:
    records = games("a", "b", 1, 0, 0)
    assert ratings_of(records * 50) == ratings_of(records)


def test_lead_has_the_odds_of_the_elo_scale() -> None:
    """Ten wins to each loss are 400 points; the prior hardly matters here."""
    ratings = ratings_of(games("a", "b", 10_000, 0, 1_000))
    lead = ratings["a"].rating.estimate - ratings["b"].rating.estimate
    assert lead == pytest.approx(400, abs=1)
    assert sum(rating.rating.estimate for rating in ratings.values()) == pytest.approx(0, abs=1e-9)


def test_a_draw_is_half_a_win_and_half_a_loss() -> None:
    drawn = ratings_of(games("a", "b", 10, 20, 0) + games("b", "c", 0, 40, 0))
    decided = ratings_of(games("a", "b", 20, 0, 10) + games("b", "c", 20, 0, 20))
    for player in "abc":
        assert drawn[player].rating.estimate == pytest.approx(decided[player].rating.estimate)


def test_players_who_never_met_are_rated() -> None:
    ratings = ratings_of(games("a", "b", 9, 0, 1) + games("c", "d", 9, 0, 1))
    assert ratings["a"].rating.estimate == pytest.approx(ratings["c"].rating.estimate)


def ends_of(records: Any, names: Any) -> Any:
    """Everything that is told of players, by what they are called after renaming."""
    return {names[rating.player]: [
        rating.rating.estimate, rating.rating.low, rating.rating.high,
        *((rating.lead.estimate, rating.lead.low, rating.lead.high) if rating.lead else ())]
        for rating in rate(cross_table(records))}


@pytest.mark.parametrize("wins", [(20, 0), (15, 5), (3, 8)])
def test_renaming_players_changes_nothing(wins: tuple[int, ...]) -> None:
    """Neither estimates nor ends of intervals, open ones included."""
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("b", "d"), ("a", "d")]
    plain = dict(zip("abcd", "abcd", strict=True))
    for other in ("dcba", "bdac"):
        renamed = dict(zip("abcd", other, strict=True))
        expected = ends_of([game for one, two in pairs for game in games(one, two, wins[0], 2,
                                                                         wins[1])], renamed)
        found = ends_of([game for one, two in pairs for game in games(
            renamed[one], renamed[two], wins[0], 2, wins[1])], plain)
        assert found.keys() == expected.keys()
        for player, ends in expected.items():
            assert found[player] == pytest.approx(ends, abs=1e-3, nan_ok=True)


def test_a_clean_ladder_sets_one_limit_to_those_at_its_ends_and_to_each_lead() -> None:
    records = [game for one, two in itertools.combinations("abcdefgh", 2)
               for game in games(one, two, 20, 0, 0) + games(two, one, 0, 0, 20)]
    ratings = rate(cross_table(records))
    assert "".join(rating.player for rating in ratings) == "abcdefgh"
    for rating in ratings:
        assert math.isfinite(rating.rating.estimate)
        assert not rating.rating.low > rating.rating.estimate
        assert not rating.rating.high < rating.rating.estimate
    assert math.isinf(ratings[0].rating.high)
    assert math.isfinite(ratings[0].rating.low)
    assert math.isinf(ratings[-1].rating.low)
    assert math.isfinite(ratings[-1].rating.high)
    assert not any(rating.rating.is_known for rating in ratings[2:-2])
    for rating in ratings[:-1]:
        lead = present(rating.lead)
        assert math.isinf(lead.high)
        assert 400 < lead.low < lead.estimate
    json.dumps([rating.to_dict() for rating in ratings], allow_nan=False)


def test_cross_table_is_seen_from_the_row() -> None:
    table = cross_table(games("a", "b", 3, 1, 0) + games("b", "a", 2, 0, 2)
                        + games("c", "a", 0, 0, 5) + games("a", "a", 1, 0, 0))
    assert table.players == ("a", "b", "c")
    assert table.games().tolist() == [[0, 8, 5], [8, 0, 0], [5, 0, 0]]
    assert table.points().tolist() == [[0, 5.5, 5], [2.5, 0, 0], [0, 0, 0]]
    shares = json.loads(json.dumps(table.to_dict(), allow_nan=False))["shares"]
    assert shares == [[None, 5.5 / 8, 1.0], [2.5 / 8, None, None], [0.0, None, None]]


def test_cycle_is_found_and_told() -> None:
    records = games("rock", "scissors", 40, 0, 2) + games("scissors", "paper", 40, 0, 2)
    records += games("paper", "rock", 40, 0, 2) + games("rock", "well", 0, 0, 9)
    (cycle,) = find_cycles(cross_table(records))
    assert str(cycle) == "paper beats rock beats scissors beats paper"
    assert [share.estimate for share in cycle.shares] == [40 / 42] * 3
    assert cycle.is_certain
    assert cycle.to_dict()["players"] == ["paper", "rock", "scissors"]


def test_cycle_from_little_evidence_is_not_certain() -> None:
    records = games("a", "b", 3, 0, 2) + games("b", "c", 3, 0, 2) + games("c", "a", 3, 0, 2)
    (cycle,) = find_cycles(cross_table(records))
    assert cycle.players == ("a", "b", "c")
    assert not cycle.is_certain


def test_no_cycle_through_even_results() -> None:
    even = games("a", "b", 3, 0, 1) + games("b", "c", 3, 0, 1) + games("c", "a", 2, 2, 2)
    assert find_cycles(cross_table(even)) == ()


def test_longer_cycle_is_listed_only_where_no_shorter_one_lies_within() -> None:
    ring = [record for first, second in ("ab", "bc", "cd", "da")
            for record in games(first, second, 1, 0, 0)]
    assert [cycle.players for cycle in find_cycles(cross_table(ring))] == [tuple("abcd")]
    chord = ring + games("a", "c", 1, 0, 0)
    assert [cycle.players for cycle in find_cycles(cross_table(chord))] == [tuple("acd")]


def test_games_of_several_rulesets_or_none_are_refused() -> None:
    with pytest.raises(OptionError, match="2 rulesets \\(storm, storm-towers\\)"):
        cross_table(games("a", "b", 1, 0, 0) + games("a", "b", 1, 0, 0, ruleset="storm-towers"))
    with pytest.raises(OptionError, match="exactly one ruleset"):
        cross_table(games("a", "a", 1, 0, 0))
