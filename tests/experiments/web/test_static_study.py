"""A game looked at as a whole in a real browser: judged, reviewed, varied, commented, played again.
"""

from functools import cache

from browsing import PHONE, SIDE, WIDE, ZOOMED, Page, attribute
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from agents.solve.analysis import analyse_moves
from agents.solve.move_values import MoveValues
from castle_env import Game, Ruleset

RULES = {"mode": "storm", "factions_per_player": 3, "name": "short"}
SHORT = Game(Ruleset.from_dict(RULES))


@cache
def lost_game() -> tuple[list[str], list[MoveValues]]:
    """A game of a person who always plays a worst move: its moves, the values of all of them."""
    state = SHORT.initial_state()
    actions: list[int] = []
    values: list[MoveValues] = []
    while not SHORT.is_terminal(state):
        values.append(analyse_moves(SHORT, state))
        ranked = sorted(values[-1].values, key=values[-1].regret)
        actions.append(ranked[0 if state.ply & 1 else -1])
        state = SHORT.apply(state, actions[-1])
    return [SHORT.format_action(action) for action in actions], values


def button(page: Page, name: str) -> WebElement:
    return page.driver.find_element(By.CSS_SELECTOR, f'#study [name="{name}"]')


def is_offered(page: Page, name: str) -> bool:
    return button(page, name).is_displayed()


def words(page: Page) -> str:
    return page["study-words"].text


def variations(page: Page) -> list[str]:
    return [attribute(one, "aria-label") for one in page.all("#moves .variation")]


def in_sight(page: Page, name: str) -> bool:
    """Whether all of an element is inside the window."""
    top, bottom, height = page.script(
        "const {top, bottom} = document.getElementById(arguments[0]).getBoundingClientRect();"
        "return [top, bottom, innerHeight]", name)
    return bool(-1 <= top < bottom <= height + 1)


def test_a_lost_game_is_judged_and_its_mistakes_are_reviewed(page: Page) -> None:
    for way, window, theme in (("mouse", WIDE, "light"), ("touch", PHONE, "dark"),
                               ("keys", SIDE, "light"), ("mouse", ZOOMED, "dark")):
        judge_and_review(page, way, window, theme)


def judge_and_review(page: Page, way: str, window: tuple[int, int], theme: str) -> None:
    moves, values = lost_game()
    lost = [value.regret(SHORT.parse_action(name))
            for value, name in zip(values, moves, strict=True)]
    mistakes = [at for at in range(0, len(moves), 2) if lost[at]]
    assert len(mistakes) == 2
    page.size(*window, mobile=way == "touch")
    page.theme(theme)
    page.begin(RULES, ("human", "greedy"), moves)

    def use(name: str) -> None:
        page.use(way, button(page, name))

    def play(name: str) -> None:
        page.use(way, page.cell(name))
        if way == "touch":
            page.use(way, page["confirm"])

    use("judge")
    page.until(lambda: is_offered(page, "startReview"))
    label = attribute(page.all("#graph svg")[0], "aria-label")
    assert f"{len(moves) + 1} of {len(moves) + 1} positions judged" in label
    told = ", ".join(f"move {at + 1} by {lost[at]}" for at in range(len(moves)) if lost[at])
    assert f"Points thrown away: {told}." in label
    assert len(page.all("#graph .mistake")) == len([one for one in lost if one])
    assert page.texts("#moves small") == [
        f"−{one}" if one else "✓" for one in lost]
    if way != "keys":  # for keys the list of moves leads there too
        page.use(way, page.all("#graph .mistake")[-1])
        page.until(lambda: page.current == f"move{max(at + 1 for at in range(6) if lost[at])}")
    else:
        assert page.focus == "study-startReview"  # in the place of the button that was used

    use("startReview")
    for number, at in enumerate(mistakes, 1):
        name = moves[at]
        page.until(lambda text=f"Mistake {number} of 2: {name} threw away {lost[at]}.":
                   text in words(page))
        play(name)
        page.until(lambda text=f"{name} throws away {lost[at]}. Try another.": text in words(page))
        best = SHORT.format_action(values[at].best_actions[0])
        play(best)
        page.until(lambda text=f"Yes, {best} is best.": text in words(page))
        # What it is worth, beside the board and in words.
        page.script("scrollTo(0, 0)")
        assert in_sight(page, "verdict")
        assert in_sight(page, "preview")
        if way == "touch":  # a pointer or the focus on a lane shows what that does
            assert page.strip == f"Yes, {best} is best."
        worth = values[at].best_value
        verb = "win" if worth > 0 else "lose" if worth else "draw"
        assert page["verdict"].text == (
            f"You {verb}{f' by {abs(worth)}' if worth else ''} with best play")
        use("nextMistake")
    page.until(lambda: not is_offered(page, "nextMistake"))
    assert page.moves == moves

    use("rematch")
    page.until(lambda: len(page.moves) == 1 and page.turn == "Your turn")
    assert page.saved().players == ("greedy", "human")
    assert words(page) == ""


