"""The rewrites of polish, each alone: tests/unit/polish/<rewrite>/<case>.txt.

A file has comments that say what it specifies, a body, a line `---` and the body after the rewrite.
`# line 5` after a statement says which line it comes from, where that is not the line that it is
on, `# column 4` in which column that line was written, `# no column` that nothing says so: only
`lay_out` and `join_negations` look at columns. `make update-golden` writes what comes out today.
"""

import ast
import os
import re
from pathlib import Path
from typing import List, Optional

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
    """Parse a body; its nodes have the lines and columns that its comments name."""
    lines: List[int] = []
    shifts: List[Optional[int]] = []
    for number, text in enumerate(body.splitlines(), 1):
        told = re.search(r"#(?: line (\d+),?)?(?: (no column)| column (\d+))?$", text)
        line, unknown, column = told.groups() if told else (None, None, None)
        lines.append(int(line) if line else number)
        indent = len(text) - len(text.lstrip())
        shifts.append(None if unknown else int(column) - indent if column else 0)
    tree = ast.parse(body)
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr, ast.ExceptHandler)):
            shift = shifts[node.lineno - 1]
            end = node.end_lineno == node.lineno
            node.col_offset = -1 if shift is None else node.col_offset + shift
            node.end_col_offset = (node.end_col_offset or 0) + (shift or 0)
            node.lineno = lines[node.lineno - 1]
            node.end_lineno = node.lineno if end else -1
    return tree


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_a_rewrite_makes_of_a_body_what_its_file_says(path: Path) -> None:
    text = path.read_text()
    given, wanted = text.split("\n---\n")
    program = serialize(parse(given), lines=True, columns=True)
    ((before, _),) = reprint(tool(), [program])
    ((after, problems),) = reprint(tool(), [program], "--polish", path.parent.name)
    got = "# unchanged\n" if after == before else after
    if got != wanted and "PELLUCID_UPDATE_GOLDEN" in os.environ:
        path.write_text(f"{given}\n---\n{got}")
        return
    assert problems == 0
    assert got == wanted, "make update-golden, if it is right now"


def test_every_rewrite_has_cases() -> None:
    assert len({path.parent for path in CASES}) == 24
