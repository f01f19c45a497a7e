"""What a person who never heard of the game learns from the page, by mouse, keyboard and touch."""


from browsing import PHONE, Page, attribute
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By


def test_the_rules_open_on_the_first_visit_and_by_a_key(driver: Chrome, address: str) -> None:
    page = Page(driver, address, first=True)
    page.until(page["lessons"].is_displayed)
    titles = page.texts("#lesson-list h3")
    assert titles[:2] == ["The aim", "Slide and push"]
    assert titles[-1] == "Keys"
    assert len(page.all(".miniature")) >= 5
    assert "is not allowed: " in page["lesson-list"].text
    page.press(Keys.ESCAPE)
    page.until(lambda: not page["lessons"].is_displayed())
    driver.refresh()
    page.until(lambda: page.turn == "Your turn" or page.turn)
    assert not page["lessons"].is_displayed()
    page.press("?")
    page.until(page["lessons"].is_displayed)
    row = page.all(".lesson .row button")[-1]
    page.script("arguments[0].focus()", row)
    assert page.all(".miniature .ring")


def test_the_rules_are_those_of_the_game_shown(page: Page) -> None:
    page.begin("sudden-death-step")
    page["help"].click()
    page.until(page["lessons"].is_displayed)
    titles = page.texts("#lesson-list h3")
    assert {"Enter and push", "Step"} <= set(titles)


def test_a_first_game_gives_a_hint_at_each_turn(driver: Chrome, address: str) -> None:
    page = Page(driver, address, first=True)
    page.until(page["lessons"].is_displayed)
    page["first-game"].click()
    page.until(lambda: page.strip.startswith("Hint: "))
    assert page.all(".advised")
    page.play(2, page.cell(page.strip.split()[1]).click)
    page.point_at(page["mode"])  # on a lane, what it does is said in place of the hint
    page.until(lambda: page.strip.startswith("Hint: ") and page.all(".advised"))
    page.begin()
    assert not page.strip.startswith("Hint")
    page.press("h")
    page.until(lambda: page.strip.startswith("Hint: "))


def test_a_closed_lane_says_why_by_mouse_key_and_finger(page: Page) -> None:
    page.begin()
    page.point_at(page.cell("Na"))
    page.until(lambda: page.strip == "Na is closed: no token to push in this lane.")
    assert "reason" in attribute(page["preview"], "class")
    page.until(lambda: "no token to push in this lane" in page.label("Na"))
    page.point_at(page["mode"])
    page.until(lambda: page.strip.startswith("Choose a lane"))
    page.go_to("Nb")
    page.press(Keys.ENTER)
    page.until(lambda: page.said == "Nb is closed: no token to push in this lane.")
    page.size(*PHONE, mobile=True)
    page.touch(page.cell("W6"))
    page.until(lambda: page.said == "W6 is closed: no token to push in this lane.")
    page.size(1280, 720)
    page.cell("c4").click()
    page.until(lambda: "c4 is a stronghold" in page.strip)
    assert page.moves == []


def test_a_step_that_is_not_allowed_says_why(page: Page) -> None:
    page.begin("sudden-death", moves=["Nc", "W3"])
    mine = page.names(".square.mine")[0]
    page.cell(mine).click()
    page.until(lambda: page.names(".square.selected") == [mine])
    far = "a1" if mine[0] not in "ab" else "f1"
    page.cell(far).click()
    page.until(lambda: page.strip == "A step goes one square up, down, left or right.")
    theirs = next(name for name in page.names(".square")
                  if "Orange’s orange diamond" in page.label(name))
    page.cell(theirs).click()
    page.until(lambda: page.strip == f"{theirs} is Orange’s faction.")


def test_points_are_explained_and_light_what_they_count(page: Page) -> None:
    page.begin(moves=["W4"])
    row = page.all("[data-key=row-controlled]")[0]
    cells = [cell.text for cell in row.find_elements(By.XPATH, "./ancestor::tr/td")]
    assert cells == ["2 × 2 = 4", "0"]  # the circle on c4 holds d4 and c3
    page.point_at(row)
    page.until(lambda: len(page.all("#board .ring")) == 3)
    page.point_at(page["mode"])
    page.until(lambda: not page.all("#board .ring"))
    page.play(2, page.cell("E3").click)
    page.script("arguments[0].focus()", page.all("[data-key=row-besieging]")[0])
    page.until(lambda: len(page.all("#board .ring")) == 2)


def test_a_captured_token_is_crossed_out_beyond_the_edge(page: Page) -> None:
    page["edit"].click()
    page.until(lambda: "Fits" in page["editor"].text)
    text = page.driver.find_element(By.CSS_SELECTOR, "#editor input[spellcheck=false]")
    text.clear()
    text.send_keys("6/6/2##2/2##2/6/B5 A - 8,7 0,0 4\t")
    page.until(lambda: "Blue to move" in page.all("#editor .message")[0].text)
    page.choose("editor-seat0", "human")
    page.choose("editor-seat1", "human")
    page.driver.find_element(By.XPATH, "//button[text()='Play from here']").click()
    page.until(lambda: not page["editor"].is_displayed())
    page.play(1, page.cell("Na").click)
    (lost,) = page.all(".lost")
    assert page.middle(lost)[1] > page.middle(page.cell("a1"))[1] + 20
    assert page["lastmove"].text.endswith("captured an orange diamond")
    page.script("document.querySelector('[data-key=row-captured]').focus()")
    page.until(lambda: "lit-captured" in attribute(page["players"], "class"))


def test_players_have_one_name_each(page: Page) -> None:
    page.begin(players=("human", "greedy"))
    assert page.turn == "Your turn"
    page.play(2, page.cell("W4").click)
    assert page.texts(".who strong") == ["You", "greedy"]
    assert page["lastmove"].text.startswith("greedy played ")
    assert page.label("a4").startswith("a4: ")
    text = page["panel"].text
    assert "Player 0" not in text
    assert "(A)" not in text
    page.new_game("storm", "greedy", "greedy")
    assert page.texts(".who strong") == ["greedy (blue)", "greedy (orange)"]


def test_lanes_carry_their_names_on_request(page: Page) -> None:
    page.press("l")
    shown = "return [...document.querySelectorAll('.lane-name')].filter((one) => " \
            "getComputedStyle(one).display !== 'none').map((one) => one.textContent)"
    assert len(page.script(shown)) == 24
    assert {"W3", "Na", "Sf", "E6"} <= set(page.script(shown))
    page["lane-names"].click()
    assert page.script(shown) == []


def test_opponents_are_offered_from_weak_to_perfect(page: Page) -> None:
    page["new"].click()
    page.until(page["dialog"].is_displayed)
    options = [option.text for option in page["seat1"].find_elements(By.TAG_NAME, "option")]
    levels = list(dict.fromkeys(option.split(":")[0] for option in options[1:-1]))
    assert levels == ["Beginner", "Novice", "Casual", "Club player", "Strong", "Perfect"]
    page.press(Keys.ESCAPE)
