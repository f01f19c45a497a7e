"""The server behind the page: what it answers and refuses, and that games live side by side."""

import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pytest
from fastapi.testclient import TestClient
from narrow import present
from places import ROOT

from agents.search.limited_search import LimitedAlphaBeta, parse_limits
from agents.solve import analysis
from agents.solve.move_values import MoveValues
from agents.solve.storm_solver import SearchStoppedError, Solver
from castle_env import (
    AgentError,
    CastleError,
    Game,
    Ruleset,
    load_ruleset,
    make_agent,
    preset_names,
)
from castle_env import agent as agents_by_name
from castle_env.board import steps_off_board
from castle_env.game_file import format_game, parse_games, read_games
from castle_env.game_record import Note, record_game
from castle_env.position import stack
from experiments.commands.play import Play, run
from experiments.web import HOST, listen, serve, serving, sessions
from experiments.web.app import MAX_BYTES, create_app
from experiments.web.crowd import play_crowd
from experiments.web.opponents import Opponents, agent_for

ADDRESS = "http://127.0.0.1:8000"
STORM = Game(load_ruleset("storm"))
Shown = dict[str, Any]  # a game as the page is told of it
SUDDEN_DEATH = Game(load_ruleset("sudden-death"))


@pytest.fixture(scope="module")
def web() -> Iterator[TestClient]:
    with TestClient(create_app(), base_url=ADDRESS) as client:
        yield client


