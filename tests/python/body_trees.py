"""Writes the syntax trees of the bodies in tests/unit/polish, for tests/unit/polish/rewrites.cpp.

A body's tree comes after a line `body HEX` with its text, in the form that reprint.py writes. Runs
under any CPython that can parse the bodies and needs only the standard library.
"""

import ast
import re
import sys
from pathlib import Path
from typing import List, Optional

from reprint import serialize

UNIT = Path(__file__).resolve().parent.parent / "unit" / "polish"


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


def main() -> None:
    for path in sorted(UNIT.glob("*/*.txt")):
        body = path.read_text(encoding="utf-8").partition("\n---\n")[0] + "\n"
        try:
            tree = serialize(parse(body), lines=True, columns=True)
        except SyntaxError as error:  # the test says that there is no tree
            print(f"{path}: {error}", file=sys.stderr)
            continue
        sys.stdout.write(f"body {body.encode().hex()}\n{tree}")


if __name__ == "__main__":
    main()
