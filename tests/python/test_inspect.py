"""What the text of a file does not show is said, and code in constants is found."""

import base64
import bz2
import importlib.util
import json
import lzma
import marshal
import sys
import types
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest
from case_pycs import pycs_of
from commands import run
from needs import VERSIONS, need
from pellucid import decompile_pyc
from pellucid.following import hidden_in
from pellucid.inputs import Job
from pellucid.inspection import inspect_job

HEADER = importlib.util.MAGIC_NUMBER + bytes(12)
SOURCE = """
def grade(score):
    if score > 3:
        return 'high'
    return 'low'

print(grade(5), grade(1))
"""


@pytest.fixture(params=["python", "native"])
def command(request: pytest.FixtureRequest) -> "List[str]":
    if request.param == "python":
        return [sys.executable, "-m", "pellucid"]
    return [str(need("native"))]


def changed(change: "Callable[[types.CodeType], types.CodeType]") -> bytes:
    """Return the `.pyc` of SOURCE with another `grade`."""
    code = compile(SOURCE, "m.py", "exec", dont_inherit=True)
    consts = tuple(change(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return HEADER + marshal.dumps(code.replace(co_consts=consts))


def stego(code: types.CodeType) -> types.CodeType:
    """Put a text into the operands of what has none."""
    import dis

    left = iter(b"FLAG{nobody reads it}" * 9)
    data = bytearray(code.co_code)
    for instruction in dis.get_instructions(code):
        if instruction.opcode < dis.HAVE_ARGUMENT and instruction.opname != "CACHE":
            data[instruction.offset + 1] = next(left)
    return code.replace(co_code=bytes(data))


HIDDEN = compile("print('payload', __import__('os').sep)", "hidden.py", "exec")
KINDS: "Dict[str, Any]" = {
    "a constant": (
        lambda: changed(lambda c: c.replace(co_consts=(*c.co_consts, "http://unused.example/x"))),
        ["constants that no instruction loads: 'http://unused.example/x'"],
    ),
    "code": (
        lambda: changed(lambda c: c.replace(co_consts=(*c.co_consts, HIDDEN))),
        ["code that no instruction loads: '<module>'", "# print('payload', __import__('os').sep)"],
    ),
    "names": (
        lambda: changed(lambda c: c.replace(co_names=(*c.co_names, "secret_api", "x y"))),
        ["names that no instruction uses: 'secret_api', 'x y'", "no name of a source"],
    ),
    "bytes after the code": (
        lambda: changed(lambda c: c) + b"the rest of it",
        ["14 bytes after the code: 'the rest of it'"],
    ),
    "code after the code": (
        lambda: changed(lambda c: c) + HEADER + marshal.dumps(HIDDEN),
        ["bytes after the code, which may be code (--carve decompiles it)"],
    ),
    "junk": (
        lambda: changed(
            lambda c: c.replace(co_code=c.co_code + bytes((b * 37 + 11) & 255 for b in range(64)))
        ),
        ["64 bytes that no path reaches and that are no code"],
    ),
    "code in bytes": (
        lambda: HEADER + marshal.dumps(compile(f"x = {marshal.dumps(HIDDEN)!r}", "m", "exec")),
        ["bytes is code of CPython", "(--follow decompiles it)"],
    ),
    "a function alone": (
        lambda: HEADER + marshal.dumps(inspect_job.__code__),
        ["the code of the function inspect_job by itself"],
    ),
}


@pytest.mark.parametrize("what", KINDS)
def test_the_text_begins_with_what_it_does_not_show(
    what: str, command: "List[str]", tmp_path: Path
) -> None:
    make, words = KINDS[what]
    path = tmp_path / "m.pyc"
    path.write_bytes(make())
    done = run(*command, "decompile", path)
    lines = done.stdout.splitlines()
    assert lines[0] == "# pellucid: what this text does not show (`pellucid inspect`):"
    for word in words:
        assert word in done.stdout, done.stdout
    kept = run(*command, "decompile", path, "--keep-lines")
    assert not kept.stdout.startswith("#"), kept.stdout
    assert "# pellucid: what this text" in kept.stdout
    said = json.loads(run(sys.executable, "-m", "pellucid", "inspect", path, "--json").stdout)
    assert said["error"] is None
    findings = said["findings"] + [each for code in said["codes"] for each in code["findings"]]
    assert findings
    assert run(sys.executable, "-m", "pellucid", "inspect", path).returncode == 0


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="dis shows operands otherwise")
def test_a_message_in_operands_is_said(tmp_path: Path) -> None:
    code = stego(compile(SOURCE * 9, "m.py", "exec"))
    path = tmp_path / "m.pyc"
    path.write_bytes(HEADER + marshal.dumps(code))
    said = inspect_job(Job(path, None))
    (found,) = [each for each in said["findings"] if each["kind"] == "message"]
    assert "FLAG{nobody" in found["text"]


@pytest.mark.parametrize("version", VERSIONS)
def test_ordinary_files_have_nothing_to_be_said(version: str) -> None:
    pycs = list(pycs_of(version).items())[::7]
    told = [name for name, data in pycs if decompile_pyc(data)._remarks]
    # A case or two is about constants and names that only dead code has.
    assert len(told) <= len(pycs) // 20, told


def test_no_comment_declares_an_encoding(command: "List[str]", tmp_path: Path) -> None:
    # Within two lines of the start, such a comment says how all of the file is to be read.
    name = "coding: utf-7 "
    code = compile(SOURCE, "m.py", "exec")
    path = tmp_path / "m.pyc"
    path.write_bytes(HEADER + marshal.dumps(code.replace(co_names=(*code.co_names, name))))
    text = run(*command, "decompile", path).stdout
    assert "coding\\x3a utf-7" in text
    assert "coding:" not in text


def test_inspect_tells_of_header_and_codes(tmp_path: Path) -> None:
    path = tmp_path / "m.pyc"
    data = changed(lambda c: c)
    path.write_bytes(data)
    said = json.loads(run(sys.executable, "-m", "pellucid", "inspect", path, "--json").stdout)
    assert said["header"]["magic"] == int.from_bytes(data[:2], "little")
    assert (said["start"], said["end"], said["size"]) == (16, len(data), len(data))
    assert [code["code"] for code in said["codes"]] == ["<module>", "<module>/grade"]
    assert {code["verdict"] for code in said["codes"]} <= {"identical", "equivalent"}
    bad = tmp_path / "bad.pyc"
    bad.write_bytes(b"no code")
    done = run(sys.executable, "-m", "pellucid", "inspect", bad, path)
    assert done.returncode == 1
    assert f"pellucid: {bad}: " in done.stderr
    assert "magic number" in done.stdout


# --- --follow ----------------------------------------------------------------------------------

PAYLOAD = "print('the payload', [1, 2, 3])"
LAYERS: "Dict[str, Callable[[bytes], bytes]]" = {
    "marshal": lambda data: data,
    "zlib": zlib.compress,
    "bz2": bz2.compress,
    "lzma": lzma.compress,
    "lzma alone": lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE),
    "base64": base64.b64encode,
    "base64 in lines": base64.encodebytes,
    "base64url": lambda data: base64.urlsafe_b64encode(data).rstrip(b"="),
    "base85": base64.b85encode,
    "ascii85": base64.a85encode,
    "base32": base64.b32encode,
    "hex": lambda data: data.hex().encode(),
    "zlib in base64 in reverse": lambda data: base64.b64encode(zlib.compress(data))[::-1],
    "five layers": lambda data: base64.b85encode(
        lzma.compress(base64.b64encode(bz2.compress(zlib.compress(data))))
    ),
}


