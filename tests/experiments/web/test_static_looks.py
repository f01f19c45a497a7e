"""How the page looks: whole boards in every window, nothing wider than it, and enough contrast.

Contrast is that of WCAG 2.2, level AA: 4.5 for text (3 for large text), 3 for what is drawn.
"""

from importlib import resources
from typing import Any

from browsing import PHONE, SIDE, WIDE, ZOOMED, Page
from selenium.webdriver.common.by import By

WINDOWS = (PHONE, SIDE, ZOOMED, WIDE)

# The colour of each text that is seen, over the first ground that is not transparent.
TEXTS = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const rgb = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => {
  const part = (byte) => byte <= 10 ? byte / 255 / 12.92 : ((byte / 255 + .055) / 1.055) ** 2.4;
  return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
};
const contrast = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + .05) / (low + .05);
};
const groundOf = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = rgb(getComputedStyle(at).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255];
};
const off = (element) => element.closest(
  "[disabled], [aria-disabled=true], option, svg, dialog:not([open])");
const found = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some(
    (node) => node.nodeType === 3 && node.textContent.trim());
  if (!own || off(element) || !element.checkVisibility({checkOpacity: true})) continue;
  const style = getComputedStyle(element);
  const size = parseFloat(style.fontSize);
  const need = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
  const has = contrast(rgb(style.color), groundOf(element));
  const words = element.textContent.slice(0, 30);
  if (has < need) found.push(`${element.tagName} "${words}" ${has.toFixed(2)}`);
}
const style = getComputedStyle(document.documentElement);
const probe = document.body.appendChild(document.createElement("i"));
const named = (name) => {
  probe.style.color = `var(--${name})`;
  return rgb(getComputedStyle(probe).color);
};
const pairs = %s;
for (const [front, ground, need] of pairs) {
  const has = contrast(named(front), named(ground));
  if (has < need) found.push(`--${front} on --${ground} ${has.toFixed(2)}`);
}
probe.remove();
return found;
"""
SQUARES = ("light", "dark", "way", "crossed")
PAIRS: list[tuple[str, str, float]] = [
    *((piece, ground, 3) for piece in ("p0", "p1", "stone") for ground in SQUARES),
    *((text, ground, 4.5) for text, ground in (
        ("quiet", "light"), ("quiet", "dark"), ("quiet", "paper"), ("p0-text", "p0-tint"),
        ("p1-text", "p1-tint"), ("best", "best-ground"), ("fair", "fair-ground"),
        ("poor", "poor-ground"))),
    *(("focus", ground, 3) for ground in (*SQUARES, "paper", "card", "frame")),
    ("edge", "paper", 3), ("edge", "card", 3), ("p0", "p0-tint", 3), ("p1", "p1-tint", 3),
]


def poor_contrasts(page: Page) -> Any:
    pairs = [[front, ground, need] for front, ground, need in PAIRS]
    return page.script(TEXTS % str(pairs).replace("'", '"'))


def test_the_board_is_whole_and_nothing_is_wider_than_the_window(page: Page) -> None:
    page.begin("sudden-death", moves=["Nc"])
    for width, height in WINDOWS:
        page.size(width, height, mobile=(width, height) in (PHONE, SIDE))
        page.script("document.querySelector('#board').scrollIntoView({block: 'nearest'})")
        box = page.script("const {top, bottom, left, right} = document.querySelector('#board')"
                          ".getBoundingClientRect(); return [top, bottom, left, right]")
        assert -1 <= box[0] < box[1] <= height + 1, (width, box)
        assert -6 <= box[2] < box[3] <= width + 6, (width, box)
        assert box[1] - box[0] >= 0.7 * min(width, height)  # and no smaller than it has to be
        narrow(page, width)
    page["help"].click()
    page.until(page["lessons"].is_displayed)
    everywhere(page)
    page["lessons-close"].click()
    page["edit"].click()
    page.until(lambda: "Fits" in page["editor"].text)
    everywhere(page)
    assert page.script(UNNAMED) == []


def everywhere(page: Page) -> None:
    for width, height in WINDOWS:
        page.size(width, height, mobile=(width, height) in (PHONE, SIDE))
        narrow(page, width)


def narrow(page: Page, width: int) -> None:
    assert page.script("return document.documentElement.scrollWidth") <= width
    cut = page.script("return [...document.querySelectorAll('button, label, select, h1, h2')]"
                      ".filter((one) => one.checkVisibility() && !one.closest('.who') && "
                      "one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)"
                      ".map((one) => one.outerHTML.slice(0, 120))")
    assert cut == []


UNNAMED = """
return [...document.querySelectorAll("button, input, select, textarea")].filter((one) =>
  one.checkVisibility() && !one.textContent.trim() && !one.ariaLabel && !one.labels?.length)
  .map((one) => one.outerHTML)"""


def test_long_names_fit(page: Page) -> None:
    page.begin({"mode": "storm", "name": "a" * 60}, ("human", "alphabeta:6:nodes=10000000"))
    assert "aaa" in page["ruleset"].text
    everywhere(page)


def violations(page: Page) -> Any:
    """What axe-core finds: rules that are broken, and where."""
    axe = resources.files("axe_playwright_python").joinpath("axe.min.js")
    page.script("if (!window.axe) {" + axe.read_text(encoding="utf-8") + "}")
    return page.driver.execute_async_script(
        "const done = arguments[0]; axe.run({resultTypes: ['violations']}).then((found) => "
        "done(found.violations.map(({id, impact, nodes}) => `${impact} ${id}: "
        "${nodes.map((one) => one.html.slice(0, 99))}`)))")


def check(page: Page) -> None:
    """Nothing is hard to see or to use, in both themes."""
    for theme in ("light", "dark"):
        page.theme(theme)
        assert poor_contrasts(page) == []
        assert violations(page) == []


def test_everything_can_be_seen_and_used_by_everybody(page: Page) -> None:
    page.begin(moves=["W4"])
    page["analyse"].click()
    page.until(lambda: page.all(".regret") and not page.all("progress"))
    page.driver.find_element(By.NAME, "judge").click()
    page.until(lambda: "This move" in page["study-words"].text)
    page.point_at(page.cell("Na"))
    page.until(lambda: "closed" in page.strip)
    check(page)
    page["analyse"].click()
    page["help"].click()
    page.until(page["lessons"].is_displayed)
    check(page)
    page["lessons-close"].click()
    page["new"].click()
    page.until(page["dialog"].is_displayed)
    check(page)
    page["cancel"].click()
    page["edit"].click()
    page.until(lambda: "Fits" in page["editor"].text)
    check(page)


def test_the_theme_is_remembered(page: Page) -> None:
    before = page.script("return document.documentElement.dataset.theme")
    page["theme"].click()
    theme = page.script("return document.documentElement.dataset.theme")
    assert theme in ("light", "dark")
    assert theme != before
    page.driver.refresh()
    page.until(lambda: page.script("return document.documentElement.dataset.theme") == theme)
