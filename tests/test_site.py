"""The documentation site builds without a warning, leads everywhere and loads nothing from outside;
its pages of the environments say what these are."""

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import gymnasium as gym
import pytest
from narrow import narrow
from places import ROOT

import castle_env
from castle_env import castle_v1
from castle_env.env import CastleEnv
from castle_env.observation import plane_maxima
from castle_env.vector_env import CastleVectorEnv

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "castle_env" / "RULES.md", *sorted(DOCS.rglob("*.md"))]
ENVIRONMENTS = DOCS / "environments"
ROW = re.compile(r"^\| `(\w+)` \| (?:`([^|]*)`|(\w+)) \|", re.MULTILINE)
HEADINGS = ["Usage", "Action space", "Observation space", "Rewards", "Starting state",
            "Episode end", "Info", "Arguments", "Version history"]


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


class Links(HTMLParser):
    """What a page has: names of its places, where its links lead, what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text(page))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.places |= {values[key] or "" for key in ("id", "name") if key in values}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"] or "")
        elif values.get("src"):
            self.loaded.append(values["src"] or "")
        elif tag == "link" and values.get("href"):
            self.loaded.append(values["href"] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_spec("mkdocs") is None:
        pytest.skip("needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir",
                           folder], cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html")}
    assert site / "index.html" in pages
    for page, found in pages.items():
        for link in found.links + found.loaded:
            path, _, place = link.partition("#")
            if "://" in path or path.startswith(("mailto:", "data:", "javascript:")):
                continue
            target = Path(os.path.normpath(page.parent / unquote(path))) if path else page
            target = target / "index.html" if target.is_dir() else target
            if page.name == "404.html":  # it is shown at any address, and its links are from /
                continue
            assert target.is_file(), f"{page.name}: {link}"
            if place and target in pages:
                assert unquote(place) in pages[target].places, f"{page.name}: {link}"


def test_the_site_loads_nothing_from_outside(site: Path) -> None:
    for page in site.rglob("*.html"):
        outside = [link for link in Links(page).loaded if "://" in link or link.startswith("//")]
        assert not outside, f"{page.name}: {outside}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", text(sheet)), sheet.name


def test_pages_from_outside_of_docs_are_in_the_site(site: Path) -> None:
    assert "Two commands" in text(site / "index.html")
    assert "bastion" in text(site / "rules.html")
    assert "class_step" not in text(site / "reference" / "environments.html")
    assert 'id="castle_env.env.CastleEnv.step"' in text(site / "reference" / "environments.html")


def slug(heading: str) -> str:
    """The name of a heading's place."""
    kept = re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower())
    return kept.replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_places_within_pages_exist(page: Path) -> None:
    for target, place in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text(page)):
        if "://" not in target:
            other = (page.parent / target) if target else page
            places = {slug(heading) for heading in re.findall(r"^#+ (.*)$", text(other), re.M)}
            assert place in places, f"{target}#{place}"


def arguments(page: str) -> dict[str, str]:
    """Names and defaults in the table of a page."""
    table = text(ENVIRONMENTS / page).partition("## Arguments")[2].partition("## ")[0]
    return {name: code or word for name, code, word in ROW.findall(table)}


@pytest.mark.parametrize(("page", "maker", "without"), [
    ("storm.md", CastleEnv, {"ruleset"}), ("sudden-death.md", CastleEnv, {"ruleset"}),
    ("castle.md", CastleEnv, set()), ("vector.md", CastleVectorEnv, set()),
    ("pettingzoo.md", castle_v1.env, set())])
def test_a_page_lists_all_arguments(page: str, maker: Callable[..., Any], without: set[str]
                                    ) -> None:
    parameters = {name: getattr(parameter.default, "name", None) or repr(parameter.default)
                  for name, parameter in inspect.signature(maker).parameters.items()
                  if name not in without}
    found = {name: default.replace('"', "'") for name, default in arguments(page).items()}
    found = {name: "NEXT_STEP" if default == "NextStep" else default
             for name, default in found.items()}
    assert found == parameters


@pytest.mark.parametrize(("page", "name"), [
    ("storm.md", "castle_env/Storm-v1"), ("sudden-death.md", "castle_env/SuddenDeath-v1")])
def test_a_page_says_what_the_environment_is(page: str, name: str) -> None:
    env = narrow(gym.make(name).unwrapped, CastleEnv)
    shown = text(ENVIRONMENTS / page)
    assert f"| id | `{name}` |" in shown
    assert f"| action space | `Discrete({env.action_space.n})` |" in shown
    assert f"| observation space | `{env.observation_space}` |" in shown
    assert env.spec is not None
    rows = re.findall(r"^\| (\d+)(?:–(\d+))? \| .* \| (\d+) \|$", shown, re.MULTILINE)
    maxima = [int(most) for first, last, most in rows
              for _ in range(int(first), int(last or first) + 1)]
    assert maxima == plane_maxima(env.game.rules).tolist()
    _, info = env.reset(seed=1)
    keys = re.findall(r"^\| `(\w+)` \|", shown.partition("## Info")[2].partition("## ")[0], re.M)
    assert keys == list(info)


@pytest.mark.parametrize("page", ["storm", "sudden-death", "castle", "vector", "pettingzoo"])
def test_a_page_has_all_headings(page: str) -> None:
    shown = text(ENVIRONMENTS / f"{page}.md")
    assert re.findall(r"^## (.*)$", shown, re.MULTILINE) == HEADINGS


def test_the_gallery_has_every_picture() -> None:
    shown = text(DOCS / "gallery.md")
    pictures = sorted((DOCS / "images").iterdir())
    assert pictures
    assert not [file.name for file in pictures if f"(images/{file.name})" not in shown]


def test_every_registered_environment_has_a_page() -> None:
    index = text(ENVIRONMENTS / "index.md")
    ids = [name for name in gym.registry if name.startswith("castle_env/")]
    assert castle_env.__version__
    assert ids
    assert all(f"`{name}`" in index for name in ids)