def loader(blob: bytes, as_text: bool = False) -> bytes:
    """Return marshalled code that has the bytes in a constant."""
    value: bytes | str = blob.decode("latin-1") if as_text else blob
    return marshal.dumps(compile(f"exec(load({value!r}))", "loader.py", "exec"))


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("what", LAYERS)
def test_code_is_taken_out_of(what: str, as_text: bool) -> None:
    blob = LAYERS[what](marshal.dumps(compile(PAYLOAD, "p.py", "exec")))
    (found,) = hidden_in(HEADER + loader(blob, as_text))
    assert found.is_code
    assert PAYLOAD in decompile_pyc(found.data).source


def test_three_loaders_deep(tmp_path: Path) -> None:
    data = marshal.dumps(compile(PAYLOAD, "p.py", "exec"))
    for _ in range(3):
        text = (
            f"import marshal, zlib\nexec(marshal.loads(zlib.decompress({zlib.compress(data)!r})))"
        )
        data = marshal.dumps(compile(text, "loader.py", "exec"))
    path = tmp_path / "loader.pyc"
    path.write_bytes(HEADER + data)
    out = tmp_path / "out" / "loader.py"
    done = run(sys.executable, "-m", "pellucid", "decompile", "--follow", path, "-o", out)
    assert done.returncode == 0, done.stderr
    names = ["loader.1.1.1.py", "loader.1.1.py", "loader.1.py", "loader.py"]
    assert sorted(p.name for p in out.parent.iterdir()) == names
    assert PAYLOAD in (out.parent / names[0]).read_text()
    printed = run(sys.executable, "-m", "pellucid", "decompile", "--follow", path, "--json")
    said = [json.loads(line) for line in printed.stdout.splitlines()]
    assert len(said) == 4
    assert {each["verdict"] for each in said} <= {"identical", "equivalent"}
    assert said[3]["file"] == f"{path}/1.1.1 (in <module>: zlib)"


def test_the_text_of_a_source_is_given_as_it_is(tmp_path: Path) -> None:
    text = "import os\nprint(os.sep)\n"
    (found,) = hidden_in(HEADER + loader(base64.b64encode(zlib.compress(text.encode() * 3))))
    assert not found.is_code
    assert found.data.decode() == text * 3


def test_ordinary_files_hide_nothing() -> None:
    for version in VERSIONS:
        for name, data in list(pycs_of(version).items())[::11]:
            assert hidden_in(data) == [], name


def test_bombs_are_bounded() -> None:
    bomb = zlib.compress(bytes(80 << 20), 9)
    text = "".join(f"x{i} = {bomb + bytes([i])!r}\n" for i in range(12))
    assert hidden_in(HEADER + marshal.dumps(compile(text, "bombs.py", "exec"))) == []
    # Code that holds itself, as far as there is any: each level is one more layer.
    data = marshal.dumps(compile(PAYLOAD, "p.py", "exec"))
    for _ in range(30):
        data = loader(data)
    assert len(hidden_in(HEADER + data)) == 10
