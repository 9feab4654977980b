"""pellucid match: each compiled case comes from its text, and no changed text passes for it."""

import ast
import dis
import importlib.util
import io
import json
import marshal
import os
import py_compile
import random
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import CodeType
from typing import Any, Dict, List, Optional, Tuple

import pytest
from case_pycs import CASES, pycs_of
from needs import VERSIONS, need
from pellucid import DecompileError, _core, match
from pellucid.interpreters import compile_to_marshal
from pellucid.matching.header import (
    NOT_READ,
    PRERELEASE,
    STALE_DATE,
    UNCHECKED,
    UNKNOWN_FLAGS,
    USED,
    source_hash,
)
from pellucid.matching.prepare import prepare

SOURCE = '''\
"""A module."""
LIMIT = 2 * 1024


def scale(values, factor=1.5):
    """Scale values.

    Negative ones are dropped.
    """
    assert factor > 0
    kept = []
    for value in values:
        if value < 0:
            continue
        kept.append(value * factor)
    return kept, sum(kept), __debug__


class Shape:
    sides = 4

    def area(self, width: int, height: "int" = 2) -> int:
        names = [f"{side!r:>4}" for side in range(self.sides)]
        try:
            return width * height + len(names)
        finally:
            self.sides -= 1
'''


def compiled_by(version: Tuple[int, int], text: str) -> bytes:
    """Compile with the Python of a version."""
    need("python{}.{}".format(*version))
    header = _core.header_for(*version)
    assert header is not None
    return header + compile_to_marshal(text, version)


def compiled(source: str, optimize: int = 0) -> bytes:
    code = compile(source, "module.py", "exec", dont_inherit=True, optimize=optimize)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