def begin(web: TestClient, ruleset: Any = "storm", players: Sequence[str] = ("human", "human"),
          **more: Any) -> Any:
    answer = web.post("/api/games",
                      json={"ruleset": ruleset, "players": list(players), **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def move(web: TestClient, game: Shown, name: str, at: int | None = None) -> Any:
    """Make a move by its text."""
    at = len(game["moves"]) if at is None else at
    position = web.get(f"/api/games/{game['id']}/positions/{at}").json()
    action = next(move["action"] for move in position["moves"] if move["name"] == name)
    answer = web.post(f"/api/games/{game['id']}/moves", json=changed(game, at=at, action=action))
    assert answer.status_code == 200, answer.text
    return answer.json()


def changed(game: Shown, **change: Any) -> dict[str, Any]:
    """A request that changes the game as the page with this answer sees it."""
    return change | {"version": game["version"]}


def reply(web: TestClient, game: Shown) -> Any:
    """Wait for the agent's move."""
    while not (answer := web.post(f"/api/games/{game['id']}/reply",
                                  json={"at": len(game["moves"])}).json())["moved"]:
        pass
    return answer["game"]


def final_analysis(web: TestClient, game: Shown, at: int, seconds: float = 2) -> Any:
    while not (answer := web.get(f"/api/games/{game['id']}/analysis/{at}",
                                 params={"seconds": seconds}).json())["done"]:
        pass
    return answer["found"]


def refused(answer: Any, status: int, *words: str) -> Any:
    assert answer.status_code == status, answer.text
    message = answer.json()["error"]
    for word in words:
        assert word in message
    return message


# Games


@pytest.mark.parametrize("rules", ["storm", "sudden-death", "sudden-death-step", "storm-towers"])
def test_positions_tell_every_move_and_all_it_moves(web: TestClient, rules: str) -> None:
    rng = np.random.default_rng(3)
    local = Game(load_ruleset(rules))
    state, game = local.initial_state(), begin(web, rules)
    while game["waits_for"]:
        position = game["position"]
        assert position["text"] == local.format_position(state)
        assert [one["action"] for one in position["moves"]] == local.legal_actions(state)
        chosen = position["moves"][rng.integers(len(position["moves"]))]
        state = local.apply(state, chosen["action"])
        game = move(web, game, chosen["name"])
        assert shifted(position, chosen) == game["position"]["tokens"]
        assert tuple(chosen["totals"]) == local.victory_points(state)
        assert chosen["shifts"] == game["position"]["last"]["shifts"]
    assert game["position"]["outcome"]["margin"] == present(local.outcome(state)).margin


def shifted(position: Any, chosen: Any) -> Any:
    """The tokens after every shift that a move tells."""
    tokens = list(position["tokens"])
    moved = [("AB"[chosen["player"]] if start is None else tokens[start], end)
             for start, end in chosen["shifts"]]
    for start, _ in chosen["shifts"]:
        if start is not None:
            tokens[start] = "."
    for token, end in moved:
        if end is not None:
            tokens[end] = token
    return "".join(tokens)


def test_reasons_are_told_of_every_illegal_action(web: TestClient) -> None:
    game = begin(web, "sudden-death")
    start = SUDDEN_DEATH.initial_state()
    url = f"/api/games/{game['id']}/positions"
    reasons = web.get(f"{url}/0/explained").json()["illegal"]
    assert reasons == {SUDDEN_DEATH.format_action(action): SUDDEN_DEATH.why_illegal(start, action)
                       for action in range(SUDDEN_DEATH.num_actions)
                       if not steps_off_board(action)
                       and action not in SUDDEN_DEATH.legal_actions(start)}
    assert reasons["W6"] == "this lane is closed to the player to move"
    refused(web.get(f"{url}/1/explained"), 409, "after 1 moves")


def test_rows_of_points_tell_the_squares_that_they_count(web: TestClient) -> None:
    points = {"captured": 1, "besieging": 1, "contact": 2, "controlled": 2, "survivor": 3}
    rules = {"mode": "storm", "victory_points": points}
    # The example of the rule book: circles on b4 and c5, a diamond on e4, one diamond lost.
    game = begin(web, rules, start="6/2A3/1A##B1/2##2/6/6 B - 6,6 0,1 5")
    rows = web.get(f"/api/games/{game['id']}/positions/0/explained").json()["rows"]
    b4, c5, e4, c4, d4 = 13, 8, 16, 14, 15
    assert rows == {"captured": [[], []], "besieging": [[c5, b4], [e4]],
                    "contact": [[c5, b4, c4], [d4, e4]], "controlled": [[c5, b4, c4], [d4, e4]],
                    "survivor": [[c5, b4], [e4]]}


@pytest.mark.parametrize("name", preset_names())
def test_lessons_show_the_rules_in_play(web: TestClient, name: str) -> None:
    game = begin(web, name)
    local = Game(load_ruleset(name))
    lessons = {lesson["title"]: lesson
               for lesson in web.get(f"/api/games/{game['id']}/lessons").json()}
    assert ("Step" in lessons) == ("Lanes" in lessons) == (local.rules.mode == "sudden_death")
    for player, lanes in enumerate(lessons.get("Lanes", {"lanes": []})["lanes"]):
        state = replace_player(local.initial_state(), player)
        assert lanes == [action for action in range(24) if local.why_illegal(state, action)
                         != "this lane is closed to the player to move"]
    for lesson in lessons.values():
        if "position" not in lesson:
            continue
        state = local.parse_position(lesson["position"]["text"])
        if "shown" in lesson:
            assert local.parse_action(lesson["shown"]) in local.legal_actions(state)
        if "illegal" in lesson:
            action = local.parse_action(lesson["illegal"]["name"])
            assert lesson["illegal"]["reason"] == local.why_illegal(state, action)
    assert "bastion" in lessons["The bastion holds"]["illegal"]["reason"]
    assert "stronghold" in lessons["Strongholds stay"]["illegal"]["reason"]
    shown = next(move for move in lessons["Capture"]["position"]["moves"]
                 if move["name"] == lessons["Capture"]["shown"])
    assert shown["captured"] == "B"
    assert all(lessons["Victory Points"]["position"]["points"]["controlled"])


def replace_player(state: Any, player: Any) -> Any:
    """The start with this player to move."""
    return state._replace(ply=player)


def test_edited_rules_explain_themselves(web: TestClient) -> None:
    rules = {"mode": "sudden_death", "entry_style": "step", "steps_must_push": True,
             "max_plies": 44, "victory_points": {"captured": 7, "controlled": 0}}
    game = begin(web, rules)
    told = " ".join(lesson["text"] for lesson in
                    web.get(f"/api/games/{game['id']}/lessons").json())
    for words in ("7 for each token", "after 44 turns", "if it pushes", "onto the edge square"):
        assert words in told
    assert "stronghold with more own" not in told


def test_games_do_not_disturb_each_other(web: TestClient) -> None:
    first, second = begin(web), begin(web)
    first = move(web, first, "W4")
    assert web.get(f"/api/games/{second['id']}").json() == second
    second = move(web, second, "Nc")
    assert [one["name"] for one in first["moves"]] == ["W4"]
    assert web.get(f"/api/games/{first['id']}").json() == first


def test_a_move_from_an_earlier_position_takes_the_later_ones_back(web: TestClient) -> None:
    game = begin(web)
    for name in ("W4", "Nd", "E3"):
        game = move(web, game, name)
    game = move(web, game, "Sd", at=1)
    assert [one["name"] for one in game["moves"]] == ["W4", "Sd"]


def test_agents_answer_and_their_moves_follow_from_the_seed(web: TestClient) -> None:
    games = [begin(web, players=("mcts:50", "human"), seed=seed) for seed in (5, 5)]
    assert games[0]["waits_for"] == "agent"
    first, second = (reply(web, game) for game in games)
    assert first["moves"] == second["moves"]
    assert first["waits_for"] == "human"


def test_the_page_and_the_terminal_play_the_same_game(
    web: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n1\n1\n"))
    run(Play(against="random", seat="1", seed=5, save_games=tmp_path / "g.castle"))
    (record,) = read_games(tmp_path / "g.castle")
    game = reply(web, begin(web, players=("random", "human"), seed=5))
    for _ in range(3):
        game = reply(web, move(web, game, game["position"]["moves"][0]["name"]))
    assert [one["name"] for one in game["moves"]] == list(
        map(STORM.format_action, record.actions))
    assert len(game["moves"]) == 7


def test_a_person_who_has_not_chosen_has_nothing_to_take_back(web: TestClient) -> None:
    game = reply(web, begin(web, players=("greedy", "human")))
    refused(web.post(f"/api/games/{game['id']}/undo", json=changed(game)), 409, "no move of yours")
    assert web.get(f"/api/games/{game['id']}").json() == game


def test_undo_goes_back_to_the_persons_decision(web: TestClient) -> None:
    game = begin(web, players=("human", "greedy"))
    game = reply(web, move(web, game, "W4"))
    game = move(web, game, game["position"]["moves"][0]["name"])
    game = web.post(f"/api/games/{game['id']}/undo", json=changed(game)).json()
    assert len(game["moves"]) == 2
    game = web.post(f"/api/games/{game['id']}/undo", json=changed(game)).json()
    assert (len(game["moves"]), game["waits_for"]) == (0, "human")
    refused(web.post(f"/api/games/{game['id']}/undo", json=changed(game)), 409, "no move")


def test_seats_change_within_a_game(web: TestClient) -> None:
    game = move(web, begin(web), "W4")
    seats = changed(game, players=["human", "greedy"])
    game = web.post(f"/api/games/{game['id']}/seats", json=seats).json()
    assert game["waits_for"] == "agent"
    assert len(reply(web, game)["moves"]) == 2


def test_a_forced_pass_is_a_move(web: TestClient) -> None:
    rules = {"mode": "sudden_death", "strongholds": ["#.....", *["......"] * 5]}
    game = begin(web, rules)
    assert [one["name"] for one in game["position"]["moves"]] == ["pass"]
    game = move(web, game, "pass")
    assert game["position"]["last"]["shifts"] == []
    assert final_analysis(web, game, 0)["played"] == 24


# Files


def test_saved_games_come_back(web: TestClient) -> None:
    game = begin(web, "sudden-death", players=("human", "random"), seed=9)
    for _ in range(4):
        game = reply(web, move(web, game, game["position"]["moves"][-1]["name"]))
    text = web.get(f"/api/games/{game['id']}/file").text
    assert parse_games(text)[0].players == ("human", "random")
    loaded = web.post("/api/games/load", json={"text": text, "name": "a.castle"})
    assert loaded.status_code == 201
    assert loaded.json()["position"]["text"] == game["position"]["text"]
    assert loaded.json()["names"] == ["human", "random"]
    assert web.get(f"/api/games/{loaded.json()['id']}/file").text == text


def test_values_that_are_proven_go_into_the_file(web: TestClient) -> None:
    game = move(web, begin(web), "W4")
    found = final_analysis(web, game, 0)
    assert found["exact"]
    text = web.get(f"/api/games/{game['id']}/file").text
    (saved,) = parse_games(text)
    assert saved.note(0).value == found["values"][str(saved.actions[0])]


def test_comments_and_start_are_kept(web: TestClient) -> None:
    start = STORM.parse_position("6/6/A1##2/B1##2/6/6 A - 7,7 0,0 4")
    saved = record_game(STORM.rules, [STORM.parse_action("Nc")], start, players=("Ann", "Bob"),
                        notes=(Note(2.0, "<b>\n{"),), comment="ende\u0301")
    text = format_game(saved)
    game = web.post("/api/games/load", json={"text": text}).json()
    assert game["moves"][0]["comment"] == "<b>\n{"
    assert game["position"]["ply"] == 5
    assert web.get(f"/api/games/{game['id']}/file").text == text


def test_one_of_several_games_is_opened(web: TestClient) -> None:
    text = "".join(format_game(record_game(STORM.rules, [action])) for action in (2, 3))
    game = web.post("/api/games/load", json={"text": text, "number": 2}).json()
    assert game["moves"][0]["name"] == "Nd"
    assert len(game["games"]) == 2
    answer = web.post("/api/games/load", json={"text": text, "number": 3, "name": "two.castle"})
    refused(answer, 400, "game 3 of 'two.castle'; allowed: 1 to 2")


@pytest.mark.parametrize("text", ["", "hello", "\x00", "castle-game: 1\n"])
def test_wrong_files(web: TestClient, text: str) -> None:
    answer = web.post("/api/games/load", json={"text": text, "name": "wrong.castle"})
    assert answer.status_code == 400
    assert "wrong.castle" in answer.json()["error"]


def test_a_wrong_move_in_a_file_is_told_with_ply_and_line(web: TestClient) -> None:
    lines = format_game(record_game(STORM.rules, [2, 3])).splitlines()
    line = next(number for number, text in enumerate(lines, 1) if ". Nd" in text)
    lines[line - 1] = lines[line - 1].replace("Nd", "W6")
    answer = web.post("/api/games/load", json={"text": "\n".join(lines), "name": "wrong.castle"})
    refused(answer, 400, "wrong.castle", f"line {line}", "ply 2", "W6")


# Thinking


def test_analysis_tells_values_and_the_regret_of_the_move_made(web: TestClient) -> None:
    game = begin(web)
    for name in ("W4", "Nd", "E3"):
        game = move(web, game, name)
    found = final_analysis(web, game, 2)
    assert found["exact"]
    state = STORM.initial_state()
    for one in game["moves"][:2]:
        state = STORM.apply(state, STORM.parse_action(one["name"]))
    values = analysis.analyse_moves(STORM, state)
    played = STORM.parse_action("E3")
    assert found["values"] == {str(key): value for key, value in values.values.items()}
    assert (found["played"], found["regret"]) == (played, values.regret(played))
    shown = web.get(f"/api/games/{game['id']}").json()["moves"][2]
    assert (shown["regret"], shown["exact"]) == (found["regret"], True)


def test_analysis_of_a_finished_game_is_refused(web: TestClient) -> None:
    rules = {"mode": "storm", "factions_per_player": 1}
    game = move(web, move(web, begin(web, rules), "Nc"), "Nd")
    refused(web.get(f"/api/games/{game['id']}/analysis/2"), 400, "over")
    assert final_analysis(web, game, 1)["exact"]


@pytest.mark.parametrize("seconds", ["0", "-1", "61", "nan", "inf", "x"])
def test_seconds_of_an_analysis_are_bounded(web: TestClient, seconds: str) -> None:
    game = begin(web)
    refused(web.get(f"/api/games/{game['id']}/analysis/0?seconds={seconds}"), 400, "seconds")


class Endless:
    """Thinks until it is stopped."""

    def __init__(self) -> None:
        self.name = "endless"
        self.begun, self.told = threading.Event(), threading.Event()

    def select_actions(self, states: Any, rng: Any) -> Any:
        self.begun.set()
        assert self.told.wait(60)
        return np.array([2])

    def stop(self) -> None:
        self.told.set()


def test_a_long_search_blocks_no_other_game_and_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = []

    def make(name: str, rules: Any) -> Any:
        if name != "endless":
            return agent_for(name, rules)
        agents.append(Endless())
        return agents[-1]

    monkeypatch.setattr(sessions, "agent_for", make)
    monkeypatch.setattr("experiments.web.app.agent_for", lambda name, rules: None)
    monkeypatch.setattr("experiments.web.app.check_seat", lambda name, rules: None)
    with TestClient(create_app(agents=["endless"]), base_url=ADDRESS) as web:
        slow = [begin(web, players=("endless", "human")) for _ in range(40)]
        for game in slow:
            while (answer := web.post(f"/api/games/{game['id']}/reply",
                                      json={"at": 0}).json())["loading"]:
                pass
            assert answer == {"moved": False, "game": None, "loading": False}
        assert len(agents) == 40
        quick = begin(web, players=("human", "greedy"))
        assert len(reply(web, move(web, quick, "W4"))["moves"]) == 2
        assert final_analysis(web, quick, 0)["exact"]

        stopped = web.post(f"/api/games/{slow[0]['id']}/stop").json()
        assert (stopped["moves"], stopped["waits_for"]) == ([], "agent")
        assert agents[0].told.is_set()
        assert not agents[1].told.is_set()
        web.post(f"/api/games/{slow[0]['id']}/reply", json={"at": 0})
        assert len(agents) == 41
        seats = changed(slow[1], players=["human", "human"])
        assert web.post(f"/api/games/{slow[1]['id']}/seats", json=seats).status_code == 200
        assert agents[1].told.is_set()
    assert all(agent.told.is_set() for agent in agents)


class Failing:
    """Has a fault, or ends the program."""

    thread_safe = True

    def __init__(self, name: str) -> None:
        self.name = name

    def select_actions(self, states: Any, rng: np.random.Generator) -> Any:
        raise {"failing": ZeroDivisionError, "leaving": SystemExit}[self.name]("too few moves")

    def stop(self) -> None:
        pass


def make_failing(name: str, arguments: str, game: Game) -> Failing:
    return Failing(name)


def test_an_agents_own_error_is_told_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("failing", "leaving"):
        monkeypatch.setitem(agents_by_name._registered, name, partial(make_failing, name))
    app = create_app(agents=["failing", "leaving"])
    with TestClient(app, base_url=ADDRESS, raise_server_exceptions=False) as web:
        for name, error in (("failing", "ZeroDivisionError"), ("leaving", "SystemExit")):
            game = begin(web, players=(name, "human"))
            url = f"/api/games/{game['id']}"
            while (answer := web.post(f"{url}/reply", json={"at": 0})).status_code == 200:
                pass
            assert answer.status_code == 500
            assert re.match(rf".*{error}: too few moves, in select_actions, line \d+ of ",
                            answer.json()["error"])
            assert web.get(url).json()["moves"] == []
        other = begin(web, players=("mcts:9", "human"))
        assert len(reply(web, other)["moves"]) == 1


def test_an_analysis_can_be_stopped_and_asked_for_again(
    web: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = threading.Event()

    def analyse(game: Any, state: Any, *, seconds: float, stopped: Any, report: Any) -> Any:
        report(MoveValues({2: 1, 3: 0}, depth=1))
        while not stopped():
            time.sleep(0.01)
        told.set()
        return MoveValues({2: 1, 3: 0}, depth=1)

    monkeypatch.setattr(sessions, "analyse_moves", analyse)
    game = begin(web)
    url = f"/api/games/{game['id']}/analysis"
    first = web.get(f"{url}/0").json()
    assert (first["done"], first["found"]["depth"], first["found"]["regrets"]) == (
        False, 1, {"2": 0, "3": 1})
    assert web.post(f"{url}/stop").status_code == 200
    assert told.wait(60)
    assert not web.get(f"{url}/0").json()["done"]
    assert web.get(f"{url}/9").status_code == 409


def test_stopped_agents_end_at_once() -> None:
    rules = Ruleset.from_dict({"mode": "storm", "strongholds": [".#...."] + ["......"] * 5})
    exact, state = make_agent("exact", Game(rules)), Game(rules).initial_state()
    threading.Timer(0.3, exact.stop).start()
    with pytest.raises(SearchStoppedError):
        exact.select_actions(stack([state]), np.random.default_rng(0))
    with pytest.raises(SearchStoppedError):
        exact.select_actions(stack([state]), np.random.default_rng(0))

    solver = Solver(STORM)
    solver.stop()
    with pytest.raises(SearchStoppedError):
        solver.solve(STORM.initial_state())

    limited = LimitedAlphaBeta("alphabeta:9999999ms", STORM, present(parse_limits("9999999ms")))
    threading.Timer(0.3, limited.stop).start()
    start = stack([STORM.initial_state()])
    (chosen,) = limited.select_actions(start, np.random.default_rng(0))
    assert chosen in STORM.legal_actions(STORM.initial_state())


def test_old_games_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_GAMES", 3)
    with TestClient(create_app(), base_url=ADDRESS) as web:
        games = [begin(web) for _ in range(3)]
        assert web.get(f"/api/games/{games[0]['id']}").status_code == 200
        begin(web)
        assert web.get(f"/api/games/{games[0]['id']}").status_code == 200
        refused(web.get(f"/api/games/{games[1]['id']}"), 404, games[1]["id"])


# Requests that are refused


def test_a_page_that_missed_a_change_changes_nothing(web: TestClient) -> None:
    old = begin(web)
    game = old
    for name in ("W4", "Nd", "E3"):
        game = move(web, game, name)
    url = f"/api/games/{game['id']}"
    seats = changed(old, players=["human", "greedy"])
    for path, request in (("moves", changed(old, at=0, action=2)), ("undo", changed(old)),
                          ("seats", seats)):
        refused(web.post(f"{url}/{path}", json=request), 409, "in another window")
        assert web.get(url).json() == game
    # Taken back and played again, the game is as long as before, but not the same.
    shorter = web.post(f"{url}/undo", json=changed(game)).json()
    move(web, shorter, "Nc")
    refused(web.post(f"{url}/undo", json=changed(game)), 409, "in another window")


def test_wrong_moves_change_nothing(web: TestClient) -> None:
    game = begin(web, players=("human", "greedy"))
    url = f"/api/games/{game['id']}"
    refused(web.post(f"{url}/moves", json=changed(game, at=0, action=0)), 400, "'Na'", "legal: Nc")
    refused(web.post(f"{url}/moves", json=changed(game, at=0, action=25)), 400, "25")
    refused(web.post(f"{url}/moves", json=changed(game, at=1, action=2)), 409, "after 1 moves")
    refused(web.post(f"{url}/reply", json={"at": 0}), 409, "a person")
    refused(web.post(f"{url}/reply", json={"at": 5}), 409, "after 5 moves")
    refused(web.get(f"{url}/positions/-1"), 409, "after -1 moves")
    assert web.get(url).json() == game


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[]", "request"),
        (b"{}", "at"),
        (b'{"at": 0, "action": "W4"}', "action"),
        (b'{"at": 0, "action": 2.5}', "action"),
        (b'{"at": 0, "action": true}', "action"),
        (b'{"at": -1, "action": 2}', "at"),
        (b'{"at": 0, "action": 2, "version": 0, "more": 1}', "more"),
        (b'{"at": 0, "action": 1' + b"0" * 400 + b"}", ""),
        (b"[" * 50_000, ""),
    ],
)
def test_bad_bodies(web: TestClient, body: bytes, words: str) -> None:
    game = begin(web)
    answer = web.post(f"/api/games/{game['id']}/moves", content=body,
                      headers={"Content-Type": "application/json"})
    refused(answer, 400, words)
    assert web.get(f"/api/games/{game['id']}").json() == game


def test_bodies_of_other_types_and_sizes(web: TestClient) -> None:
    game = begin(web)
    url = f"/api/games/{game['id']}/moves"
    answer = web.post(url, content=b'{"at": 0, "action": 2}',
                      headers={"Content-Type": "text/plain"})
    assert answer.status_code == 400
    answer = web.post(url, content=b" " * (MAX_BYTES + 1),
                      headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert web.get(f"/api/games/{game['id']}").json() == game


@pytest.mark.parametrize("path", ["/api/games/unknown", "/api/games/%00", "/api/nothing",
                                  "/../pyproject.toml", "/%2e%2e/app.py", "/api/games/a%2fb"])
def test_unknown_ids_and_paths(web: TestClient, path: str) -> None:
    answer = web.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"ruleset": "/etc/passwd"}, "no ruleset '/etc/passwd'"),
        ({"ruleset": {"mode": "chess"}}, "mode"),
        ({"ruleset": {"mode": "storm", "colour": 1}}, "colour"),
        ({"ruleset": 3}, "ruleset"),
        ({"players": ["human"]}, "players"),
        ({"players": ["ppo:/etc/passwd", "human"]}, "ppo:/etc/passwd"),
        ({"players": ["ppo-storm:/etc/passwd", "human"]}, "ppo-storm:"),
        ({"players": ["alphabeta:16", "human"]}, "alphabeta:16"),
        ({"players": ["alphabeta:8:99999ms", "human"]}, "alphabeta:8:99999ms"),
        ({"players": ["mcts:1000000", "human"]}, "mcts:1000000"),
        ({"players": ["exact", "human"], "ruleset": "sudden-death"}, "exact"),
        ({"players": ["human\n", "human"]}, "human"),
        ({"start": "6/6/6/6/6/6 A - 8,8 0,0 0"}, "strongholds"),
        ({"seed": -1}, "seed"),
        ({"seed": "1"}, "seed"),
    ],
)
def test_games_that_cannot_be_begun(web: TestClient, request_: dict[str, Any], words: str) -> None:
    body = {"ruleset": "storm", "players": ["human", "human"]} | request_
    refused(web.post("/api/games", json=body), 400, words)


