"""The page in a browser: it opens from a file, asks for nothing, and shows what the model says."""

import re
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest
from browsing import READERS, faults
from dumps import TOY, small
from pellucid.comparison.compare import compare
from pellucid.comparison.page import page_of
from pellucid.report import report

MARKED = "[...document.querySelectorAll('#%s .row.marked')].map(row => row.innerText.trim())"


def rows(page: Any, pane: str) -> List[str]:
    """The rows that a pane shows as marked."""
    return [re.sub(r"\s+", " ", text) for text in page.evaluate(MARKED % pane)]


def click_line(page: Any, pane: str, text: str) -> None:
    """Click the first row of a pane that has a text."""
    page.locator(f"#{pane} .row", has_text=text).first.click()


def test_a_stranger_sees_what_broke_and_why(
    small_page: Path, open_page: Callable[..., Any]
) -> None:
    page = open_page(small_page).page
    assert page.title() == "toy.py · pellucid"
    head = page.locator(".top").inner_text()
    assert "torch 2." in head and "Python 3." in head and "compile time" in head
    assert "2 versions" in head and "1 graph break" in head and "line 3" not in head[:10]
    cards = page.locator("article").all_inner_texts()
    assert any("Graph break" in card and "toy.py:3" in card for card in cards)
    assert page.locator("article.selected").count() == 1
    assert "torch.abs" in page.locator("#code").inner_text()
    assert "✓ equivalent" in page.locator("#runs").inner_text()


def test_a_line_of_mine_marks_what_became_of_it(
    small_page: Path, open_page: Callable[..., Any]
) -> None:
    page = open_page(small_page).page
    click_line(page, "code", "x = a /")
    assert rows(page, "code") == ["2 x = a / (torch.abs(a) + 1)"]
    assert [row.split()[1] for row in rows(page, "graph")] == ["abs_1:", "add:", "x:"]
    assert any("__compiled_fn_0_" in row for row in rows(page, "runs"))
    assert rows(page, "guards") == [
        "a ✕ size(0) 12 ≠ float32 [10] float32 [12]",
        "b float32 [10] float32 [12]",
        "torch the same module",
    ]
    assert any("cpp_fused_abs_add_div_0(arg0_1, buf0)" in row for row in rows(page, "kernels"))
    page.keyboard.press("Escape")
    assert page.locator(".row.marked").count() == 0


def test_a_kernel_marks_the_line_that_it_computes(
    small_page: Path, open_page: Callable[..., Any]
) -> None:
    page = open_page(small_page).page
    page.keyboard.press("Escape")
    page.locator("#kernels .row", has_text="cpp_fused_abs_add_div_0(arg").hover()
    assert rows(page, "code") == ["2 x = a / (torch.abs(a) + 1)"]
    page.locator("#kernels .row", has_text="cpp_fused_abs_add_div_0(arg").click()
    assert rows(page, "code") == ["2 x = a / (torch.abs(a) + 1)"]
    how = page.locator("#code .row.marked").get_attribute("class")
    assert "how2" in how  # by the names of nodes
    assert page.locator("#code .row.marked").get_attribute("title") == "linked: by name"