# Where the compiler folds or tests something that the lowering does not: it says so, and does not
# guess.
UNPROVEN = {
    "comprehensions/cells_that_only_dead_code_has_after_lookups",
    "comprehensions/names_that_an_earlier_one_has_bound",
    "fstrings/constants_that_are_not_folded",
    "fstrings/nothing_in_a_set",
    "operators/choices_within_choices",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("version", VERSIONS)
def test_each_case_of_every_version_comes_from_its_text(version: str) -> None:
    outcomes: Dict[str, List[str]] = {}
    for name, pyc in pycs_of(version).items():
        found = match(pyc, (CASES / f"{name}.py").read_bytes())
        outcomes.setdefault(found.status, []).append(name)
    assert set(outcomes) <= {"match", "equivalent", "differs", "no source", "unproven"}
    missed = {*outcomes.get("differs", []), *outcomes.get("unproven", [])}
    assert missed <= UNPROVEN
    # Only the newest Python parses the text of all cases.
    assert sys.version_info < (3, 12) or not outcomes.get("no source")
    assert len(outcomes["match"]) > 0.9 * len(pycs_of(version)) - len(outcomes.get("no source", []))


@pytest.mark.parametrize(
    ("text", "changed", "function"),
    [
        ("2 * 1024", "2 * 1025", "<module>"),
        ('"""A module."""', '"""The module."""', "<module>"),
        ("Negative ones", "  Negative ones", "<module>/scale"),
        ("value < 0", "value <= 0", "<module>/scale"),
        ("continue", "break", "<module>/scale"),
        ("factor=1.5", "factor=1.25", "<module>"),
        ("sum(kept)", "max(kept)", "<module>/scale"),
        ("assert factor > 0", "assert factor", "<module>/scale"),
        ("kept = []", "kept = list()", "<module>/scale"),
        ("sides = 4", "sides = 5", "<module>/Shape"),
        ("!r:>4", "!s:>4", "<module>/Shape/area"),
        ("-= 1", "+= 1", "<module>/Shape/area"),
        ("finally:", "except ValueError:", "<module>/Shape/area"),
        (") -> int", ") -> str", "<module>/Shape"),
        ("self.sides)]", "self.sides) if side]", "<module>/Shape/area"),
        ("width: int", "width: str", "<module>/Shape"),
    ],
)
def test_a_changed_text_differs_at_its_line(text: str, changed: str, function: str) -> None:
    other = SOURCE.replace(text, changed)
    assert other != SOURCE
    found = match(compiled(SOURCE), other)
    assert found.status == "differs" and not found
    assert found.function.startswith(function), found
    if sys.version_info >= (3, 9):
        assert re.search(r"^-", found.diff, re.M) and re.search(r"^\+", found.diff, re.M)


def test_the_line_is_that_of_the_difference() -> None:
    found = match(compiled(SOURCE), SOURCE.replace("kept.append", "kept.insert"))
    lines = SOURCE.splitlines()
    assert lines[found.line - 1].strip().startswith("kept.append")
    if sys.version_info >= (3, 9):
        assert found.diff.splitlines()[0] == "--- source" and "kept.insert" in found.diff


def test_layout_comments_and_constants_computed_by_hand_are_no_difference() -> None:
    same = SOURCE.replace("2 * 1024", "2048  # bytes").replace(
        "kept, sum(kept)", "(kept), (sum(kept))"
    )
    assert match(compiled(SOURCE), same).status == "match"


@pytest.mark.parametrize(
    "text",
    [
        "x = '%200s' % (y,)",
        "x = '%20s' % (y,)",
        "x = ('%s; %r ' + 'is') % (y, z)",
        "def f():\n    (name): int\n    return name",
        "def f():\n    while 1:\n        if 0:\n            import a\n        break\n    return a",
        "def f(x):\n    assert x, 'no'\n    1\n    'text'\n    return (((x)))\n    print(x)",
        "from __future__ import annotations\ndef f(x: List[int] | None = 1, y: A[1 + 1] = 2): pass",
        "def f():\n    'text'\nclass C:\n    'text'\n    def g(self):\n        assert self",
        "x = {**a, 'b': [*c, 1]}; x[1:2, ...] = y = z = 1 if not a else 2",
    ],
)
def test_source_that_no_decompiler_writes_is_lowered(text: str) -> None:
    for level in (0, 1, 2):
        assert match(compiled(text, level), text, optimize=level).status == "match"


def test_optimization_levels_are_told() -> None:
    for level in (0, 1, 2):
        assert match(compiled(SOURCE, level), SOURCE, optimize=level).status == "match"
        other = (level + 1) % 3
        found = match(compiled(SOURCE, level), SOURCE, optimize=other)
        assert found.status == "equivalent" and found.reason.startswith("it was compiled with")
        assert match(compiled(SOURCE, level), SOURCE).status == "match"


def test_what_cannot_be_parsed_has_no_source() -> None:
    found = match(compiled(SOURCE), "def f(:\n")
    assert found.status == "no source" and "cannot parse" in found.reason
    with pytest.raises(DecompileError):
        match(b"no .pyc", SOURCE)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="it can parse the source")
def test_newer_syntax_needs_a_newer_python() -> None:
    text = "type X = int\n"
    found = match(compiled_by((3, 12), text), text)
    assert found.status == "no source"
    assert found.reason.endswith("(line 1). Run pellucid with Python 3.12")


# -- constants --


def expressions(count: int, seed: int) -> List[str]:
    draw = random.Random(seed)
    leaves = ["1", "2", "7", "-3", "0", "1.5", "-0.0", "2j", "'ab'", "''", "b'x'", "True", "None"]
    leaves += ["...", "(1,2)", "()", "10**9", "1<<70"]
    operators = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"]

    def one(depth: int) -> str:
        if not depth or draw.random() < 0.3:
            return draw.choice(leaves)
        kind = draw.random()
        if kind < 0.7:
            return f"({one(depth - 1)} {draw.choice(operators)} {one(depth - 1)})"
        if kind < 0.85:
            return f"({draw.choice(['-', '+', '~', 'not '])}{one(depth - 1)})"
        return f"({one(depth - 1)})[{one(0)}]"

    return [one(3) for _ in range(count)]


