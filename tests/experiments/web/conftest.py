"""One server and one browser for all tests of the page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import BROWSER, DRIVER, WIDE, Page, browser, faults
from selenium.webdriver import Chrome

from experiments.web import serving


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def driver(downloads: Path) -> Iterator[Chrome]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("needs Chromium and its driver (Debian: apt-get install chromium "
                    "chromium-driver)")
    with browser(downloads) as driver:
        yield driver


@pytest.fixture(scope="session")
def failures() -> list[int]:
    """How many tests had failed when a page was asked for last: after one it is loaded anew."""
    return [0]


@pytest.fixture
def page(
    driver: Chrome, address: str, failures: list[int], request: pytest.FixtureRequest
) -> Iterator[Page]:
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