NAVIGATION = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate",
              "Sec-Fetch-Dest": "document"}


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
@pytest.mark.parametrize("path", ["/", "/index.html"])
def test_a_link_elsewhere_opens_the_page_in_a_window(web: TestClient, site: str, path: str) -> None:
    assert web.get(path, headers=NAVIGATION | {"Sec-Fetch-Site": site}).status_code == 200


@pytest.mark.parametrize("change", [
    {"Sec-Fetch-Dest": "iframe"}, {"Sec-Fetch-Dest": "empty"}, {"Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Mode": "cors"}, {"Origin": "http://127.0.0.1:9000"}, {"Host": "evil.example"}])
def test_no_other_request_of_elsewhere_comes_through(
    web: TestClient, change: dict[str, Any]
) -> None:
    refused(web.get("/", headers=NAVIGATION | change), 403, "refused")
    for path in ("/api/options", "/api/games/unknown", "/main.js"):
        refused(web.get(path, headers=NAVIGATION), 403, "refused")
    refused(web.post("/", headers=NAVIGATION), 403, "refused")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8000"},
        {"Host": "127.0.0.1.evil.example:8000"},
        {"Host": ""},
        {"Host": "0.0.0.0:8000"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9000"},
        {"Origin": "https://127.0.0.1:8000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/options", "/api/games/unknown"])
