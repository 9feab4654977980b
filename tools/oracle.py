# SPDX-License-Identifier: Apache-2.0
"""What the tools that look for failures share: compile, decompile, recompile, ask for a verdict.

`Failure.kind` is "refused" (a code object was not recovered), "syntax" (the text does not compile),
"unproven", or "differs" (the judge that JUDGE names, a program that takes two `.pyc`, disagrees);
`Failure.what` is the reason without the names, numbers and offsets of the one program.
"""

import functools
import importlib.util
import os
import re
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import List, NamedTuple, Optional, Tuple

from pellucid import DecompileError, decompile_pyc
from pellucid.interpreters import compile_to_marshal, find_interpreter
from pythons import ROOT as ROOT
from pythons import VERSIONS as VERSIONS

Version = Tuple[int, int]


class Failure(NamedTuple):
    """Why a program is not what it should be."""

    kind: str
    what: str
    detail: str


def parsed(version: str) -> Version:
    """Return (3, 9) for "3.9"."""
    major, minor = version.split(".")
    return int(major), int(minor)


def interpreter(version: str) -> Optional[Path]:
    """Return the CPython of a version, if there is one."""
    return find_interpreter(parsed(version))


@functools.lru_cache(maxsize=None)
def magic_number(version: str) -> bytes:
    """Return what the `.pyc` files of a version start with, as its interpreter says."""
    show = "import sys, importlib.util as u; sys.stdout.buffer.write(u.MAGIC_NUMBER)"
    return subprocess.check_output([str(interpreter(version)), "-I", "-c", show])


def pyc_of(source: str, version: str) -> bytes:
    """Return the `.pyc` that a version makes of a text. Raises SyntaxError."""
    code = compile_to_marshal(source, parsed(version), "sample.py")
    return magic_number(version) + bytes(12) + code


def failure_of(pyc: bytes, judge: Optional[str] = None) -> Optional[Failure]:
    """Return what is wrong with the decompilation of a `.pyc`, or None."""
    try:
        found = decompile_pyc(pyc)
    except DecompileError as error:
        return Failure("refused", _general(error.message), str(error))
    except Exception as error:
        return Failure("crash", type(error).__name__, str(error))
    refused = [each for each in found.diagnostics if each.refused]
    if refused:
        first = refused[0]
        return Failure("refused", _general(first.message), f"{first.code}: {first.message}")
    verdict = found.verdict
    if verdict.status == "unproven":
        kind = "syntax" if "does not compile" in verdict.reason else "unproven"
        reason = next((c.reason for c in verdict.codes if c.status == "unproven"), verdict.reason)
        return Failure(kind, _general(reason), verdict.reason)
    if judge:
        said = ask_judge(judge, pyc, found.source, "{}.{}".format(*found.version))
        if said:
            return Failure("differs", _general(said), said)
    return None


def ask_judge(judge: str, pyc: bytes, source: str, version: str) -> str:
    """Return why a judge calls both codes different, or an empty string."""
    with tempfile.TemporaryDirectory() as folder:
        a, b = Path(folder, "a.pyc"), Path(folder, "b.pyc")
        a.write_bytes(pyc)
        b.write_bytes(pyc_of(source, version))
        command = [str(interpreter(version)), judge, str(a), str(b)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    return "" if done.returncode == 0 else next((x for x in lines if "differs" in x), "differs")


def _general(reason: str) -> str:
    reason = re.sub(r"at byte 0x[0-9a-f]+|0x[0-9a-f]+|'[^']*'|\b\d+\b", "_", reason)
    return re.sub(r"\b\w+_\d+\b", "_", reason).strip()


# Runs under the version's own Python, which alone knows its syntax. pysource-minimize lies in the
# folder argv[1]; each text that it wants checked goes out, a line comes back.
_MINIMIZE = """
import struct, sys
sys.path.append(sys.argv[1])
sys.setrecursionlimit(10000)
from pysource_minimize import minimize
out, back = sys.stdout.buffer, sys.stdin.buffer
source = back.read(struct.unpack("<I", back.read(4))[0]).decode()
def put(kind, text):
    data = text.encode("utf-8", "surrogatepass")
    out.write(kind + struct.pack("<I", len(data)) + data)
    out.flush()
def fails(text):
    put(b"?", text)
    return back.read(1) == b"y"
put(b"=", minimize(source, fails))
"""


def minimized(source: str, version: str, failure: Failure, judge: Optional[str] = None) -> str:
    """Return a smallest program that fails in the same way as `source` does."""
    process = subprocess.Popen(
        [str(interpreter(version)), "-W", "ignore", "-c", _MINIMIZE, site_packages()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None and process.stdout is not None
    data = source.encode()
    process.stdin.write(struct.pack("<I", len(data)) + data)
    process.stdin.flush()
    best = source
    with process:
        while True:
            head = process.stdout.read(5)
            if len(head) < 5:
                return (
                    best  # the minimiser gave up; what it had found so far is smaller all the same
                )
            text = process.stdout.read(struct.unpack("<I", head[1:])[0]).decode(errors="replace")
            if head[:1] == b"=":
                return text
            same = fails_alike(text, version, failure, judge)
            best = text if same and len(text) < len(best) else best
            process.stdin.write(b"y" if same else b"n")
            process.stdin.flush()


def fails_alike(source: str, version: str, failure: Failure, judge: Optional[str]) -> bool:
    """Say whether a program fails with the same kind and reason."""
    try:
        found = failure_of(pyc_of(source, version), judge)
    except (SyntaxError, UnicodeError):
        return False
    return found is not None and found[:2] == failure[:2]


def site_packages() -> str:
    """Return the folder that pysource-codegen and pysource-minimize lie in."""
    spec = importlib.util.find_spec("pysource_minimize")
    if spec is None or spec.origin is None:
        raise SystemExit("needs pysource-minimize and pysource-codegen: see the `random` extra")
    return str(Path(spec.origin).parent.parent)


def judge_from_environment() -> Optional[str]:
    """Return the path that JUDGE names. Raises SystemExit if there is nothing."""
    judge = os.environ.get("JUDGE")
    if judge and not Path(judge).is_file():
        raise SystemExit(f"JUDGE names {judge}, which is no file")
    return judge or None


def found_versions(asked: List[str]) -> List[str]:
    """Return the versions that have an interpreter here; name the others."""
    there = [version for version in asked if interpreter(version)]
    for version in asked:
        if version not in there:
            print(f"{version:5} skipped: no such interpreter here")
    return there
