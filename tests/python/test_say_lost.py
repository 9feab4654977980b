"""`--say-lost`: comments on what was in the source and the text cannot have."""

import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Tuple

import check_lost
import corpus
import oracle
import pytest
from needs import need
from pellucid import decompile, decompile_pyc
from pellucid.__main__ import main

# Versions whose code has columns.
COLUMNS = [f"3.{minor}" for minor in range(11, 16)]

SOURCE = '''\
"""A module."""
LIMIT = 60 * 60 * 24
"a text as a statement"
MASK = 0x0000ffff


class Holder:
    size: int = 2 ** 31
    """What size is."""
    line = "-" * 70

    def fill(self, a):
        self.a: int = a
        wide       = a
        at         = a
        x: "int" = 1
        total: float = a + x
        if a > 1 << 40:
            return not True
        elif a > 100:
            return 0.1 + 0.2
        elif a > 1024 * 1024:
            return 1024
        return total + wide + at
'''

SAID = [
    "LIMIT = 86400  # 86400 was written as an expression",
    "# a statement without effect was here",
    "MASK = 65535",
    "    size: int = 2147483648  # 2147483648 was written as an expression",
    "    # a statement without effect was here",
    f"    line = '{'-' * 70}'  # a constant was written as an expression",
    "        self.a = a  # an annotation was here",
    "        wide = a",
    "        at = a",
    "        x = 1  # an annotation was here",
    "        total = a + x  # an annotation was here",
    "        if a > 1099511627776:  # 1099511627776 was written as an expression",
    "            return False  # False was written as an expression",
    "        elif a > 100:",
    "            return 0.30000000000000004  # 0.30000000000000004 was written as an expression",
    "        elif a > 1048576:  # 1048576 was written as an expression",
    "            return 1024",
]


def without_comments(text: str) -> str:
    """Return a text without its comments of whole lines, and those after two spaces."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("# ")]
    return "".join(re.sub(r"  # .*", "", line) + "\n" for line in lines)


@pytest.mark.parametrize("version", COLUMNS)
def test_what_is_lost_is_said(version: str) -> None:
    need(f"python{version}")
    pyc = oracle.pyc_of(SOURCE, version)
    found = decompile_pyc(pyc, say_lost=True)
    lines = found.source.splitlines()
    for line in SAID:
        assert line in lines, found.source
    assert found.verify("recompiled").status == "identical"
    plain = decompile_pyc(pyc)
    assert without_comments(found.source).splitlines() == plain.source.splitlines()
    # Each line of the map has the statement that it had.
    texts = [without_comments(lines[entry.line - 1]) for entry in found.line_map]
    before = [plain.source.splitlines()[entry.line - 1] + "\n" for entry in plain.line_map]
    assert [text for text in texts if text] == before


@pytest.mark.parametrize("version", COLUMNS)
def test_lines_are_kept(version: str) -> None:
    need(f"python{version}")
    pyc = oracle.pyc_of(SOURCE, version)
    lines = decompile_pyc(pyc, keep_lines=True, say_lost=True).source.splitlines()
    assert lines[1] == "LIMIT = 86400  # 86400 was written as an expression"
    assert lines[2] == "# a statement without effect was here"
    assert lines[15] == "        x = 1  # an annotation was here"


def test_nothing_is_said_without_columns() -> None:
    for version in ("3.8", "3.9", "3.10"):
        need(f"python{version}")
        pyc = oracle.pyc_of(SOURCE, version)
        assert decompile_pyc(pyc, say_lost=True).source == decompile_pyc(pyc).source


def test_comments_on_one_line_come_after_it() -> None:
    source = "def f(a):\n    if a: x: int = 1; y: int = 2\n    return x, y\n"
    version = "{}.{}".format(*sys.version_info[:2])
    if version not in COLUMNS:
        pytest.skip("code objects have no columns before 3.11")
    pyc = oracle.pyc_of(source, version)
    lines = decompile_pyc(pyc, keep_lines=True, say_lost=True).source.splitlines()
    assert lines[1] == "    if a: x = 1; y = 2  # an annotation was here"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects have no columns before 3.11")
def test_a_comment_tells_a_few_of_many() -> None:
    source = f"def f(g):\n    g({', '.join(f'{base} ** 9' for base in range(11, 30))})\n"
    pyc = oracle.pyc_of(source, "{}.{}".format(*sys.version_info[:2]))
    (comment,) = re.findall(r"  # (.*)", decompile_pyc(pyc, say_lost=True).source)
    assert comment.startswith("2357947691 was written as an expression; 5159780352 was")
    assert comment.endswith("; and more") and len(comment) < 200


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects have no columns before 3.11")
def test_every_way_in_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def annotated(a: int) -> int:
        x: int = a
        return x

    assert "x = a  # an annotation was here\n" in decompile(annotated, say_lost=True)
    assert "#" not in decompile(annotated)
    path = tmp_path / "module.pyc"
    path.write_bytes(oracle.pyc_of(SOURCE, "{}.{}".format(*sys.version_info[:2])))
    main(["decompile", "--say-lost", str(path)])
    said = capsys.readouterr().out
    assert "LIMIT = 86400  # 86400 was written as an expression" in said.splitlines()
    command = [str(need("native")), "decompile", "--say-lost", str(path)]
    again = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
    assert again == said


def test_comments_of_library_modules_are_right(any_python: Tuple[str, str]) -> None:
    version, python = any_python
    if version not in COLUMNS:
        pytest.skip("code objects have no columns before 3.11")
    files = corpus.sources(corpus.standard_library(Path(python)), 60, seed=2)
    found = check_lost.check(python, [Path(file) for file in files])
    assert not found.wrong, random.Random(0).sample(found.wrong, min(20, len(found.wrong)))
    assert sum(found.right.values()) > 0
