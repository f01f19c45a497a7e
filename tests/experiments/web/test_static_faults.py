"""What once went wrong on the page, each with its kind: focus, fingers, windows, a lost server."""

import http.server
import threading
from io import BytesIO
from typing import Any

import numpy as np
from browsing import PHONE, Page, faults
from page_servers import page_server
from PIL import Image
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By

from castle_env.game_file import parse_games


def picture(element: Any) -> Any:
    """The pixels of an element, shape (height, width, 3)."""
    return np.array(Image.open(BytesIO(element.screenshot_as_png)).convert("RGB"))


# Focus


def test_the_ring_of_the_focus_hides_no_piece(page: Page) -> None:
    page.new_game("storm", "human", "human")
    for name in ("W4", "Nd", "E3"):
        page.play(1, page.cell(name).click)
    page["mode"].click()
    tokens = page.ask(page.driver.current_url.replace(f"{page.address}/#", "/games/"))[1][
        "position"]["tokens"]
    held = [f"{'abcdef'[square % 6]}{6 - square // 6}" for square, token in enumerate(tokens)
            if token != "."]
    page.point_at(page["mode"])
    before = {name: picture(page.cell(name)) for name in held}
    for name, plain in before.items():
        page.go_to(name)
        ringed = picture(page.cell(name))
        height, width, _ = plain.shape
        inner = np.s_[height // 4:-height // 4, width // 4:-width // 4]
        assert np.abs(ringed[inner].astype(int) - plain[inner]).max() < 8
        assert np.abs(ringed.astype(int) - plain).max() > 60  # there is a ring


def test_the_focus_is_never_lost(page: Page) -> None:
    page.new_game("storm", "human", "human")
    for count, name in enumerate(("W4", "Nd", "E3"), 1):
        page.play(count, page.cell(name).click)

    page.script("document.querySelector('[data-key=move1]').focus()")
    page.press(Keys.ENTER)
    page.until(lambda: page.all("#moves [aria-current]")[0].text.endswith("W4"))
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
    page.until(lambda: not page["dialog"].is_displayed())
    assert page.focus == "seat1"

    page.script("document.querySelector('[data-key=row-controlled]').focus()")
    page["analyse"].send_keys(" ")
    page.script("document.querySelector('[data-key=move1]').focus()")
    page.until(lambda: page.all("#moves small") and not page.all("progress"))
    assert page.focus == "move1"


def test_the_focus_stays_while_agents_move_and_after_stop(page: Page) -> None:
    page.new_game("storm", "random", "random")
    page.script("document.getElementById('speed').value = 3")
    page.script("document.querySelector('[data-key=row-captured]').focus()")
    page.until(lambda: page.over)
    assert page.focus == "row-captured"
    page.new_game("storm", "human", "alphabeta:9000ms")
    page.cell("W4").click()
    page.until(page["stop"].is_displayed)
    page["stop"].send_keys(Keys.ENTER)
    page.until(lambda: not page["stop"].is_displayed())
    assert page.focus


def test_stop_thinking_goes_when_the_answer_comes(page: Page) -> None:
    page.new_game("storm", "human", "alphabeta:1500ms")
    page.cell("W4").click()
    page.until(page["stop"].is_displayed)
    page.until(lambda: len(page.moves) == 2)
    assert page.turn == "Your turn"
    assert not page["stop"].is_displayed()
    # An Undo or a step back while it thinks takes it away too.
    page.cell("Nd" if "Nd" in page.names(".lane.legal") else page.names(".lane.legal")[0]).click()
    page.until(page["stop"].is_displayed)
    page["back"].click()
    page.until(lambda: not page["stop"].is_displayed())


# Fingers


def test_a_finger_drags_factions_and_lanes_and_scrolls_nothing(page: Page) -> None:
    page.new_game("sudden-death", "human", "human")
    for count, name in enumerate(("Nb", "W4"), 1):
        if name not in page.names(".lane.legal"):
            name = page.names(".lane.legal")[0]
        page.play(count, page.cell(name).click)
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
    page.new_game("storm", "human", "human")
    first = page.driver.current_window_handle
    url = page.driver.current_url
    page.driver.switch_to.new_window("tab")
    page.driver.get(url)
    page.until(lambda: page.turn)
    for count, name in enumerate(("W4", "Nd", "E3"), 1):
        page.play(count, page.cell(name).click)
    page.driver.switch_to.window(first)
    assert page.moves == []
    page.cell("Nc").click()
    page.until(lambda: page.moves == ["W4", "Nd", "E3"])
    assert "another window" in page["toast"].text
    page.play(4, page.cell(page.names(".lane.legal")[0]).click)
    assert page.moves[:3] == ["W4", "Nd", "E3"]


def test_an_answer_that_comes_while_one_looks_back_is_known(page: Page) -> None:
    page.new_game("storm", "human", "greedy")
    page.hold("/reply")
    page.cell("W4").click()
    page.until(lambda: page.holds)
    page["back"].click()
    page.until(lambda: page.is_off("back"))
    page.let_go()
    page.until(lambda: len(page.moves) == 2)
    assert page.is_off("back")
    page.play(2, page.cell("Nc").click)
    assert page.moves[0] == "Nc"
    assert page["toast"].get_attribute("textContent") == ""


def test_the_page_keeps_its_game_when_the_server_goes_away(driver: Any, downloads: Any) -> None:
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


def names(text: str) -> Any:
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


def test_edited_rules_are_played_on_with_seats_that_fit(driver: Any) -> None:
    with page_server(("human", "ppo-storm")) as server:
        page = Page(driver, server.address)
        page["edit"].click()
        page.until(lambda: "Fits" in page["editor"].text)
        field = page.driver.find_element(By.NAME, "controlled")
        field.clear()
        field.send_keys("5\t")
        page.until(lambda: page["editor-seat1"].get_attribute("value") == "alphabeta:4")
        offered = [option.get_attribute("value") for option in page["editor-seat1"].find_elements(
            By.TAG_NAME, "option")]
        assert "exact" in offered
        assert not [name for name in offered if name.startswith(("ppo", "az"))]
        page.driver.find_element(By.XPATH, "//button[text()='Play from here']").click()
        page.until(lambda: not page["editor"].is_displayed())
        assert page.saved().rules.victory_points.controlled == 5
        assert page.saved().players == ("human", "alphabeta:4")


def test_the_editors_text_is_never_that_of_another_position(page: Page) -> None:
    page.new_game("storm", "human", "human")
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
    page.new_game("storm", "human", "human")
    page["analyse"].click()
    page.until(lambda: page.all(".badge") and not page.all("progress"))
    labels = [page.label(name) for name in page.names(".lane.legal")]
    assert all("Worth" in label for label in labels)
    assert any("a best move" in label for label in labels)
    page["analyse"].click()
    page.new_game("sudden-death", "human", "human")
    for count in (1, 2):
        page.play(count, page.cell(page.names(".lane.legal")[0]).click)
    page.go_to(page.names(".square.mine")[0])
    page.press(Keys.ENTER)
    page.until(lambda: "chosen. It may step to" in page.said)