def folded(code: CodeType) -> Optional[str]:
    """The constant that an expression is compiled to; None if it is computed."""
    names = {each.opname.partition("_")[0] for each in dis.get_instructions(code)}
    return None if names & {"BINARY", "UNARY", "BUILD"} else repr(eval(code))


@pytest.mark.filterwarnings("ignore")
def test_constants_are_folded_as_the_compiler_does() -> None:
    version = sys.version_info[:2]
    for text in expressions(3000, 5):
        tree = ast.parse(text)
        prepared = prepare(ast.parse(text), version).body[0]
        assert isinstance(prepared, ast.Expr) and isinstance(tree.body[0], ast.Expr)
        ours: Any = prepared.value
        code = compile(ast.Expression(tree.body[0].value), "f", "eval", dont_inherit=True)
        is_constant = isinstance(ours, (ast.Constant, ast.Tuple))
        assert folded(code) == (repr(ast.literal_eval(ours)) if is_constant else None), text


# -- headers and the command --


def test_the_hash_of_a_source_is_pythons() -> None:
    for size in (0, 1, 7, 8, 9, 1000):
        source = bytes(i % 251 for i in range(size))
        own = importlib.util.source_hash(source)
        assert source_hash(importlib.util.MAGIC_NUMBER, source, sys.version_info[1]) == own


def run(*arguments: object, folder: Path) -> Tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pellucid", "match", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=str(folder),
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    for name in ("first", "second"):
        (folder / f"{name}.py").write_text(SOURCE)
        py_compile.compile(str(folder / f"{name}.py"), optimize=0)
    return folder


def test_a_folder_matches_until_a_source_changes(package: Path) -> None:
    status, out, err = run("package", folder=package.parent)
    assert (status, out) == (0, "") and "2 match" in err
    path = package / "second.py"
    path.write_text(SOURCE.replace("sum(kept)", "max(kept)"))
    os.utime(path, (1, 1))
    status, out, err = run("package", "--jobs", 1, folder=package.parent)
    assert status == 1 and "1 differs" in err
    lines = out.splitlines()
    assert lines[0].startswith("differs: package/__pycache__/second.")
    assert lines[1] == "  package/second.py:16, in <module>/scale"
    assert lines[2].strip() == STALE_DATE
    path.unlink()
    status, out, err = run("package", folder=package.parent)
    assert status == 3 and "1 no source" in err and "there is no package/second.py" in out


def test_a_name_that_says_another_python_is_ignored(package: Path) -> None:
    (cached,) = (package / "__pycache__").glob("first.*")
    cached.rename(cached.with_name("first.cpython-37.pyc"))
    (package / "second.py").write_text("x = 1\n")
    beside = package / "first.pyc"
    beside.write_bytes(compiled("x = 1\n"))
    found = {}
    for line in run("package", "--json", folder=package.parent)[1].splitlines():
        row = json.loads(line)
        found[row["file"].rpartition("/")[2]] = row["status"], row["use"].partition(",")[0]
    assert found["first.cpython-37.pyc"] == (
        "match",
        "Python ignores it: its name says cpython-37",
    )
    assert found["first.pyc"] == ("differs", NOT_READ)
    given = run(beside, "--source", package / "second.py", "--json", folder=package.parent)[1]
    assert json.loads(given)["use"] == ""


def test_a_header_that_python_does_not_accept_is_ignored(package: Path) -> None:
    (path,) = package.rglob("first.*.pyc")
    data = path.read_bytes()

    def use(start: int, *changed: int) -> str:
        path.write_bytes(data[:start] + bytes(changed) + data[start + len(changed) :])
        out = run("package/__pycache__", "--json", folder=package.parent)[1]
        return str(json.loads(out.splitlines()[0])["use"])

    assert use(4) == USED
    assert use(4, 2) == USED  # without bit 0, bit 1 has no meaning
    assert use(4, 4) == use(4, 5) == UNKNOWN_FLAGS
    assert use(0, data[0] - 1) == PRERELEASE


