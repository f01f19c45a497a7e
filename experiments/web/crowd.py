"""Many games at once on one server, played over HTTP as the page does."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from itertools import repeat
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from experiments.play.game_in_play import HUMAN

_SECONDS: Final = 60.0


def play_crowd(url: str, games: int, seed: int) -> int:
    """Play so many games of storm at the same time, against random; the number of moves answered.

    Each has a connection of its own. Raises `RuntimeError` for any answer that is an error.
    """
    with ThreadPoolExecutor(games) as pool:
        return sum(pool.map(_play_game, repeat(url), range(seed, seed + games)))


def _play_game(url: str, seed: int) -> int:
    rng = np.random.default_rng(seed)
    with closing(HTTPConnection(urlsplit(url).netloc, timeout=_SECONDS)) as connection:
        game = _post(connection, "", {"ruleset": "storm", "players": [HUMAN, "random"],
                                      "seed": seed})
        answered = 0
        while game["waits_for"] is not None:
            moves, at = game["position"]["moves"], len(game["moves"])
            action = moves[rng.integers(len(moves))]["action"]
            game = _post(connection, f"/{game['id']}/moves", {"at": at, "action": action,
                                                             "version": game["version"]})
            while game["waits_for"] == "agent":
                reply = _post(connection, f"/{game['id']}/reply", {"at": at + 1})
                game = reply["game"] if reply["moved"] else game
            answered += 1
        return answered


def _post(connection: HTTPConnection, path: str, body: dict[str, Any]) -> dict[str, Any]:
    connection.request("POST", f"/api/games{path}", json.dumps(body),
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read().decode()
    if response.status not in (200, 201):
        raise RuntimeError(f"{path or 'a new game'} was answered with {response.status}: {text}")
    answer: dict[str, Any] = json.loads(text)
    return answer
