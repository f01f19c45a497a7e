"""Matches: both seats from the same openings, reproducible, and true to the rules."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scripted import BLOCKED, ONE_FACTION, QUICK_DEATH, Indices, Positional, game_of_source, name_of

from agents.openings import longest_opening
from castle_env import Agent, BaseAgent, Game, OptionError, make_agent
from castle_env.game_file import format_game, parse_games
from castle_env.game_record import GameRecord, record_game
from castle_env.position import PositionArray
from experiments.measure import match
from experiments.measure.match import play_match, points_against
from experiments.measure.records import distinct_games, summarise

SOURCES = ["storm", "storm-towers", "sudden-death", "sudden-death-home", QUICK_DEATH]


class Named(Positional):
    """A player without chance, by another name."""

    def __init__(self, game: Game, name: str) -> None:
        super().__init__(game)
        self.name = name


def agents(game: Game, first: str, second: str) -> tuple[Agent, Agent]:
    return make_agent(first, game), make_agent(second, game)


def openings(records: list[GameRecord]) -> list[tuple[int, ...]]:
    return [record.actions[:record.opening_plies] for record in records]


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_records_replay_to_their_outcome(source: dict[str, Any] | str) -> None:
    """Move by move with `Game`: legal, over exactly at the end, and with that result."""
    game = game_of_source(source)
    for record in play_match(game, agents(game, "random", "greedy"), 60, 3):
        state = game.initial_state()
        for action in record.actions:
            assert not game.is_terminal(state)
            assert type(action) is int
            assert action in game.legal_actions(state)
            state = game.apply(state, action)
        outcome = game.outcome(state)
        assert outcome is not None
        assert record.outcome == outcome
        assert record.states()[-1] == state
        assert record == record_game(game.rules, record.actions, players=record.players,
                                     opening_plies=3)
        assert parse_games(format_game(record)) == [record]


def test_both_seats_get_the_same_openings() -> None:
    game = game_of_source("sudden-death")
    records = play_match(game, agents(game, "random", "greedy"), 300, 4)
    assert len(records) == 300
    by_seats = {seats: [record for record in records if record.players == seats]
                for seats in (("random", "greedy"), ("greedy", "random"))}
    first, second = by_seats.values()
    assert len(first) == len(second) == 150
    assert openings(first) == openings(second)
    assert len(set(openings(first))) > 120
    assert all(record.opening_plies == 4 < record.plies for record in records)
    assert len(distinct_games(records)) == 300


def test_points_are_those_of_the_match_it_plays() -> None:
    game = game_of_source("storm")
    agents = make_agent("greedy", game), make_agent("random", game)
    records = play_match(game, agents, games=20, opening_plies=2)
    expected = summarise(records, "greedy", "random").rows[-1]
    assert expected.seat is None
    assert points_against(game, agents[0], "random", games=20) == expected.win_rate


def test_same_seed_same_games_and_advance_hears_of_all() -> None:
    game = game_of_source("sudden-death")
    played: list[int] = []
    pair = agents(game, "mcts:8", "greedy")
    one = play_match(game, pair, 140, 2, 5, played.append)
    assert one == play_match(game, pair, 140, 2, 5)
    other = play_match(game, pair, 140, 2, 6)
    assert openings(one) != openings(other)
    assert sum(played) == 140
    assert len(played) > 1


def test_more_games_begin_with_the_same_ones() -> None:
    game = game_of_source("storm")
    pair = agents(game, "greedy", "random")
    few, many = (play_match(game, pair, games, 2, 3) for games in (2 * match.GROUP, 300))
    assert many[:len(few)] == few


def test_no_chance_no_openings_no_new_games() -> None:
    """40 games of two players without chance are two, and are counted as two."""
    game = game_of_source("storm")
    pair = Named(game, "a"), Named(game, "b")
    records = play_match(game, pair, 40)
    assert len(distinct_games(records)) == 2
    first, second, both = summarise(records, "a", "b").rows
    assert (both.games, both.distinct_games) == (40, 2)
    assert [row.distinct_games for row in (first, second)] == [1, 1]
    assert first.wins == second.losses
    varied = play_match(game, pair, 40, 4)
    assert summarise(varied, "a", "b").rows[2].distinct_games == 40


def alone(game: Game, record: GameRecord, player: Positional) -> GameRecord:
    """The game that comes of the record's opening when nothing else is played beside it."""
    states = game.initial_states(1)
    actions: list[int] = []
    while not game.terminals(states)[0]:
        action = (record.actions[len(actions)] if len(actions) < record.opening_plies
                  else int(player.select_actions(states, np.random.default_rng(0))[0]))
        actions.append(action)
        states = game.apply_actions(states, np.array([action]))
    margin = int(game.margins(states)[0])
    outcome = replace(record.final, margin=margin, winner=None if margin == 0 else int(margin < 0))
    return replace(record, actions=tuple(actions), outcome=outcome)


