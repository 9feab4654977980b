# SPDX-License-Identifier: Apache-2.0
"""The decompiler's page in a browser: what is dropped comes out as the native binary's text, linked
with its bytecode, and nothing leaves the page."""

import base64
import importlib.util
import json
import marshal
import random
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import CodeType
from typing import Any, Callable, Dict, List, Union

import pytest
from archives import KINDS, container, small_pyc, zipped
from needs import ROOT, VERSIONS, need

CASES = ROOT / "tests" / "cases" / "pyc"


def largest(version: str) -> Path:
    """Return the largest case of a version."""
    return max((CASES / version).glob("**/*.pyc"), key=lambda path: path.stat().st_size)


def native(path: Path) -> bytes:
    """Return what the native binary writes for a file."""
    command = [str(need("native")), "decompile", str(path)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout


def pyc_of(code: Union[str, CodeType]) -> bytes:
    """Return what the running Python would write for a source or its code."""
    if isinstance(code, str):
        code = compile(code, "m.py", "exec")
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def hexadecimal(path: Path) -> str:
    """Return a file as hexadecimal digits in lines, as `xxd -p` prints them."""
    return re.sub("(.{60})", r"\1\n", path.read_bytes().hex())


# --- What comes in --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_a_dropped_file_gives_the_native_text(version: str, open_page: Callable[..., Any]) -> None:
    path = largest(version)
    opened = open_page()
    opened.drop((path.name, path.read_bytes()))
    assert opened.source() == native(path)
    assert f"Python {version}" in opened.page.locator("#facts").inner_text().replace("\n", " ")


@pytest.mark.parametrize("what", KINDS)
def test_every_kind_of_archive_is_a_tree(
    what: str, open_page: Callable[..., Any], tmp_path: Path
) -> None:
    data, places = container(what)
    (tmp_path / "thing").write_bytes(data)
    out = tmp_path / "out"
    subprocess.run([str(need("native")), "decompile", str(tmp_path / "thing"), "-o", str(out)])
    opened = open_page()
    opened.drop(("thing", data))
    opened.all_done()
    with zipfile.ZipFile(opened.saved("z")) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
        report = json.loads(texts.pop("pellucid.json"))
    assert texts == {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.py")}
    assert sorted(texts) == sorted(places)
    assert sorted(row["source"] for row in report["modules"]) == sorted(places)
    assert all(row["verdict"] in ("identical", "equivalent") for row in report["modules"])
    if len(places) > 1:
        names = " ".join(opened.rows("files"))
        assert all(place.split("/")[-1] in names for place in places)
        assert f"{len(places)} of {len(places)} modules proven" in opened.page.inner_text(".sum")


def test_files_can_be_chosen_and_pasted(open_page: Callable[..., Any]) -> None:
    path = largest("3.13")
    opened = open_page()
    opened.page.set_input_files("#choose", path)
    opened.ready()
    text = opened.source()
    assert text == native(path)
    for pasted in (hexadecimal(path), base64.encodebytes(path.read_bytes()).decode()):
        opened = open_page()
        opened.paste(pasted)
        opened.ready()
        assert opened.page.inner_text("#file") == "pasted.pyc"
        assert opened.source() == text


def test_the_example_is_its_source(open_page: Callable[..., Any]) -> None:
    opened = open_page()
    opened.page.click("[data-do=example]")
    opened.ready()
    text = opened.source().decode()
    assert "async def send(self, channel, *, tries=3):" in text
    assert opened.page.locator("#facts .good").count() == 1


def test_what_cannot_be_read_says_so_once(open_page: Callable[..., Any]) -> None:
    opened = open_page()
    for data, words in (
        (b"not code", "bad.pyc: "),
        (largest("3.12").read_bytes()[:500], "bad.pyc: "),
        (zipped({"notes.txt": b"nothing"}), "no code in it"),
    ):
        opened.hand_over(("bad.pyc", data))
        opened.page.locator("#problem", has_text=words).wait_for()
        assert opened.page.locator("#welcome").is_visible()
    opened.paste("hello")
    opened.page.locator("#problem", has_text="neither a file nor bytes").wait_for()
    opened.drop(("good.pyc", small_pyc()))
    assert not opened.page.locator("#problem").is_visible()
    assert b"import os" in opened.source()


def test_a_damaged_member_costs_itself_only(open_page: Callable[..., Any]) -> None:
    whole = largest("3.11").read_bytes()
    opened = open_page()
    opened.drop(
        ("some.zip", zipped({"good.pyc": small_pyc(), "torn.pyc": whole[: len(whole) // 2]}))
    )
    opened.all_done()
    assert "1 of 2 modules proven, 1 unreadable" in opened.page.inner_text(".sum")
    opened.page.locator("#files .row", has_text="torn.py").click()
    said = "getComputedStyle(document.querySelector('#source .list'), '::before').content"
    assert re.search(r"torn\.pyc.*byte", opened.page.evaluate(said))


# --- What is linked -------------------------------------------------------------------------------


def halve(open_page: Callable[..., Any], **options: Any) -> Any:
    """Open the page with the function of the walk-through."""
    opened = open_page(**options)
    data = (ROOT / "docs" / "walkthrough" / "halve.pyc").read_bytes()
    opened.drop(("halve.pyc", data))
    return opened


def test_a_line_marks_its_instructions_and_back(open_page: Callable[..., Any]) -> None:
    opened = halve(open_page)
    page = opened.page
    page.locator("#source .row", has_text="count //= 2").click()
    assert opened.rows("source", ".pin") == ["3 count //= 2"]
    marked = [row.split()[-2] for row in opened.rows("bytecode", ".pin")]
    assert any("BINARY_OP" in row for row in opened.rows("bytecode", ".pin"))
    assert any("STORE_FAST" in row for row in opened.rows("bytecode", ".pin"))
    assert len(marked) == 4
    page.keyboard.press("Escape")
    assert not opened.rows("source", ".pin") and not opened.rows("bytecode", ".pin")
    page.locator("#bytecode .row", has_text="RETURN_VALUE").last.hover()
    assert opened.rows("source", ".near") == ["4 return count or 1"]
    page.locator("#bytecode .row", has_text="RETURN_VALUE").last.click()
    assert opened.rows("source", ".pin") == ["4 return count or 1"]
    page.mouse.move(2, 2)
    assert not opened.rows("source", ".near")


def test_every_instruction_of_a_statement_leads_back_to_it(open_page: Callable[..., Any]) -> None:
    opened = halve(open_page)
    for line in (2, 3, 4):
        opened.page.locator("#source .row").nth(line - 1).click()
        for row in opened.page.locator("#bytecode .row.pin").all():
            row.hover()
            assert [text.split()[0] for text in opened.rows("source", ".near")] == [str(line)]


def overlap(one: Dict[str, float], other: Dict[str, float]) -> bool:
    """Return true if two boxes have a point in common."""
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size]
        for at, size in (("x", "width"), ("y", "height"))
    )


def test_the_graph_is_a_picture_of_the_function(open_page: Callable[..., Any]) -> None:
    opened = halve(open_page)
    page = opened.page
    page.locator("#source .row", has_text="count //= 2").click()
    page.click("#side [data-view=graph]")
    page.locator("#graph .box").first.wait_for()
    assert page.locator("#graph .box").count() == 7
    assert "halve · 7 blocks" in page.inner_text("#graph .note")
    marked = page.locator("#graph .line.pin").all_text_contents()
    assert any("Binary //=" in text for text in marked)
    boxes = [box.bounding_box() for box in page.locator("#graph .box > rect").all()]
    for i, one in enumerate(boxes):
        assert not any(overlap(one, other) for other in boxes[:i])
    page.locator("#graph .line", has_text="return").last.click()
    assert opened.rows("source", ".pin") == ["4 return count or 1"]


def test_stages_and_their_steps(open_page: Callable[..., Any]) -> None:
    opened = halve(open_page)
    page = opened.page
    page.locator("#source .row", has_text="count //= 2").click()
    page.click("#side [data-view=stages]")
    for stage, words in (
        ("stream", "Binary //="),
        ("ir", "halve"),
        ("ast", "AugAssign("),
        ("structure", "rotate"),
    ):
        page.locator("#stages .tab", has_text=stage).click()
        page.locator("#stages .row", has_text=words).first.wait_for()
    page.select_option("#stages select", "structure:rotate")
    page.locator("#stages .row", has_text="b0 tested").first.wait_for()
    page.click("#stages .toggle")
    page.locator("#stages .row", has_text="<module>").first.wait_for()


def test_what_the_text_does_not_show(open_page: Callable[..., Any]) -> None:
    opened = halve(open_page)
    opened.page.click("#side [data-view=hidden]")
    opened.page.locator("#hidden table").first.wait_for()
    said = opened.page.inner_text("#hidden")
    assert "3.12" in said and "magic number 3531" in said
    opened.page.locator("#hidden summary", has_text="code objects").click()
    assert "halve" in opened.page.locator("#hidden details").last.inner_text()


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
        ("match_keys", "byte", "MATCH_KEYS"),
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
    opened = open_page(viewport={"width": 390, "height": 844})
    page = opened.page
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) <= 390
    page.click("[data-do=example]")
    page.locator("#source .row").first.wait_for()
    for tab in page.locator("#views [role=tab]").all():
        tab.click()
        shown = page.locator("#left:visible, #source:visible, #side > section:visible")
        assert shown.count() == 1
        assert page.evaluate(wide) <= 390
    page.locator("#views [data-view=files]").click()
    page.locator("#outline .row", has_text="collatz").click()
    assert page.locator("#source .row.pin", has_text="def collatz").is_visible()


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


# --- Size -----------------------------------------------------------------------------------------


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
    spent = page.evaluate("""() => new Promise(done => {
      const list = document.getElementById('source-list');
      const start = performance.now();
      let steps = 0;
      const step = () => {
        list.scrollTop += 3000;
        if (++steps < 100) requestAnimationFrame(step);
        else done((performance.now() - start) / steps);
      };
      requestAnimationFrame(step);
    })""")
    assert spent < 60, "milliseconds a frame"
    page.keyboard.press("/")
    page.keyboard.type("f3999")
    page.locator("#found .result", has_text="f3999").first.click()
    assert page.locator("#source .row.pin", has_text="def f3999").is_visible()


def test_long_work_can_be_cancelled(open_page: Callable[..., Any]) -> None:
    body = "".join(f"    if a[{i}] > b:\n        b = a[{i}] + {i}\n" for i in range(15_000))
    slow = pyc_of(f"def f(a, b):\n{body}    return b\n")
    opened = open_page()
    page = opened.page
    opened.hand_over(("slow.pyc", slow))
    page.locator("#busy", has_text="slow.py").wait_for()
    # The page itself answers while the worker works.
    page.keyboard.press("t")
    page.click("#busy [data-do=cancel]")
    page.locator("#busy").wait_for(state="hidden")
    opened.drop(("small.pyc", small_pyc()))
    assert b"import os" in opened.source()


# --- For everybody --------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme, width", [("light", 1440), ("dark", 1440), ("light", 390)])
def test_accessible(scheme: str, width: int, open_page: Callable[..., Any]) -> None:
    """Names, roles, contrast, landmarks: what axe looks for."""
    axe = ROOT / "web" / "page" / "node_modules" / "axe-core" / "axe.min.js"
    # The policy would not let the tests' own script in.
    opened = open_page(
        color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True
    )
    page = opened.page
    rules = "['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']"

    def faults() -> List[str]:
        page.evaluate(axe.read_text() + "; 0")
        found = page.evaluate(f"() => axe.run(document, {{runOnly: {rules}}})")["violations"]
        return [f"{v['id']}: {n['html']}: {n['failureSummary']}" for v in found for n in v["nodes"]]

    assert not faults()
    page.click("[data-do=example]")
    opened.ready()
    for tab in page.locator("[role=tab][data-view]:visible").all():
        tab.click()
        page.wait_for_timeout(300)
        assert not faults()
    page.evaluate("document.getElementById('help').showModal()")
    assert not faults()
