"""The search to a horizon against plain minimax that remembers nothing, and what it skips."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from horizon import NEVER, plain

from agents.search.hash_table import new_table
from agents.search.horizon_last import new_work
from agents.search.horizon_plies import MOVER_ENDS, OPPONENT_ENDS, TURN_LIMIT, lasting_steps
from agents.search.horizon_search import ask_value, key_of
from agents.search.horizon_table import HIGHEST, LOWEST
from agents.search.null_window import Window
from agents.search.position_key import symmetry_table
from castle_env import Game, Position, Ruleset
from castle_env.board import DIRECTIONS
from castle_env.compiled import kernel
from castle_env.kernels import (
    KINDS,
    Rules,
    RuleTable,
    count_moves,
    legal_moves,
    play,
    play_pass,
)

CLAIMS = (TURN_LIMIT, MOVER_ENDS, OPPONENT_ENDS)
READINGS = list(product(["own_axis", "central", "home_edge", "all"], ["slide", "step"],
                        [False, True], ["opponent", "enemy_only"]))


def late_position(game: Game, rng: np.random.Generator, most_in_hand: int) -> Position:
    """A position of a random game in which entries are frequent, with few factions in hand."""
    while True:
        position = game.initial_state()
        while not game.is_terminal(position):
            if (min(position.own_hand, position.opposing_hand) <= most_in_hand
                    and rng.random() < 0.3):
                return position
            actions = game.legal_actions(position)
            entries = [action for action in actions if action < 24]
            position = game.apply(position, int(rng.choice(
                entries if entries and rng.random() < 0.7 else actions)))


def search_of(game: Game) -> Any:
    """A function like `plain`, with one table for all that it is asked."""
    table, work, symmetries = new_table(1 << 16), new_work(game), symmetry_table(game)

    def value(position: Position, left: int, claim: int, guess: int) -> int:
        work["stop"] = 0
        return int(ask_value(game.table, work, symmetries, table, position, left, claim,
                             Window(LOWEST, HIGHEST, guess)))

    return value


def clipped(margin: int) -> int:
    if abs(margin) >= NEVER:
        return HIGHEST if margin > 0 else LOWEST
    return margin


@pytest.mark.parametrize(("number", "reading"), list(enumerate(READINGS)))
def test_values_are_those_of_plain_minimax(
    number: int, reading: tuple[str, str, bool, str]
) -> None:
    """For each of three claims; the mover is now one player, now the other."""
    lanes, style, push, credit = reading
    rng = np.random.default_rng(number)
    movers = set[int]()
    for factions in (2, 3, 4, 5):
        game = Game(Ruleset.from_dict({
            "mode": "sudden_death", "factions_per_player": factions, "entry_lanes": lanes,
            "entry_style": style, "steps_must_push": push, "capture_credit": credit}))
        value = search_of(game)
        for index in range(12):
            position = late_position(game, rng, 2)
            movers.add(position.ply & 1)
            left = 3 if index % 8 else 4
            for claim in CLAIMS:
                assert value(position, left, claim, int(rng.integers(-4, 5))) == clipped(
                    int(plain(game.table, position, left, claim))), (position, left, claim)
    assert movers == {0, 1}


def test_the_whole_game_is_that_of_plain_minimax() -> None:
    for lanes, style, push, credit in READINGS:
        game = Game(Ruleset.from_dict({
            "mode": "sudden_death", "factions_per_player": 2, "entry_lanes": lanes,
            "entry_style": style, "steps_must_push": push, "capture_credit": credit}))
        start, value = game.initial_state(), search_of(game)
        for left, claim in product(range(1, 5), CLAIMS):
            assert value(start, left, claim, 0) == clipped(
                int(plain(game.table, start, left, claim)))


@kernel
def goes_on(rules: Rules, position: Position, count: int, steps_now: bool) -> bool:
    """Whether one player can make so many steps, whatever the other plays between them.

    That is the mover if it `steps_now`, else the opponent.
    """
    if count == 0:
        return True
    moves = legal_moves(rules, position)
    if not steps_now and count_moves(moves) == 0:
        return goes_on(rules, play_pass(position), count, True)
    for kind in range(DIRECTIONS if steps_now else 0, KINDS):
        squares = moves[kind]
        while squares:
            after = play(rules, position, kind, squares & -squares)
            if goes_on(rules, after, count - steps_now, not steps_now) == steps_now:
                return steps_now
            squares &= squares - 1
    return not steps_now


@kernel
def counted(table: RuleTable, position: Position) -> int:
    return lasting_steps(table[0], position.own, position)


@kernel
def steps_for(table: RuleTable, position: Position, count: int) -> bool:
    return goes_on(table[0], position, count, True)


def test_steps_said_to_last_can_be_made() -> None:
    game = Game(Ruleset.from_dict({"mode": "sudden_death", "factions_per_player": 5}))
    rng = np.random.default_rng(0)
    seen = set[int]()
    for _ in range(120):
        position = late_position(game, rng, 3)
        count = int(counted(game.table, position))
        seen.add(count)
        assert steps_for(game.table, position, min(count, 3))
    assert {1, 2, 3} <= seen


def test_keys_tell_apart_what_the_rules_do() -> None:
    game = Game(Ruleset.from_dict({"mode": "sudden_death", "factions_per_player": 3}))
    symmetries, work = symmetry_table(game, use=False)[0], new_work(game)[0]
    start = game.initial_state()
    variants = [start, *(start._replace(**{field: 1}) for field in
                         ("own", "opposing", "strongholds", "bastion", "own_hand",
                          "opposing_hand", "ply"))]
    keys = {key_of(symmetries, work, position, claim)[0]
            for position in variants for claim in CLAIMS}
    assert len(keys) == len(variants) * len(CLAIMS)
