"""`--carve`: code objects at any place of a file."""

import importlib.util
import json
import marshal
import random
import sys
import time
from pathlib import Path
from types import CodeType
from typing import Any, List

import pytest
from archives import small_pyc, zipped
from commands import run
from needs import need
from pellucid import containers

NOISE = random.Random(45)
HEADER = importlib.util.MAGIC_NUMBER + bytes(12)

SOURCE = """
import os, sys
def outer(path, {name}=None):
    def inner(n):
        return [path, n, {name}, os.sep, sys.path]
    return inner
class {name}:
    kind = 'some text', os.sep
"""


def code(name: str) -> CodeType:
    return compile(SOURCE.format(name=name), f"{name}.py", "exec")


def noise(size: int) -> bytes:
    return bytes(NOISE.randrange(256) for _ in range(size))


def key(value: Any) -> Any:
    """Return what a code object is, without how often its constants occur."""
    if not isinstance(value, CodeType):
        return repr(value)
    names = (value.co_filename, value.co_name, value.co_names, value.co_varnames, value.co_freevars)
    return (*names, value.co_code, value.co_firstlineno, *map(key, value.co_consts))


def carved(path: Path) -> "List[Any]":
    """Return the code objects that are found in a file."""
    found = [member.read() for member in containers.contents_of(path, carves=True).members]
    return [marshal.loads(data[16:] if data[2:4] == b"\r\n" else data) for data in found]


CODES = [code(name) for name in ("one", "two", "three")]
A, B, C = CODES

FORMS = {
    "each alone": marshal.dumps(A) + noise(300) + marshal.dumps(B) + marshal.dumps(C),
    "a list": marshal.dumps(CODES),
    "a tuple in a list": marshal.dumps([1, (A, "x", B), C]),
    "a dict": marshal.dumps({"one": A, "two": B, "three.py": C}),
    "dicts of bytes": b"".join(marshal.dumps({c.co_filename: marshal.dumps(c)}) for c in CODES),
    "dicts of one": b"".join(marshal.dumps({c.co_filename: c}) for c in CODES),
    "an old format": b"".join(marshal.dumps(c, 2) for c in CODES),
    "after what looks like a tuple": b"".join(b"\xa9\x01" + marshal.dumps(c) for c in CODES),
    "with headers": b"".join(HEADER + marshal.dumps(c) for c in CODES),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_code_object_is_found_as_it_is(form: str, tmp_path: Path) -> None:
    path = tmp_path / "dump"
    for before, after in ((b"", b""), (noise(777), noise(99)), (b"\x7fELF", bytes(64))):
        path.write_bytes(before + FORMS[form] + after)
        assert list(map(key, carved(path))) == list(map(key, CODES))


@pytest.mark.parametrize("native", [True, False])
def test_the_command_line_says_where(native: bool, tmp_path: Path) -> None:
    program = [str(need("native"))] if native else [sys.executable, "-m", "pellucid"]
    path = tmp_path / "cache"
    data = small_pyc()
    path.write_bytes(b"j2" + bytes(62) + data + b"x" * 50 + data[16:])
    done = run(*program, "decompile", "--carve", path, "--json", "--no-verify")
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    second = hex(64 + len(data) + 50)
    assert [each["file"] for each in said] == [f"{path}/0x40", f"{path}/{second}"]
    assert f"# at byte 0x40, {len(data)} bytes" in said[0]["source"]
    assert f"# at byte {second}, {len(data) - 16} bytes" in said[1]["source"]
    done = run(*program, "decompile", "--carve", tmp_path, "-o", tmp_path / "out")
    made = {p.name for p in (tmp_path / "out" / "cache").iterdir()}
    assert made == {"0x40.py", f"{second}.py"}
    path.write_bytes(zipped({"a": b"text"}) + noise(500))
    done = run(*program, "decompile", "--carve", path)
    assert (done.returncode, "no compiled Python in it" in done.stderr) == (1, True)


@pytest.mark.parametrize("part", [b"(\1\0\0\0", b"{", b"c" + bytes(20), b"\xa9\1"])
def test_hostile_bytes_take_linear_time(part: bytes, tmp_path: Path) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(part * ((1 << 20) // len(part)) + marshal.dumps(A))
    start = time.process_time()
    found = containers.contents_of(path, carves=True).members
    assert time.process_time() - start < 5
    if found and found[-1].name.startswith("from"):
        with pytest.raises(ValueError, match="not searched: it takes too long"):
            found[-1].read()
    else:
        assert key(marshal.loads(found[-1].read())) == key(A)
