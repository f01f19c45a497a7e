"""A ruleset's symmetries: exactly those that keep it, and they commute with play."""

import numpy as np
import pytest
from board_maps import board_maps, moved
from hypothesis import given
from reference import ReferenceGame, action_texts, edge_square, line, square
from strategies import Keys, game_of, play, playouts, rulesets, some

from castle_env.position import stack


def mapped_text(action: str, square_map: list[int]) -> str:
    """Text of an action after a square map, by where its first two squares go."""
    if action == "pass":
        return action
    entry = len(action) == 2
    if entry:
        first = edge_square(action)
        inward = {"N": "S", "S": "N", "W": "E", "E": "W"}[action[0]]
        squares = [first, line(first, inward)[1]]
    else:
        squares = [square(action[:2]), square(action[2:])]
    images = [divmod(square_map[row * 6 + column], 6) for row, column in squares]
    names = ["abcdef"[column] + "654321"[row] for row, column in images]
    if not entry:
        return names[0] + names[1]
    (row, column), (next_row, next_column) = images
    if row == next_row:
        return ("W" if next_column > column else "E") + names[0][1]
    return ("N" if next_row > row else "S") + names[0][0]


def expected_maps(keys: Keys) -> list[list[int]]:
    """Square maps that keep strongholds, square points and both players' lanes."""
    reference = ReferenceGame(keys)
    forts = "".join(reference.strongholds)
    points = [n for row in reference.table.get("squares") or [[0] * 6] * 6 for n in row]
    entries = [text for text in action_texts("storm") if text != "pass"]
    return [
        m for m in board_maps()
        if all(forts[m[s]] == forts[s] and points[m[s]] == points[s] for s in range(36))
        and all(reference.may_enter(player, entry)
                == reference.may_enter(player, mapped_text(entry, m))
                for entry in entries if entry for player in (0, 1))
    ]


@some
@given(keys=rulesets())
def test_symmetries_are_those_that_keep_the_rules(keys: Keys) -> None:
    symmetries = game_of(keys).symmetries()
    maps = [square_map.tolist() for square_map, _ in symmetries]
    assert sorted(maps) == sorted(expected_maps(keys))
    texts = action_texts(keys["mode"])
    for square_map, action_map in symmetries:
        assert sorted(action_map.tolist()) == list(range(len(texts)))
        for action, text in enumerate(texts):
            image = texts[action_map[action]]
            assert image == (text and mapped_text(text, square_map.tolist()))


@some
@given(keys=rulesets(), moves=playouts(40))
def test_symmetries_commute_with_play(keys: Keys, moves: list[int]) -> None:
    game = game_of(keys)
    positions = play(game, moves)
    for square_map, action_map in game.symmetries()[1:]:
        places = square_map.tolist()
        images = [moved(position, places) for position in positions]
        masks = game.legal_action_masks(stack(positions))
        assert np.array_equal(game.legal_action_masks(stack(images))[:, action_map], masks)
        for position, image, mask in zip(positions, images, masks, strict=True):
            assert game.victory_points(image) == game.victory_points(position)
            for action in np.flatnonzero(mask):
                after = game.apply(image, action_map[action])
                assert after == moved(game.apply(position, action), places)


@pytest.mark.parametrize(
    ("keys", "count"),
    [
        ({"mode": "storm"}, 8),
        ({"mode": "sudden_death"}, 4),
        ({"mode": "sudden_death", "entry_lanes": "central"}, 8),
        ({"mode": "sudden_death", "entry_lanes": "all"}, 8),
        ({"mode": "sudden_death", "entry_lanes": "home_edge"}, 2),
        ({"mode": "storm", "strongholds": ["#....."] + ["......"] * 5}, 2),
        ({"mode": "storm", "strongholds": [".#...."] + ["......"] * 5}, 1),
        ({"mode": "storm", "victory_points": {"squares": [[1, 2, 3, 3, 2, 1]] * 6}}, 4),
        ({"mode": "storm", "victory_points": {"squares": [[1, 2, 3, 4, 5, 6]] * 6}}, 2),
    ],
)
def test_number_of_symmetries(keys: Keys, count: int) -> None:
    symmetries = game_of(keys).symmetries()
    assert len(symmetries) == count
    square_map, action_map = symmetries[0]
    assert square_map.tolist() == list(range(36))
    assert action_map.tolist() == list(range(len(action_map)))
