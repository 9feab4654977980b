"""A hostile string in every field that holds one: the text says nothing but what the bytecode says.

Each file has a twin in which a plain name stands where the string does. The trees of both texts
have the same kinds of nodes, so nothing came out of the string; the names in the text are those of
the twin, the string itself where it is a name, or what the map says that stands for it.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Tuple

import pytest
from needs import need

HERE = Path(__file__).parent
# The places whose instructions are listed one file at a time.
SHOWN = ("argument", "keyword", "string", "docstring", "co_name", "co_filename")
# Control characters but the line feed, those that change the direction of a text, surrogates.
HIDDEN = re.compile(
    "[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def made(python: str, out: Path) -> Dict[str, str]:
    """Write the files; return what each of them holds."""
    subprocess.run([python, str(HERE / "hostile_codes.py"), str(out)], check=True)
    held: Dict[str, str] = json.loads((out / "held.json").read_text())
    (out / "held.json").unlink()
    return held


def decompiled(program: "list[str]", files: Path, out: Path) -> Dict[str, Any]:
    """What a command says of each file."""
    command = [*program, "decompile", "--jobs", "2", "--json", "-o", str(out), str(files)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {Path(row["file"]).stem: row for row in rows}


def facts_of(python: str, texts: Path, names: "list[str]") -> Dict[str, Any]:
    """What an interpreter reads in each text."""
    paths = [str(texts / f"{name}.py") for name in names]
    command = [python, str(HERE / "text_facts.py"), *paths]
    done = subprocess.run(command, capture_output=True, check=True)
    return {Path(path).stem: fact for path, fact in json.loads(done.stdout).items()}


def check(name: str, held: str, row: Dict[str, Any], facts: Dict[str, Any]) -> None:
    """Compare a text with its twin."""
    place, kind = name.split(".")
    problem, kinds, names = facts[name]
    _, plain_kinds, plain_names = facts[f"{place}.benign"]
    assert problem is None or row["verdict"] == "unproven", (name, problem)
    renamed = row["renamed"]
    # Each is there for a name that the bytecode has.
    assert set(renamed.values()) <= {held}, (name, renamed)
    if (place, kind) == ("annotation", "empty"):
        return  # a key of `__annotations__` like any other
    if place == "co_name":
        # A function that no text can call so goes by the name that it is bound to.
        assert not Counter(kinds) - Counter(plain_kinds), name
    else:
        assert kinds == plain_kinds, name
    allowed = {*plain_names, *renamed, held, *("fi" for _ in range(kind == "ligature"))}
    assert set(names) <= allowed, (name, set(names) - allowed)


@pytest.mark.parametrize("is_native", [True, False], ids=["native", "python"])
def test_the_text_is_only_what_the_bytecode_says(
    any_python: Tuple[str, str], is_native: bool, tmp_path: Path
) -> None:
    _, python = any_python
    program = [str(need("native"))] if is_native else [sys.executable, "-m", "pellucid"]
    files, texts = tmp_path / "files", tmp_path / "texts"
    held = made(python, files)
    rows = decompiled(program, files, texts)
    assert set(rows) == set(held)
    facts = facts_of(python, texts, sorted(held))
    for name, text in held.items():
        assert not HIDDEN.search((texts / f"{name}.py").read_text(encoding="utf-8")), name
        check(name, text, rows[name], facts)


@pytest.mark.parametrize("command", ["decompile", "dis", "inspect"])
@pytest.mark.parametrize("is_native", [True, False], ids=["native", "python"])
def test_nothing_hidden_reaches_the_terminal(command: str, is_native: bool, tmp_path: Path) -> None:
    if is_native and command == "inspect":
        pytest.skip("the native binary has no such command")
    program = [str(need("native"))] if is_native else [sys.executable, "-m", "pellucid"]
    made(sys.executable, tmp_path)
    kept = ("code", "escape", "bidi", "nul", "surrogate")
    paths = [str(path) for path in sorted(tmp_path.iterdir()) if path.stem.split(".")[1] in kept]
    few = [path for path in paths if Path(path).stem.split(".")[0] in SHOWN]
    for path in few if command == "dis" else [paths]:
        many = path if isinstance(path, list) else [path]
        done = subprocess.run([*program, command, *many], capture_output=True, check=False)
        for stream in (done.stdout, done.stderr):
            assert not HIDDEN.search(stream.decode("utf-8")), (path, stream)