def test_json_and_sarif(package: Path) -> None:
    path = package / "second.py"
    py_compile.compile(
        str(path),
        optimize=0,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    path.write_text(SOURCE.replace("sum(kept)", "max(kept)"))
    status, out, _ = run("package", "--json", "--sarif", "log.json", folder=package.parent)
    first, second = map(json.loads, out.splitlines())
    assert (status, first["status"], second["status"]) == (1, "match", "differs")
    assert second["use"] == UNCHECKED and second["line"] == 16
    log = json.loads((package.parent / "log.json").read_text())
    (result,) = log["runs"][0]["results"]
    assert result["ruleId"] == "pyc-differs" and result["level"] == "error"
    first, *diff = result["message"]["text"].splitlines()
    assert first.endswith(" In <module>/scale:") and any("max(kept)" in line for line in diff)
    related = result["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"] == "package/second.py"
    assert related["region"]["startLine"] == 16


def test_a_wheel_has_its_sources_beside_them(package: Path) -> None:
    wheel = package.parent / "package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in sorted(package.rglob("*.py*")):
            archive.write(path, path.relative_to(package.parent).as_posix())
    assert run(wheel.name, folder=package.parent)[0] == 0
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("alone.pyc", compiled(SOURCE))
    status, out, _ = run(wheel.name, "--jobs", 1, folder=package.parent)
    assert status == 3 and "there is no package-1.0-py3-none-any.whl/alone.py" in out


def test_a_string_after_the_docstring_is_none_without_it() -> None:
    text = "'zero'\nfrom __future__ import annotations\n"
    text += "class C:\n    'one'\n    'two'\n    def f(self):\n        'three'\n"
    assert match(compiled(text, 2), text, optimize=2).status == "match"
    assert match(compiled(text, 2), text.replace("def f", "def g"), optimize=2).status == "differs"


@pytest.mark.parametrize("version", [(3, 10), (3, 11), (3, 12)])
def test_an_operand_on_another_line_is_tested_twice(version: Tuple[int, int]) -> None:
    text = "def f(a):\n    return c[(\n        a and 'x'\n    ) or 'y'], (a and 'x' or\n 'y')\n"
    assert match(compiled_by(version, text), text).status == "match"


@pytest.mark.parametrize("version", [(3, minor) for minor in range(8, 16)])
def test_calls_of_any_size_match(version: Tuple[int, int]) -> None:
    for positional in (0, 1, 13, 28, 29, 30, 31):
        for named in (0, 1, 14, 15, 16, 28, 29, 30):
            values = [f"c.p{i}" for i in range(positional)]
            values += [f"k{i}=c.a{i}" for i in range(named)]
            arguments = ", ".join(values)
            text = f"def f(c):\n with c:\n  c.g({arguments})\n  g({arguments})\n"
            assert match(compiled_by(version, text), text).status == "match", (positional, named)


def test_managers_in_brackets_are_a_tuple_up_to_38() -> None:
    text = "with (a(), b()):\n    pass\nwith a(), b():\n    pass\nwith (\n  a,\n  b\n):\n    c()\n"
    text += "with (a), b:\n    c()\nwith (\n  a  # )\n), b:\n    c()\nwith (a, b)[0], c: d()\n"
    for version in ((3, 8), (3, 9), (3, 12)):
        assert match(compiled_by(version, text), text).status == "match", version


@pytest.mark.parametrize("version", [(3, 13), (3, 14), (3, 15)])
def test_the_line_of_a_class_is_no_difference(version: Tuple[int, int]) -> None:
    text = "def f():\n    __firstlineno__ = 1\n\n\n    class C:\n        nonlocal __firstlineno__\n"
    assert match(compiled_by(version, text), text).status != "differs"


@pytest.mark.parametrize("version", [(3, minor) for minor in range(8, 16)])
def test_a_changed_value_differs_if_it_is_described_alike(version: Tuple[int, int]) -> None:
    # From 3.8 to 3.9, the line that goes back keeps the compiler from folding the defaults.
    text = "x = f(\n  1,\n)\ndef g(a=1, b='b'):\n  return h(a[1:2], {'c': 3}, [4])\nclass C:\n"
    text += "  def m(self, key=None):\n    return lambda: self\n"
    pyc = compiled_by(version, text)
    assert match(pyc, text).status in ("match", "equivalent")
    for old, new in (
        ("a=1", "a=2"),
        ("'b'", "'d'"),
        ("1:2", "1:3"),
        ("'c': 3", "'c': 5"),
        ("[4]", "[6]"),
        ("key=None", "key=0"),
        ("m(self", "m(this"),
    ):
        assert match(pyc, text.replace(old, new)).status == "differs", (old, new)


def test_the_layers_of_an_image_have_their_sources_beside_them(package: Path) -> None:
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w:gz") as archive:
        archive.add(package, "usr/lib/package")
    image = package.parent / "image.tar"
    with tarfile.open(image, "w") as archive:
        entry = tarfile.TarInfo("blobs/sha256/layer.tar.gz")
        entry.size = len(layer.getvalue())
        archive.addfile(entry, io.BytesIO(layer.getvalue()))
    status, out, _ = run(image.name, "--json", folder=package.parent)
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 0 and found and {each["status"] for each in found} == {"match"}
    changed = SOURCE.replace("sum(kept)", "max(kept)")
    next(package.glob("first.py")).write_text(changed)
    with tarfile.open(package.parent / "changed.tar.xz", "w:xz") as archive:
        archive.add(package, "package")
    status, out, _ = run("changed.tar.xz", folder=package.parent)
    assert status == 1 and "in <module>/scale" in out, out


def test_python_prefers_a_source_to_the_file_beside_it_in_folders_only(package: Path) -> None:
    beside = package / "beside"
    beside.mkdir()
    (beside / "first.py").write_text(SOURCE.replace("sum(kept)", "max(kept)"))
    (beside / "first.pyc").write_bytes(compiled(SOURCE))
    status, out, _ = run("beside", folder=package)
    assert status == 1 and out.splitlines()[2].strip() == NOT_READ
    with zipfile.ZipFile(package / "some.zip", "w") as archive:
        for path in sorted(beside.iterdir()):
            archive.write(path, path.name)
    status, out, _ = run("some.zip", folder=package)  # zipimport does not
    assert status == 1 and "Python" not in out


def test_a_source_that_is_named_is_not_what_python_looks_for(package: Path) -> None:
    (path,) = package.rglob("first.*.pyc")
    other = package / "other.py"
    for text, status, said in (
        (SOURCE, 0, "first"),
        (SOURCE.replace("sum(kept)", "max(kept)"), 1, "differs: "),
        ("x = (\n", 3, "cannot parse the source: '(' was never closed (line 1)"),
    ):
        other.write_text(text)
        done = run(path, "--source", other, folder=package)
        assert done[0] == status and "Python uses" not in done[1]
        assert sys.version_info < (3, 10) or said in done[1] + done[2]
    done = run(path, "--source", "absent.py", folder=package)
    assert done == (2, "", "pellucid: --source absent.py: no such file\n")


def test_a_log_that_cannot_be_written_is_an_error(package: Path) -> None:
    status, _, err = run("package", "--sarif", "package", folder=package.parent)
    assert status == 1 and err.startswith("pellucid: --sarif package: cannot be written: is a dir")


def test_many_files_are_compared_in_processes(package: Path) -> None:
    for number in range(25):
        (package / f"more_{number}.py").write_text(f"x = {number}\n")
        py_compile.compile(str(package / f"more_{number}.py"))
    (package / "more_3.py").write_text("x = 4\n")
    status, out, err = run("package", "--jobs", 2, folder=package.parent)
    assert status == 1 and "26 match" in err and out.startswith("differs: ")
