"""What the tests of the page share: pages of small and large dumps, and a browser."""

from pathlib import Path
from typing import Any, Callable, Iterator, List, NamedTuple

import pytest
from browsing import browser as browser
from dumps import large, small
from pellucid.report import report


@pytest.fixture(scope="session")
def small_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a function that breaks and is compiled twice."""
    return report(small(tmp_path_factory.mktemp("small") / "dump"))


@pytest.fixture(scope="session")
def large_dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump of 100,000 lines with 10,000 guards and graphs of 5,000 operations."""
    return large(tmp_path_factory.mktemp("large") / "dump", 100_000, 5_000, 10_000)


@pytest.fixture(scope="session")
def large_page(large_dump: Path) -> Path:
    """Its page."""
    return report(large_dump)


class Opened(NamedTuple):
    """A page in the browser, and what it did that it must not do."""

    page: Any
    said: List[str]
    """Messages on the console, and errors of scripts."""
    asked: List[str]
    """Addresses that were requested."""


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Open a page file; at the end of the test it must have said and requested nothing."""
    contexts: List[Any] = []
    opened: List[Opened] = []

    def open_file(path: Path, anchor: str = "", ready: bool = True, **options: Any) -> Opened:
        options.setdefault("viewport", {"width": 1500, "height": 950})
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        found = Opened(page, [], [])
        page.on("console", lambda message: found.said.append(message.text))
        page.on("pageerror", lambda error: found.said.append(str(error)))

        def abort(route: Any) -> None:
            if route.request.url.split("#")[0] == path.as_uri():
                route.continue_()
            else:
                found.asked.append(route.request.url)
                route.abort()

        page.route("**/*", abort)
        page.goto(path.as_uri() + anchor)
        if ready:
            page.wait_for_selector("html.ready", state="attached", timeout=60_000)
        opened.append(found)
        return found

    yield open_file
    for context in contexts:
        context.close()
    for found in opened:
        assert found.said == []
        assert found.asked == []
