"""The page in a real browser: whole games by mouse and by keyboard, analysis, files, the editor."""

from pathlib import Path

from browsing import Page, attribute
from narrow import present
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By

from castle_env import Game, load_ruleset
from castle_env.game_file import format_game, parse_games, record_game


def test_a_whole_storm_game_by_mouse(page: Page) -> None:
    page.begin({"mode": "storm", "factions_per_player": 3}, ("human", "greedy"))
    while not page.over:
        lane = page.cell(page.names(".lane.legal")[0])
        page.point_at(lane)
        page.until(lambda: "Then you" in page.strip)
        name = attribute(lane, "data-name")
        assert page.strip.startswith(name)
        before = len(page.moves)
        page.play(before + 2, lane.click)
        assert page.moves[before] == name
    game = page.saved()
    assert game.plies == len(page.moves) == 6
    points = map(int, page.texts("#points tfoot td"))
    assert tuple(points) == game.final.victory_points
    assert page.said.endswith(page.turn)


def test_a_whole_sudden_death_game_by_keyboard(page: Page) -> None:
    rules = {"mode": "sudden_death", "factions_per_player": 3, "entry_style": "step"}
    page.begin(rules, ("human", "random"), seed=1)
    while not page.over:
        before = len(page.moves)
        steps = page.names(".square.mine")
        if steps and before == 2:
            page.go_to(steps[0])
            page.press(Keys.ENTER)
            targets = page.names(".square.legal")
            assert targets
            page.go_to(targets[0])
        else:
            page.go_to(page.names(".lane.legal")[0])
        page.play(before + 1, lambda: page.press(Keys.ENTER))
        page.until(lambda: page.over or len(page.moves) % 2 == 0)
    game = page.saved()
    assert page.moves[2] == game.game.format_action(game.actions[2])
    assert len(page.moves[2]) == 4  # a step
    assert game.final.reason == "last_faction_entered"


def test_drag_from_the_edge_plays_and_back_out_does_not(page: Page) -> None:
    page.begin()
    lane, square = page.cell("W4"), page.cell("b4")
    chain = ActionChains(page.driver)
    chain.click_and_hold(lane).move_to_element(square).move_to_element(page["turn"]).release()
    chain.perform()
    assert page.moves == []
    ActionChains(page.driver).click_and_hold(lane).move_to_element(square).release().perform()
    page.until(lambda: page.moves == ["W4"])


def test_analysis_shows_the_value_of_each_move_and_the_regret(page: Page) -> None:
    page.begin(moves=["W4"])
    page["analyse"].click()
    page.until(lambda: page.all(".regret") and not page.all("progress"))
    assert len(page.all(".badge")) == len(page.names(".lane.legal"))
    assert page.all(".badge.best")
    assert "Exact" in page["analysis"].text
    assert "W4" in page.all(".regret")[0].text
    assert page.all("#moves small")
    page["analyse"].click()
    page.until(lambda: not page["analysis"].is_displayed())
    assert not page.all(".badge")


def test_reload_and_walking_through_a_game(page: Page) -> None:
    page.begin(moves=["W4", "Nd", "E3"])
    url = page.driver.current_url
    page.driver.refresh()
    page.until(lambda: page.moves == ["W4", "Nd", "E3"])
    assert page.driver.current_url == url
    page["back"].click()
    page.until(lambda: page.current == "move2")
    page["first"].click()
    page.until(lambda: page.is_off("back"))
    page.cell("Nc").click()
    page.until(lambda: page.moves == ["Nc"])
    page["undo"].click()
    page.until(lambda: "Nc" not in page.moves)


def test_the_browsers_back_leads_to_the_game_before(page: Page) -> None:
    page.begin(moves=["W4"])
    first = page.driver.current_url
    page.new_game("sudden-death", "human", "human")
    page["edit"].click()
    page.until(lambda: "Fits" in page["editor"].text)
    page.driver.back()
    page.until(lambda: page.moves == ["W4"])
    assert page.driver.current_url == first
    assert not page["editor"].is_displayed()
    page.driver.forward()
    page.until(lambda: page["mode"].text == "Sudden Death")