def test_keys(small_page: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(small_page).page
    first = page.locator("article.selected").inner_text()
    page.keyboard.press("j")
    assert page.locator("article.selected").inner_text() != first
    page.keyboard.press("k")
    assert page.locator("article.selected").inner_text() == first
    version = "#runs .tab[aria-selected=true]"
    before = page.locator(version).inner_text()
    page.keyboard.press("]")
    assert page.locator(version).inner_text() != before
    page.keyboard.press("g")
    assert page.locator("#graph [aria-pressed=true]").inner_text() == "outline"
    page.keyboard.press("g")
    assert page.locator("#graph svg .box").count() >= 1
    page.keyboard.press("d")
    assert page.locator("#graph [aria-pressed=true]").inner_text() == "diff"
    page.keyboard.press("2")
    assert page.evaluate("document.activeElement.id") == "code-list"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "pin=" in page.url
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_the_address_restores_the_place(small_page: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(small_page).page
    page.keyboard.press("j")
    page.keyboard.press("g")
    click_line(page, "code", "x = a /")
    state = """[...document.querySelectorAll('.marked, .selected, [aria-pressed=true], .tab')].map(
      e => e.className.replace('active ', '') + e.innerText + (e.matches('.tab') && e.ariaSelected)
    )"""
    seen = page.evaluate(state)
    again = open_page(small_page, "#" + page.url.partition("#")[2]).page
    assert again.evaluate(state) == seen
    page.reload()
    page.wait_for_selector("html.ready", state="attached")
    assert page.evaluate(state) == seen


@pytest.mark.parametrize(
    "query, kind",
    [
        ("abs", "line"),
        ("op:add", "op"),
        ("line:toy.py:3", "line"),
        ("guard:size", "none"),
        ("guard:float32", "guard"),
        ("kernel:fused", "kernel"),
        ("finding:break", "finding"),
        ("setting:torch", "setting"),
        ("file:captured", "file"),
    ],
)
def test_search(small_page: Path, open_page: Callable[..., Any], query: str, kind: str) -> None:
    page = open_page(small_page).page
    page.keyboard.press("/")
    page.keyboard.type(query)
    kinds = page.locator("#found .kind").all_inner_texts()
    if kind == "none":
        assert kinds == []
        return
    assert kind in kinds
    if ":" in query:
        assert set(kinds) == {kind}
    page.keyboard.press("Enter")
    assert not page.locator("#found").is_visible()


def test_what_is_found_is_shown(small_page: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(small_page).page
    page.keyboard.press("/")
    page.keyboard.type("op:lt:")
    page.keyboard.press("Enter")
    assert any("lt:" in row for row in rows(page, "graph"))
    assert rows(page, "code") == ["3 if b.sum() < 0:"]


def test_versions_and_guards(small_page: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(small_page).page
    page.locator("#guards .toggle").first.click()
    assert page.locator("#guards .row").count() == 2
    assert page.locator("#guards .failed").inner_text() == "✕ size(0) 12 ≠ float32 [10]"
    page.locator("#runs .toggle", has_text="diff").click()
    assert page.locator("#runs .row.added").count() >= 1
    page.locator("#runs .toggle", has_text="diff").click()
    page.locator("#runs .toggle", has_text="show guards").click()
    assert "__original_toy" in page.locator("#runs").inner_text()


def test_a_trace_can_be_saved(small_page: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(small_page).page
    with page.expect_download() as download:
        page.locator("button", has_text="Save trace.json").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert '"traceEvents":[{"name":"compile"' in text


def test_everything_else(small_page: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(small_page).page
    for tab in page.locator("#rest .tab").all():
        tab.click()
    page.locator("#rest .link", has_text="forward.py").first.click()
    assert page.locator("#graph select").first.input_value() == "forward"


def colours(page: Any) -> List[Dict[str, Any]]:
    """Each text that is seen, with its colour and the one behind it."""
    return list(
        page.evaluate(
            """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const own = node.parentElement;
    if (!node.data.trim() || !own.getClientRects().length) continue;
    if (own.closest('script, [disabled], option')) continue;
    const backOf = (element) => getComputedStyle(element).backgroundColor;
    let behind = own;
    while (behind && rgb(backOf(behind))[3] === 0) behind = behind.parentElement;
    const style = getComputedStyle(own);
    const fore = own.namespaceURI.endsWith('svg') ? style.fill : style.color;
    const box = own.closest('.box');
    const back = box ? getComputedStyle(box.querySelector('rect')).fill
      : backOf(behind || document.body);
    found.push({text: node.data.trim().slice(0, 40), fore: rgb(fore), back: rgb(back)});
  }
  return found;
}"""
        )
    )


def contrast(one: List[float], other: List[float]) -> float:
    """The contrast of two colours, as the web's guidelines define it."""

    def light(colour: List[float]) -> float:
        parts = [c / 255 for c in colour[:3]]
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(small_page: Path, open_page: Callable[..., Any], scheme: str) -> None:
    page = open_page(small_page, color_scheme=scheme).page
    for keys in ([], ["g"], ["g"], ["d"], ["j"]):
        for key in keys:
            page.keyboard.press(key)
        poor = {
            (c["text"], round(contrast(c["fore"], c["back"]), 2))
            for c in colours(page)
            if contrast(c["fore"], c["back"]) < 4.5
        }
        assert not poor


@pytest.mark.parametrize("reader", READERS)
def test_accessible(small_page: Path, open_page: Callable[..., Any], reader: str) -> None:
    page = open_page(small_page, bypass_csp=True, **READERS[reader]).page
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert faults(page) == []
    for key in "gg":
        page.keyboard.press(key)
    page.locator("#rest .tab", has_text="Files").click()
    page.keyboard.press("/")
    page.keyboard.type("a")
    assert faults(page) == []
    page.keyboard.press("Escape")
    page.evaluate("document.getElementById('help').showModal()")
    assert faults(page) == []


def test_a_comparison_is_accessible(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    one, two = small(tmp_path / "one"), small(tmp_path / "two", text="# other\n")
    page_file = tmp_path / "sides.html"
    page_file.write_text(page_of(compare(one, two)), encoding="utf-8")
    page = open_page(page_file, ready=False, bypass_csp=True, **READERS["narrow"]).page
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_light_and_dark(small_page: Path, open_page: Callable[..., Any]) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    page = open_page(small_page, color_scheme="dark").page
    dark = page.evaluate(back)
    page.keyboard.press("t")
    assert page.evaluate(back) != dark
    assert open_page(small_page, color_scheme="light").page.evaluate(back) == page.evaluate(back)


def test_narrow(small_page: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(small_page, viewport={"width": 375, "height": 667}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    around = "['.top', '#panes', '#rest'].map(s => document.querySelector(s).offsetHeight)"
    assert sum(page.evaluate(around)) < 667 / 2
    assert page.locator("main > section:visible").count() == 1
    for tab in page.locator("#panes button").all():
        tab.click()
        assert page.locator("main > section:visible").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 375


INSIDE = """([inner, outer]) => [...document.querySelectorAll(inner)].every(each =>
  each.getBoundingClientRect().right <= each.closest(outer).getBoundingClientRect().right + 1)"""


def test_a_long_name_cuts_no_line_number_and_no_change(
    tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    name = f"/home/someone/{'long_' * 30}name.py"
    dump = small(tmp_path / "dump")
    record = dump / "session.json"
    record.write_text(record.read_text(encoding="utf-8").replace(TOY, name), encoding="utf-8")
    page = open_page(report(dump)).page
    assert page.inner_text("article .at >> nth=0").endswith("name.py:3")
    assert page.evaluate(INSIDE, [".at bdi", ".at"])
    assert page.evaluate(INSIDE, ["article *", "article"])
    assert page.locator("h1").bounding_box()["width"] <= 300
    assert page.inner_text("#status") == "", "nothing is said of what nobody did"


def test_print(small_page: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(small_page).page
    page.emulate_media(media="print")
    assert page.locator("article").first.is_visible()
    assert page.locator(".plain table").first.is_visible()
    assert not page.locator("#code").is_visible()


def test_without_scripts(small_page: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(small_page, ready=False, java_script_enabled=False).page
    assert page.locator("article").count() == 2
    assert page.locator("article").first.is_visible()
    assert "0/1" in page.locator(".plain table").first.inner_text()
    assert not page.locator("#code").is_visible()


def test_without_a_decompressor(small_page: Path, browser: Any) -> None:
    context = browser.new_context()
    context.add_init_script("delete window.DecompressionStream")
    page = context.new_page()
    page.goto(small_page.as_uri())
    page.locator("#status", has_text="Use a newer browser").wait_for()
    assert page.locator("article").count() == 2
    assert page.locator(".plain table").is_visible()
    context.close()


def test_all_of_it_is_reached_by_tab(small_page: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(small_page).page
    page.evaluate("document.body.focus()")
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.closest('section, header.top')?.id || 'top'")
        )
    assert {"top", "findings", "code", "runs", "guards", "graph", "kernels", "rest"} <= reached
    for pane in ("findings", "code", "runs", "guards", "graph", "kernels"):
        assert page.locator(f"#{pane}").get_attribute("role") == "region"
        assert page.locator(f"#{pane}").get_attribute("aria-label")


HOSTILE = (
    "</script><script>alert(1)</script><!-- \u2028 \ud800 '\"`${x} &amp; "
    "<img src=x onerror=alert(1)>"
)


def test_hostile_text(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    dump = small(tmp_path / "dump", text=f"# {HOSTILE}\n# {'x' * 1_000_000}\n")
    record = dump / "session.json"
    text = record.read_text(encoding="utf-8")
    record.write_text(
        text.replace("Data-dependent branching", "</article><script>alert(1)</script>")
    )
    opened = open_page(report(dump, out=tmp_path / "a'b\" <i>&.html"))
    page = opened.page
    assert "alert(1)" in page.locator("article").first.inner_text()
    assert page.locator("img").count() == 0
    page.locator("#graph-list").evaluate("list => { list.scrollTop = 1e6; }")
    page.wait_for_timeout(100)
    assert "<!--" in page.locator("#graph").inner_text()
    page.locator("#graph .more").click()
    page.locator("#whole").wait_for()


def test_ranks_on_one_page(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    for rank in range(4):
        small(tmp_path / "dump" / f"rank_{rank}", rank=rank, text="# other\n" if rank == 3 else "")
    page = open_page(report(tmp_path / "dump", out=tmp_path / "page.html")).page
    assert "ranks 0-2" in page.locator(".facts:visible").inner_text()
    first = page.locator("article:visible").first.inner_text()
    assert "Difference between processes" in first and "Certain." in first
    assert "Details" in first and "PyTorch" not in first, "torch said nothing of it"
    page.locator("#ranks").select_option("1")
    # The page's policy forbids `eval`, and so a condition that is polled inside it.
    page.locator(".facts:visible", has_text="rank 3").wait_for()
    assert "view=1" in page.url
    assert "toy" in page.locator("#code").inner_text()


def test_the_policy_allows_nothing(small_page: Path) -> None:
    text = small_page.read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert not re.findall(r'\s(?:style|on\w+)="', text.partition("<script")[0])
    assert not re.findall(r'(?:src|href)="(?!vscode)', text)
    assert TOY in report(
        small_page.parent, out=small_page.parent / "e.html", editor=True
    ).read_text(encoding="utf-8")
