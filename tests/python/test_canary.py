"""`make canary` finds each thing that a table of ours does not know, and nothing else.

Each test takes a thing out of a copy of the tables, so that the interpreter that runs it has it and
the tables have not.
"""

import json
import opcode
import re
import shutil
import subprocess
import sys

import pytest
from needs import ROOT, need

TABLES = [
    "src/ast/nodes.def",
    "src/bytecode/meanings.cpp",
    "src/bytecode/raw",
    "src/object/code.h",
    "src/object/code_layout.cpp",
    "src/object/code_layout.h",
    "src/object/marshal_reader.cpp",
    "src/object/pyc.cpp",
    "src/print/numbers.cpp",
    "python/pellucid/recompile.py",
    "pyproject.toml",
]
HERE = "{}.{}".format(*sys.version_info[:2])


def canary(python, root, *arguments):
    """Run the canary on the tables of a tree; return its exit code and what it prints."""
    command = [str(python), str(ROOT / "tools" / "canary")]
    done = subprocess.run(
        [*command, "--only", "python", "--root", str(root), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    return done.returncode, done.stdout


@pytest.fixture
def tree(tmp_path):
    """A copy of the tables, with a record of this interpreter."""
    for name in TABLES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(str(ROOT / name), str(tmp_path / name))
    (tmp_path / "tools" / "canary").mkdir(parents=True)
    canary(sys.executable, tmp_path, "--accept")
    return tmp_path


def news(output):
    """What is printed below each file."""
    found, file = {}, None
    for line in output.splitlines()[1:]:
        if re.match(r"  \S", line):
            file = found.setdefault(line.strip(), [])
        elif line.strip():
            file.append(line.strip())
    return found


def test_nothing_is_new_where_all_is_known(tree):
    status, output = canary(sys.executable, tree)
    assert status == 0 and output.endswith("nothing is new\n"), output


def test_without_a_record_the_tables_alone_are_compared(tree):
    shutil.rmtree(str(tree / "tools"))
    status, output = canary(sys.executable, tree)
    assert status == 0 and output.startswith("no record of"), output


TAKEN = [
    ("src/bytecode/raw/%s.def" % HERE, r"RAW\(\d+, LOAD_CONST,.*\n", "", "has drifted"),
    ("src/bytecode/meanings.cpp", r' *\{"LOAD_CONST", .*\n', "", "LOAD_CONST has no row"),
    ("src/bytecode/meanings.cpp", r'(\{"NOP", )kAll', r"\1until(7)", "NOP has no row"),
    ("src/object/pyc.cpp", r"\{\d+, \d+, \{3, %s\}\}" % HERE[2:], "", "magic number"),
    ("src/object/marshal_reader.cpp", "case '\\('", "case '?'", "type code '(' is not known"),
    ("src/object/code.h", r"kCoroutine = 0x80", "kCoroutine = 0x80000", "flag 0x80 (COROUTINE)"),
    ("src/ast/nodes.def", r"NODE\(Await, .*\n", "", "Await is not known"),
    ("src/ast/nodes.def", r" FIELD\(List, orelse\)\)\nNODE\(If", ")\nNODE(If", "While.orelse is"),
]


@pytest.mark.skipif(sys.version_info < (3, 9), reason="ast tells no fields")
@pytest.mark.parametrize(("file", "pattern", "other", "told"), TAKEN)
def test_what_a_table_has_not_is_told_with_its_file(tree, file, pattern, other, told):
    path = tree / file
    text, count = re.subn(pattern, other, path.read_text(encoding="utf-8"))
    assert count
    path.write_text(text, encoding="utf-8")
    status, output = canary(sys.executable, tree)
    assert status == 1
    found = news(output)
    assert list(found) == [file], output
    assert len(found[file]) == 1 and told in found[file][0]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the fields lay otherwise")
def test_a_field_of_code_objects_that_is_not_known_is_told(tree):
    path = tree / "src/object/code_layout.cpp"
    before, array, after = path.read_text(encoding="utf-8").partition("kSince311[] = {")
    path.write_text(before + array + after.replace("Field::QualName, ", "", 1).lstrip("\n"))
    if "Field::QualName, " not in after.partition("}")[0]:
        path.write_text(before + array + re.sub(r"Field::QualName,\s*", "", after, count=1))
    status, output = canary(sys.executable, tree)
    assert status == 1 and list(news(output)) == ["src/object/code_layout.cpp"], output


_OPMAP = type(opcode.opmap).__name__
RECORDED = [
    ("stack effects", "NOP", None, "stack effects: NOP is new (+0)"),
    ("stack effects", "POP_TOP", "+3", "stack effects: POP_TOP was +3, is -1"),
    ("stack effects", "FLY", "+1", "stack effects: FLY is gone (+1)"),
    ("numbers of COMPARE_OP", "1", "<>", "numbers of COMPARE_OP: 1 was <>, is <="),
    ("types in the module opcode", "opmap", "list", f"opmap was list, is {_OPMAP}"),
    ("keywords", "while", None, "keywords: while is new"),
    ("attributes of code objects", "co_names", None, "co_names is new"),
    ("format of marshal", "", "0", "format of marshal was 0, is"),
    ("features of __future__", "division", None, "division is new (0x"),
    ("what may be written where", "list", "ab", "list (`[___]`) takes "),
    ("what may be written where", "condition of a comprehension", "aT", "no longer takes `return"),
    ("what is compiled to what", "lambda", "<<module>>; NOP", "for `NOP`"),
]


@pytest.mark.parametrize(("section", "key", "value", "told"), RECORDED)
def test_what_differs_from_the_record_is_told(tree, section, key, value, told):
    path = tree / "tools" / "canary" / "known" / ("python-%s.json" % HERE)
    record = json.loads(path.read_text(encoding="utf-8"))
    if value is None:
        del record[section][key]
    else:
        record[section][key] = value
    path.write_text(json.dumps(record), encoding="utf-8")
    status, output = canary(sys.executable, tree)
    assert status == 1
    (lines,) = news(output).values()
    assert any(told in line for line in lines), output


@pytest.mark.skipif(sys.version_info < (3, 9), reason="no version before it is known")
def test_a_version_without_tables_is_told_whole(tree):
    for path in (tree / "src/bytecode/raw").glob("*.def"):
        if tuple(map(int, path.stem.split("."))) >= sys.version_info[:2]:
            path.unlink()
    status, output = canary(sys.executable, tree)
    found = news(output)
    assert status == 1
    assert found["src/bytecode/raw/%s.def" % HERE][0].startswith("is missing: run tools/gen_opc")
    assert found["src/bytecode/raw_tables.inc"] == ["has no table of %s" % HERE]
    lines = [line for lines in found.values() for line in lines]
    assert any(line.startswith("python/pellucid/recompile.py, ") for line in lines)


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_nothing_is_new_in_the_newest_versions(version):
    status, output = canary(need("python" + version), ROOT)
    assert status == 0 and "no record" not in output, output


def test_3_15_is_told_by_the_tables_of_3_14(tree):
    python = need("python3.15")
    for path in (tree / "src/bytecode/raw").glob("*.def"):
        if int(path.stem.partition(".")[2]) >= 15:
            path.unlink()
    path = tree / "src/object/pyc.cpp"
    path.write_text(path.read_text().replace("{3665, 3666, {3, 15}}", ""))
    known = ROOT / "tools" / "canary" / "known"
    for path in (tree / "tools" / "canary" / "known").glob("python-*.json"):
        path.unlink()
    shutil.copy(str(known / "python-3.14.json"), str(tree / "tools" / "canary" / "known"))
    status, output = canary(python, tree)
    assert status == 1
    for told in (
        "magic number 3666 of CPython 3.15 is not read",
        "TRACE_RECORD is new since 3.14",
        "GET_YIELD_FROM_ITER of 3.14 is gone",
        "GET_ITER takes kArg, in 3.14 kNoArg",
        "CALL_FUNCTION_EX has 1 units of cache, in 3.14 0",
        "stack effects: END_SEND was -1, is -2",
        "numbers of LOAD_COMMON_CONSTANT: 7 is new (None)",
        "attributes of code objects: co_lnotab is gone",
        "DictComp(expr key, expr? value, comprehension* generators)",
        "_inline_cache_entries was dict, is frozendict",
        "keywords: lazy is new (soft)",
        "`lazy from a import b`",
        "list comprehension (`[___ for x in y]`) takes `*a`",
        "`RESUME 4; LOAD_FAST 0; GET_ITER 0` for `nothing`",
        "`IMPORT_NAME 2` for `IMPORT_NAME 0`",
    ):
        assert told in output, told
