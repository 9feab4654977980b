# SPDX-License-Identifier: Apache-2.0
"""The decompiler's page in a browser: what is dropped comes out as the native binary's text, linked
with its bytecode, and nothing leaves the page."""

import base64
import bz2
import json
import marshal
import re
import subprocess
import zipfile
import zlib
from pathlib import Path
from typing import Any, Callable, Dict

import pytest
from archives import KINDS, container, program, small_pyc, zipped
from case_pycs import pycs_of, unpack
from dropping import halve
from needs import VERSIONS, need


def largest(version: str, folder: Path) -> Path:
    """Return the largest case of a version, unpacked into a folder."""
    return max(unpack(version, folder), key=lambda path: path.stat().st_size)


def native(path: Path) -> bytes:
    """Return what the native binary writes for a file."""
    command = [str(need("native")), "decompile", str(path)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout


def hexadecimal(path: Path) -> str:
    """Return a file as hexadecimal digits in lines, as `xxd -p` prints them."""
    return re.sub("(.{60})", r"\1\n", path.read_bytes().hex())


# --- What comes in --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_a_dropped_file_gives_the_native_text(
    version: str, open_page: Callable[..., Any], tmp_path: Path
) -> None:
    path = largest(version, tmp_path)
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


def test_a_program_shows_its_script_first(open_page: Callable[..., Any]) -> None:
    code = small_pyc()
    library = zipped({f"m{i}.pyc": code for i in range(60)})
    entries = [
        ("struct", b"m", code[16:], True),
        ("pyiboot01_bootstrap", b"s", code[16:], True),
        ("the_program", b"s", code[16:], True),
        ("base_library.zip", b"b", library, True),
    ]
    opened = open_page()
    opened.drop(("thing", program(entries)))
    opened.all_done()
    page = opened.page
    assert page.inner_text("#source .title") == "the_program.py"
    row = page.locator("#files .row.pin", has_text="the_program.py").bounding_box()
    box = page.locator("#files-list").bounding_box()
    assert row and box and box["y"] <= row["y"] <= box["y"] + box["height"] - row["height"]
    # What is proven of one module is no sum of the program's.
    assert "proven" not in page.inner_text("#facts")


def test_files_can_be_chosen_and_pasted(open_page: Callable[..., Any], tmp_path: Path) -> None:
    path = largest("3.13", tmp_path)
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
    for name, data, words in (
        ("bad.pyc", b"not code", "bad.pyc: "),
        ("cut.pyc", max(pycs_of("3.12").values(), key=len)[:500], "cut.pyc: "),
        ("notes.zip", zipped({"notes.txt": b"nothing"}), "no compiled Python in it"),
    ):
        opened.hand_over((name, data))
        opened.page.locator("#problem", has_text=words).wait_for()
        assert opened.page.locator("#welcome").is_visible()
    opened.paste("hello")
    opened.page.locator("#problem", has_text="neither a file nor bytes").wait_for()
    opened.drop(("good.pyc", small_pyc()))
    assert not opened.page.locator("#problem").is_visible()
    assert b"import os" in opened.source()


NO_START = {
    "no DecompressionStream": "delete self.DecompressionStream",
    "no worker": "self.Worker = class { constructor() { throw new Error('refused') } }",
    "no WebAssembly": """const post = Worker.prototype.postMessage;
      Worker.prototype.postMessage = function (message) {
        post.call(this, message.wasm ? {wasm: new Uint8Array(4)} : message);
      }""",
}


@pytest.mark.parametrize("what", NO_START)
def test_a_browser_that_cannot_run_it_says_so_once(
    what: str, open_page: Callable[..., Any]
) -> None:
    opened = open_page(before=NO_START[what])
    page = opened.page
    problem = page.locator("#problem", has_text="The decompiler cannot start: ")
    problem.wait_for()
    said = page.inner_text("#trouble")
    for way in ("drop", "example"):
        if way == "drop":
            opened.hand_over(("some.pyc", small_pyc()), ("more.pyc", small_pyc()))
        else:
            page.click("[data-do=example]")
        page.wait_for_timeout(500)
        assert problem.is_visible() and page.inner_text("#trouble") == said
        assert page.locator("#welcome").is_visible()
        assert not page.locator("#busy").is_visible()


def test_a_damaged_member_costs_itself_only(open_page: Callable[..., Any]) -> None:
    whole = max(pycs_of("3.11").values(), key=len)
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


def test_an_instruction_shows_what_its_argument_means(open_page: Callable[..., Any]) -> None:
    rows = halve(open_page).rows("bytecode")
    for shown in (
        "LOAD_CONST 0 <code 1 halve>",
        "STORE_NAME 0 halve",
        "LOAD_FAST 0 count",
        "BINARY_OP 15 //=",
        "COMPARE_OP 40 ==",
        "RETURN_CONST 1 None",
        "POP_JUMP_IF_FALSE 24 → 0036",
    ):
        assert any(row.endswith(shown) for row in rows), shown


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


def test_code_in_constants_is_found_and_opens(open_page: Callable[..., Any]) -> None:
    inner = marshal.dumps(compile("import os\nprint('here', os.getpid())\n", "h.py", "exec"))
    packed = [
        base64.b85encode(zlib.compress(inner)),
        inner.hex()[::-1],
        zlib.compress(b"import os, sys, base64, json\nprint(os.environ)\n" * 2, 0),
        base64.b64encode(bz2.compress(inner)),
    ]
    blob = marshal.dumps(compile(f"def f():\n    return {packed!r}\n", "l.py", "exec"))
    opened = open_page()
    page = opened.page
    opened.drop(("loader.pyc", blob))
    assert "identical" in page.inner_text(".verdict"), "why it is not"
    page.click("#side [data-view=hidden]")
    page.locator("#hidden table").first.wait_for()
    for found in (
        "code of 212 bytes in a constant of <module>/f: base85, zlib",
        "code of 212 bytes in a constant of <module>/f: reversed, base16",
        "source of 94 bytes in a constant of <module>/f: zlib",
        "packed data in a constant of <module>/f: base64, bz2",
    ):
        expected = re.sub(r"212 bytes", f"{len(inner)} bytes", found)
        assert expected in page.inner_text("#hidden .body")
    header = page.inner_text("#hidden table >> nth=0")
    assert "Header\tnone" in header and "agic" not in header
    page.locator("#hidden .link", has_text="Open the code").first.click()
    page.locator("#source .row", has_text="os.getpid()").wait_for()
    assert page.locator("#files .row", has_text="loader.1.py").count() == 1
