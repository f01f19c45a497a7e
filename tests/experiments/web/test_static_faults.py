"""What once went wrong on the page, each with its kind: focus, fingers, windows, a lost server."""

import http.server
import threading
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from browsing import PHONE, Page, attribute, faults
from page_servers import page_server
from PIL import Image
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from castle_env.game_file import parse_games


def picture(element: WebElement) -> Any:
    """The pixels of an element, shape (height, width, 3)."""
    return np.array(Image.open(BytesIO(element.screenshot_as_png)).convert("RGB"))


# Focus


def test_the_ring_of_the_focus_hides_no_piece(page: Page) -> None:
    page.begin(moves=["W4", "Nd", "E3"])
    page.point_at(page["mode"])
    held = [page.script("return [...document.querySelectorAll('.square')].find((one) => "
                        "one.ariaLabel.includes(arguments[0])).dataset.name", kind)
            for kind in ("circle", "diamond", "stronghold")]
    before = {name: picture(page.cell(name)) for name in held}
    for name, plain in before.items():
        page.go_to(name)
        ringed = picture(page.cell(name))
        height, width, _ = plain.shape
        inner = np.s_[height // 4:-height // 4, width // 4:-width // 4]
        assert np.abs(ringed[inner].astype(int) - plain[inner]).max() < 8, name
        assert np.abs(ringed.astype(int) - plain).max() > 60  # there is a ring


def test_the_focus_is_never_lost(page: Page) -> None:
    page.begin(moves=["W4", "Nd", "E3"])
    page.script("document.querySelector('[data-key=move1]').focus()")
    page.press(Keys.ENTER)
    page.until(lambda: page.current == "move1")
    assert page.focus == "move1"
    for name in ("back", "last", "first", "forward"):
        page.script("document.getElementById(arguments[0]).focus()", name)
        at = page.current
        page.press(Keys.ENTER)
        page.until(lambda at=at: page.current != at)
        assert page.focus == name
    page["last"].click()
    page.until(lambda: page.is_off("last"))

    page.script("document.querySelector('[data-key=move3]').focus()")
    page.press("u")
    page.until(lambda: len(page.moves) == 2)
    assert page.focus == "move2"

    page.script("document.querySelector('[data-key=seat1]').focus()")
    page.press(Keys.ENTER)
    page.until(page["dialog"].is_displayed)
    page["start"].click()
    page.until(lambda: not page["dialog"].is_displayed() and page.focus == "seat1")

    page.script("document.querySelector('[data-key=row-controlled]').focus()")
    page["analyse"].send_keys(" ")
    page.script("document.querySelector('[data-key=move1]').focus()")
    page.until(lambda: page.all("#moves small") and not page.all("progress"))
    assert page.focus == "move1"


def test_the_focus_stays_while_agents_move(page: Page) -> None:
    page.begin({"mode": "storm", "factions_per_player": 3}, ("random", "random"))
    page.script("document.getElementById('speed').value = 3")
    page.script("document.querySelector('[data-key=row-captured]').focus()")
    page.until(lambda: page.over)
    assert page.focus == "row-captured"


def test_stop_thinking_is_there_while_an_agent_thinks_and_no_longer(page: Page) -> None:
    page.begin(players=("human", "greedy"))
    page.play(2, page.cell("W4").click)
    page.hold("/reply")
    page.cell(page.names(".lane.legal")[0]).click()
    page.until(page["stop"].is_displayed)
    page.let_go()
    page.until(lambda: len(page.moves) == 4)
    assert page.turn == "Your turn"
    assert not page["stop"].is_displayed()
    # A step back while it thinks takes it away too.
    page.hold("/reply")
    page.cell(page.names(".lane.legal")[0]).click()
    page.until(page["stop"].is_displayed)
    page["back"].click()
    page.until(lambda: not page["stop"].is_displayed())
    page.let_go()
    page.until(lambda: len(page.moves) == 6)
    # So does a press on it, and the focus goes to the board.
    page["last"].click()
    page.until(lambda: page.current == "move6")
    page.new_game("storm", "human", "alphabeta:9000ms")
    page.cell("W4").click()
    page.until(page["stop"].is_displayed)
    page["stop"].send_keys(Keys.ENTER)
    page.until(lambda: not page["stop"].is_displayed())
    assert page.names(":focus")


# Fingers


def test_a_finger_drags_factions_and_lanes_and_scrolls_nothing(page: Page) -> None:
    page.begin("sudden-death", moves=["Nc", "W3"])
    page.size(*PHONE, mobile=True)
    source = page.names(".square.mine")[0]
    page.script("arguments[0].scrollIntoView({block: 'center'})", page.cell(source))
    page.touch(page.cell(source))
    page.until(lambda: page.names(".square.selected") == [source])
    assert "may step to" in page.said
    target = page.names(".square.legal")[0]
    page.press(Keys.ESCAPE)
    scrolled = page.script("return scrollY")
    page.touch(page.cell(source), page.cell(target))
    page.until(lambda: page.moves[-1] == source + target)
    lane = page.names(".lane.legal")[0]
    page.touch(page.cell(lane), page.cell("c4"))
    page.until(lambda: page.moves[-1] == lane)
    assert page.script("return scrollY") == scrolled


# Two windows, and a server that goes away


def test_a_stale_window_changes_nothing_and_is_brought_up_to_date(page: Page) -> None:
    page.begin()
    first = page.driver.current_window_handle
    url = page.driver.current_url
    page.driver.switch_to.new_window("tab")
    page.driver.get(url)
    page.until(lambda: page.turn)
    for number, name in enumerate(("W4", "Nd"), 1):
        page.play(number, page.cell(name).click)
    page.driver.switch_to.window(first)
    assert page.moves == []
    page.cell("Nc").click()
    page.until(lambda: page.moves == ["W4", "Nd"])
    assert "another window" in page["toast"].text
    page.play(3, page.cell(page.names(".lane.legal")[0]).click)
    assert page.moves[:2] == ["W4", "Nd"]


def test_an_answer_that_comes_while_one_looks_back_is_known(page: Page) -> None:
    page.begin(players=("human", "greedy"))
    page.play(2, page.cell("W4").click)  # the agent is loaded now
    page.hold("/reply")
    page.cell(page.names(".lane.legal")[0]).click()
    page.until(lambda: page.holds)
    page["first"].click()
    page.until(lambda: page.is_off("back"))
    page.let_go()
    page.until(lambda: len(page.moves) == 4)
    assert page.is_off("back")
    page.cell("Nc").click()
    page.until(lambda: page.moves[:1] == ["Nc"] and len(page.moves) == 2)
    assert page["toast"].get_attribute("textContent") == ""


def test_the_page_keeps_its_game_when_the_server_goes_away(driver: Chrome, downloads: Path) -> None:
    with page_server() as server:
        page = Page(driver, server.address)
        page.new_game("storm", "human", "greedy")
        page.play(2, page.cell("W4").click)
        played = page.moves
        server.stop()
        page.cell(page.names(".lane.legal")[0]).click()
        page.until(lambda: "Your game is kept" in page["away"].text)
        assert page.moves == played
        lane = page.names(".lane.legal")[0]  # as before the move that was not played
        page["save"].click()
        page.until(lambda: [file for file in downloads.glob("*.castle")
                            if played == names(file.read_text())])
        page.hold("/games/load")
        server.start()
        page.until(lambda: page.holds)
        page.cell(lane).click()  # it waits until the server has the game again
        assert page["away"].is_displayed()
        page.let_go()
        page.until(lambda: len(page.moves) == 4 and page.turn == "Your turn")
        assert page.moves[:3] == [*played, lane]
        page.until(lambda: not page["away"].is_displayed())
        # Neither a move nor a reload is lost on a server that has lost the game.
        server.stop()
        server.start()
        played = page.moves
        page.play(6, page.cell(page.names(".lane.legal")[0]).click)
        assert page.moves[:4] == played
        played = page.moves
        server.stop()
        server.start()
        page.driver.refresh()
        page.until(lambda: page.moves == played)
        faults(driver)


def names(text: str) -> list[str]:
    (game,) = parse_games(text)
    return [game.game.format_action(action) for action in game.actions]


# Links from elsewhere


def test_a_link_on_another_local_page_opens_the_page(page: Page) -> None:
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f"<a id=link href={page.address}/>play</a><iframe src="
                             f"{page.address}/></iframe>".encode())

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        page.driver.get(f"http://127.0.0.1:{server.server_port}/")
        page["link"].click()
        page.until(lambda: page.driver.current_url.startswith(f"{page.address}/#"))
        server.shutdown()
        thread.join()
    page.until(lambda: page.turn)
    faults(page.driver)