def test_walking_on_while_a_search_runs_is_no_error(page: Page) -> None:
    page.begin("sudden-death", moves=["Nc", "W3"])
    page["analyse"].click()
    page.script("for (let times = 0; times < 2; times++) document.getElementById('back').click()")
    # Two clicks lead two moves back, however quick; searches of what was left are stopped.
    page.until(lambda: page.is_off("back") and page.all(".badge"))
    page["analyse"].click()
    assert page["toast"].get_attribute("textContent") == ""


def test_two_tabs_play_two_games(page: Page) -> None:
    page.begin()
    page.play(1, page.cell("W4").click)
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    other = Page(page.driver, page.address)
    other.begin()
    other.play(1, other.cell("Nc").click)
    page.driver.switch_to.window(first)
    assert page.moves == ["W4"]
    page.play(2, page.cell("Nd").click)
    assert page.moves == ["W4", "Nd"]


def test_files(page: Page, tmp_path: Path, downloads: Path) -> None:
    rules = load_ruleset("storm")
    game = Game(rules)
    actions = tuple(game.parse_action(name) for name in ("W4", "Nd", "E3"))
    right, wrong = tmp_path / "right.castle", tmp_path / "wrong.castle"
    right.write_text(format_game(record_game(rules, actions, players=("<i>Ann", "Bob"))))
    wrong.write_text(right.read_text().replace(" E3", " E6"))
    before = page.driver.current_url
    page["file"].send_keys(str(wrong))
    page.until(lambda: "wrong.castle" in page["toast"].text)
    assert "ply 3" in page["toast"].text
    assert page.driver.current_url == before
    wrong.write_bytes(right.read_text().replace("Ann", "Zo\xeb").encode("latin1"))
    page["file"].send_keys(str(wrong))
    page.until(lambda: "UTF-8" in page["toast"].text)
    page["file"].send_keys(str(right))
    page.until(lambda: page.moves == ["W4", "Nd", "E3"])
    assert "<i>Ann – Bob" in page["ruleset"].text
    page["save"].click()
    saved = downloads / f"storm-{page.driver.current_url.split('#')[1]}.castle"
    page.until(saved.exists)
    assert parse_games(saved.read_text())[0].actions == actions


def test_the_editor_makes_a_position_and_rules_to_play_on_from(page: Page) -> None:
    page.begin()
    page["edit"].click()
    page.until(lambda: "Fits" in page["editor"].text)
    page.cell("a4").click()
    page.until(lambda: page.all("#editor .message")[0].text.startswith("Fits"))
    page.cell("d4").click()
    page.until(lambda: "strongholds" in page.all("#editor .message")[0].text)
    play = page.driver.find_element(By.XPATH, "//button[text()='Play from here']")
    assert not play.is_enabled()
    field = page.driver.find_element(By.NAME, "controlled")
    painted = page.driver.find_element(
        By.XPATH, "//button[text()='Start with the strongholds as painted']")
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", painted)
    painted.click()
    field.clear()
    field.send_keys("5\t")
    page.until(play.is_enabled)
    play.click()
    page.until(lambda: not page["editor"].is_displayed())
    game = page.saved()
    assert game.rules.victory_points.controlled == 5
    assert game.rules.strongholds[2] == "..#..."
    start = present(game.start)
    assert start.own | start.opposing


def test_two_agents_are_watched_and_paused(page: Page) -> None:
    page.script("document.getElementById('speed').value = 0")
    page.begin({"mode": "storm", "factions_per_player": 3}, ("random", "random"))
    page.until(lambda: page.moves)
    page["pause"].click()
    page.until(lambda: page["pause"].text == "Go on")
    before = len(page.moves)
    page.driver.execute_script("document.getElementById('speed').value = 4")
    page["pause"].click()
    page.until(lambda: page.over)
    assert before < len(page.moves) == 6


def test_a_game_that_is_gone_is_told_and_another_begins(page: Page) -> None:
    page.driver.get("about:blank")
    page.driver.get(f"{page.address}/#unknown")
    page.until(lambda: "no game 'unknown'" in page["toast"].text)
    page.until(lambda: not page.driver.current_url.endswith("#unknown"))
