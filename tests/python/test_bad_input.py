"""Bad input gets one clear error, with the file, the offset and the reason, and a non-zero exit."""

import importlib.util
import marshal
import re
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from needs import ROOT, need
from pellucid import DecompileError, decompile_pyc

SMALL = """
import os
from sys import argv as a

X = [1, 2.5, "three", b"four", 5j, 2 ** 70, (None, True, ...)]

def f(x, *args, y=1, **kw):
    for i in args:
        try:
            x += g(i, key=y)
        finally:
            yield x

class C:
    attribute = lambda self: {k: v for k, v in self.items()}
"""

ONE_LINE = re.compile(r"pellucid: .*: .+ at byte 0x[0-9a-f]+\n|pellucid: .*: .+byte 0x.*\n")


def small_pyc() -> bytes:
    code = compile(SMALL, "small.py", "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def run(
    binary: str, paths: List[Path], command: str = "decompile"
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [binary, command, *map(str, paths)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=300,
        check=False,
    )


def whole_range() -> range:
    return range(len(small_pyc()))


BAD = {
    "an empty file": b"",
    "a text file": b"print('hello')\n" * 40,
    "an unknown magic number": b"\x01\x02\r\n" + bytes(40),
    "a magic number of Python 2.7": b"\x03\xf3\r\n" + bytes(12) + b"c" + bytes(40),
    "nothing but a header": small_pyc()[:16],
    "a constant instead of a code object": small_pyc()[:16] + marshal.dumps(17),
    "a length beyond the file": small_pyc()[:16] + b"\xe3" + b"\xff" * 60,
    "tuples nested without end": small_pyc()[:16] + b")\x01" * 100_000,
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("binary", ["native", "asan", "python"])
def test_one_clear_error_for(what: str, binary: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.pyc"
    path.write_bytes(BAD[what])
    if binary == "python":
        command = [sys.executable, "-m", "pellucid", "decompile", str(path)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False
        )
    else:
        done = run(str(need(binary)), [path])
    message = done.stderr.decode()
    assert done.returncode == 1, message
    assert done.stdout == b""
    assert ONE_LINE.fullmatch(message), message
    assert str(path) in message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = run(str(need("native")), [tmp_path / "absent.pyc"])
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"pellucid: {tmp_path / 'absent.pyc'}: ")


def test_a_pyc_cut_at_every_byte_is_an_error() -> None:
    data = small_pyc()
    for length in whole_range():
        with pytest.raises(DecompileError) as caught:
            decompile_pyc(data[:length])
        assert caught.value.offset <= length


def test_a_pyc_cut_at_every_byte_is_clean_under_the_sanitizers(tmp_path: Path) -> None:
    data = small_pyc()
    paths = []
    for length in whole_range():
        path = tmp_path / f"cut{length}.pyc"
        path.write_bytes(data[:length])
        paths.append(path)
    done = run(str(need("asan")), paths)
    # A line for each file, then the summary.
    lines = done.stderr.decode().splitlines(keepends=True)[: len(paths)]
    assert done.returncode == 1
    assert done.stdout == b""
    assert len(lines) == len(paths), done.stderr.decode()[-4000:]
    assert all(ONE_LINE.fullmatch(line) for line in lines), done.stderr.decode()[-4000:]


@pytest.mark.parametrize("stage", ["raw", "stream", "flow", "ir", "ast"])
def test_a_pyc_with_any_one_byte_changed_is_clean_under_the_sanitizers(
    stage: str, tmp_path: Path
) -> None:
    # What comes out does not matter here: no crash, no report of a sanitizer, no hang.
    data = small_pyc()
    paths = []
    step = 1 if stage == "ast" else 7
    for at in range(16, len(data), step):
        path = tmp_path / f"changed{at}.pyc"
        changed = bytearray(data)
        changed[at] ^= 0xFF if at % 2 else 0x11
        path.write_bytes(changed)
        paths.append(path)
    binary = str(need("asan"))
    done = subprocess.run(
        [binary, "dump", f"--stage={stage}", *map(str, paths)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=500,
        check=False,
    )
    errors = done.stderr.decode(errors="replace")
    assert done.returncode in (0, 1, 3), errors[-4000:]
    assert "internal error" not in errors, errors[-4000:]


def test_the_native_binary_says_how_it_is_used() -> None:
    done = run(str(need("native")), [], "nonsense")
    assert done.returncode == 2
    assert done.stderr.decode().startswith("usage: pellucid decompile INPUT")


@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "tests/regress/fuzz").iterdir()))
def test_what_the_fuzzer_found_is_clean_under_the_sanitizers(name: str) -> None:
    done = run(str(need("asan")), [ROOT / "tests" / "regress" / "fuzz" / name])
    assert done.returncode in (0, 1, 3), done.stderr.decode()[-4000:]
    assert b"check failed" not in done.stderr, done.stderr.decode()[-4000:]


@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "tests/regress/fuzz").iterdir()))
def test_what_the_fuzzer_found_is_refused_in_every_form(name: str) -> None:
    # What is unproven is tried in other forms: 3 says that it stays so.
    path = ROOT / "tests" / "regress" / "fuzz" / name
    for option in ("--verify", "--unstructured"):
        command = [str(need("asan")), "decompile", option, str(path)]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300, check=False
        )
        assert done.returncode in (0, 1, 3), done.stderr.decode()[-4000:]
        assert b"internal error" not in done.stderr, done.stderr.decode()[-4000:]


@pytest.mark.parametrize("native", [True, False])
def test_a_complaint_is_one_line_whatever_the_input_is_called(native: bool) -> None:
    # Its module is called "<module" and a zero byte.
    path = ROOT / "tests" / "regress" / "fuzz" / "module_of_another_name.pyc"
    program = [str(need("native"))] if native else [sys.executable, "-m", "pellucid"]
    done = subprocess.run(
        [*program, "decompile", str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=300,
        check=False,
    )
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 3, lines
    assert all(line.startswith(f"pellucid: {path}: ") for line in lines)
    assert "<module\\x00: without structure: a comprehension" in lines[1]
