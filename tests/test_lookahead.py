"""What networks read: gains against a slow count over `Game`, their layout, and symmetries."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from scripted import BLOCKED, ONE_FACTION, QUICK_DEATH, game_of_source, name_of
from strategies import Keys, game_of, play, playouts, rulesets
from test_symmetry import moved

from agents.networks.encoding import PLANE_NUMBERS, Encoding
from agents.networks.lookahead import VP_SCALE, WINDOW
from castle_env import Game, OptionError, Position
from castle_env.board import PASS, SIZE
from castle_env.observation import PLANES
from castle_env.position import stack

# Rulesets in which every kind of Victory Points moves, forfeits are counted and passes are common.
POINTS = {
    "name": "points", "mode": "sudden_death", "entry_lanes": "home_edge", "steps_must_push": True,
    "max_plies": 30, "capture_credit": "enemy_only",
    "victory_points": {"captured": 3, "besieging": -1, "contact": 2, "controlled": 4,
                       "survivor": 1, "squares": [[1, 0, -2, 3, 0, 2]] * 6},
}
SOURCES = ["storm", "sudden-death", "sudden-death-step", QUICK_DEATH, ONE_FACTION, BLOCKED, POINTS]

few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def margin(game: Game, position: Position, player: int) -> int:
    """What a player leads by, in VP."""
    points = game.victory_points(position)
    return points[player] - points[1 - player]


def best_margin(game: Game, position: Position, plies: int, player: int) -> int:
    """What a player leads by after some more plies of best play by both."""
    if plies == 0 or game.is_terminal(position):
        return margin(game, position, player)
    margins = [best_margin(game, game.apply(position, action), plies - 1, player)
               for action in game.legal_actions(position)]
    return max(margins) if game.current_player(position) == player else min(margins)


def slow_lookahead(game: Game, position: Position, plies: int) -> tuple[Any, Any]:
    """Gains (plies, num_actions) and totals (1 + plies,) of the player whose turn it is, in VP."""
    mover, legal = position.ply % 2, game.legal_actions(position)
    gains, totals = np.zeros((plies, game.num_actions)), np.zeros(1 + plies)
    totals[0] = margin(game, position, mover)
    for ahead in range(plies if legal else 0):
        gains[ahead, legal] = [best_margin(game, game.apply(position, action), ahead, mover)
                               - totals[0] for action in legal]
        totals[1 + ahead] = gains[ahead, legal].max()
        gains[ahead, legal] = gains[ahead, legal].clip(min=totals[1 + ahead] - WINDOW)
    return gains, totals


def parts(encoding: Encoding, rows: Any) -> tuple[Any, Any, Any]:
    """Planes, gains in VP and totals in VP of rows."""
    planes, gains, totals = np.split(rows, [PLANE_NUMBERS, PLANE_NUMBERS + encoding.gains], axis=1)
    shape = (len(rows), encoding.lookahead, encoding.game.num_actions)
    return (planes.reshape(len(rows), PLANES, SIZE, SIZE), gains.reshape(shape) * VP_SCALE,
            totals * VP_SCALE)


def check_positions(game: Game, positions: list[Position], plies: int) -> None:
    encoding = Encoding(game, plies)
    rows, masks = encoding.encode(stack(positions))
    assert rows.shape == (len(positions), encoding.size)
    assert rows.dtype == np.float32
    _, gains, totals = parts(encoding, rows)
    assert not gains[np.broadcast_to(masks[:, None] == 0, gains.shape)].any()
    for index, position in enumerate(positions):
        slow = slow_lookahead(game, position, plies)
        assert np.allclose(gains[index], slow[0], atol=1e-4)
        assert np.allclose(totals[index], slow[1], atol=1e-4)


def random_positions(game: Game, games: int, every: int) -> list[Position]:
    """Every few positions of random games and the last of each, which is over."""
    rng, positions = np.random.default_rng(5), []
    for _ in range(games):
        passed = play(game, rng.integers(120, size=200).tolist())
        positions += [*passed[:-1][::every], passed[-1]]
    return positions


# Gains


@pytest.mark.parametrize("plies", [1, 2])
@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_gains_are_those_of_a_slow_count_over_the_rules(source: Any, plies: int) -> None:
    game = game_of_source(source)
    check_positions(game, random_positions(game, 4, 4), plies)


@pytest.mark.parametrize("source", ["storm", QUICK_DEATH, BLOCKED, POINTS], ids=name_of)
def test_gains_within_three_plies(source: Any) -> None:
    game = game_of_source(source)
    check_positions(game, random_positions(game, 1, 5)[:6], 3)


@few
@given(keys=rulesets(), moves=playouts(40))
def test_gains_under_any_ruleset(keys: Keys, moves: list[int]) -> None:
    game = game_of(keys)
    positions = play(game, moves)
    check_positions(game, positions[-1::-7], 2)


def test_the_positions_looked_at_are_of_every_kind() -> None:
    """Passes, games that are over, that end by the next action, and both players to move."""
    seen: Counter[str] = Counter()
    for game in map(game_of_source, SOURCES):
        for position in random_positions(game, 4, 4):
            legal = game.legal_actions(position)
            seen[f"player {game.current_player(position)}"] += 1
            seen["over"] += game.is_terminal(position)
            seen["pass"] += legal == [PASS]
            afters = [game.apply(position, action) for action in legal]
            seen["last"] += any(map(game.is_terminal, afters))
            seen["pass next"] += any(game.legal_actions(after) == [PASS] for after in afters)
    assert min(seen[kind] for kind in ("player 0", "player 1", "over", "pass", "last",
                                       "pass next")) > 5


@pytest.mark.parametrize(("text", "gains", "totals"), [
    # Entering pushes the stronghold on: 1 to besiege it and 2 to control it. The reply pushes it
    # away from under the first faction and gains the same, 3 ahead becomes 3 behind.
    ("6/6/6/2#3/6/6 A - 1,1 0,0 0", {"Nc": (3, -3), "Sc": (3, -3), "W3": (3, -3), "E3": (3, -3)},
     (0, 3, -3)),
    # The reply, from the seat of player 1: from 3 behind to 3 ahead, and the game is over.
    ("6/6/6/2A3/2#3/6 B c3 0,1 0,0 1", {"W2": (6, 6), "E2": (6, 6)}, (-3, 6, 6)),
])
def test_gains_by_hand(
    text: str, gains: dict[str, tuple[int, int]], totals: tuple[int, int, int]
) -> None:
    game = game_of({"mode": "storm", "factions_per_player": 1,
                    "strongholds": ["......"] * 3 + ["..#..."] + ["......"] * 2})
    encoding = Encoding(game, 2)
    _, found, found_totals = parts(encoding, encoding.encode(stack([game.parse_position(text)]))[0])
    expected = np.zeros((2, game.num_actions))
    for action, pair in gains.items():
        expected[:, game.parse_action(action)] = pair
    assert np.array_equal(found[0], expected)
    assert tuple(found_totals[0]) == totals


# Layout


@pytest.mark.parametrize("source", ["storm", QUICK_DEATH], ids=name_of)
def test_a_row_is_planes_then_gains_then_totals(source: Any) -> None:
    game = game_of_source(source)
    states = stack(random_positions(game, 3, 1))
    planes, masks = game.encode(states)
    rows = {plies: Encoding(game, plies).encode(states) for plies in (0, 1, 2, 3)}
    count = game.num_actions
    assert [rows[plies][0].shape[1] for plies in rows] == [
        648, 648 + count + 2, 648 + 2 * count + 3, 648 + 3 * count + 4]
    for plies, (row, legal) in rows.items():
        assert Encoding(game, plies).space.shape == row.shape[1:]
        assert np.array_equal(row[:, :648], planes.reshape(len(states), -1))
        assert np.array_equal(legal, masks)
    for plies in (1, 2):
        fewer, more = rows[plies][0][:, 648:], rows[plies + 1][0][:, 648:]
        end = plies * count
        assert np.array_equal(fewer[:, :end], more[:, :end])
        assert np.array_equal(fewer[:, end:], more[:, end + count:-1])
        assert np.abs(more[:, end:end + count]).max() > 0


@pytest.mark.parametrize("lookahead", [-1, 4])
def test_no_other_lookahead(lookahead: int) -> None:
    with pytest.raises(OptionError, match=f"lookahead is {lookahead}; allowed: 0 to 3"):
        Encoding(game_of_source("storm"), lookahead)


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_who_is_not_to_move_sees_its_margin_and_no_gains(source: Any) -> None:
    game = game_of_source(source)
    positions = random_positions(game, 3, 3)
    states, encoding = stack(positions), Encoding(game)
    movers = states["ply"] & 1
    for players in (movers, 1 - movers, np.zeros_like(movers), np.ones_like(movers)):
        planes, _ = game.encode(states, players)
        seen, gains, totals = parts(encoding, encoding.extend(states, planes, players))
        assert np.array_equal(seen, planes)
        assert totals[:, 0].tolist() == [margin(game, position, player) for position, player
                                         in zip(positions, players.tolist(), strict=True)]
        assert not gains[players != movers].any()
        assert not totals[players != movers, 1:].any()
        expected = encoding.encode(states)[0][players == movers]
        assert np.array_equal(gains[players == movers], parts(encoding, expected)[1])


# Symmetries


@pytest.mark.parametrize("source", ["storm", "sudden-death", QUICK_DEATH], ids=name_of)
@pytest.mark.parametrize("plies", [0, 1, 3])
def test_encoding_commutes_with_symmetries(source: Any, plies: int) -> None:
    """Gains move with their actions, planes with their squares; totals and numbers stay."""
    game = game_of_source(source)
    positions, encoding = random_positions(game, 4, 2), Encoding(game, plies)
    rows, masks = encoding.encode(stack(positions))
    row_maps, action_maps = encoding.symmetry_maps()
    assert row_maps.shape == (len(game.symmetries()), encoding.size)
    assert np.array_equal(row_maps[0], np.arange(encoding.size))
    for index, (square_map, action_map) in enumerate(game.symmetries()):
        images = stack([moved(position, square_map.tolist()) for position in positions])
        image_rows, image_masks = encoding.encode(images)
        assert np.array_equal(image_rows, rows[:, row_maps[index]])
        assert np.array_equal(image_masks, masks[:, action_maps[index]])
        assert np.array_equal(action_maps[index][action_map], np.arange(game.num_actions))
    assert len(row_maps) > 1