def test_other_hosts_and_origins_are_refused(
    web: TestClient, headers: dict[str, Any], path: str
) -> None:
    refused(web.get(path, headers=headers), 403, "refused")
    refused(web.post(path, headers=headers, json={}), 403, "refused")


def test_the_own_page_is_let_in(web: TestClient) -> None:
    for headers in ({"Origin": ADDRESS}, {"Sec-Fetch-Site": "same-origin"},
                    {"Host": "localhost:8000", "Origin": "http://localhost:8000"}):
        assert web.get("/api/options", headers=headers).status_code == 200


def test_the_page_comes_with_headers_that_keep_others_out(web: TestClient) -> None:
    answer = web.get("/")
    assert "<title>Storm the Castle</title>" in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in answer.headers
    for path in ("/style.css", "/main.js", "/icon.svg"):
        assert web.get(path).status_code == 200


# Seats, and the editor


def test_the_command_line_may_add_agents() -> None:
    extra = Opponents(["ppo:runs/mine", "human"])
    assert extra.check("ppo:runs/mine") == "ppo:runs/mine"
    assert [agent["name"] for agent in extra.offered()].count("ppo:runs/mine") == 1
    listed = [agent["name"] for agent in Opponents(["alphabeta:4"]).offered()]
    assert listed.count("alphabeta:4") == 1
    with pytest.raises(AgentError, match="ppo:runs/other"):
        extra.check("ppo:runs/other")
    with pytest.raises(AgentError, match="sudden"):
        create_app(SUDDEN_DEATH.rules, ("exact", "human"))


