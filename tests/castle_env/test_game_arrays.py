"""Saved games as arrays, in one call."""

from pathlib import Path

import numpy as np
import pytest

from castle_env import Game, load_ruleset
from castle_env.game_arrays import UNKNOWN, GameArraysError, game_arrays
from castle_env.game_file import format_game
from castle_env.game_record import GameRecord, record_game

GAMES = {name: Game(load_ruleset(name)) for name in ("storm", "sudden-death")}


def random_game(name: str, seed: int, opening_plies: int = 0) -> GameRecord:
    game, rng = GAMES[name], np.random.default_rng(seed)
    states, actions = game.initial_states(1), []
    while not game.terminals(states)[0]:
        actions.append(int(game.random_actions(states, rng)[0]))
        states = game.apply_actions(states, np.array(actions[-1:]))
    return record_game(game.rules, actions, opening_plies=opening_plies)


@pytest.mark.parametrize("name", GAMES)
def test_all_positions_of_a_file(tmp_path: Path, name: str) -> None:
    game = GAMES[name]
    records = [random_game(name, seed, opening_plies=seed) for seed in range(4)]
    left = records[3].cut(5)
    (tmp_path / "g.castle").write_text("\n".join(map(format_game, [*records, left])))
    arrays = game_arrays(tmp_path / "g.castle")
    assert arrays.rules == game.rules
    row = 0
    for number, record in enumerate([*records, left]):
        for index, (state, action) in enumerate(zip(record.states(), record.actions, strict=False)):
            assert arrays.states[row].item() == tuple(state)
            assert (arrays.games[row], arrays.actions[row]) == (number, action)
            assert np.array_equal(arrays.masks[row], game.legal_action_mask(state))
            assert arrays.outcomes[row] == (UNKNOWN if record.outcome is None
                                            else record.margin_of(state.ply & 1))
            assert arrays.chosen[row] == (index >= record.opening_plies)
            row += 1
    assert row == len(arrays.states)


def test_games_without_a_common_form() -> None:
    with pytest.raises(GameArraysError, match="no ruleset"):
        game_arrays([])
    with pytest.raises(GameArraysError, match="storm, sudden-death"):
        game_arrays([random_game("storm", 0), random_game("sudden-death", 0)])
