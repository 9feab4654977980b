"""The rewrites of polish, each alone: tests/unit/polish/<rewrite>/<case>.txt.

A file has comments that say what it specifies, a body, a line `---` and the body after the rewrite.
`# line 5` after a statement says which line it comes from, where that is not the line that it is
on. `make update-golden` writes what comes out today.
"""

import ast
import os
import re
from pathlib import Path
from typing import List

import pytest
from needs import ROOT, missing
from reprint import reprint, serialize

UNIT = ROOT / "tests" / "unit" / "polish"
CASES = sorted(UNIT.glob("*/*.txt"))


def tool() -> str:
    path = ROOT / "build" / "make" / "pellucid_reprint"
    if not path.exists():
        missing("pellucid_reprint, the printer's test tool")
    return str(path)


def parse(body: str) -> ast.AST:
    """Parse a body; its nodes have the lines that its comments name."""
    lines: List[int] = []
    for number, text in enumerate(body.splitlines(), 1):
        told = re.search(r"# line (\d+)$", text)
        lines.append(int(told.group(1)) if told else number)
    tree = ast.parse(body)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = lines[node.lineno - 1]
    return tree


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_a_rewrite_makes_of_a_body_what_its_file_says(path: Path) -> None:
    text = path.read_text()
    given, wanted = text.split("\n---\n")
    program = serialize(parse(given), lines=True)
    ((before, _),) = reprint(tool(), [program])
    ((after, problems),) = reprint(tool(), [program], "--polish", path.parent.name)
    got = "# unchanged\n" if after == before else after
    if got != wanted and "PELLUCID_UPDATE_GOLDEN" in os.environ:
        path.write_text(f"{given}\n---\n{got}")
        return
    assert problems == 0
    assert got == wanted, "make update-golden, if it is right now"


def test_every_rewrite_has_cases() -> None:
    assert len({path.parent for path in CASES}) == 13
