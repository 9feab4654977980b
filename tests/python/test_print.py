"""The printer against CPython's own parser, in each version; reprint.py says how."""

import subprocess
from pathlib import Path
from typing import List, Tuple

from conftest import ROOT, missing

HERE = Path(__file__).resolve().parent
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


def run(python: str, script: str, *arguments: str) -> str:
    done = subprocess.run(
        [python, str(HERE / script), tool(), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    output = done.stdout.decode(errors="replace")
    assert done.returncode == 0, output[-8000:]
    return output


def sample(python: str) -> "List[str]":
    command = "import os; print(os.path.dirname(os.__file__))"
    folder = subprocess.run([python, "-c", command], stdout=subprocess.PIPE, check=True)
    library = Path(folder.stdout.decode().strip())
    return [str(library / each) for each in SAMPLE if (library / each).exists()]


def test_source_that_is_printed_parses_to_the_same_tree(any_python: "Tuple[str, str]") -> None:
    _, python = any_python
    assert "files the same" in run(python, "reprint.py", *sample(python))


def test_source_that_keeps_its_lines_parses_to_the_same_tree(any_python: "Tuple[str, str]") -> None:
    _, python = any_python
    run(python, "reprint.py", "--keep-lines", *sample(python)[:8])


def test_random_trees_and_constants_survive_printing(any_python: "Tuple[str, str]") -> None:
    _, python = any_python
    assert "0 failures" in run(python, "reprint_random.py", "1", "3000")
