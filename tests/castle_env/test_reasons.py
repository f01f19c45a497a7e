"""Why an action is illegal: words exactly where the mask says so, and about the true obstacle.

The reference, which shares no code with the rules, tells what stands in the way.
"""

import re
from copy import deepcopy

import pytest
from hypothesis import example, given, settings
from reference import (
    OPPOSITE,
    TOKENS,
    ReferenceGame,
    Square,
    State,
    edge_square,
    line,
    square,
)
from strategies import Keys, game_of, play, playouts, rulesets, some

from castle_env import Game, IllegalActionError, load_ruleset

STEPPING_IN = {"mode": "sudden_death", "entry_style": "step", "entry_lanes": "home_edge"}
PUSHING = {"mode": "sudden_death", "steps_must_push": True, "max_plies": 70}


@settings(some, max_examples=40)
@given(keys=rulesets(), moves=playouts())
@example(keys=STEPPING_IN, moves=list(range(70)))
@example(keys=PUSHING, moves=list(range(70)))
@example(keys={"mode": "storm"}, moves=list(range(16)))
def test_reasons_follow_the_mask_and_name_the_true_obstacle(keys: Keys, moves: list[int]) -> None:
    game, reference = game_of(keys), ReferenceGame(keys)
    for position in play(game, moves)[-8:]:
        state = reference.parse(game.format_position(position))
        mask = game.legal_action_mask(position)
        for action, text in enumerate(reference.actions):
            reason = game.why_illegal(position, action)
            assert (reason is None) == bool(mask[action]), (keys, text, reason)
            if reason is not None:
                assert is_true(reference, state, text, reason), (text, reason)


def is_true(reference: ReferenceGame, state: State, action: str | None, reason: str) -> bool:
    """Whether the reason is one, by the reference alone."""
    mover = reference.mover(state)
    if reason == "the game is over":
        return reference.is_terminal(state)
    if action is None:
        return reason == "a faction cannot walk off the board"
    if action == "pass":
        return reason == "passing is allowed only when no other move is legal"
    enters = len(action) == 2
    if enters and not reference.may_enter(mover, action):
        return reason == "this lane is closed to the player to move"
    lane = lane_of(action)
    tokens = [state.grid[row][column] for row, column in lane]
    if not enters and tokens[0] != TOKENS[mover]:
        return reason == {" ": f"no faction stands on {action[:2]}",
                          "#": f"a stronghold stands on {action[:2]}, and only factions step"
                          }.get(tokens[0], f"the faction on {action[:2]} is the opponent's")
    if enters and not "".join(tokens).strip():
        return reason == "no token to push in this lane"
    if not enters and tokens[1] == " ":
        return reference.steps_must_push and reason == (
            f"{action[2:]} is free, and a step has to push")
    return held_by_what_it_names(reference, state, action, reason)


def lane_of(action: str) -> list[Square]:
    """The squares from where a move starts to the edge that it goes to."""
    if len(action) == 2:
        return line(edge_square(action), OPPOSITE[action[0]])
    start, target = square(action[:2]), square(action[2:])
    return next(squares for direction in "NSWE"
                if (squares := line(start, direction))[1:2] == [target])


def held_by_what_it_names(
    reference: ReferenceGame, state: State, action: str, reason: str
) -> bool:
    """Whether the move becomes legal once all that is named is gone, and not before."""
    def legal_without(parts: list[str]) -> bool:
        changed = deepcopy(state)
        for part in parts:
            row, column = square(part[-2:])
            if part.startswith("bastion"):
                assert changed.bastion == (row, column)
                changed.bastion = None
            else:
                assert changed.grid[row][column] == "#"
                changed.grid[row][column] = "A"
        return action in reference.legal(changed)

    named = re.findall(r"(?:bastion|stronghold) on [a-f][1-6]", reason)
    return bool(named) and legal_without(named) and not any(
        legal_without([part for part in named if part != left]) for left in named)


@pytest.mark.parametrize(("ruleset", "position", "action", "reason"), [
    ("storm", "6/6/2##2/2##2/6/6 A - 8,8 0,0 0", "Na", "no token to push in this lane"),
    ("storm", "2A3/2#3/3#2/2##2/6/6 B c6 7,8 0,0 1", "Nc", "the bastion on c6 stands in the run"),
    ("storm", "6/6/3#2/3#2/2#3/2#3 A - 8,8 0,0 0", "Nc",
     "it would push the stronghold on c1 off the board"),
    ("storm", "6/6/3#2/2##2/2A3/2#3 B c2 7,8 0,0 1", "Nc",
     "the bastion on c2 stands in the run, and it would push the stronghold on c1 off the board"),
    ("storm", "6/6/2##2/2##2/6/6 A - 8,8 0,0 0", "pass",
     "passing is allowed only when no other move is legal"),
    ("sudden-death", "6/6/2##2/2##2/6/6 A - 8,8 0,0 0", "W3",
     "this lane is closed to the player to move"),
    ("sudden-death", "6/6/2##2/2##2/6/6 A - 8,8 0,0 0", "a6a5", "no faction stands on a6"),
])
def test_words(ruleset: str, position: str, action: str, reason: str) -> None:
    game = Game(load_ruleset(ruleset))
    state = game.parse_position(position)
    number = game.parse_action(action)
    assert game.why_illegal(state, number) == reason
    with pytest.raises(IllegalActionError, match=f"{re.escape(reason)}; legal: "):
        game.apply(state, number)
