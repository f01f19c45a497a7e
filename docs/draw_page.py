"""Draw the pictures of the page: `python docs/draw_page.py` writes them anew, in Chromium.

`web-play.png` shows a game with the pointer over a lane, `web-analysis.png` the same game judged.
"""

import json
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.append(str(DOCS.parent / "tests" / "helpers"))

from browsing import Page, browser  # noqa: E402

from castle_env import Game, load_ruleset  # noqa: E402
from castle_env.game_file import format_game  # noqa: E402
from castle_env.game_record import record_game  # noqa: E402
from experiments.web import serving  # noqa: E402

MOVES = ("W4", "Ne", "Sd", "Nc", "Nd", "E4")
POINTER = "Sb"
SIZE = (1180, 837)


def load_game(page: Page) -> None:
    rules = load_ruleset("storm")
    actions = map(Game(rules).parse_action, MOVES)
    record = record_game(rules, actions, players=("human", "alphabeta:4"))
    _, game = page.ask("/games/load", json.dumps({"text": format_game(record)}))
    page.script("location.hash = arguments[0]", game["id"])
    page.until(lambda: len(page.moves) == len(MOVES))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, serving() as address, \
            browser(Path(folder)) as driver:
        page = Page(driver, address)
        page.size(*SIZE)
        load_game(page)
        page.theme("light")
        page.point_at(page.cell(POINTER))
        page.until(lambda: page.strip)
        driver.save_screenshot(str(DOCS / "images" / "web-play.png"))
        page.theme("dark")
        page["analyse"].click()
        page.until(lambda: "Exact" in page["analysis"].text)
        page.point_at(page["turn"])
        driver.save_screenshot(str(DOCS / "images" / "web-analysis.png"))


if __name__ == "__main__":
    main()
