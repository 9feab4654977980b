"""`--keep-lines`: what runs has the lines of the original, so that tracebacks and coverage fit."""

import random
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Dict, List, Tuple

import check_lines
import corpus
import oracle
import pytest
from pellucid import decompile_pyc

# What is reached on the sample, in per cent of the pairs of function and line; what is lost are
# places that no instruction has, as that of `try:` after a comment, and code in another order.
REACHED = {
    "3.8": 98.0,
    "3.9": 97.5,
    "3.10": 96.5,
    "3.11": 96.5,
    "3.12": 97.5,
    "3.13": 97.5,
    "3.14": 99.0,
    "3.15": 99.0,
}

SOURCE = '''\
import functools


@functools.lru_cache(
    maxsize=None
)
def deep(table, key,
         default=None):
    """Documented,

    at length."""
    if table: return None
    value = [
        1,
        2, key(
            table)
    ]

    try: return value
    finally: pass


class Holder:

    pass


def fails(a, b):
    x = (a +
         a *
         b.missing)
    return x
'''


def pyc_of(source: str) -> bytes:
    return oracle.pyc_of(source, "{}.{}".format(*sys.version_info[:2]))


def test_lines_of_library_modules_agree(any_python: Tuple[str, str], tmp_path: Path) -> None:
    version, python = any_python
    root = corpus.standard_library(Path(python))
    files = corpus.sources(root, 40, seed=1)
    command = [python, "-I", "-c", corpus._COMPILE, str(tmp_path), str(root)]
    subprocess.run(command, input="\n".join(map(str, files)).encode(), check=True)
    found = check_lines.check(python, sorted(tmp_path.rglob("*.pyc")))
    shown = "\n".join(random.Random(0).sample(found.differences, min(20, len(found.differences))))
    assert 100 * found.share >= REACHED[version], f"{100 * found.share:.2f} %\n{shown}"


def test_a_traceback_of_the_original_fits() -> None:
    kept = decompile_pyc(pyc_of(SOURCE), keep_lines=True).source

    def lines(text: str) -> List[Tuple[str, int]]:
        namespace: Dict[str, object] = {}
        exec(compile(text, "sample.py", "exec"), namespace)
        fails = namespace["fails"]
        assert callable(fails)
        try:
            fails(1, 2)
        except AttributeError as error:
            frames = traceback.extract_tb(error.__traceback__)[1:]
            return [(frame.name, frame.lineno or 0) for frame in frames]
        return []

    assert lines(kept) == lines(SOURCE) != []


def test_every_line_of_a_module_is_kept() -> None:
    pyc = pyc_of(SOURCE)
    kept = decompile_pyc(pyc, keep_lines=True).source
    numbered = kept.splitlines()
    for number, text in [
        (4, "@functools"),
        (7, "def deep"),
        (12, "if table: return"),
        (15, "2, key("),
    ]:
        assert text in numbered[number - 1], kept
    assert numbered[22].startswith("class Holder") and "pass" in numbered[23] + numbered[22]
    assert len(numbered) == len(SOURCE.splitlines()), kept


@pytest.mark.skipif(sys.version_info < (3, 10), reason="other line tables")
def test_a_file_that_claims_absurd_lines_stays_small() -> None:
    code = compile("def f():\n    return g()\n", "sample.py", "exec")
    code = code.replace(
        co_consts=tuple(
            c.replace(co_firstlineno=2_000_000_000) if hasattr(c, "co_code") else c
            for c in code.co_consts
        )
    )
    import importlib.util
    import marshal

    pyc = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
    assert len(decompile_pyc(pyc, keep_lines=True).source) < 1000
