# SPDX-License-Identifier: Apache-2.0
"""Write small `.pyc` files of every CPython, and pickles, into a folder: seeds for the fuzzers.

The smallest compiled cases of each version (`tools/case_pycs.py`), which need no interpreter, are
seeds as they are, and a few of them in containers of every kind; the sources below are compiled by
every CPython found.
"""

import gzip
import io
import marshal
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import Dict, Tuple

from case_pycs import CASES, pycs_of
from pythons import VERSIONS, minor

SEEDS = {
    "flow": "def f(x):\n for i in x:\n  if i: continue\n  while i: break\n else: return 1\n",
    "try": "def f(x):\n try: g()\n except E as e: h(e)\n else: i()\n finally: j()\n",
    "with": "def f(x):\n with x as y, z: return y\n",
    "names": "global a\nimport b.c as d\nfrom e import *\n",
    "class": "class F(G, k=1):\n x: int = lambda y: [z for z in y]\n",
    "consts": "x = (1, 2.5, 3j, 'a', b'b', None, True, ..., 10**30, {1, 2} & {3})\n",
    "async": "async def f(x):\n async with x as y:\n  async for z in y: yield await z\n",
    "calls": "def f(*a, k=1, **b):\n return g(*a, 1, x=2, **b)[1:2](not a, f'{a!r:>{k}}')\n",
}

LARGEST = 1500  # bytes: a fuzzer changes small inputs more often, and to more effect

_COMPILE = """
import py_compile, sys
py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)
"""


def zipped(members: Dict[str, bytes], method: int) -> bytes:
    """Return a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def pyz(code: bytes, magic: bytes) -> bytes:
    """Return a PYZ archive of PyInstaller's with two modules, as its ZlibArchiveWriter does."""
    packed = zlib.compress(code)
    table = [("a", (1, 17, len(packed))), ("a.b", (0, 17, len(packed)))]
    place = struct.pack("!i", 17 + len(packed))
    return b"PYZ\0" + magic + place + bytes(5) + packed + marshal.dumps(table, 2)


def program(entries: Dict[str, Tuple[bytes, bytes]]) -> bytes:
    """Return a program of PyInstaller's: an executable and its archive, a table and a cookie."""
    data = table = b""
    for name, (kind, content) in entries.items():
        packed = zlib.compress(content)
        text = name.encode() + bytes(16 - len(name) % 16)
        sizes = (18 + len(text), len(data), len(packed), len(content), 1, kind)
        table += struct.pack("!IIIIBc", *sizes) + text
        data += packed
    size = len(data) + len(table) + 88
    cookie = (b"MEI\014\013\012\013\016", size, len(data), len(table), 312, b"libpython.so")
    return b"\x7fELF" + bytes(60) + data + table + struct.pack("!8sIIII64s", *cookie)


def tarred(members: Dict[str, bytes]) -> bytes:
    """Return a tar archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def containers(pyc: bytes) -> Dict[str, bytes]:
    """Return a container of each kind that holds the file."""
    stored = zipped({"a.pyc": pyc, "b": pyc[16:]}, zipfile.ZIP_STORED)
    archive = pyz(pyc[16:], pyc[:4])
    return {
        "stored.zip": stored,
        "deflated.zip": zipped({"a.pyc": pyc, "b/c.pyc": pyc}, zipfile.ZIP_DEFLATED),
        "nested.zip": zipped({"a.zip": stored, "b.pyz": archive}, zipfile.ZIP_DEFLATED),
        "behind.zip": b"#!/usr/bin/env python3\n" + stored,
        "archive.tar": tarred({"a.pyc": pyc, "a.zip": stored}),
        "archive.tar.gz": gzip.compress(tarred({"a.pyc": pyc})),
        "dump": b"\x7fELF" + bytes(60) + pyc + marshal.dumps([1, "two"]) + pyc[16:],
        "archive.pyz": archive,
        "program": program({"main": (b"s", pyc[16:]), "PYZ-00.pyz": (b"z", archive)}),
    }


def main(folder: Path) -> int:
    """Copy the small cases; compile every seed with every interpreter."""
    # By path, so that fuzzing needs no built extension.
    from importlib.util import module_from_spec, spec_from_file_location

    path = Path(__file__).resolve().parent.parent / "python" / "pellucid" / "interpreters.py"
    spec = spec_from_file_location("interpreters", path)
    assert spec is not None and spec.loader is not None
    interpreters = module_from_spec(spec)
    spec.loader.exec_module(interpreters)

    folder.mkdir(parents=True, exist_ok=True)
    for version in VERSIONS:
        cases = pycs_of(version)
        for name, data in cases.items():
            if len(data) <= LARGEST:
                (folder / f"{version}-{name.replace('/', '-')}.pyc").write_bytes(data)
        for name, data in containers(min(cases.values(), key=len)).items():
            (folder / f"{version}-{name}").write_bytes(data)
    with zipfile.ZipFile(CASES / "pickles.zip") as archive:
        for name in archive.namelist():
            if name.endswith(".bin"):
                (folder / name.replace("/", "-")).write_bytes(archive.read(name))
    for name, text in SEEDS.items():
        source = folder / f"{name}.txt"
        source.write_text(text)
        for version in VERSIONS:
            python = interpreters.find_interpreter((3, minor(version)))
            if python is not None:
                target = folder / f"{name}-{version}.pyc"
                command = [str(python), "-I", "-c", _COMPILE, str(source), str(target)]
                subprocess.run(command, check=True)
        source.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
