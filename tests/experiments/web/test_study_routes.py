"""Variations, comments, whole games judged, and best play, as the page asks for them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from agents.solve.analysis import analyse_moves
from agents.solve.move_values import MoveValues, in_words
from castle_env import Game, Ruleset, load_ruleset
from castle_env.game_file import format_game, parse_games
from castle_env.game_record import GameRecord, Note, record_game
from experiments.play.game_in_play import HUMAN, GameInPlay
from experiments.web import judging, studying
from experiments.web.app import create_app

STORM = Game(load_ruleset("storm"))
Shown = dict[str, Any]  # a game as the page is told of it


@pytest.fixture(scope="module")
def web() -> Iterator[TestClient]:
    with TestClient(create_app(), base_url="http://127.0.0.1:8000") as client:
        yield client


def load(web: TestClient, *names: str, rules: Ruleset = STORM.rules, **about: Any) -> Any:
    game = Game(rules)
    record = record_game(rules, map(game.parse_action, names), **about)
    answer = web.post("/api/games/load", json={"text": format_game(record)})
    assert answer.status_code == 201, answer.text
    return answer.json()


def post(web: TestClient, game: Shown, path: str, **body: Any) -> Any:
    answer = web.post(f"/api/games/{game['id']}/{path}", json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def change(web: TestClient, game: Shown, path: str, **body: Any) -> Any:
    """What a page that shows this game asks for."""
    return post(web, game, path, version=game["version"], **body)


def move(web: TestClient, game: Shown, at: int, name: str) -> Any:
    return change(web, game, "moves", at=at, action=STORM.parse_action(name))


def names(game: Shown) -> list[str]:
    return [one["name"] for one in game["moves"]]


def saved(web: TestClient, game: Shown) -> GameRecord:
    return parse_games(web.get(f"/api/games/{game['id']}/file").text)[0]


def judged(web: TestClient, game: Shown, seconds: float = 0.5) -> Any:
    while not (answer := web.post(f"/api/games/{game['id']}/judge?seconds={seconds}").json()
               )["done"]:
        pass
    return answer


# Variations


def test_a_move_on_the_way_back_loses_nothing(web: TestClient) -> None:
    game = load(web, "Nc", "W3", "Nd")
    game = move(web, game, 1, "W2")
    assert (names(game), game["at"], game["shown"], game["is_main"]) == (
        ["Nc", "W2"], 2, None, False)
    (other,) = game["variations"]["1"]
    assert (other["name"], other["following"], other["main"]) == ("W3", ["Nd"], True)
    record = saved(web, game)
    assert [STORM.format_action(one) for one in record.actions] == ["Nc", "W3", "Nd"]
    assert record.variations[0].actions == (STORM.parse_action("W2"),)


def test_one_walks_into_variations_and_back(web: TestClient) -> None:
    game = move(web, load(web, "Nc", "W3", "Nd"), 1, "W2")
    game = change(web, game, "walk", at=1, actions=[STORM.parse_action("W3")])
    assert (names(game), game["at"], game["is_main"]) == (["Nc", "W3", "Nd"], 2, True)
    assert game["shown"]["last"]["name"] == "W3"
    line = [STORM.parse_action(name) for name in ("W2", "E3")]
    game = change(web, game, "walk", at=1, actions=line)
    assert (names(game), game["at"]) == (["Nc", "W2", "E3"], 2)
    game = change(web, game, "promote")
    assert game["is_main"]
    assert saved(web, game).actions[1:] == tuple(line)


def test_a_walk_with_an_illegal_move_changes_nothing(web: TestClient) -> None:
    game = load(web, "Nc", "W3")
    before = web.get(f"/api/games/{game['id']}").json()
    answer = web.post(f"/api/games/{game['id']}/walk", json={
        "at": 1, "version": 0, "actions": [STORM.parse_action("W2"), STORM.parse_action("Na")]})
    assert answer.status_code == 400
    assert "no token to push" in answer.json()["error"]
    assert web.get(f"/api/games/{game['id']}").json() == before


def test_a_page_that_missed_a_change_adds_nothing(web: TestClient) -> None:
    old = load(web, "Nc", "W3")
    game = move(web, old, 1, "W2")
    for path, body in (("walk", {"at": 0, "actions": [STORM.parse_action("Nd")]}), ("promote", {}),
                       ("comment", {"at": 0, "text": "x"})):
        for body_ in (body | {"version": old["version"]}, body):
            answer = web.post(f"/api/games/{game['id']}/{path}", json=body_)
            assert answer.status_code == (409 if "version" in body_ else 400)
        assert names(web.get(f"/api/games/{game['id']}").json()) == ["Nc", "W2"]
    assert web.get(f"/api/games/{game['id']}").json()["version"] == game["version"]


def test_the_move_that_was_made_is_no_variation(web: TestClient) -> None:
    game = move(web, load(web, "Nc", "W3", "Nd"), 1, "W3")
    assert (names(game), game["at"], game["variations"]) == (["Nc", "W3", "Nd"], 2, {})


def test_comments_go_into_the_file(web: TestClient) -> None:
    game = load(web, "Nc", "W3")
    game = change(web, game, "comment", at=1, text="why <not>?\n\x1b[2J")
    assert game["moves"][1]["comment"] == "why <not>?\n\x1b[2J"
    assert saved(web, game).note(1).comment == "why <not>?\n\x1b[2J"
    answer = web.post(f"/api/games/{game['id']}/comment", json={
        "at": 2, "text": "", "version": game["version"]})
    assert answer.status_code == 409
    assert "no move 2; allowed: 0 to 1" in answer.json()["error"]


def test_variations_of_a_file_are_shown(web: TestClient) -> None:
    text = saved(web, move(web, load(web, "Nc", "W3", "Nd"), 1, "W2"))
    game = web.post("/api/games/load", json={"text": format_game(text)}).json()
    assert [one["name"] for one in game["variations"]["1"]] == ["W2"]


# Seats of a loaded game, and rematches


@pytest.mark.parametrize(("players", "seats"), [
    (("human", "greedy"), ["human", "greedy"]), (("greedy", "Ann"), ["greedy", "human"]),
    (("Ann", "Bob"), ["human", "human"]), (("greedy", "random"), ["human", "human"]),
    (("human", "alphabeta:60"), ["human", "human"]), (("human", "ppo:/etc/passwd"), [HUMAN] * 2)])
def test_the_agent_of_a_saved_game_sits_down_again(
    web: TestClient, players: tuple[str, ...], seats: list[str]
) -> None:
    game = load(web, "Nc", "W3", players=players)
    assert game["players"] == seats
    assert game["names"] == list(players)


def test_a_rematch_is_a_new_game_with_seats_changed(web: TestClient) -> None:
    game = load(web, "Nc", "W3", players=("human", "greedy"), seed=3, comment="")
    again = post(web, game, "rematch")
    assert again["players"] == ["greedy", "human"]
    assert (again["moves"], again["id"] != game["id"]) == ([], True)
    assert names(web.get(f"/api/games/{game['id']}").json()) == ["Nc", "W3"]


# Judging


def played_out(plies: int, seed: int = 0) -> list[str]:
    rng, state = np.random.default_rng(seed), STORM.initial_state()
    actions: list[int] = []
    for _ in range(plies):
        actions.append(int(rng.choice(STORM.legal_actions(state))))
        state = STORM.apply(state, actions[-1])
    return [STORM.format_action(action) for action in actions]


def test_every_ply_is_judged(web: TestClient) -> None:
    # From the sixth ply from the end on everything is proven at once.
    moves = played_out(16)
    start = STORM.initial_state()
    for name in moves[:10]:
        start = STORM.apply(start, STORM.parse_action(name))
    game = load(web, *moves[10:], start=start)
    answer = judged(web, game, seconds=60)
    assert (answer["judged"], answer["of"]) == (6, 6)
    state = start
    for at, name in enumerate(moves[10:]):
        values = analyse_moves(STORM, state)
        sign = -1 if state.ply & 1 else 1
        assert answer["line"][at]["margin"] == sign * values.best_value
        assert answer["line"][at]["exact"]
        action = STORM.parse_action(name)
        assert answer["line"][at + 1]["regret"] == values.regret(action)
        state = STORM.apply(state, action)
    first, second = STORM.victory_points(state)
    assert answer["line"][-1]["margin"] == first - second
    record = saved(web, game)
    assert [note.value for note in record.notes] == [
        place["margin"] for place in answer["line"][1:]]


def test_what_was_searched_is_not_searched_again(
    web: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []

    def analyse(game: Game, state: Any, *, seconds: Any, stopped: Any) -> Any:
        searched.append(state.ply)
        return MoveValues(dict.fromkeys(game.legal_actions(state), 1), depth=3)

    monkeypatch.setattr(studying, "analyse_moves", analyse)
    game = load(web, "Nc", "W3", "Nd")
    judged(web, game)
    assert searched == [3, 2, 1, 0]
    judged(web, game)
    assert len(searched) == 4
    judged(web, move(web, game, 2, "Sd"), seconds=0.5)
    assert searched == [3, 2, 1, 0, 3]
    judged(web, game, seconds=0.6)
    assert len(searched) == 5 + 4


def test_exact_values_reach_the_neighbours() -> None:
    names_ = ("Nc", "W3", "Nd")
    live = GameInPlay(record_game(STORM.rules, map(STORM.parse_action, names_)), (HUMAN, HUMAN))
    proven = MoveValues(dict.fromkeys(STORM.legal_actions(live.states[1]), 2))
    guessed = MoveValues(dict.fromkeys(STORM.legal_actions(live.states[2]), 7), depth=4)
    known = {live.states[1]: proven, live.states[2]: guessed}
    # After W3 the second player's 2 is the first one's -2, whatever a search from there sees.
    assert judging.worth_of(live, known.get, 2) == judging.Worth(-2, None)
    assert judging.worth_of(live, known.get, 1) == judging.Worth(-2, None)
    assert judging.worth_of(live, known.get, 3) == judging.Worth(7, 4)
    assert judging.worth_of(live, known.get, 0) is None
    assert judging.regret_of(live, known.get, 1) == judging.Worth(0, None)
    assert judging.regret_of(live, known.get, 2) == judging.Worth(0, 4)


def test_an_exact_value_is_shown_as_exact_where_the_search_is_not(
    web: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def analyse(game: Game, state: Any, *, seconds: Any, stopped: Any, report: Any) -> Any:
        actions = game.legal_actions(state)
        return MoveValues(dict.fromkeys(actions, -4 if state.ply else 4),
                          depth=2 if state.ply else None)

    monkeypatch.setattr("experiments.web.sessions.analyse_moves", analyse)
    game = load(web, "Nc", "W3")
    url = f"/api/games/{game['id']}/analysis"
    assert web.get(f"{url}/1").json()["found"]["words"] == "behind by 4, looking 2 plies ahead"
    web.get(f"{url}/0")
    found = web.get(f"{url}/1").json()["found"]
    assert (found["words"], found["value_exact"], found["exact"]) == (
        "loses by 4 with best play", True, False)


def test_best_play_is_followed_to_the_end(web: TestClient) -> None:
    moves = played_out(12)
    game = load(web, *moves)
    while not (line := web.get(f"/api/games/{game['id']}/best/12").json())["done"]:
        pass
    state = STORM.parse_position(game["position"]["text"])
    value = analyse_moves(STORM, state).best_value
    for action in line["actions"]:
        state = STORM.apply(state, action)
    first, second = STORM.victory_points(state)
    assert STORM.is_terminal(state)
    assert (first - second, line["exact"]) == (value, True)
    assert line["names"] == [STORM.format_action(action) for action in line["actions"]]


@pytest.mark.parametrize(("value", "depth", "words"), [
    (-4, None, "loses by 4 with best play"), (1, None, "wins by 1 with best play"),
    (0, None, "draws with best play"), (3, 1, "ahead by 3, looking 1 ply ahead"),
    (-2, 6, "behind by 2, looking 6 plies ahead"), (0, 2, "level, looking 2 plies ahead")])
def test_values_in_words(value: int, depth: int | None, words: str) -> None:
    assert in_words(value, depth) == words


def test_values_of_the_second_player_are_the_firsts_in_a_file(
    web: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studying, "analyse_moves", lambda game, state, **more: MoveValues(
        dict.fromkeys(game.legal_actions(state), 3)))
    game = load(web, "Nc", "W3")
    judged(web, game)
    assert saved(web, game).notes == (Note(3.0), Note(-3.0))
