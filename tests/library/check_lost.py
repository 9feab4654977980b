# SPDX-License-Identifier: Apache-2.0
"""Check `--say-lost`: each comment against the tree of the file that was compiled.

`check_lost.py PYTHON FILE.py...` has PYTHON compile each file, decompiles it with comments on what
is lost, and looks for each of them in the tree. It prints, for each kind, how many comments there
are, how many of them are right, and how much of what the trees have they name; `--show N` prints
the first N that are wrong, `--missed N` the first N places without one.
"""

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

# Runs under the version's own interpreter: what the trees have that no bytecode holds.
_WORKER = r"""
import ast, json, py_compile, sys

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FOLDED = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.IfExp)

def is_plain(node):
    # A literal with a sign, or a complex number.
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return isinstance(node.operand, ast.Constant)
    return isinstance(node, ast.BinOp) and any(
        isinstance(n, ast.Constant) and isinstance(n.value, complex) for n in ast.walk(node))

def value_of(node):
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    calls = any(isinstance(n, (ast.Call, ast.Attribute, ast.Await)) for n in ast.walk(node))
    if calls or names - {"__debug__"}:
        raise ValueError
    value = eval(compile(ast.Expression(node), "", "eval"))
    # Others leave no constant of their own.
    if not isinstance(value, (int, float, str, bytes)):
        raise ValueError
    return repr(value) if len(repr(value)) < 5000 else "long"

def facts(tree):
    found = []
    docs = set()
    todo = [(tree, False, None)]
    while todo:
        node, in_function, statement = todo.pop()
        if isinstance(node, (ast.Module, ast.ClassDef) + FUNCTIONS) and node.body:
            docs.add(node.body[0])
        if isinstance(node, ast.stmt):
            statement = node
        is_annotated = isinstance(node, ast.AnnAssign)
        if is_annotated and (in_function or not isinstance(node.target, ast.Name)):
            found.append(("annotation", node.lineno, node.end_lineno, node.value is not None, ""))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if node not in docs:
                found.append(("statement", node.lineno, node.end_lineno, True, ""))
        if isinstance(node, ast.If):
            first = node.test.values[0] if isinstance(node.test, ast.BoolOp) else node.test
            try:
                if value_of(first) in ("0", "False", "''"):
                    found.append(("statement", node.lineno, node.end_lineno, False, ""))
            except Exception:
                pass
        is_debug = isinstance(node, ast.Name) and node.id == "__debug__"
        is_folded = isinstance(node, FOLDED) or is_debug
        if is_folded and not is_plain(node):
            try:
                value = value_of(node)
                found.append(("expression", statement.lineno, statement.end_lineno, True, value))
            except Exception:
                pass
        inside = in_function
        if isinstance(node, FUNCTIONS + (ast.Lambda,)):
            inside = True
        if isinstance(node, ast.ClassDef):
            inside = False
        todo.extend((child, inside, statement) for child in ast.iter_child_nodes(node))
    return found

sys.setrecursionlimit(5000)
for number, path in enumerate(json.load(sys.stdin)):
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
        py_compile.compile(path, "%s/%d.pyc" % (sys.argv[1], number), doraise=True)
        print(json.dumps(facts(tree)))
    except Exception:
        print("null")
"""

SAID = {
    "annotation": "an annotation was here",
    "statement": "a statement without effect was here",
    "expression": " was written as an expression",
}


class Found(NamedTuple):
    """What was said of some files."""

    said: Dict[str, int]
    right: Dict[str, int]
    there: Dict[str, int]  # in the trees
    wrong: List[str]
    missed: List[str]


def comments(found: Any) -> List[Tuple[str, int, str]]:
    """Return the kind, the original line, and the value of each comment."""
    lines = found.source.splitlines()
    at: Dict[int, int] = {}
    for entry in found.line_map:
        if entry.original_line is not None:
            at.setdefault(entry.line, entry.original_line)
    said = []
    last = 0
    for number, line in enumerate(lines, 1):
        # A statement of several lines has its comment on the last one.
        last = at.get(number, last)
        text = line.rpartition("  # ")[2] if "  # " in line else line.lstrip().removeprefix("# ")
        *values, rest = text.split(SAID["expression"])
        said += [("expression", last, value.removeprefix("; ")) for value in values]
        for kind in ("annotation", "statement"):
            if text.startswith(SAID[kind]) or rest.endswith("; " + SAID[kind]):
                said.append((kind, last, ""))
    return said


def is_same(literal: str, value: str) -> bool:
    """Return whether a comment names a value."""
    if literal == "a constant" or value == "long":
        return True
    try:
        return repr(ast.literal_eval(literal)) == value
    except (ValueError, SyntaxError):
        return False


def check(python: str, files: Sequence[Path]) -> Found:
    """Decompile each file, and look for each comment in its tree."""
    from pellucid import decompile_pyc

    kinds = list(SAID)
    found = Found(dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0), [], [])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, "-I", "-W", "ignore", "-c", _WORKER, folder],
            input=json.dumps([str(path) for path in files]).encode(),
            stdout=subprocess.PIPE,
            check=True,
        )
        for number, (path, line) in enumerate(zip(files, done.stdout.decode().splitlines())):
            facts = json.loads(line)
            if facts is None:
                continue
            said = comments(
                decompile_pyc(Path(folder, f"{number}.pyc").read_bytes(), say_lost=True)
            )
            hit = set()
            for kind, at, value in said:
                found.said[kind] += 1
                those = [
                    i
                    for i, (have, first, last, _, result) in enumerate(facts)
                    if have == kind
                    and first <= at <= last
                    and (kind != "expression" or is_same(value, result))
                ]
                hit.update(those)
                found.right[kind] += bool(those)
                if not those:
                    found.wrong.append(f"{path}:{at}: {kind} {value}")
            for i, (kind, first, *_) in enumerate(facts):
                found.there[kind] += 1
                if i not in hit:
                    found.missed.append(f"{path}:{first}: {kind} {facts[i][4]}")
    return found


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("python")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=20, metavar="N")
    parser.add_argument("--missed", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    found = check(arguments.python, arguments.files)
    print("\n".join(found.wrong[: arguments.show]))
    print("\n".join(f"missed {each}" for each in found.missed[: arguments.missed]))
    for kind in SAID:
        said, right, there = found.said[kind], found.right[kind], found.there[kind]
        missed = sum(f": {kind} " in each for each in found.missed)
        print(f"{kind}: {said} comments, {right} right; {there - missed} of {there} are named")
    return 0


if __name__ == "__main__":
    sys.exit(main())
