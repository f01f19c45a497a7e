"""The page in a real browser, as a person sees and uses it: mouse, keyboard, touch, windows."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from narrow import present
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from castle_env import Game, Ruleset, load_ruleset
from castle_env.game_file import format_game, parse_games
from castle_env.game_record import GameRecord, record_game

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
DRIVER = shutil.which("chromedriver")
SECONDS = 90
NUMBERS = count(1)
WIDE, PHONE, SIDE, ZOOMED = (1280, 720), (390, 844), (844, 390), (640, 360)
WAYS = {(-1, 0): Keys.ARROW_UP, (1, 0): Keys.ARROW_DOWN, (0, -1): Keys.ARROW_LEFT,
        (0, 1): Keys.ARROW_RIGHT}


@contextmanager
def browser(folder: Path) -> Iterator[Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = present(BROWSER)
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1280,900", "--force-prefers-reduced-motion"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    driver = Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def faults(driver: Chrome) -> list[str]:
    """What scripts of the page did wrong since this was asked last."""
    return [entry["message"] for entry in driver.get_log("browser")
            if entry["level"] == "SEVERE" and "status of 4" not in entry["message"]
            and "net::ERR_CONNECTION" not in entry["message"]]


# What somebody leaves who has used the page: all of it off, closed and forgotten.
RESET = """
sessionStorage.clear();
localStorage.clear();
localStorage.setItem("rules-seen", "yes");
window.let_go?.();
const one = (id) => document.getElementById(id);
document.querySelectorAll("dialog[open]").forEach((dialog) => dialog.close());
if (!one("editor").hidden) one("edit").click();
if (one("analyse").checked) one("analyse").click();
if (one("board").classList.contains("lanes-named")) one("lane-names").click();
one("speed").value = 2;
one("toast").hidden = true;
one("toast").textContent = "";
delete document.documentElement.dataset.theme;
document.activeElement.blur();
scrollTo(0, 0);
"""


class Page:
    """What a person sees and does; one who has been here before, unless it is a `first` visit.

    used: take the page that is open already, which costs a fifth of loading it.
    """

    def __init__(
        self, driver: Chrome, address: str, first: bool = False, used: bool = False
    ) -> None:
        self.driver, self.address = driver, address
        if used and driver.current_url.startswith(f"{address}/#"):
            self.script(RESET)
            self.begin()
            return
        if not driver.current_url.startswith(f"{address}/"):
            driver.get(f"{address}/icon.svg")
        driver.execute_script("sessionStorage.clear(); localStorage.clear();"
                              "if (!arguments[0]) localStorage.setItem('rules-seen', 'yes')", first)
        driver.get(address)
        self.until(lambda: "#" in driver.current_url and self.turn)

    def until(self, condition: Callable[..., Any]) -> Any:
        wait = WebDriverWait(self.driver, SECONDS, 0.1, [StaleElementReferenceException])
        return wait.until(lambda _: condition())

    def __getitem__(self, name: str) -> WebElement:
        return self.driver.find_element(By.ID, name)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def cell(self, name: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, f'[data-name="{name}"]')

    def script(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    @property
    def turn(self) -> str:
        return attribute(self["turn"], "textContent")

    @property
    def said(self) -> str:
        """What a screen reader was told last."""
        return attribute(self["live"], "textContent")

    @property
    def strip(self) -> str:
        return attribute(self["preview"], "textContent")

    def texts(self, selector: str) -> Any:
        """Texts of elements, all of the same moment."""
        return self.script("return [...document.querySelectorAll(arguments[0])].map("
                           "(one) => one.textContent.trim())", selector)

    @property
    def moves(self) -> Any:
        return self.texts("#moves .move span")

    @property
    def over(self) -> bool:
        return "win" in self.turn or "Draw" in self.turn

    def names(self, selector: str) -> Any:
        return self.script("return [...document.querySelectorAll(arguments[0])].map("
                           "(one) => one.dataset.name)", selector)

    def is_off(self, name: str) -> bool:
        return self[name].get_attribute("aria-disabled") == "true"

    def label(self, name: str) -> str:
        return attribute(self.cell(name), "aria-label")

    @property
    def focus(self) -> Any:
        """What has the focus: its name on the board, its key, or its id; "" for nothing."""
        return self.script("const {dataset, id, tagName} = document.activeElement;"
                           "return tagName === 'BODY' ? '' : dataset.name || dataset.key || id")

    # What is done

    def hold(self, end: str) -> None:
        """Keep answers to requests whose path ends so back from the page, until `let_go`."""
        self.script("const [end] = arguments; const {fetch} = window; window.held = [];"
                    "window.let_go = () => { window.fetch = fetch; held.forEach((go) => go()); };"
                    "window.fetch = (path, ...more) => { const answer = fetch(path, ...more);"
                    " return !path.endsWith(end) ? answer : answer.then((one) => new Promise("
                    "(resolve) => { held.push(() => resolve(one)); })); }", end)

    @property
    def holds(self) -> Any:
        """Whether an answer is being kept back."""
        return self.script("return window.held.length > 0")

    def let_go(self) -> None:
        self.script("window.let_go()")

    def size(self, width: int, height: int, mobile: bool = False) -> None:
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})

    def theme(self, name: str) -> None:
        self.script("document.documentElement.dataset.theme = arguments[0]", name)

    def new_game(self, rules: str, *players: str) -> None:
        """Begin a game in the dialog, as a person does."""
        self["new"].click()
        self.until(self["dialog"].is_displayed)
        self.choose("rules", rules)
        for seat, player in enumerate(players):
            self.choose(f"seat{seat}", player)
        before = self.driver.current_url
        self["start"].click()
        self.until(lambda: self.driver.current_url != before and not self["dialog"].is_displayed())

    def begin(
        self,
        ruleset: str | dict[str, Any] = "storm",
        players: tuple[str, str] = ("human", "human"),
        moves: Iterable[str] = (),
        seed: int = 0,
    ) -> None:
        """Open a game that the server has: a preset or a ruleset's keys, moves by their names."""
        rules = load_ruleset(ruleset) if isinstance(ruleset, str) else Ruleset.from_dict(ruleset)
        sign = f"game {next(NUMBERS)}"
        if "human" in players:
            actions = map(Game(rules).parse_action, moves)
            text = format_game(record_game(rules, actions, players=players, seed=seed,
                                           comment=sign))
            status, game = self.ask("/games/load", json.dumps({"text": text}))
        else:  # from a file no two agents are seated
            status, game = self.ask("/games", json.dumps({
                "ruleset": rules.to_dict() | {"name": sign}, "players": players, "seed": seed}))
        assert status == 201, game
        self.script("location.hash = arguments[0]", game["id"])
        self.until(lambda: attribute(self["ruleset"], "textContent").endswith(sign))

    def choose(self, select: str, value: str) -> None:
        """Choose an option, or type an agent's name where it is none."""
        options = self[select].find_elements(By.CSS_SELECTOR, f'option[value="{value}"]')
        if options:
            options[0].click()
            return
        self[select].find_element(By.CSS_SELECTOR, 'option[value="…"]').click()
        field = self[select].find_element(By.XPATH, "following-sibling::input")
        field.clear()
        field.send_keys(value)

    @property
    def current(self) -> Any:
        """The key of the move that led to the position shown; "" at the start."""
        return self.script(
            "return document.querySelector('#moves [aria-current]')?.dataset.key ?? ''")

    def play(self, number: int, act: Callable[[], object]) -> None:
        """Act, and wait until the list, which was shorter, has so many moves and nobody thinks."""
        act()
        self.until(lambda: len(self.moves) >= number and (self.over or " is " not in self.turn))

    def saved(self) -> GameRecord:
        """The game as the server would save it."""
        name = self.driver.current_url.split("#")[1]
        text = self.driver.execute_async_script(
            "fetch(`/api/games/${arguments[0]}/file`).then((answer) => answer.text())"
            ".then(arguments[1])", name)
        return parse_games(text)[0]

    def ask(self, path: str, body: str | None = None) -> Any:
        """What the server answers to the page: status and JSON."""
        return self.driver.execute_async_script(
            "const [path, body, done] = arguments; fetch(`/api${path}`, body === null ? {} : "
            "{method: 'POST', headers: {'Content-Type': 'application/json'}, body}).then("
            "async (answer) => done([answer.status, await answer.json()]))",
            path, body)

    def use(self, way: str, element: WebElement) -> None:
        """Use a button by "mouse", "keys" or "touch", wherever on the page it is."""
        self.until(element.is_displayed)
        self.script("arguments[0].scrollIntoView({block: 'nearest'})", element)
        if way == "mouse":
            element.click()
        elif way == "touch":
            self.touch(element)
        else:
            self.script("arguments[0].focus({focusVisible: true})", element)
            self.press(Keys.ENTER)

    def press(self, key: str) -> None:
        ActionChains(self.driver).send_keys(key).perform()

    def point_at(self, element: WebElement) -> None:
        ActionChains(self.driver).move_to_element(element).perform()

    def go_to(self, name: str) -> None:
        """Walk there with arrow keys from where the focus is."""
        if not self.names(":focus") or self.names(":focus")[0] is None:
            self.script("document.querySelector('#board [tabindex=\"0\"]').focus()")
        row, column = grid(self.names(":focus")[0])
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
                while grid(self.names(":focus")[0])[axis] != goal[axis]:
                    here = grid(self.names(":focus")[0])
                    sign = 1 if goal[axis] > here[axis] else -1
                    self.press(WAYS[(sign, 0) if axis == 0 else (0, sign)])
        assert self.names(":focus") == [name]

    def touch(self, *elements: WebElement) -> None:
        """A finger goes down on the first element, over the others, and up on the last."""
        places = [self.middle(element) for element in elements]
        self._touch("touchStart", places[0])
        for start, end in pairwise(places):
            for step in range(1, 9):
                self._touch("touchMove", [a + (b - a) * step / 8
                                          for a, b in zip(start, end, strict=True)])
        self._touch("touchEnd")

    def _touch(self, kind: str, place: Sequence[float] | None = None) -> None:
        points = [] if place is None else [{"x": place[0], "y": place[1]}]
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent",
                                    {"type": kind, "touchPoints": points})

    def middle(self, element: WebElement) -> Any:
        return self.script("const box = arguments[0].getBoundingClientRect();"
                           "return [box.x + box.width / 2, box.y + box.height / 2]", element)


def attribute(element: WebElement, name: str) -> str:
    """Its text, empty where the element has no such attribute."""
    return element.get_attribute(name) or ""


def grid(name: str) -> tuple[int, int]:
    """Row and column of a lane or square in the grid of 8 by 8."""
    files, ranks = "abcdef", "654321"
    if name[0] in "NS":
        return (0 if name[0] == "N" else 7), files.index(name[1]) + 1
    if name[0] in "WE":
        return ranks.index(name[1]) + 1, (0 if name[0] == "W" else 7)
    return ranks.index(name[1]) + 1, files.index(name[0]) + 1
