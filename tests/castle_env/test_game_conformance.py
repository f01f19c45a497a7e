"""`Game` against the referee's files: perft counts, whole games, exact values."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from places import DATA
from strategies import game_of

from castle_env import Game
from castle_env.position import PositionArray, stack

CHUNK = 20_000


def read(file: str) -> Any:
    return json.loads((DATA / file).read_text(encoding="utf-8"))


PERFT = read("perft.json")
GAMES = [
    pytest.param(entry["ruleset"], game, id=f"{name}-{number}")
    for name, entry in read("games.json").items()
    for number, game in enumerate(entry["games"])
]
RULESET = read("exact_values.json")["ruleset"]
# Those within reach of plain minimax: at most 5 plies before the end, which is ply 16.
EXACT_VALUES = [
    record for record in read("exact_values.json")["positions"]
    if int(record["position"].split()[5]) >= 16 - 5
]


@pytest.mark.parametrize("name", PERFT)
def test_perft(name: str) -> None:
    game = game_of(PERFT[name]["ruleset"])
    start = game.initial_state()
    depths = range(1, len(PERFT[name]["counts"]) + 1)
    assert [game.perft(start, depth) for depth in depths] == PERFT[name]["counts"]
    assert game.perft(start, 0) == 1


@pytest.mark.parametrize(("ruleset", "record"), GAMES)
def test_game(ruleset: dict[str, Any], record: dict[str, Any]) -> None:
    game = game_of(ruleset)
    state = game.initial_state()
    assert [ply["move"] for ply in record["plies"]] == record["moves"]
    for ply in record["plies"]:
        assert game.format_position(state) == ply["position"]
        assert game.parse_position(ply["position"]) == state
        legal = [game.format_action(action) for action in game.legal_actions(state)]
        assert sorted(legal) == sorted(ply["legal"])
        assert not game.is_terminal(state)
        assert game.outcome(state) is None
        state = game.apply(state, game.parse_action(ply["move"]))
    assert game.format_position(state) == record["final"]
    assert game.parse_position(record["final"]) == state
    assert game.is_terminal(state)
    assert game.legal_actions(state) == []
    assert list(game.victory_points(state)) == record["vp"]
    outcome = game.outcome(state)
    assert outcome is not None
    assert list(outcome.victory_points) == record["vp"]
    assert outcome.margin == record["vp"][0] - record["vp"][1]


def minimax(game: Game, states: PositionArray) -> npt.NDArray[np.int64]:
    """Margin of player 0 at the end of best play from each position of a batch, all equally deep.

    Plain: every line of play is followed to its end, nothing is cut off or remembered.
    """
    if len(states) > CHUNK:
        parts = [states[i:i + CHUNK] for i in range(0, len(states), CHUNK)]
        return np.concatenate([minimax(game, part) for part in parts])
    if game.terminals(states).all():
        return game.margins(states)
    rows, actions = np.nonzero(game.legal_action_masks(states))
    values = minimax(game, game.apply_actions(states[rows], actions))
    best = np.minimum if states["ply"][0] % 2 else np.maximum
    return best.reduceat(values, np.searchsorted(rows, np.arange(len(states))))


@pytest.mark.parametrize("record", EXACT_VALUES, ids=lambda record: record["position"])
def test_exact_value(record: dict[str, Any]) -> None:
    game = game_of(RULESET)
    state = game.parse_position(record["position"])
    actions = game.legal_actions(state)
    after = stack([game.apply(state, action) for action in actions])
    values = dict(zip(map(game.format_action, actions), minimax(game, after).tolist(), strict=True))
    assert values == record["move_values"]
    best = min if game.current_player(state) else max
    assert best(values.values()) == record["value"]