def test_what_is_offered_for_rules_can_be_seated() -> None:
    opponents = Opponents()
    for rules in (STORM.rules, SUDDEN_DEATH.rules):
        for name in opponents.fitting(rules):
            assert opponents.check(name) == name
            assert agent_for(name, rules).name == name
    edited = replace(STORM.rules, factions_per_player=7, max_plies=14)
    assert not [name for name in opponents.fitting(edited) if "ppo" in name or "az" in name]
    assert {"exact", "alphabeta:4"} <= set(opponents.fitting(edited))


def test_seats_that_do_not_fit_are_told_without_the_names_of_files(web: TestClient) -> None:
    rules = {"mode": "storm", "name": "mine", "factions_per_player": 7}
    for name in ("ppo-storm", "az-storm", "ppo-sudden-death"):
        answer = web.post("/api/games", json={"ruleset": rules, "players": ["human", name]})
        message = refused(answer, 400, name, "mine")
        assert "/" not in message


def test_agents_that_search_are_not_shared() -> None:
    assert agent_for("mcts:10", STORM.rules) is agent_for("mcts:10", STORM.rules)
    for name in ("exact", "alphabeta:5ms", "alphabeta:nodes=10"):
        assert agent_for(name, STORM.rules) is not agent_for(name, STORM.rules)


