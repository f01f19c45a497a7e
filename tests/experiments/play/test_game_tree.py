"""Variations of a game in play: nothing is lost when another move is tried."""

import pytest

from castle_env import IllegalActionError, load_ruleset
from castle_env.game_file import format_game, parse_games
from castle_env.game_record import GameRecord, Note, Variation, record_game
from experiments.play.game_in_play import HUMAN, GameInPlay, new_game
from experiments.play.game_tree import record_of, tree_of

STORM = load_ruleset("storm")


def number(name: str) -> int:
    return new_game(STORM, (HUMAN, HUMAN), 0).game.parse_action(name)


def numbers(*names: str) -> tuple[int, ...]:
    return tuple(map(number, names))


def played(*names: str) -> GameInPlay:
    live = new_game(STORM, (HUMAN, HUMAN), 0)
    for action in numbers(*names):
        live.play(action)
    return live


def test_another_move_on_the_way_back_starts_a_variation() -> None:
    live = played("Nc", "W3", "Nd")
    assert live.branch(1, number("W2")) == 2
    assert live.record.actions == numbers("Nc", "W2")
    whole = live.whole()
    assert whole.actions == numbers("Nc", "W3", "Nd")
    assert whole.variations == (Variation(1, numbers("W2")),)


def test_the_line_goes_on_as_before_where_a_move_was_made_before() -> None:
    live = played("Nc", "W3", "Nd")
    before = live.whole()
    assert live.branch(1, number("W3")) == 2
    assert live.record.actions == numbers("Nc", "W3", "Nd")
    live.branch(1, number("W2"))
    live.play(number("E3"))
    live.branch(1, number("W3"))
    assert live.record == before.cut(3)
    live.branch(1, number("W2"))
    assert live.record.actions == numbers("Nc", "W2", "E3")
    assert tuple(live.states) == live.record.states()


def test_an_illegal_move_changes_nothing() -> None:
    live = played("Nc", "W3", "Nd")
    with pytest.raises(IllegalActionError):
        live.branch(1, number("Na"))
    assert live.whole() == played("Nc", "W3", "Nd").whole()
    assert live.plies == 3


def test_taking_back_is_meant() -> None:
    live = played("Nc", "W3", "Nd")
    live.branch(1, number("W2"))
    live.undo()
    assert live.whole().variations == ()
    live.undo()
    live.play(number("Sc"))
    assert live.whole().actions == numbers("Sc")


def test_a_line_can_become_the_main_one() -> None:
    live = played("Nc", "W3", "Nd")
    live.branch(1, number("W2"))
    live.promote()
    whole = live.whole()
    assert whole.actions == numbers("Nc", "W2")
    assert whole.variations == (Variation(1, numbers("W3", "Nd")),)


def test_notes_stay_with_their_moves() -> None:
    record = record_game(STORM, numbers("Nc", "W3"), notes=(Note(), Note(2.0, "solid")))
    live = GameInPlay(record, (HUMAN, HUMAN))
    live.branch(1, number("W2"))
    live.note(1, Note(comment="wild"))
    assert live.record.notes == (Note(), Note(comment="wild"))
    live.branch(1, number("W3"))
    assert live.record.notes == record.notes
    assert live.whole().variations[0].notes == (Note(comment="wild"),)


def record_with_variations() -> GameRecord:
    inner = Variation(0, numbers("Sd"), (Note(1.0, "b"),))
    outer = Variation(1, numbers("W2", "E3"), (Note(), Note(comment="a")), (inner,))
    return record_game(STORM, numbers("Nc", "W3", "Nd"), players=("human", "greedy"), seed=4,
                       date="2026-03-01", comment="c", opening_plies=1,
                       variations=(Variation(0, numbers("Sc")), outer))


def test_a_tree_keeps_all_that_a_record_holds() -> None:
    record = record_with_variations()
    again = record_of(tree_of(record), record)
    # A variation that stands for the first move of another one stands for the same move.
    assert [one.at for one in again.variations] == [0, 1, 1]
    assert again.variations[1] == Variation(1, numbers("W2", "E3"), (Note(), Note(comment="a")))
    assert again.variations[2] == Variation(1, numbers("Sd"), (Note(1.0, "b"),))
    assert record_of(tree_of(again), again) == again
    assert parse_games(format_game(again)) == [again]
    assert GameInPlay(record, record.players).whole() == again
