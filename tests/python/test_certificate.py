"""A verdict is checked by a program that shares nothing with pellucid: tools/check_certificate."""

import ast
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from needs import ROOT, need
from pellucid.__main__ import main

CHECKER = ROOT / "tools" / "check_certificate"
VERSIONS = ["3.12", "3.13", "3.14", "3.15"]
TRIES = 80

# Compiled differently from its text: code in a class, jumps over loops, `not in`, generators.
PROGRAM = '''
"""A module."""
import asyncio
from os import path as p

class Shape:
    """A class."""
    sides: int = 4
    def area(self, w, h=2, *, scale=1.0):
        """A method."""
        return w * h * self.sides * scale
    def scaled(self, by):
        return super().__eq__(by)

def search(rows, wanted, limit=None):
    found = []
    for i, row in enumerate(rows):
        if limit is not None and i >= limit:
            break
        if row not in wanted and not row.startswith("#"):
            continue
        try:
            found.append((yield row))
        except (KeyError, ValueError) as error:
            found.append(str(error))
            raise
        finally:
            del row
    else:
        found = {k: v for k, v in zip(found, rows) if v}
    while wanted:
        if wanted.pop() == 3: break
    return found

async def gather(tasks, lock):
    async with lock as held:
        async for task in tasks:
            await task
    with open("x") as f, p.join as g:
        return [await t for t in tasks if t or held]

def outer(n):
    total = 0
    def inner(k, *args, **named):
        nonlocal total
        total += k
        return lambda: (total, n, args, named)
    match n:
        case {"a": [x, *rest]} if x: return rest
        case Shape(sides=4) | None: return f"{n!r:>{total}} {x}"
        case _: return inner(1, *(i for i in range(n)), **{"b": 2})
'''


class Made:
    """A compiled file, its text and its certificate."""

    def __init__(self, folder: Path, version: str, program: str) -> None:
        self.python = str(need(f"python{version}"))
        source = folder / "program.py"
        source.write_text(program)
        self.pyc, self.text, self.certificate = (
            folder / name for name in ("program.pyc", "text.py", "program.json")
        )
        compiled = f"import py_compile as c; c.compile({str(source)!r}, {str(self.pyc)!r})"
        subprocess.run([self.python, "-c", compiled], check=True)
        files = ["-o", str(self.text), "--certificate", str(self.certificate)]
        self.status = main(["decompile", str(self.pyc), *files])

    def check(self, python: str = "") -> Tuple[int, str]:
        """Return the exit code of the checker and what it prints."""
        files = [str(self.pyc), str(self.text), str(self.certificate)]
        done = subprocess.run(
            [python or self.python, "-I", str(CHECKER), *files],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode, done.stdout.decode()

    def claim(self, **changed: Any) -> None:
        """Change what the certificate says."""
        said = {**json.loads(self.certificate.read_text()), **changed}
        self.certificate.write_text(json.dumps(said))

    def change(self, old: str, new: str) -> None:
        """Change the text, and let the certificate be one of the changed text."""
        text = self.text.read_text()
        assert old in text
        self.text.write_text(text.replace(old, new, 1))
        self.claim(text=hashlib.sha256(self.text.read_bytes()).hexdigest())


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_certificate_is_accepted(version: str, tmp_path: Path) -> None:
    made = Made(tmp_path, version, PROGRAM)
    assert made.status == 0
    status, said = made.check()
    assert (status, said[:8]) == (0, "accepted"), said


@pytest.mark.parametrize(
    "old, new",
    [
        ("w * h", "h * w"),
        ("row not in wanted", "row in wanted"),
        ("i >= limit", "i > limit"),
        ("h=2", "h=3"),
        ("A method.", "A function."),
        ("total += k", "total = k"),
        ("scale=1.0", "scale=1"),
        ("k, *args", "j, *args"),
        ("await task", "await tasks"),
        ("(KeyError, ValueError)", "(ValueError, KeyError)"),
        ("del row", "row = None"),
    ],
)
def test_another_text_is_refused(old: str, new: str, version: str, tmp_path: Path) -> None:
    made = Made(tmp_path, version, PROGRAM)
    made.change(old, new)
    status, said = made.check()
    assert (status, said[:7]) == (1, "refused"), said


def test_a_certificate_that_was_tampered_with_proves_nothing(version: str, tmp_path: Path) -> None:
    made = Made(tmp_path, version, PROGRAM)
    text = made.text.read_text()
    made.text.write_text(text + "\n")
    assert made.check() == (1, "refused: the certificate is for a different text\n")
    made.text.write_text(text)
    meetings: Dict[str, List[Any]] = json.loads(made.certificate.read_text())["meetings"]
    made.change("i >= limit", "i > limit")
    for shift in (0, 2, 4, 1000):
        made.claim(meetings={p: [[x, y + shift] for x, y in at] for p, at in meetings.items()})
        assert made.check()[0] == 1
    for wrong in ([], {"<module>": [[1]]}, {"<module>": 1}, "x"):
        made.claim(meetings=wrong)
        assert made.check()[0] == 1
    made.claim(format="another")
    assert made.check()[1].startswith("refused: not a certificate")


def test_the_checker_is_of_the_version_of_the_code(tmp_path: Path) -> None:
    made = Made(tmp_path, "3.13", PROGRAM)
    status, said = made.check(str(need("python3.14")))
    assert (status, said) == (1, "refused: the code is Python 3.13, and this is 3.14\n")


def test_what_is_not_proven_has_no_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Made(tmp_path, "3.12", "x = 1\n")
    made.certificate.unlink()
    made.text.unlink()
    arguments = ["decompile", str(made.pyc), "-o", str(made.text)]
    arguments += ["--certificate", str(made.certificate)]
    assert main([*arguments, "--no-verify"]) == 2
    assert main([*arguments, "--verify=relowered"]) == 1
    assert made.text.read_text() == "x = 1\n" and not made.certificate.exists()
    said = capsys.readouterr().err
    assert "--certificate cannot be used with --no-verify" in said
    assert "no certificate: no Python 3.12 was found to compile the text" in said


def test_no_change_is_accepted_that_behaves_differently(version: str) -> None:
    script = ROOT / "tests" / "python" / "certificate_changes.py"
    command = [str(need(f"python{version}")), str(script), "5", str(TRIES)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    assert found["false"] == [] and found["tables"] == []
    assert found["different"] > TRIES // 6 and found["accepted same"] > 0


def test_the_checker_is_small_and_shares_nothing() -> None:
    files = sorted(CHECKER.glob("*.py"))
    own = {file.stem for file in files}
    lines = 0
    for file in files:
        text = file.read_text()
        lines += text.count("\n")
        for node in ast.walk(ast.parse(text)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert all(n.split(".")[0] in own | set(sys.stdlib_module_names) for n in names), names
    assert lines <= 1500