@pytest.mark.parametrize("source", ["sudden-death", QUICK_DEATH], ids=name_of)
def test_short_games_count_no_more_than_long_ones(source: dict[str, Any] | str) -> None:
    """Every game that was begun is in the result, the same as if played alone."""
    game = game_of_source(source)
    pair = Named(game, "a"), Named(game, "b")
    records = play_match(game, pair, 200, 4)
    assert len(Counter(record.plies for record in records)) > 4
    assert [alone(game, record, pair[0]) for record in records] == records


class Asked(BaseAgent):
    """Plays at random and remembers for how many games at once it was asked."""

    name = "asked"

    def __init__(self, game: Game) -> None:
        self._game = game
        self.sizes: list[int] = []

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Indices:
        self.sizes.append(len(states))
        return self._game.random_actions(states, rng)


def test_agents_are_asked_once_per_ply_for_all_games_that_go_on() -> None:
    """And never about a game that is over."""
    game = game_of_source(QUICK_DEATH)
    agent = Asked(game)
    records = play_match(game, (agent, agent), 2 * match.GROUP)
    expected = []
    for half in (records[:match.GROUP], records[match.GROUP:]):
        lengths = np.array([record.plies for record in half])
        expected += [int((lengths > ply).sum()) for ply in range(lengths.max())]
    assert agent.sizes == expected


@pytest.mark.parametrize(("games", "plies", "seed", "said"), [
    (3, 0, 0, "games is 3; allowed: an even number from 2 to"),
    (0, 0, 0, "games is 0"), (-2, 0, 0, "games is -2"),
    (2, 5, 0, "opening_plies is 5; allowed: 0 to 4 in ruleset 'quick-death'"),
    (2, -1, 0, "opening_plies is -1"), (2, 0, -1, "seed is -1; allowed: an integer from 0 to")])
def test_numbers_with_which_no_match_can_be_played(
    games: int, plies: int, seed: int, said: str
) -> None:
    game = game_of_source(QUICK_DEATH)
    played: list[int] = []
    with pytest.raises(OptionError, match=said):
        play_match(game, agents(game, "random", "greedy"), games, plies, seed, played.append)
    assert played == []


@pytest.mark.parametrize("source", ["storm", "sudden-death", QUICK_DEATH, ONE_FACTION, BLOCKED],
                         ids=name_of)
def test_the_longest_opening_leaves_a_game_to_play(source: dict[str, Any] | str) -> None:
    game = game_of_source(source)
    longest = longest_opening(game)
    records = play_match(game, agents(game, "random", "greedy"), 60, longest)
    assert all(record.plies > record.opening_plies == longest for record in records)
    with pytest.raises(OptionError, match=f"allowed: 0 to {longest}"):
        play_match(game, agents(game, "random", "greedy"), 2, longest + 1)


def test_an_illegal_choice_is_no_game() -> None:
    game = game_of_source("storm")

    class Stubborn(BaseAgent):
        name = "stubborn"

        def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Indices:
            return np.zeros(len(states), dtype=np.int64)

    with pytest.raises(ValueError, match="illegal"):
        play_match(game, (Stubborn(), Stubborn()), 2)
