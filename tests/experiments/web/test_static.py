"""The page in a real browser: whole games by mouse and by keyboard, analysis, files, the editor."""

import shutil
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from castle_env import Game, load_ruleset
from castle_env.game_file import format_game, parse_games, record_game
from experiments.web import serving

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
DRIVER = shutil.which("chromedriver")
SECONDS = 90

pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="needs Chromium and its driver (Debian: apt-get install chromium chromium-driver)")


@pytest.fixture(scope="module")
def address():
    with serving() as url:
        yield url


@contextmanager
def browser(folder, width=1180, height=980):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--window-size={width},{height}", "--force-prefers-reduced-motion"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
        wrong = [entry["message"] for entry in driver.get_log("browser")
                 if entry["level"] == "SEVERE" and "status of 4" not in entry["message"]]
        assert not wrong
    finally:
        driver.quit()


@pytest.fixture
def page(address, tmp_path):
    with browser(tmp_path) as driver:
        yield Page(driver, address)


class Page:
    """What a person sees and does."""

    def __init__(self, driver, address):
        self.driver, self.address = driver, address
        driver.get(address)
        self.until(lambda: "#" in driver.current_url and self.turn)

    def until(self, condition):
        wait = WebDriverWait(self.driver, SECONDS, 0.05, [StaleElementReferenceException])
        return wait.until(lambda _: condition())

    def __getitem__(self, name):
        return self.driver.find_element(By.ID, name)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def cell(self, name):
        return self.driver.find_element(By.CSS_SELECTOR, f'[data-name="{name}"]')

    @property
    def turn(self):
        return self["turn"].get_attribute("textContent")

    @property
    def moves(self):
        return self.driver.execute_script(
            "return [...document.querySelectorAll('#moves .move span')].map((one) => "
            "one.textContent)")

    @property
    def over(self):
        return "wins" in self.turn or "Draw" in self.turn

    def names(self, selector):
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.dataset.name)",
            selector)

    def new_game(self, rules, *players):
        self["new"].click()
        self.choose("rules", rules)
        for seat, player in enumerate(players):
            self.choose(f"seat{seat}", player)
        before = self.driver.current_url
        self["start"].click()
        self.until(lambda: self.driver.current_url != before and not self["dialog"].is_displayed())

    def choose(self, select, value):
        self[select].find_element(By.CSS_SELECTOR, f'option[value="{value}"]').click()

    def play(self, count, act):
        """Act, and wait until the list has so many moves or the game is over."""
        act()
        self.until(lambda: len(self.moves) >= count and (self.over or "thinks" not in self.turn))

    def saved(self):
        """The game as the server would save it."""
        name = self.driver.current_url.split("#")[1]
        text = self.driver.execute_async_script(
            "fetch(`/api/games/${arguments[0]}/file`).then((answer) => answer.text())"
            ".then(arguments[1])", name)
        return parse_games(text)[0]


def test_a_whole_storm_game_by_mouse(page):
    page.new_game("storm", "human", "greedy")
    while not page.over:
        lane = page.cell(page.names(".lane.legal")[0])
        ActionChains(page.driver).move_to_element(lane).perform()
        page.until(lambda: "Points then" in page["preview"].text)
        name = lane.get_attribute("data-name")
        assert page["preview"].text.startswith(name)
        count = len(page.moves)
        page.play(count + 2, lane.click)
        assert page.moves[count] == name
    game = page.saved()
    assert game.plies == len(page.moves) == 16
    points = [int(cell.text) for cell in page.all("#points tfoot td")]
    assert tuple(points) == game.outcome.victory_points
    assert page["live"].get_attribute("textContent").endswith(page.turn)


def test_a_whole_sudden_death_game_by_keyboard(page):
    page.new_game("sudden-death", "human", "random")
    stepped = False
    for _ in range(130):
        if page.over:
            break
        count = len(page.moves)
        steps = page.names(".square.mine")
        if steps and count % 6 == 2:
            go_to(page, steps[0])
            press(page, Keys.ENTER)
            targets = page.names(".square.legal")
            assert targets
            go_to(page, targets[0])
            page.play(count + 1, lambda: press(page, Keys.ENTER))
            stepped = True
        else:
            lanes = page.names(".lane.legal") or [None]
            if lanes[0] is None:
                break
            go_to(page, lanes[0])
            page.play(count + 1, lambda: press(page, Keys.ENTER))
        page.until(lambda: page.over or len(page.moves) % 2 == 0)
    assert page.over
    assert stepped
    assert page.saved().outcome.reason == "last_faction_entered"


def press(page, key):
    ActionChains(page.driver).send_keys(key).perform()


def go_to(page, name):
    """Walk there with arrow keys from where the focus is."""
    if not page.names(":focus") or page.names(":focus")[0] is None:
        page.driver.execute_script(
            "document.querySelector('#board [tabindex=\"0\"]').focus()")
    ways = {(-1, 0): Keys.ARROW_UP, (1, 0): Keys.ARROW_DOWN, (0, -1): Keys.ARROW_LEFT,
            (0, 1): Keys.ARROW_RIGHT}
    row, column = grid(page.names(":focus")[0])
    to_row, to_column = grid(name)
    path = []
    # Through the inner rows and columns: the corners are no cells.
    if row in (0, 7) and column != to_column:
        path.append((1 if row == 0 else 6, column))
    if to_row in (0, 7):
        path.append((path[-1][0] if path else row, to_column))
    elif to_column in (0, 7):
        path.append((to_row, path[-1][1] if path else column))
    path.append((to_row, to_column))
    for goal in path:
        for axis in (0, 1):
            while grid(page.names(":focus")[0])[axis] != goal[axis]:
                here = grid(page.names(":focus")[0])
                sign = 1 if goal[axis] > here[axis] else -1
                press(page, ways[(sign, 0) if axis == 0 else (0, sign)])
    assert page.names(":focus") == [name]


