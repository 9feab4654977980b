# SPDX-License-Identifier: Apache-2.0
"""The browser of the tests of pages: the conftest of each folder of them imports the fixture."""

import shutil
from typing import Any, Iterator, List

import pytest
from needs import ROOT, missing, need

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--no-sandbox", "--disable-gpu"]
# What `make web` brings; the rules of WCAG 2.2 AA, and good practice.
AXE = ROOT / "web" / "page" / "node_modules" / "axe-core" / "axe.min.js"
RULES = [*(f"wcag{version}" for version in ("2a", "2aa", "21a", "21aa", "22aa")), "best-practice"]
# How a page is read: options of a browser's context.
READERS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 375, "height": 667}},
    "forced colours": {"forced_colors": "active"},
}
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


def faults(page: Any) -> List[str]:
    """What axe finds on a page, whose context must let the tests' own script in (bypass_csp)."""
    if not AXE.exists():
        missing("axe-core (make web)")
    page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    found = page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)["violations"]
    return [f"{v['id']}: {n['html']}: {n['failureSummary']}" for v in found for n in v["nodes"]]
