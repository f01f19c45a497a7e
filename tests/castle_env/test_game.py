"""`Game` against the slow reference on random games of random rulesets, and by hand."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference import ReferenceGame, State
from strategies import Keys, choices, game_of, many, play, playouts, rulesets, some

from castle_env import Game, IllegalActionError, Position, load_ruleset

BLOCKED = {"mode": "storm", "strongholds": ["######"] * 6}
NOTHING_TO_PUSH = {
    "mode": "sudden_death",
    "strongholds": ["#....."] + ["......"] * 5,
    "max_plies": 9,
    "capture_credit": "enemy_only",
}


@many
@given(keys=rulesets(), moves=playouts(), wrong=choices)
@example(keys=BLOCKED, moves=[0] * 20, wrong=0)
@example(keys=NOTHING_TO_PUSH, moves=[0] * 20, wrong=5)
def test_game_agrees_with_reference(keys: Keys, moves: list[int], wrong: int) -> None:
    game, reference = game_of(keys), ReferenceGame(keys)
    position, state = game.initial_state(), reference.initial()
    assert game.num_actions == len(reference.actions)
    for choice in [*moves, None]:
        check_position(game, reference, position, state)
        check_illegal(game, position, wrong)
        legal = reference.legal(state)
        if choice is None or not legal:
            break
        action = legal[choice % len(legal)]
        state = reference.apply(state, action)
        position = game.apply(position, game.parse_action(action))


def check_position(
    game: Game, reference: ReferenceGame, position: Position, state: State
) -> None:
    text = reference.format(state)
    assert game.format_position(position) == text
    assert game.parse_position(text) == position
    assert reference.parse(text) == state
    legal = set(reference.legal(state))
    mask = game.legal_action_mask(position)
    assert mask.dtype == np.int8
    assert mask.tolist() == [int(action in legal) for action in reference.actions], text
    assert game.legal_actions(position) == np.flatnonzero(mask).tolist()
    assert game.current_player(position) == reference.mover(state)
    assert game.victory_points(position) == reference.victory_points(state), text
    check_end(game, reference, position, state)


def check_end(game: Game, reference: ReferenceGame, position: Position, state: State) -> None:
    assert game.is_terminal(position) == reference.is_terminal(state)
    outcome = game.outcome(position)
    if not reference.is_terminal(state):
        assert outcome is None
        return
    assert outcome is not None
    first, second = reference.victory_points(state)
    assert outcome.reason == reference.end_reason(state)
    assert outcome.by_row == reference.by_row(state)
    assert outcome.victory_points == (first, second)
    assert outcome.margin == first - second
    assert outcome.winner == (None if first == second else int(second > first))


def check_illegal(game: Game, position: Position, choice: int) -> None:
    """Passing, if illegal, and one other illegal action are refused."""
    illegal = np.flatnonzero(game.legal_action_mask(position) == 0).tolist()
    for action in {illegal[choice % len(illegal)], 24}.intersection(illegal):
        with pytest.raises(IllegalActionError):
            game.apply(position, action)


@some
@given(keys=rulesets(), depth=st.integers(0, 2), moves=playouts())
def test_perft_agrees_with_reference(keys: Keys, depth: int, moves: list[int]) -> None:
    game, reference = game_of(keys), ReferenceGame(keys)
    position = play(game, moves)[-1]
    state = reference.parse(game.format_position(position))
    assert game.perft(position, depth) == reference_perft(reference, state, depth)


def reference_perft(reference: ReferenceGame, state: State, depth: int) -> int:
    if depth == 0:
        return 1
    return sum(reference_perft(reference, reference.apply(state, action), depth - 1)
               for action in reference.legal(state))


@some
@given(keys=rulesets(), moves=playouts())
def test_tokens_and_turns_are_conserved(keys: Keys, moves: list[int]) -> None:
    game = game_of(keys)
    forts = game.initial_state().strongholds.bit_count()
    for ply, position in enumerate(play(game, moves)):
        assert position.ply == ply
        assert position.strongholds.bit_count() == forts
        assert position.own & position.opposing == 0
        assert (position.own | position.opposing) & position.strongholds == 0
        assert position.bastion & ~position.opposing == 0
        assert position.bastion.bit_count() <= 1
        assert game.legal_actions(position) or game.is_terminal(position)
        if game.legal_action_mask(position)[24]:
            assert game.legal_actions(position) == [24]


# Worked by hand from the rules. Moves are separated by blanks; the board is read from rank 6 down.


def after(game: Game, moves: str, start: str | None = None) -> Position:
    state = game.parse_position(start) if start else game.initial_state()
    for move in moves.split():
        state = game.apply(state, game.parse_action(move))
    return state


def text_after(game: Game, moves: str, start: str | None = None) -> str:
    return game.format_position(after(game, moves, start))


def legal_texts(game: Game, state: Position) -> list[str]:
    return [game.format_action(action) for action in game.legal_actions(state)]


STORM = Game(load_ruleset("storm"))
SUDDEN_DEATH = Game(load_ruleset("sudden-death"))
STEP = Game(load_ruleset("sudden-death-step"))


def test_victory_points_of_the_rules_page() -> None:
    # c4 d4 c3 d3 are strongholds. A besieges c4 twice and controls it, B besieges and controls d4.
    game = game_of({"mode": "storm", "factions_per_player": 2})
    state = game.parse_position("6/2A3/1A##B1/2##2/6/6 A e4 0,0 0,1 4")
    outcome = game.outcome(state)
    assert outcome is not None
    assert outcome.by_row == {
        "captured": (1, 0), "besieging": (2, 1), "contact": (0, 0), "controlled": (2, 2),
        "survivor": (0, 0), "squares": (0, 0),
    }
    assert outcome.victory_points == game.victory_points(state) == (5, 3)
    assert (outcome.margin, outcome.winner, outcome.reason) == (2, 0, "all_turns_played")


def test_a_slide_stops_at_the_first_token_and_moves_its_run_by_one() -> None:
    assert text_after(STORM, "W3") == "6/6/2##2/2A##1/6/6 B c3 7,8 0,0 1"
    # The run ends at a gap; what lies beyond stays.
    start = "6/6/6/1A#1B1/##4/#5 A - 7,7 0,0 4"
    assert text_after(STORM, "W3", start) == "6/6/6/1AA#B1/##4/#5 B b3 6,7 0,0 5"


@pytest.mark.parametrize(
    ("move", "board", "lost"),
    [
        ("E4", "BA4", "1,0"),  # the run b4 a4 moves west: a4 is captured, b4 is not shielded
        ("W4", "AAB3", "0,0"),  # from the west the run starts at the edge square itself
    ],
)
def test_an_edge_token_shields_nothing(move: str, board: str, lost: str) -> None:
    start = "6/6/AB4/6/2##2/2##2 A - 7,7 0,0 4"
    expected = f"6/6/{board}/6/2##2/2##2 B {'b4' if move == 'E4' else 'a4'} 6,7 {lost} 5"
    assert text_after(STORM, move, start) == expected


def test_a_lone_edge_token_is_captured_and_replaced() -> None:
    start = "6/6/B5/5A/2##2/2##2 A - 7,7 0,0 4"
    assert text_after(STORM, "E4", start) == "6/6/A5/5A/2##2/2##2 B a4 6,7 0,1 5"


def test_a_stronghold_cannot_leave() -> None:
    # Rank 4: pushed west the stronghold on a4 would leave, also behind b4; pushed east it may move.
    start = "6/6/#A4/6/B1##2/3#2 A - 7,7 0,0 4"
    moves = legal_texts(STORM, STORM.parse_position(start))
    assert "E4" not in moves
    assert "W4" in moves
    assert "Sd" in moves  # d1 and d2 move north
    assert "Nd" not in moves
    assert text_after(STORM, "W4", start) == "6/6/A#A3/6/B1##2/3#2 B a4 6,7 0,0 5"


def test_a_lane_without_tokens_has_no_slide() -> None:
    starts = ["Nc", "Nd", "Sc", "Sd", "W4", "W3", "E4", "E3"]
    assert legal_texts(STORM, STORM.initial_state()) == starts
    assert legal_texts(SUDDEN_DEATH, SUDDEN_DEATH.initial_state()) == ["Nc", "Nd", "Sc", "Sd"]


def test_a_bastion_lasts_one_turn() -> None:
    # After W3 the faction on c3 may not be moved: W3, E3 and Sc would. c4 is not its run.
    assert legal_texts(STORM, after(STORM, "W3")) == ["Nd", "Ne", "Sd", "Se", "W4", "E4"]
    # After W4 it may, and now c4 may not (Nc, Sc, W4, E4).
    assert legal_texts(STORM, after(STORM, "W3 W4")) == ["Nd", "Ne", "Sd", "Se", "W3", "E3"]


PASSES = game_of({
    "mode": "sudden_death",
    "strongholds": ["......"] * 5 + [".####."],
    "entry_lanes": "home_edge",
})


def test_a_player_without_a_move_passes_and_the_bastion_is_gone() -> None:
    # From the north every lane ends in a stronghold that cannot leave, or in the bastion on b1.
    assert text_after(PASSES, "Sb") == "6/6/6/6/1#4/1A###1 B b1 7,8 0,0 1"
    assert legal_texts(PASSES, after(PASSES, "Sb")) == ["pass"]
    assert text_after(PASSES, "Sb pass") == "6/6/6/6/1#4/1A###1 A - 7,8 0,0 2"
    assert "Sb" in legal_texts(PASSES, after(PASSES, "Sb pass"))
    # Once c1 is the bastion, b1 may be pushed off.
    assert text_after(PASSES, "Sb pass Sc Nb") == "6/6/6/6/1B#3/1#A##1 A b2 6,7 1,0 4"


def test_pass_is_illegal_while_there_is_a_move() -> None:
    for game in (STORM, SUDDEN_DEATH, PASSES):
        with pytest.raises(IllegalActionError):
            game.apply(game.initial_state(), 24)


@pytest.mark.parametrize(
    ("keys", "plies", "last", "reason"),
    [
        (BLOCKED, 16, "######/######/######/######/######/###### A - 8,8 0,0 16",
         "all_turns_played"),
        (NOTHING_TO_PUSH, 9, "#5/6/6/6/6/6 B - 8,8 0,0 9 0,0", "turn_limit"),
    ],
)
def test_a_player_who_cannot_move_at_the_start_passes(
    keys: Keys, plies: int, last: str, reason: str
) -> None:
    game = game_of(keys)
    state = game.initial_state()
    for _ in range(plies):
        assert legal_texts(game, state) == ["pass"]
        state = game.apply(state, 24)
    assert game.format_position(state) == last
    outcome = game.outcome(state)
    assert outcome is not None
    assert (outcome.winner, outcome.margin, outcome.reason) == (None, 0, reason)


@pytest.mark.parametrize(
    ("game", "opening", "cycle"),
    [
        (SUDDEN_DEATH, ["Nc", "W3"], ["c4b4", "c3b3", "b4c4", "b3c3"]),
        (STEP, ["Nb", "E2"], ["b6a6", "f2f1", "a6b6", "f1f2"]),
    ],
)
def test_two_shufflers_end_exactly_at_the_turn_limit(
    game: Game, opening: list[str], cycle: list[str]
) -> None:
    state = after(game, " ".join(opening))
    for ply in range(2, game.rules.max_plies):
        assert state.ply == ply
        assert not game.is_terminal(state)
        state = game.apply(state, game.parse_action(cycle[(ply - 2) % 4]))
    outcome = game.outcome(state)
    assert state.ply == game.rules.max_plies == 120
    assert outcome is not None
    assert outcome.reason == "turn_limit"
    assert game.legal_actions(state) == []


def test_the_last_faction_ends_sudden_death_at_once() -> None:
    game = game_of({"mode": "sudden_death", "factions_per_player": 1})
    outcome = game.outcome(after(game, "Nc"))
    assert outcome is not None
    # A on c4 touches c3 and d4: the strongholds are c3 c2 d4 d3.
    assert outcome.victory_points == (1 + 2 * 2, 0)
    assert outcome.reason == "last_faction_entered"


def test_the_last_faction_counts_as_the_reason_also_in_the_last_turn() -> None:
    game = game_of({"mode": "sudden_death", "factions_per_player": 1, "max_plies": 1})
    outcome = game.outcome(after(game, "Nc"))
    assert outcome is not None
    assert outcome.reason == "last_faction_entered"


@pytest.mark.parametrize(
    ("credit", "mover", "points"),
    [
        ("opponent", "A", (0, 1)),
        ("opponent", "B", (0, 1)),
        ("enemy_only", "A", (0, 0)),
        ("enemy_only", "B", (0, 1)),
    ],
)
def test_who_scores_for_a_token_pushed_off(
    credit: str, mover: str, points: tuple[int, int]
) -> None:
    # E4 captures player 0's token on a4, whoever enters.
    no_sieges = {"besieging": 0, "controlled": 0}
    game = game_of({"mode": "storm", "capture_credit": credit, "victory_points": no_sieges})
    board, ply = "6/6/AB4/6/2##2/2##2", "AB".index(mover) + 4
    seventh = " 0,0" if credit == "enemy_only" else ""
    state = after(game, "E4", f"{board} {mover} - 7,7 0,0 {ply}{seventh}")
    assert game.victory_points(state) == points
    assert game.format_position(state).split()[4] == "1,0"
    if credit == "enemy_only":
        assert game.format_position(state).split()[6] == ("1,0" if mover == "A" else "0,0")
    else:
        assert len(game.format_position(state).split()) == 6


def test_a_step_pushes_the_run_in_front_and_leaves_its_square_free() -> None:
    assert text_after(SUDDEN_DEATH, "Nc W3") == "6/6/2A#2/2B##1/2#3/6 A c3 7,7 0,0 2"
    assert text_after(SUDDEN_DEATH, "Nc W3 c4d4") == "6/6/3A#1/2B##1/2#3/6 B d4 7,7 0,0 3"
    steps = [move for move in legal_texts(SUDDEN_DEATH, after(SUDDEN_DEATH, "Nc W3"))
             if len(move) == 4]
    assert steps == ["c4c5", "c4b4", "c4d4"]  # c4c3 would move the bastion


def test_steps_must_push() -> None:
    game = game_of({"mode": "sudden_death", "steps_must_push": True})
    moves = legal_texts(game, after(game, "Nc W3"))
    assert [move for move in moves if len(move) == 4] == ["c4d4"]


def test_entering_by_a_step_needs_no_push() -> None:
    starts = ["Nb", "Nc", "Nd", "Ne", "Sb", "Sc", "Sd", "Se"]
    assert legal_texts(STEP, STEP.initial_state()) == starts
    assert text_after(STEP, "Nb") == "1A4/6/2##2/2##2/6/6 B b6 7,8 0,0 1"
    # The run b6 b5 a step further in: the entering faction takes b6, b6 moves to b5.
    assert text_after(STEP, "Nb E2 Nb") == "1A4/1A4/2##2/2##2/5B/6 B b6 6,7 0,0 3"


def test_a_faction_cannot_walk_off_the_board() -> None:
    state = after(STEP, "Nb E2")
    with pytest.raises(IllegalActionError, match="off the board"):
        STEP.apply(state, 25 + 4 * 1 + 0)  # north from b6


@pytest.mark.parametrize(
    ("text", "action"),
    [("Na", 0), ("Nf", 5), ("Sa", 6), ("Sf", 11), ("W6", 12), ("W1", 17), ("E6", 18), ("E1", 23),
     ("pass", 24), ("a6a5", 26), ("c3c4", 105), ("c3c2", 106), ("c3b3", 107), ("c3d3", 108),
     ("f1e1", 167)],
)
def test_action_numbers(text: str, action: int) -> None:
    assert SUDDEN_DEATH.parse_action(text) == action
    assert SUDDEN_DEATH.format_action(action) == text