def test_best_play_is_walked_and_nothing_is_lost_by_it(page: Page) -> None:
    before, values = lost_game()
    page.begin(RULES, moves=before)
    page["first"].click()
    page.until(lambda: page.is_off("first"))
    button(page, "best").click()
    page.until(lambda: is_offered(page, "walk"))
    line = words(page).removeprefix("Best play: ").split()
    assert len(line) == len(before)
    assert line[0] in [SHORT.format_action(action) for action in values[0].best_actions]
    button(page, "walk").click()
    page.until(lambda: page.moves == line and page.current == "move1")
    for at in range(2, len(line) + 1):
        page["forward"].click()
        page.until(lambda at=at: page.current == f"move{at}")
    assert variations(page) == [f"Main line: 1. {' '.join(before)}"]
    button(page, "promote").click()
    page.until(lambda: not is_offered(page, "promote"))
    page.all("#moves .variation")[0].click()
    page.until(lambda: page.moves == before)
    saved = page.saved()
    assert saved.final.margin == values[0].best_value
    assert [SHORT.format_action(action) for action in saved.actions] == line
    assert [SHORT.format_action(action) for action in saved.variations[0].actions] == before


def test_comments_stay_where_they_were_written(page: Page) -> None:
    page.begin(moves=["W4"])
    page["comment"].send_keys("<b>why?")
    page.play(2, page.cell("Nd").click)  # a click beside the field ends the writing, and is played
    assert page.moves == ["W4", "Nd"]
    page.until(lambda: page["comment"].get_attribute("placeholder") == "Comment on Nd")
    assert page["comment"].get_attribute("value") == ""
    page["back"].click()
    page.until(lambda: page["comment"].get_attribute("value") == "<b>why?")
    assert [note.comment for note in page.saved().notes] == ["<b>why?", ""]
    assert page["toast"].get_attribute("textContent") == ""


def test_a_move_on_the_way_back_is_a_variation(page: Page) -> None:
    before = lost_game()[0]
    for way in ("mouse", "keys", "touch"):
        if way == "touch":
            page.size(*PHONE, mobile=True)
        page.begin(RULES, moves=before)
        page.use(way, page["first"])
        page.until(lambda: page.is_off("first"))
        lane = next(name for name in page.names(".lane.legal") if name != before[0])
        page.use(way, page.cell(lane))
        if way == "touch":
            page.use(way, page["confirm"])
        page.until(lambda lane=lane: page.moves == [lane])
        page.use(way, page.all("#moves .variation")[0])
        page.until(lambda: page.moves == before)
        assert variations(page) == [f"Variation: 1. {lane}"]
        assert [SHORT.format_action(one.actions[0]) for one in page.saved().variations] == [lane]


def test_the_verdict_of_the_analysis_is_in_sight_on_a_phone(page: Page) -> None:
    page.size(*PHONE, mobile=True)
    page.use("touch", page["analyse"])
    page.until(page["verdict"].is_displayed)
    page.until(lambda: page["verdict"].text == "Blue loses by 4 with best play")
    page.script("scrollTo(0, 0)")
    assert in_sight(page, "verdict")