def test_edited_positions(web: TestClient) -> None:
    tokens = "." * 12 + "A.##..B.##.." + "." * 12
    asked = {"ruleset": "storm", "tokens": tokens, "hands": [7, 7], "player": 0}
    answer = web.post("/api/positions", json=asked).json()
    assert answer["text"] == "6/6/A1##2/B1##2/6/6 A - 7,7 0,0 4"
    assert answer["moves"]
    by_text = web.post("/api/positions", json={"ruleset": "storm", "text": answer["text"]}).json()
    assert by_text == answer
    bastion = web.post("/api/positions", json=asked | {"bastion": 18}).json()
    assert bastion["text"] == "6/6/A1##2/B1##2/6/6 A a3 7,7 0,0 2"
    for change, words in (({"hands": [8, 7]}, "first player has 9"), ({"bastion": 0}, "bastion"),
                          ({"tokens": "." * 36}, "strongholds"), ({"tokens": "."}, "tokens"),
                          ({"ply": 500}, "500"), ({"text": "nonsense"}, "nonsense")):
        refused(web.post("/api/positions", json=asked | change), 400, words)


def test_play_goes_on_from_an_edited_position(web: TestClient) -> None:
    rules = replace(STORM.rules, name="mine").to_dict() | {"capture_credit": "enemy_only"}
    asked = {"ruleset": rules, "tokens": "." * 12 + "A.##..B.##.." + "." * 12, "hands": [7, 7]}
    text = web.post("/api/positions", json=asked).json()["text"]
    game = begin(web, rules, start=text)
    assert game["position"]["text"] == text
    assert game["rules"]["keys"]["name"] == "mine"


