# SPDX-License-Identifier: Apache-2.0
"""The decompiler's page in use: keys, search, looks, large files, and everybody who reads it."""

from typing import Any, Callable, List

import pytest
from archives import small_pyc, zipped
from browsing import READERS, faults
from dropping import halve, pyc_of

# --- Keys, search, looks --------------------------------------------------------------------------


def test_keys(open_page: Callable[..., Any]) -> None:
    opened = open_page()
    page = opened.page
    page.click("[data-do=example]")
    opened.ready()
    current = "#outline .row.pin .name"
    assert page.inner_text(current) == "module"
    page.keyboard.press("j")
    assert page.inner_text(current) == "class Order"
    page.keyboard.press("j")
    assert page.inner_text(current) == "add"
    page.keyboard.press("k")
    assert page.inner_text(current) == "class Order"
    page.keyboard.press("3")
    assert page.evaluate("document.activeElement.id") == "bytecode-list"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert opened.rows("source", ".near")
    page.keyboard.press("Enter")
    assert opened.rows("source", ".pin")
    for key, pane in (("4", "graph"), ("5", "stages"), ("6", "hidden")):
        page.keyboard.press(key)
        assert page.locator(f"#{pane}").is_visible()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_the_next_module_is_the_next_of_the_tree(open_page: Callable[..., Any]) -> None:
    opened = open_page()
    data = zipped({"b.pyc": small_pyc(), "c/a.pyc": small_pyc(), "a.pyc": small_pyc()})
    opened.drop(("later.pyc", small_pyc()), ("first.zip", data))
    opened.all_done()
    page = opened.page
    title = page.locator("#source .title")
    assert title.inner_text() == "later.py"
    for key, place in (("[", "first.zip/b.py"), ("[", "first.zip/a.py"), ("[", "first.zip/c/a.py")):
        page.keyboard.press(key)
        page.locator("#source .title", has_text=place).wait_for()
    page.keyboard.press("]")
    page.locator("#source .title", has_text="first.zip/a.py").wait_for()


def test_everything_is_reached_by_tab(open_page: Callable[..., Any]) -> None:
    opened = halve(open_page)
    where = "document.activeElement.id || document.activeElement.dataset.do"
    reached = set()
    for _ in range(40):
        opened.page.keyboard.press("Tab")
        reached.add(opened.page.evaluate(where))
    lists = {"source-list", "outline-list", "bytecode-list"}
    assert lists | {"search", "link", "zip", "open", "theme", "copy"} <= reached


@pytest.mark.parametrize(
    "query, kind, text",
    [
        ("collatz", "function", "collatz"),
        ("json.dumps", "line", "await stream.write(json.dumps(self.lines))"),
        ("match_keys", "bytecode", "MATCH_KEYS"),
    ],
)
def test_search(query: str, kind: str, text: str, open_page: Callable[..., Any]) -> None:
    opened = open_page()
    page = opened.page
    page.click("[data-do=example]")
    opened.ready()
    page.keyboard.press("/")
    page.keyboard.type(query)
    page.locator("#found .result").first.wait_for()
    found = page.locator("#found .result", has_text=text).first
    assert found.locator(".kind").inner_text() == kind
    found.click()
    assert opened.rows("source", ".pin")
    assert not page.locator("#found").is_visible()


def test_light_and_dark(open_page: Callable[..., Any]) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    page = open_page(color_scheme="dark").page
    dark = page.evaluate(back)
    page.keyboard.press("t")
    assert page.evaluate(back) != dark
    assert open_page(color_scheme="light").page.evaluate(back) == page.evaluate(back)


def test_a_phone_shows_one_pane_at_a_time(open_page: Callable[..., Any]) -> None:
    opened = open_page(viewport={"width": 375, "height": 667})
    page = opened.page
    wide = "document.documentElement.scrollWidth"
    cut = "[...document.querySelectorAll('#views .tab')].some(t => t.scrollWidth > t.clientWidth)"
    assert page.evaluate(wide) <= 375
    page.click("[data-do=example]")
    page.locator("#source .row").first.wait_for()
    assert page.get_attribute("#search", "placeholder") == "Search"
    for tab in page.locator("#views [role=tab]").all():
        tab.click()
        shown = page.locator("#left:visible, #source:visible, #side > section:visible")
        assert shown.count() == 1
        assert page.evaluate(wide) <= 375
        assert not page.evaluate(cut)
    page.locator("#views [data-view=files]").click()
    page.locator("#outline .row", has_text="collatz").click()
    assert page.locator("#source .row.pin", has_text="def collatz").is_visible()


# --- Size -----------------------------------------------------------------------------------------


