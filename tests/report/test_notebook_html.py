"""What a notebook shows: self-contained, escaped, small, and without torch or IPython."""

import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, List, Tuple

import pellucid
import pytest
from dumps import small
from pellucid.dump.model.events import Frame, Place
from pellucid.notebook.html import capture_html, decompilation_html, html_of, safe

HOSTILE = (
    "</style></pre><script>alert(1)</script><img src=x onerror='alert(2)'>\"&\u202e\x1b[31m\ud800"
)


class Elements(HTMLParser):
    """The elements of a text, which must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: List[str] = []
        self.names: List[str] = []
        self.attributes: List[Tuple[str, Any]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Any]]) -> None:
        self.open.append(tag)
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


ALLOWED = {"div", "style", "p", "b", "span", "details", "summary", "pre", "code"}


def check(text: str) -> None:
    """A text is one element of known names, without an address, an event or a script."""
    found = Elements(text)
    assert set(found.names) <= ALLOWED
    assert {name for name, _ in found.attributes} <= {"class"}
    assert text.startswith("<div class='pellucid'>") and text.endswith("</div>")
    assert "url(" not in text and "@import" not in text
    text.encode("utf-8")


def test_a_capture(tmp_path: Path) -> None:
    capture = pellucid.load(small(tmp_path / "dump"))
    text = capture._repr_html_()
    assert text == capture_html(capture) == html_of(capture)
    check(text)
    assert "1 graph break, 1 recompile" in text and "toy.py:3" in text
    assert "[0/1] toy" in text and "__transformed_code_0_1_for_toy.py" in text
    assert len(text) < 20_000


def test_hostile_names(tmp_path: Path) -> None:
    capture = pellucid.load(small(tmp_path / "dump"))
    events = [
        replace(e, place=Place(HOSTILE, 1, HOSTILE)) if isinstance(e, Frame) else e
        for e in capture.events
    ]
    text = capture_html(replace(capture, events=tuple(events)))
    check(text)
    assert "&lt;script&gt;" in text and "<script" not in text
    assert "\\u202e" in text and "\\ud800" in text and "\\x1b" in text


def test_hostile_sources(tmp_path: Path) -> None:
    dump = small(tmp_path / "dump")
    for file in dump.glob("__transformed_code_*.py"):
        file.write_bytes(f"# {HOSTILE}\nx = {HOSTILE!r}\n".encode("utf-8", "surrogatepass"))
    check(capture_html(pellucid.load(dump)))


def test_many_of_everything_stay_small(tmp_path: Path) -> None:
    capture = pellucid.load(small(tmp_path / "dump"))
    frames = capture.of(Frame)
    for file in (tmp_path / "dump").glob("__transformed_code_*.py"):
        file.write_text("x = 1  # a line\n" * 5000 + "y" * 100_000)
    text = capture_html(replace(capture, events=(*capture.events, *frames * 500)))
    check(text)
    assert "more frames" in text and "more lines" in text
    assert len(text) < 100_000


def test_a_decompilation() -> None:
    found = pellucid.decompile_ex(lambda rows: dict.fromkeys(rows, "<b>"))
    text = found._repr_html_()
    assert text == decompilation_html(found)
    check(text)
    assert "identical" in text and "&lt;b&gt;" in text and "<b>" not in text
    assert repr(found) == "<Decompilation of <lambda>: 2 lines, identical>"


def test_an_unproven_decompilation_says_why() -> None:
    found = pellucid.decompile_ex(lambda: 1)
    verdict = replace(found.verdict, status="unproven", reason="f: <here> at byte 0x4")
    found.__dict__["verdict"] = verdict
    text = decompilation_html(found)
    check(text)
    assert "unproven" in text and "&lt;here&gt; at byte 0x4" in text


@pytest.mark.parametrize("character", ["<", ">", "&", "'", '"'])
def test_markup_is_escaped(character: str) -> None:
    assert character not in safe(character).replace("&", "", character == "&")


def test_neither_ipython_nor_torch_is_imported() -> None:
    program = (
        "import sys, pellucid; pellucid.decompile_ex(lambda: 1)._repr_html_();"
        "sys.exit(bool({'IPython', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