# The whole server


def test_many_games_at_once_without_an_error() -> None:
    with serving() as url:
        assert play_crowd(url, 20, seed=1) == 20 * 8


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} .*allowed"):
            listen(port)
    for port in (-1, 70_000):
        with pytest.raises(OSError, match=f"port {port} .*allowed"):
            listen(port)


def test_errors_of_users_are_castle_errors() -> None:
    assert issubclass(sessions.UnknownGameError, CastleError)


def half_a_request(url: str) -> socket.socket:
    """A connection on which a request has begun whose body never comes."""
    connection = socket.create_connection((HOST, present(urlsplit(url).port)))
    connection.send(b"POST /api/games HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n"
                    b"Content-Type: application/json\r\n\r\n{")
    return connection


def test_ctrl_c_ends_the_server_in_spite_of_a_request_that_never_comes(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    began = []

    def press(url: str) -> None:
        with urlopen(url, timeout=60), half_a_request(url):
            began.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
            ended.wait(60)

    ended = threading.Event()
    monkeypatch.setattr("webbrowser.open", press)
    with pytest.raises(KeyboardInterrupt):
        serve(players=("human", "random"), port=0)
    assert time.monotonic() - began[0] < 30  # without a limit it took 40 s
    ended.set()


def test_ctrl_c_again_and_again_ends_the_server_quietly() -> None:
    command = [sys.executable, "-c", "from experiments.cli import main; main()", "play", "--web",
               "--port", "0", "--no-browser", "--against", "random"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=ROOT) as server:
        url = present(server.stdout).readline().split()[2]
        with urlopen(url, timeout=60), half_a_request(url):
            for _ in range(3):
                server.send_signal(signal.SIGINT)
                time.sleep(0.2)
            _, errors = server.communicate(timeout=60)
    assert (server.returncode, errors.strip()) == (130, "castle: stopped")


def test_what_is_loaded_is_told_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()

    class Slow(Endless):
        def select_actions(self, states: Any, rng: Any) -> Any:
            told.wait(60)
            return np.array([STORM.legal_actions(STORM.initial_state())[0]])

    monkeypatch.setattr("experiments.web.warming.agent_for", lambda name, rules: Slow())
    with TestClient(create_app(), base_url=ADDRESS) as web:
        game = begin(web, players=("mcts:7", "human"))
        url = f"/api/games/{game['id']}/reply"
        assert web.post(url, json={"at": 0}).json() == {"moved": False, "game": None,
                                                        "loading": True}
        assert web.get("/api/ready").json() == {"ready": True, "doing": "mcts:7"}
        told.set()
        assert len(reply(web, game)["moves"]) == 1
        while web.get("/api/ready").json()["doing"]:
            time.sleep(0.01)
