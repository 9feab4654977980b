"""Columns decide how a text reads, never what it means (3.11+).

`compile` takes any columns that a syntax tree says, so that every case can be compiled with columns
that nobody wrote: what is decompiled must mean the same all the same.
"""

import __future__

import ast
import dis
import importlib.util
import marshal
import random
import subprocess
import sys
from pathlib import Path
from types import CodeType

import pytest
from needs import ROOT, need
from pellucid import Decompilation, decompile_pyc

sys.path.insert(0, str(ROOT / "bench"))

from bench_growth import instructions

CASES = ROOT / "tests" / "cases"
TOPICS = ["branches", "loops", "exceptions", "functions", "comparisons", "operators", "walrus"]
NAMES = sorted(str(p.relative_to(CASES)) for topic in TOPICS for p in (CASES / topic).glob("*.py"))

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="code objects have no columns before 3.11"
)


def decompiled(code: CodeType) -> Decompilation:
    return decompile_pyc(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))


def parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError:
        pytest.skip("newer syntax than this Python's")


def move(tree: ast.AST, column: "random.Random | None", step: int = 0) -> None:
    """Give every node another column: a random one, or one further right with every node."""
    for i, node in enumerate(ast.walk(tree)):
        if hasattr(node, "col_offset"):
            to = column.choice(range(0, 40, 2)) if column else i * step
            node.col_offset, node.end_col_offset = to, to + random.Random(i).choice([3, 4, 5, 6, 8])
            node.end_lineno = node.lineno


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_columns_that_nobody_wrote_change_no_meaning(name: str, seed: int) -> None:
    tree = parsed((CASES / name).read_text())
    # What is not proven with its own columns is not the matter here.
    before = decompiled(compile(tree, name, "exec")).verdict.status
    move(tree, random.Random(f"{name} {seed}"))
    found = decompiled(compile(tree, name, "exec"))
    assert (found.verdict.status == "unproven") <= (before == "unproven"), found.verdict.reason


def test_a_row_that_moves_right_does_not_nest_as_deep_as_it_is_long() -> None:
    rows = "".join(f"    if x == {i}:\n        return {i}\n    x({i})\n" for i in range(400))
    tree = ast.parse(f"def f(x):\n{rows}")
    move(tree, None, step=4)
    found = decompiled(compile(tree, "rows.py", "exec"))
    assert found.verdict.status != "unproven"
    compile(found.source, "rows.py", "exec")


