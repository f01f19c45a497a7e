"""A game looked at as a whole in a real browser: variations, judging, review, a rematch."""

import pytest
from browsing import PHONE
from selenium.webdriver.common.by import By

from castle_env import Game, load_ruleset
from castle_env.game_file import format_game, record_game

STORM = Game(load_ruleset("storm"))


def moves_of(count):
    """Moves of a game in which everybody plays the middle one of the legal moves."""
    state, actions = STORM.initial_state(), []
    for _ in range(count):
        legal = STORM.legal_actions(state)
        actions.append(legal[len(legal) // 2])
        state = STORM.apply(state, actions[-1])
    return actions


def open_game(page, plies, players=("human", "human")):
    text = format_game(record_game(STORM.rules, moves_of(plies), players=players))
    before = page.driver.current_url
    page.script("fetch('/api/games/load', {method: 'POST', headers: {'Content-Type': "
                "'application/json'}, body: JSON.stringify({text: arguments[0]})})"
                ".then((answer) => answer.json()).then((game) => { location.hash = game.id; })",
                text)
    page.until(lambda: page.driver.current_url != before and len(page.moves) == plies)


def study(page, name):
    page.driver.find_element(By.CSS_SELECTOR, f'[data-study="{name}"]').click()


def judge(page):
    study(page, "judge")
    page.until(lambda: not page.all('[data-study="judge"]'))


def test_a_move_on_the_way_back_is_a_variation(page):
    open_game(page, 4)
    before = page.moves
    page["first"].click()
    page.until(lambda: page["turn"].text and page.all(".lane.legal"))
    lane = next(name for name in page.names(".lane.legal") if name != before[0])
    page.cell(lane).click()
    page.until(lambda: page.moves == [lane])
    (button,) = page.all(".variation")
    assert button.text.startswith(f"1. {before[0]} {before[1]}")
    study(page, "promote")
    page.until(lambda: not page.all('[data-study="promote"]'))
    page.all(".variation")[0].click()
    page.until(lambda: page.moves == before)
    assert page.saved().variations


@pytest.mark.parametrize("size", [None, PHONE])
def test_the_whole_game_is_judged_and_one_s_mistakes_are_asked_for(page, size, tmp_path):
    if size:
        page.size(*size)
    open_game(page, 16)
    judge(page)
    assert page.all("#study svg.graph")
    mistakes = page.all("#study svg.graph .mistake")
    assert mistakes
    assert "Points thrown away" in page.all("#study svg.graph")[0].get_attribute("aria-label")
    assert "with best play" in page["verdict"].text or "by" in page["verdict"].text
    study(page, "startReview")
    page.until(lambda: "What was better here?" in page.all(".review")[0].text)
    page.driver.save_screenshot(str(tmp_path / "review.png"))
    count = len(page.moves)
    page.cell(page.names(".lane.legal")[0]).click()
    if page["confirm"].is_displayed():
        page["confirm"].click()
    page.until(lambda: any(word in page.all(".review")[0].text
                           for word in ("is best", "throws away")))
    assert len(page.moves) == count
    study(page, "endReview")
    page.until(lambda: not page.all(".review"))


def test_best_play_is_walked_through_and_a_rematch_changes_seats(page):
    open_game(page, 12, ("human", "greedy"))
    study(page, "best")
    page.until(lambda: page.all('[data-key="study-walk"]'))
    page.all('[data-key="study-walk"]')[0].click()
    page.until(lambda: len(page.moves) == 16)
    page["last"].click()
    page.until(lambda: page.all('[data-study="rematch"]'))
    before = page.driver.current_url
    study(page, "rematch")
    page.until(lambda: page.driver.current_url != before)
    assert page.saved().players == ("greedy", "human")
