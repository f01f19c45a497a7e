"""One server and one browser for all tests of the page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import BROWSER, DRIVER, WIDE, Page, browser, faults

from experiments.web import serving


@pytest.fixture(scope="session")
def address() -> Iterator[Any]:
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: Any) -> Any:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def driver(downloads: Path) -> Iterator[Any]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("needs Chromium and its driver (Debian: apt-get install chromium "
                    "chromium-driver)")
    with browser(downloads) as driver:
        yield driver


@pytest.fixture(scope="session")
def failures() -> Any:
    """How many tests had failed when a page was asked for last: after one it is loaded anew."""
    return [0]


@pytest.fixture
def page(driver: Any, address: str, failures: list[int],
         request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page as somebody opens it who has been here before."""
    faults(driver)
    before, failures[0] = failures[0], request.session.testsfailed
    page = Page(driver, address, used=failures[0] == before)
    page.size(*WIDE)
    yield page
    for other in driver.window_handles[1:]:
        driver.switch_to.window(other)
        driver.close()
    driver.switch_to.window(driver.window_handles[0])
    assert not faults(driver)