def made_in_frame(page: Any, selector: str, step: int) -> int:
    """Scroll a part of the page a hundred times; return the most elements that one frame made."""
    most: int = page.evaluate(
        """([selector, step]) => new Promise(done => {
          const part = document.querySelector(selector);
          let steps = 0, made = 0, most = 0;
          const count = (node) => 1 + (node.querySelectorAll?.('*').length ?? 0);
          const observer = new MutationObserver((records) => {
            for (const one of records) for (const node of one.addedNodes) made += count(node);
          });
          observer.observe(document.body, { childList: true, subtree: true });
          const next = () => {
            most = Math.max(most, made);
            made = 0;
            part.scrollTop += step;
            if (++steps < 100) requestAnimationFrame(next);
            else { observer.disconnect(); done(most); }
          };
          requestAnimationFrame(next);
        })""",
        [selector, step],
    )
    return most


def test_twenty_thousand_lines_stay_fluid(open_page: Callable[..., Any]) -> None:
    lines: List[str] = []
    for i in range(4000):
        lines += [
            f"def f{i}(x):",
            f"    if x > {i}:",
            f"        return x * {i}",
            "    return x",
            "",
        ]
    opened = open_page()
    page = opened.page
    opened.hand_over(("big.pyc", pyc_of("\n".join(lines))))
    opened.page.locator("#bytecode .row.head").first.wait_for(state="attached", timeout=120_000)
    assert page.locator("body *").count() < 4000
    assert 0 < made_in_frame(page, "#source-list", 3000) < 1000, "a screenful"
    page.keyboard.press("/")
    page.keyboard.type("f3999")
    page.locator("#found .result", has_text="f3999").first.click()
    assert page.locator("#source .row.pin", has_text="def f3999").is_visible()


def test_a_large_try_is_drawn_and_what_goes_wrong_is_shown(open_page: Callable[..., Any]) -> None:
    body = "".join(f"        if x({i}):\n            g({i})\n" for i in range(290))
    opened = open_page()
    page = opened.page
    page.set_default_timeout(60_000)
    opened.drop(("try.pyc", pyc_of(f"def f(x, g):\n    try:\n{body}    except E:\n        g()\n")))
    page.locator("#outline .row", has_text="f").last.click()
    page.click("#side [data-view=graph]")
    page.locator("#graph svg").wait_for()
    assert page.locator("#graph .box").count() > 580
    assert page.locator("#graph .edge.raises").count() > 250
    made = page.evaluate("""() => {
      const create = document.createElementNS.bind(document);
      let made = 0;
      document.createElementNS = (...what) => { made++; return create(...what); };
      document.querySelector('#graph .toggle').click();
      document.querySelector('#graph .toggle').click();
      document.createElementNS = create;
      return made;
    }""")
    drawn = page.locator("#graph svg *").count()
    assert drawn <= made <= 2 * drawn + 10, "two drawings, no more"
    assert made_in_frame(page, "#graph .picture", 400) == 0, "what scrolls is not drawn again"
    page.evaluate("document.createElementNS = () => { throw new RangeError('too much'); }; 0")
    page.click("#graph .toggle >> nth=0")
    page.locator("#graph .picture", has_text="too much.").wait_for()


def slow() -> bytes:
    """Return a module that takes many seconds."""
    body = "".join(f"    if a[{i}] > b:\n        b = a[{i}] + {i}\n" for i in range(45_000))
    return pyc_of(f"def f(a, b):\n{body}    return b\n")


def test_the_rest_of_an_archive_holds_up_nothing(open_page: Callable[..., Any]) -> None:
    members = {"a.pyc": small_pyc(), "b.pyc": slow(), "c.pyc": pyc_of("def third():\n    pass\n")}
    opened = open_page()
    page = opened.page
    opened.drop(("lib.zip", zipped(members)))
    page.locator("#files .row", has_text="c.py").click()
    page.locator("#source .row", has_text="def third").wait_for(timeout=60_000)
    # The one before it is still being done, by a worker of its own.
    assert page.locator(".work progress").is_visible()
    assert len(opened.workers) == 2
    page.click(".work button")
    page.locator(".work button", has_text="Resume").wait_for()
    page.click("#side [data-view=hidden]")
    page.locator("#files .row", has_text="a.py").click()
    page.locator("#source .row", has_text="import os").wait_for(timeout=60_000)


def test_long_work_can_be_cancelled(open_page: Callable[..., Any]) -> None:
    opened = open_page()
    page = opened.page
    opened.hand_over(("slow.pyc", slow()))
    page.locator("#busy", has_text="slow.py").wait_for()
    # The page itself answers while the worker works.
    page.keyboard.press("t")
    page.click("#busy [data-do=cancel]")
    page.locator("#busy").wait_for(state="hidden")
    opened.drop(("small.pyc", small_pyc()))
    assert b"import os" in opened.source()


# --- For everybody --------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", READERS)
def test_accessible(reader: str, open_page: Callable[..., Any]) -> None:
    # The policy would not let the tests' own script in.
    opened = open_page(bypass_csp=True, **READERS[reader])
    page = opened.page
    assert not faults(page)
    page.click("[data-do=example]")
    opened.ready()
    if reader in ("dark", "narrow"):
        for tab in page.locator("[role=tab][data-view]:visible").all():
            tab.click()
            page.wait_for_timeout(300)
            assert not faults(page)
    page.evaluate("document.getElementById('help').showModal()")
    assert not faults(page)
