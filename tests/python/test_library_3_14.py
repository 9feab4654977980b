"""A sample of 3.14's own library: every file is proven.

The library is what the WebAssembly build carries; it is compiled there, and nothing of it is run.
"""

import struct
import subprocess
import zipfile
from pathlib import Path
from typing import Dict, List

import pytest
from needs import need
from pellucid import decompile_pyc

EVERY = 12
# What is not proven yet. Take off what is.
OPEN = {
    "asyncio/locks.py",
    "imaplib.py",  # -OO: attributes that only dropped statements set
    "platform.py",
    "threading.py",
}
# Lengths and texts in; lengths and `.pyc` files out.
_COMPILE = """
import importlib.util, marshal, struct, sys
ask, answer = sys.stdin.buffer, sys.stdout.buffer
while True:
    head = ask.read(4)
    if len(head) < 4:
        break
    source = ask.read(struct.unpack("<I", head)[0])
    code = compile(source, "<library>", "exec", dont_inherit=True, optimize=int(sys.argv[1]))
    data = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
    answer.write(struct.pack("<I", len(data)) + data)
answer.flush()
"""


def library() -> "Dict[str, bytes]":
    """Return the sources of the sample by name."""
    with zipfile.ZipFile(Path(need("pyodide")) / "python_stdlib.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".py"))
        return {name: archive.read(name) for name in names[::EVERY]}


def compiled(sources: "List[bytes]", optimize: int) -> "List[bytes]":
    """Compile all of them in one process."""
    command = [str(need("python3.14")), "-W", "ignore", "-c", _COMPILE, str(optimize)]
    asked = b"".join(struct.pack("<I", len(source)) + source for source in sources)
    data = subprocess.run(command, input=asked, stdout=subprocess.PIPE, check=True).stdout
    found = []
    while data:
        size = struct.unpack("<I", data[:4])[0]
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


@pytest.mark.parametrize("optimize", [0, 2])
def test_a_sample_of_the_library_is_proven(optimize: int) -> None:
    sources = library()
    bad: List[str] = []
    for name, pyc in zip(sources, compiled(list(sources.values()), optimize)):
        verdict = decompile_pyc(pyc).verdict
        if not verdict.at_least("equivalent") and name not in OPEN:
            bad.append(f"{name}: {verdict}")
    assert not bad, "\n".join(bad)
