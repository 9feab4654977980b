# SPDX-License-Identifier: Apache-2.0
"""What the tests of the decompiler's page share: the page in a browser, ways to give it files."""

import functools
import http.server
import threading
from pathlib import Path
from typing import Any, Callable, Iterator, List, NamedTuple

import pytest
from browsing import browser as browser
from dropping import PAGE, Opened
from needs import missing


@pytest.fixture(scope="session")
def page_file() -> Path:
    """The page, built."""
    if not PAGE.exists():
        missing("build/web/page/index.html (make web)")
    return PAGE


class Served(NamedTuple):
    """The page on a static server."""

    address: str
    asked: List[str]
    """What the server was asked for."""


@pytest.fixture
def served(page_file: Path) -> Iterator[Served]:
    """The page on a static server."""
    asked: List[str] = []

    class Counting(http.server.SimpleHTTPRequestHandler):
        def log_request(self, *_: object) -> None:
            asked.append(f"{self.command} {self.path}")

    handler = functools.partial(Counting, directory=str(page_file.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Served(f"http://127.0.0.1:{server.server_port}/{page_file.name}", asked)
        server.shutdown()


@pytest.fixture
def open_page(browser: Any, page_file: Path) -> Iterator[Callable[..., Opened]]:
    """Open the page; at the end of the test it must have said and requested nothing."""
    contexts: List[Any] = []
    opened: List[Opened] = []

    def open_at(address: str = "", anchor: str = "", before: str = "", **options: Any) -> Opened:
        """Open the page at an address; `before` is a script that runs before its own."""
        options.setdefault("viewport", {"width": 1440, "height": 900})
        context = browser.new_context(accept_downloads=True, **options)
        contexts.append(context)
        home = address or page_file.as_uri()
        if before:
            context.add_init_script(before)
        found = Opened(context.new_page(), home)
        opened.append(found)
        found.page.goto(home + anchor)
        found.page.wait_for_selector("html.ready", state="attached", timeout=60_000)
        return found

    yield open_at
    for context in contexts:
        context.close()
    for found in opened:
        assert found.said == []
        assert found.asked == []
