"""One server and one browser for all tests of the page."""

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import BROWSER, DRIVER, WIDE, Page, browser, faults

from experiments.web import serving


@pytest.fixture(scope="session")
def address() -> Iterator[Any]:
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def driver(downloads: Any) -> Iterator[Any]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("needs Chromium and its driver (Debian: apt-get install chromium "
                    "chromium-driver)")
    with browser(downloads) as driver:
        yield driver


@pytest.fixture
def page(driver: Any, address: str) -> Iterator[Any]:
    """The page as somebody opens it who has been here before."""
    faults(driver)
    page = Page(driver, address)
    page.size(*WIDE)
    yield page
    driver.switch_to.window(driver.window_handles[0])
    assert not faults(driver)
