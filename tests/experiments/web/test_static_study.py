"""A game looked at as a whole in a real browser: variations, and every ply judged."""

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
    page.until(lambda: page["first"].get_attribute("aria-disabled") == "true")
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


def test_the_whole_game_is_judged(page):
    open_game(page, 4)
    judge(page)
    (graph,) = page.all("#study svg.graph")
    assert "5 of 5 positions judged" in graph.get_attribute("aria-label")
    assert page["verdict"].text