def text_without_proof(code: CodeType, tmp_path: Path) -> str:
    path = tmp_path / "made.pyc"
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    command = [str(need("native")), "decompile", "--no-verify", str(path)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_no_pass_comes_before_a_docstring(tmp_path: Path) -> None:
    lines = "pass\n__doc__ = \\\n'what it is'\nprint(1)\n"
    code = compile(lines, "made", "exec")
    text = text_without_proof(code, tmp_path)
    assert ast.get_docstring(ast.parse(text)) == "what it is", text


def test_no_pass_comes_before_a_future_import(tmp_path: Path) -> None:
    code = compile("pass\nfrom future import annotations\nprint(1)\n", "made", "exec")
    names = tuple("__future__" if name == "future" else name for name in code.co_names)
    flags = code.co_flags | __future__.annotations.compiler_flag
    text = text_without_proof(code.replace(co_names=names, co_flags=flags), tmp_path)
    assert "from __future__ import annotations" in text
    compile(text, "text", "exec")


def test_no_continue_is_written_in_a_clause_that_nothing_may_leave(tmp_path: Path) -> None:
    tree = ast.parse(
        "def f(xs):\n    for x in xs:\n        try:\n            a()\n        except* E:\n"
        "            if x:\n                pass\n            else:\n                b()\n"
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.Pass):
            node.end_col_offset = node.col_offset + len("continue")
    text = text_without_proof(compile(tree, "made", "exec"), tmp_path)
    assert "except* E" in text
    compile(text, "text", "exec")


@pytest.mark.usefixtures("valgrind")
@pytest.mark.parametrize("arm", ["pass\n    a()", "if a:\n        a()"], ids=["passes", "arms"])
def test_four_times_the_places_take_about_four_times_as_many_instructions(
    arm: str, tmp_path: Path
) -> None:
    counted = []
    for count in (1, 2000, 8000):
        tree = ast.parse("def f(a):\n" + f"    {arm}\n" * count)
        # All of one place, as wide as a `pass`.
        for node in ast.walk(tree):
            if hasattr(node, "col_offset"):
                node.col_offset, node.end_col_offset, node.end_lineno = 4, 8, node.lineno
        path = tmp_path / f"{count}.pyc"
        code = compile(tree, "made", "exec")
        path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
        command = [str(need("native")), "decompile", "--no-verify", "--jobs", "1", str(path)]
        counted.append(instructions(command))
    none, few, many = counted
    assert (many - none) / (few - none) <= 5.0


@pytest.mark.usefixtures("valgrind")
@pytest.mark.parametrize("before", ["", "pass; "], ids=["arms", "passes"])
def test_four_times_as_deep_places_take_about_four_times_as_many_instructions(
    before: str, tmp_path: Path
) -> None:
    counted = []
    for depth in (1, 90, 360):
        body = ast.parse("a()").body
        for _ in range(depth):
            level = ast.parse(f"{before}a\nif a:\n    pass\nelse:\n    pass\n").body
            assert isinstance(level[-1], ast.If)
            level[-1].body = body
            body = level
        tree = ast.parse("def f(a): pass")
        assert isinstance(tree.body[0], ast.FunctionDef)
        tree.body[0].body = body
        # Each on a line of its own, all as wide as a `pass` and in one column.
        for line, node in enumerate(ast.walk(tree), 1):
            if hasattr(node, "col_offset"):
                node.lineno = node.end_lineno = line
                node.col_offset, node.end_col_offset = 4, 8
        path = tmp_path / f"{depth}.pyc"
        code = compile(tree, "made", "exec")
        path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
        command = [str(need("native")), "decompile", "--no-verify", "--jobs", "1", str(path)]
        counted.append(instructions(command))
    none, few, many = counted
    assert (many - none) / (few - none) <= 5.0


@pytest.mark.usefixtures("valgrind")
def test_a_long_name_that_functions_share_costs_no_walk_for_each(tmp_path: Path) -> None:
    code = compile("def f(): pass\n" * 200, "made", "exec")
    counted = []
    for name in ("f", "f." * 50_000):
        consts = [
            each.replace(co_qualname=name) if isinstance(each, CodeType) else each
            for each in code.co_consts
        ]
        path = tmp_path / f"{len(name)}.pyc"
        made = marshal.dumps(code.replace(co_consts=tuple(consts)))
        path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + made)
        command = [str(need("native")), "decompile", "--no-verify", "--jobs", "1", str(path)]
        counted.append(instructions(command))
    assert counted[1] <= 1.5 * counted[0]


@pytest.mark.usefixtures("valgrind")
def test_four_times_as_deep_targets_take_about_four_times_as_many_instructions(
    tmp_path: Path,
) -> None:
    module = compile("def f(a):\n    (b,) = a\n", "made", "exec")
    code = next(each for each in module.co_consts if isinstance(each, CodeType))
    at = code.co_code.index(dis.opmap["UNPACK_SEQUENCE"])
    unpack = code.co_code[at : at + 4]
    counted = []
    for depth in (1, 500, 2000):
        text = code.co_code[:at] + unpack * depth + code.co_code[at + 4 :]
        units = len(text) // 2
        # One line, from column 8 to 9, for up to eight units each.
        table = b"".join(
            bytes([0xD0 | min(8, units - begin) - 1, 8, 9]) for begin in range(0, units, 8)
        )
        made = code.replace(co_code=text, co_linetable=table, co_stacksize=9)
        whole = tuple(made if each is code else each for each in module.co_consts)
        path = tmp_path / f"{depth}.pyc"
        data = marshal.dumps(module.replace(co_consts=whole))
        path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + data)
        command = [str(need("native")), "decompile", "--no-verify", "--jobs", "1", str(path)]
        counted.append(instructions(command))
    none, few, many = counted
    assert (many - none) / (few - none) <= 6.0
