# SPDX-License-Identifier: Apache-2.0
"""The browser of the tests of pages: the conftest of each folder of them imports the fixture."""

import shutil
from typing import Any, Iterator, List

import pytest
from needs import missing, need

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--no-sandbox", "--disable-gpu"]
# That of the first folder: a process may have one Playwright at a time.
_running: List[Any] = []


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium; without one the test is skipped, CI fails."""
    need("playwright")
    if _running:
        yield _running[0]
        return
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        missing(f"a browser: {', '.join(BROWSERS)} on PATH (Debian's package: chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        _running.append(started)
        yield started
        _running.clear()
        started.close()