# The editor


def test_edited_rules_are_played_on_with_seats_that_fit(driver: Chrome) -> None:
    with page_server(("human", "exact")) as server:
        page = Page(driver, server.address)
        page["edit"].click()
        page.until(lambda: "Fits" in page["editor"].text)
        mode = page.driver.find_element(By.NAME, "mode")
        mode.find_element(By.CSS_SELECTOR, 'option[value="sudden_death"]').click()
        page.until(lambda: page["editor-seat1"].get_attribute("value") == "alphabeta:4")
        offered = [attribute(option, "value") for option in page["editor-seat1"].find_elements(
            By.TAG_NAME, "option")]
        assert "greedy" in offered
        assert "exact" not in offered
        assert not [name for name in offered if name.startswith(("ppo", "az"))]  # other rules
        page.driver.find_element(By.XPATH, "//button[text()='Play from here']").click()
        page.until(lambda: not page["editor"].is_displayed())
        assert page.saved().rules.mode == "sudden_death"
        assert page.saved().players == ("human", "alphabeta:4")


def test_the_editors_text_is_never_that_of_another_position(page: Page) -> None:
    page.begin()
    page["edit"].click()
    page.until(lambda: "Fits" in page["editor"].text)
    text = page.script("return document.querySelector('#editor input[spellcheck=false]').value")
    assert text.startswith("6/6/2##2")
    page.cell("d4").click()  # a faction in the place of a stronghold
    page.until(lambda: "strongholds" in page.all("#editor .message")[0].text)
    assert page.script(
        "return document.querySelector('#editor input[spellcheck=false]').value") == ""


# What a screen reader hears


def test_values_and_choices_are_told(page: Page) -> None:
    page.begin()
    page["analyse"].click()
    page.until(lambda: page.all(".badge") and not page.all("progress"))
    labels = [page.label(name) for name in page.names(".lane.legal")]
    assert all("Worth" in label for label in labels)
    assert any("a best move" in label for label in labels)
    page["analyse"].click()
    page.begin("sudden-death", moves=["Nc", "W3"])
    page.go_to(page.names(".square.mine")[0])
    page.press(Keys.ENTER)
    page.until(lambda: "chosen. It may step to" in page.said)
