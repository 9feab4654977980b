# SPDX-License-Identifier: Apache-2.0
"""The decompiler's page sends nothing, keeps a file in its address, and shows names as text."""

import random
import sys
import zipfile
from types import CodeType
from typing import Any, Callable, Dict

import pytest
from archives import small_pyc, zipped
from dropping import halve, pyc_of
from needs import ROOT

# --- Addresses, files, safety ---------------------------------------------------------------------


def test_a_link_holds_the_file(open_page: Callable[..., Any]) -> None:
    opened = halve(open_page)
    page = opened.page
    page.locator("#source .row", has_text="count //= 2").click()
    page.click("#side [data-view=graph]")
    page.keyboard.press("l")
    page.locator("#status.on").wait_for()
    anchor = page.evaluate("location.hash")
    assert "z=" in anchor and len(anchor) < 2000
    again = open_page(anchor=anchor)
    again.page.locator("#graph .box").first.wait_for()
    assert again.rows("source", ".pin") == ["3 count //= 2"]
    assert again.page.inner_text("#file") == "halve.pyc"
    torn = open_page(anchor=anchor[:-40])
    torn.page.locator("#problem", has_text="damaged").wait_for()


SLOW = """
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message) {
    setTimeout(() => post.call(this, message), 500);
  };
"""


def test_what_a_reader_opens_takes_the_place_of_a_link_that_still_opens(
    open_page: Callable[..., Any],
) -> None:
    first = halve(open_page).page
    first.keyboard.press("l")
    first.locator("#status.on").wait_for()
    opened = open_page(anchor=first.evaluate("location.hash"), before=SLOW)
    page = opened.page
    page.locator("#busy", has_text="halve.pyc").wait_for()
    opened.drop(("small.pyc", small_pyc()))
    # The link's own opening has ended by now, in vain.
    assert page.locator("html.opened").count() == 1
    assert page.evaluate("location.hash") == ""
    assert page.inner_text("#file") == "small.pyc"
    assert b"import os" in opened.source()


def test_a_large_file_gets_no_link(open_page: Callable[..., Any]) -> None:
    opened = open_page()
    noise = random.Random(1).randbytes(60_000)
    opened.drop(("large.pyc", pyc_of(f"x = {noise!r}")))
    opened.page.keyboard.press("l")
    opened.page.locator("#status.on", has_text="too large for a link").wait_for()
    assert opened.page.evaluate("location.hash") == ""


def halved(open_page: Callable[..., Any], address: str) -> Any:
    """Open the page at an address, with a file."""
    opened = open_page(address)
    opened.drop(("halve.pyc", (ROOT / "docs" / "walkthrough" / "halve.pyc").read_bytes()))
    assert opened.source().startswith(b"def halve(count):")
    return opened


def test_a_server_is_asked_for_the_page_and_nothing_else(
    served: Any, open_page: Callable[..., Any]
) -> None:
    page = halved(open_page, served.address).page
    for view in ("graph", "stages", "hidden"):
        page.click(f"#side [data-view={view}]")
    page.keyboard.press("l")
    page.locator("#status.on").wait_for()
    assert served.asked == ["GET /index.html"]


@pytest.mark.parametrize("where", ["server", "file"])
def test_the_policy_stops_what_a_script_would_send(
    where: str, served: Any, open_page: Callable[..., Any]
) -> None:
    opened = halved(open_page, served.address if where == "server" else "")
    assert len(opened.workers) == 1
    served.asked.clear()
    target = served.address.replace("index.html", "secret")
    for context in (opened.page, opened.workers[0]):
        tried = "address => fetch(address).then(() => 'sent', error => error.name)"
        assert context.evaluate(tried, target) == "TypeError"
    opened.page.evaluate(
        """address => {
          const script = document.createElement('script');
          script.textContent = 'document.title = "ran"';
          const image = new Image();
          image.src = address;
          navigator.sendBeacon(address, 'secret');
          document.body.append(script, image);
        }""",
        target,
    )
    opened.page.wait_for_timeout(300)
    assert opened.page.title() == "halve.pyc · pellucid"
    # A form would take the place of the page: the last attempt.
    opened.page.evaluate(
        """address => {
          const form = document.createElement('form');
          form.action = address;
          document.body.append(form);
          form.submit();
        }""",
        target,
    )
    opened.page.wait_for_timeout(300)
    assert served.asked == []
    assert len(opened.said) >= 5
    assert all("Content Security Policy" in text for text in opened.said)
    opened.said.clear()
    opened.asked.clear()


HOSTILE = (
    '<img src=x onerror="document.title=1">',
    "</script><script>document.title=1</script>",
    "\u202egnp.exe",
    "a\u2028b",
    "\x1b[31m",
    "../../etc/passwd",
    "{{core}}",
    "__proto__",
)


def named(code: CodeType, name: str) -> CodeType:
    """Return a code object by another name."""
    changes: Dict[str, Any] = {"co_name": name}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = name
    return code.replace(**changes)


def test_hostile_names_are_text(open_page: Callable[..., Any]) -> None:
    source = f"def f(): return {HOSTILE!r}\nclass C: pass\n"
    members: Dict[str, bytes] = {}
    for i, name in enumerate(HOSTILE):
        module = compile(source, name, "exec")
        consts = (named(c, name) if isinstance(c, CodeType) else c for c in module.co_consts)
        members[f"{name}{i}.pyc"] = pyc_of(module.replace(co_consts=tuple(consts)))
    opened = open_page()
    page = opened.page
    name = '<b onmouseover="document.title=1">x</b>.zip'
    opened.drop((name, zipped(members)))
    opened.all_done()
    assert page.inner_text("#file") == name
    for row in page.locator("#files .row:not(.folder)").all():
        row.click()
    for view in ("graph", "stages", "hidden", "bytecode"):
        page.click(f"#side [data-view={view}]")
        page.wait_for_timeout(100)
    page.keyboard.press("/")
    page.keyboard.type("img")
    page.locator("#found .result").first.wait_for()
    assert page.locator("img").count() == 0 and page.locator("script").count() == 3
    assert page.title() == f"{name} · pellucid"
    assert "\u202e" not in page.evaluate("document.body.innerText")
    page.keyboard.press("Escape")
    with zipfile.ZipFile(opened.saved("z")) as archive:
        assert all(".." not in entry.split("/") for entry in archive.namelist())