def grid(name):
    """Row and column of a lane or square in the grid of 8 by 8."""
    files, ranks = "abcdef", "654321"
    if name[0] in "NS":
        return (0 if name[0] == "N" else 7), files.index(name[1]) + 1
    if name[0] in "WE":
        return ranks.index(name[1]) + 1, (0 if name[0] == "W" else 7)
    return ranks.index(name[1]) + 1, files.index(name[0]) + 1


def test_drag_from_the_edge_plays_and_back_out_does_not(page):
    page.new_game("storm", "human", "human")
    lane, square = page.cell("W4"), page.cell("b4")
    chain = ActionChains(page.driver)
    chain.click_and_hold(lane).move_to_element(square).move_to_element(page["turn"]).release()
    chain.perform()
    assert page.moves == []
    ActionChains(page.driver).click_and_hold(lane).move_to_element(square).release().perform()
    page.until(lambda: page.moves == ["W4"])


def test_analysis_shows_the_value_of_each_move_and_the_regret(page):
    page.new_game("storm", "human", "human")
    page.play(1, page.cell("W4").click)
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


def test_reload_and_walking_through_a_game(page):
    page.new_game("storm", "human", "human")
    for count, name in enumerate(("W4", "Nd", "E3"), 1):
        page.play(count, page.cell(name).click)
    url = page.driver.current_url
    page.driver.refresh()
    page.until(lambda: page.moves == ["W4", "Nd", "E3"])
    assert page.driver.current_url == url
    page["back"].click()
    page.until(lambda: page.all("#moves [aria-current]")[0].text.endswith("Nd"))
    page["first"].click()
    page.until(lambda: not page["back"].is_enabled())
    page.play(1, page.cell("Nc").click)
    page.until(lambda: page.moves == ["Nc"])
    page["undo"].click()
    page.until(lambda: page.moves == [])


def test_the_browsers_back_leads_to_the_game_before(page):
    page.new_game("storm", "human", "human")
    page.play(1, page.cell("W4").click)
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


def test_walking_on_while_a_search_runs_is_no_error(page):
    page.new_game("sudden-death", "human", "human")
    for count in (1, 2):
        page.play(count, page.cell(page.names(".lane.legal")[0]).click)
    page["analyse"].click()
    for _ in range(2):
        page.until(lambda: page.all("progress"))
        page["back"].click()
    page.until(lambda: page.all(".badge") and not page.all("progress"))
    assert page["toast"].get_attribute("textContent") == ""


def test_two_tabs_play_two_games(page):
    page.new_game("storm", "human", "human")
    page.play(1, page.cell("W4").click)
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    other = Page(page.driver, page.address)
    other.new_game("storm", "human", "human")
    other.play(1, other.cell("Nc").click)
    page.driver.switch_to.window(first)
    assert page.moves == ["W4"]
    page.play(2, page.cell("Nd").click)
    assert page.moves == ["W4", "Nd"]


def test_files(page, tmp_path):
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
    page.until(lambda: list(tmp_path.glob("storm-*.castle")))
    (saved,) = tmp_path.glob("storm-*.castle")
    assert parse_games(saved.read_text())[0].actions == actions


def test_the_editor_makes_a_position_and_rules_to_play_on_from(page):
    page.new_game("storm", "human", "human")
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
    assert game.start.own | game.start.opposing


def test_two_agents_are_watched_and_paused(page):
    page.new_game("storm", "random", "random")
    page.until(lambda: len(page.moves) >= 2)
    page["pause"].click()
    page.until(lambda: page["pause"].text == "Go on")
    count = len(page.moves)
    page.driver.execute_script("document.getElementById('speed').value = 4")
    page["pause"].click()
    page.until(lambda: page.over)
    assert count < len(page.moves) == 16


def test_phone_width_dark_and_labels(address, tmp_path):
    with browser(tmp_path, 500, 800) as driver:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True})
        page = Page(driver, address)
        wide = "return document.documentElement.scrollWidth"
        assert driver.execute_script(wide) <= 360
        page["theme"].click()
        assert driver.execute_script("return document.documentElement.dataset.theme") in (
            "dark", "light")
        page["edit"].click()
        page.until(lambda: "Fits" in page["editor"].text)
        assert driver.execute_script(wide) <= 360
        unnamed = driver.execute_script("""
            return [...document.querySelectorAll("button, input, select, textarea")].filter((one) =>
              !one.hidden && !one.textContent.trim() && !one.ariaLabel && !one.labels?.length)
              .map((one) => one.outerHTML)""")
        assert unnamed == []


def test_a_game_that_is_gone_is_told_and_another_begins(page):
    page.driver.get("about:blank")
    page.driver.get(f"{page.address}/#unknown")
    page.until(lambda: "no game 'unknown'" in page["toast"].text)
    page.until(lambda: not page.driver.current_url.endswith("#unknown"))
