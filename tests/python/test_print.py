"""The printer against CPython's own parser, in each version; reprint.py says how."""

import subprocess
from pathlib import Path
from typing import List, Tuple

from needs import ROOT, missing
from pythons import minor

HERE = Path(__file__).resolve().parent
SYNTAX_3_14 = ROOT / "tests" / "unit" / "tools" / "syntax_3_14.py"
# What the grammar and the literals are tested with in CPython, and modules of many styles.
SAMPLE = [
    "test/test_grammar.py",
    "test/test_fstring.py",
    "test/test_patma.py",
    "test/test_unparse.py",
    "test/test_syntax.py",
    "test/test_named_expressions.py",
    "test/test_type_params.py",
    "test/test_except_star.py",
    "test/test_tstring.py",
    "test/test_string_literals.py",
    "test/test_complex.py",
    "test/test_float.py",
    "test/test_decorators.py",
    "test/test_generators.py",
    "test/test_coroutines.py",
    "test/test_asyncgen.py",
    "test/test_unpack_ex.py",
    "test/test_positional_only_arg.py",
    "test/test_keywordonlyarg.py",
    "test/test_with.py",
    "test/test_bytes.py",
    "argparse.py",
    "ast.py",
    "dataclasses.py",
    "decimal.py",
    "inspect.py",
    "typing.py",
    "tarfile.py",
    "asyncio",
    "email",
]


def tool() -> str:
    path = ROOT / "build" / "make" / "pellucid_reprint"
    if not path.exists():
        missing("pellucid_reprint, the printer's test tool")
    return str(path)


def run(command: "List[str]") -> "Tuple[int, str]":
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


def sample(library: Path) -> "List[str]":
    return [str(library / each) for each in SAMPLE if (library / each).exists()]


def library_of(python: str) -> Path:
    _, folder = run([python, "-c", "import os; print(os.path.dirname(os.__file__))"])
    return Path(folder.strip())


def test_source_that_is_printed_parses_to_the_same_tree(any_python: "Tuple[str, str]") -> None:
    version, python = any_python
    files = sample(library_of(python)) + [str(SYNTAX_3_14)] * (minor(version) >= 14)
    status, output = run([python, str(HERE / "reprint.py"), tool(), *files])
    assert status == 0, output[-8000:]


def test_source_that_keeps_its_lines_parses_to_the_same_tree(any_python: "Tuple[str, str]") -> None:
    _, python = any_python
    files = sample(library_of(python))[:8]
    status, output = run([python, str(HERE / "reprint.py"), "--keep-lines", tool(), *files])
    assert status == 0, output[-8000:]


def test_random_trees_and_constants_survive_printing(any_python: "Tuple[str, str]") -> None:
    _, python = any_python
    status, output = run([python, str(HERE / "reprint_random.py"), tool(), "1", "3000"])
    assert status == 0, output[-8000:]
