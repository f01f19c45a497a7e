"""The game for OpenSpiel plays as `Game` does, and OpenSpiel's own tools accept it."""

import pickle

import numpy as np
import pytest

from castle_env import Game, Position, load_ruleset
from castle_env.errors import IllegalActionError, OptionError, RulesetError

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms.exploitability import exploitability  # noqa: E402
from open_spiel.python.policy import TabularPolicy, UniformRandomPolicy  # noqa: E402

from castle_env.openspiel_game import GAME_TYPE, NAME  # noqa: E402

GAMES = {"storm": "storm", "sudden-death": "sudden-death,reward=margin",
         "storm-towers": "storm-towers,factions_per_player=3"}


@pytest.mark.parametrize("preset", GAMES)
def test_a_game_is_the_same_as_ours(preset: str) -> None:
    game = pyspiel.load_game(f"{NAME}(ruleset={GAMES[preset]})")
    rng = np.random.default_rng(1)
    state, ours = game.new_initial_state(), game.castle
    position = ours.initial_state()
    while not ours.is_terminal(position):
        assert state.legal_actions() == ours.legal_actions(position)
        assert state.current_player() == ours.current_player(position)
        assert state.returns() == [0.0, 0.0]
        for player in (0, 1):
            seen = np.array(state.observation_tensor(player), np.float32).reshape(18, 6, 6)
            np.testing.assert_array_equal(seen, ours.observation(position, player))
        action = int(rng.choice(state.legal_actions()))
        assert state.action_to_string(action) == ours.format_action(action)
        before = state.clone()
        state.apply_action(action)
        assert str(before) == ours.format_position(position)  # a clone lives on its own
        position = ours.apply(position, action)
        assert str(state) == ours.format_position(position)
    outcome = ours.outcome(position)
    assert outcome is not None
    assert state.is_terminal()
    assert state.current_player() == pyspiel.PlayerId.TERMINAL
    margin = outcome.margin
    expected = margin / 16 if game.get_parameters()["reward"] == "margin" else np.sign(margin)
    assert state.returns() == [expected, -expected]
    assert game.min_utility() <= expected <= game.max_utility()
    assert len(state.history()) <= game.max_game_length()


def test_a_state_survives_pickle_and_serialisation() -> None:
    state = pyspiel.load_game(f"{NAME}(ruleset=sudden-death)").new_initial_state()
    for _ in range(9):
        state.apply_action(state.legal_actions()[-1])
    copies = [pickle.loads(pickle.dumps(state)), pyspiel.deserialize_game_and_state(
        pyspiel.serialize_game_and_state(state.get_game(), state))[1]]
    for copy in copies:
        assert str(copy) == str(state)
        assert copy.history() == state.history()


def test_exploitability_of_best_play_is_none() -> None:
    """One faction each: the value is that of best play, and random play is far from it."""
    game = pyspiel.load_game(f"{NAME}(factions_per_player=1)")
    ours = Game(game.castle.rules)
    best = TabularPolicy(game)
    for text, row in best.state_lookup.items():
        position = ours.initial_state()
        for action in filter(None, text.replace(",", " ").split()):
            position = ours.apply(position, int(action))
        legal = ours.legal_actions(position)
        worth = {action: _worth(ours, ours.apply(position, action)) for action in legal}
        top = max(worth.values()) if ours.current_player(position) == 0 else min(worth.values())
        best.action_probability_array[row] = 0
        best.action_probability_array[row, next(a for a in legal if worth[a] == top)] = 1
    assert exploitability(game, best) == 0
    assert exploitability(game, UniformRandomPolicy(game)) > 0.3


def _worth(game: Game, position: Position) -> int:
    """Who wins from here by best play: 1, 0 or -1 for player 0."""
    outcome = game.outcome(position)
    if outcome is not None:
        return int(np.sign(outcome.margin))
    choose = max if game.current_player(position) == 0 else min
    return choose(_worth(game, game.apply(position, action))
                  for action in game.legal_actions(position))


def test_wrong_parameters_and_moves_are_our_errors() -> None:
    for parameters, error in (("reward=points", OptionError), ("ruleset=chess", RulesetError),
                              ("factions_per_player=9", RulesetError),
                              ("ruleset=sudden-death,max_plies=-1", RulesetError)):
        with pytest.raises(error, match=r"allowed|neither"):
            pyspiel.load_game(f"{NAME}({parameters})")
    state = pyspiel.load_game(NAME).new_initial_state()
    with pytest.raises(IllegalActionError, match="'pass'"):
        state.apply_action(24)


def test_it_is_registered_once_and_completely() -> None:
    assert NAME in pyspiel.registered_names()
    rules = load_ruleset("storm")
    assert pyspiel.load_game(NAME).max_game_length() == rules.max_plies
    assert set(GAME_TYPE.parameter_specification) == {"ruleset", "factions_per_player",
                                                      "max_plies", "reward"}
