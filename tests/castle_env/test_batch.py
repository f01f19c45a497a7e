"""Calls on a batch give what calls on one position give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Keys, choices, game_of, play, playouts, rulesets, some

from castle_env import Game, IllegalActionError, load_ruleset
from castle_env.batch import choose_from_masks
from castle_env.position import stack, unstack


@some
@given(keys=rulesets(), games=st.lists(playouts(), min_size=1, max_size=4), choice=choices)
def test_batch_equals_single(keys: Keys, games: list[list[int]], choice: int) -> None:
    game = game_of(keys)
    positions = [position for moves in games for position in play(game, moves)]
    states = stack(positions)
    assert unstack(states) == positions
    masks = [game.legal_action_mask(position) for position in positions]
    assert np.array_equal(game.legal_action_masks(states), masks)
    assert game.terminals(states).tolist() == [game.is_terminal(p) for p in positions]
    points = [game.victory_points(position) for position in positions]
    assert game.margins(states).tolist() == [first - second for first, second in points]

    going_on = [position for position in positions if not game.is_terminal(position)]
    legal = [game.legal_actions(position) for position in going_on]
    actions = np.array([allowed[choice % len(allowed)] for allowed in legal], dtype=np.int64)
    before = stack(going_on)
    after = game.apply_actions(before, actions)
    assert unstack(after) == [game.apply(*pair) for pair in zip(going_on, actions, strict=True)]
    assert unstack(before) == going_on
    drawn = game.random_actions(before, np.random.default_rng(choice)).tolist()
    assert all(action in allowed for action, allowed in zip(drawn, legal, strict=True))


@some
@given(keys=rulesets(), moves=playouts(), wrong=choices)
def test_batch_names_the_illegal_action(keys: Keys, moves: list[int], wrong: int) -> None:
    game = game_of(keys)
    positions = [position for position in play(game, moves) if not game.is_terminal(position)]
    actions = np.array([game.legal_actions(position)[0] for position in positions])
    at_fault = wrong % len(positions)
    illegal = np.flatnonzero(game.legal_action_mask(positions[at_fault]) == 0)
    actions[at_fault] = illegal[wrong % len(illegal)]
    with pytest.raises(IllegalActionError) as caught:
        game.apply_actions(stack(positions), actions)
    assert game.format_position(positions[at_fault]) in str(caught.value)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_initial_states(count: int) -> None:
    game = Game(load_ruleset("sudden-death"))
    assert unstack(game.initial_states(count)) == [game.initial_state()] * count


@pytest.mark.parametrize("preset", ["storm", "sudden-death-step"])
def test_random_actions_reach_every_legal_action_about_equally(preset: str) -> None:
    game = Game(load_ruleset(preset))
    actions = game.random_actions(game.initial_states(8_000), np.random.default_rng(1))
    legal, counts = np.unique(actions, return_counts=True)
    assert legal.tolist() == game.legal_actions(game.initial_state())
    assert counts.min() > 850
    assert counts.max() < 1150


@pytest.mark.parametrize("width", [25, 169])
@pytest.mark.parametrize("share", [0.03, 0.5, 1.0])
def test_draws_from_masks_are_the_allowed_actions_in_their_order(width: int, share: float) -> None:
    rng = np.random.default_rng(width)
    masks = (rng.random((300, width)) < share).astype(np.int8)
    uniforms = rng.random(300)
    uniforms[:50], uniforms[50:100] = 0.0, np.nextafter(1.0, 0.0)
    masks[::10] = 0
    masks[::20, -1] = 1
    actions = np.full(300, -1)
    choose_from_masks(0, 200, masks, uniforms, actions)
    expected = [mask.nonzero()[0][int(uniform * mask.sum())] if mask.any() else 0
                for mask, uniform in zip(masks, uniforms, strict=True)]
    assert actions.tolist() == expected[:200] + [-1] * 100
