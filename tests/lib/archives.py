# SPDX-License-Identifier: Apache-2.0
"""Archives of code that tests make: zip archives, PYZ archives, programs of PyInstaller."""

import importlib.util
import io
import marshal
import struct
import sys
import zipfile
import zlib
from typing import Any, Dict, List
from unittest import mock


def small_pyc() -> bytes:
    """Return a module of the running Python."""
    code = compile("import os\n\ndef f(x):\n    return os.sep + x\n", "m.py", "exec")
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def zipped_large(members: "Dict[str, bytes]") -> bytes:
    """Return a zip archive that has all its numbers in the form of 64 bits."""
    with mock.patch.multiple(zipfile, ZIP64_LIMIT=-1, ZIP_FILECOUNT_LIMIT=0):
        return zipped(members)


def zipped(members: "Dict[str, bytes]") -> bytes:
    """Return a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def pyz(blob: bytes, as_dict: bool = False) -> bytes:
    """Return a PYZ with three modules that are all this code."""
    body, table = b"", []
    for name, kind in (("pkg", 1), ("pkg.mod", 0), ("other", 0)):
        packed = zlib.compress(blob)
        table.append((name, (kind, 17 + len(body), len(packed))))
        body += packed
    at = struct.pack("!i", 17 + len(body))
    rows: Any = dict(table) if as_dict else table
    return b"PYZ\0" + importlib.util.MAGIC_NUMBER + at + b"\0" * 5 + body + marshal.dumps(rows)


def program(entries: "List[tuple[str, bytes, bytes, bool]]", after: bytes = b"") -> bytes:
    """Return a program of entries: a name, a kind, the bytes, and whether they are packed."""
    data, table = b"", b""
    for name, kind, content, is_packed in entries:
        packed = zlib.compress(content) if is_packed else content
        text = name.encode() + b"\0"
        text += b"\0" * (-(18 + len(text)) % 16)
        table += struct.pack(
            "!IIIIBc", 18 + len(text), len(data), len(packed), len(content), is_packed, kind
        )
        table += text
        data += packed
    number = sys.version_info[0] * 100 + sys.version_info[1]
    size = len(data) + len(table) + 88
    magic = b"MEI\014\013\012\013\016"
    cookie = struct.pack("!8sIIII64s", magic, size, len(data), len(table), number, b"libpython.so")
    return b"\x7fELF" + bytes(500) + data + table + cookie + after


def code_only() -> bytes:
    """Return its marshalled code without the header."""
    return small_pyc()[16:]


def container(what: str) -> "tuple[bytes, List[str]]":
    """Return the bytes of a container, and the files that its sources go to."""
    members = {
        "pkg/__init__.pyc": small_pyc(),
        "pkg/mod.pyc": small_pyc(),
        "main": small_pyc(),
        "pkg/bare.bin": code_only(),
        "notes.txt": b"class Notes: they begin like code and are none",
    }
    four = ["main.py", "pkg/__init__.py", "pkg/bare.py", "pkg/mod.py"]
    three = ["other.py", "pkg/__init__.py", "pkg/mod.py"]
    entries = [
        ("struct", b"m", small_pyc(), True),
        ("main", b"s", code_only(), True),
        ("PYZ-00.pyz", b"z", pyz(code_only()), False),
        ("base_library.zip", b"b", zipped({"abc.pyc": small_pyc()}), True),
    ]
    whole = sorted(["struct.py", "main.py", "base_library.zip/abc.py", *three])
    made = {
        "a zip": (zipped(members), four),
        "a zipapp": (b"#!/usr/bin/env python3\n" + zipped(members), four),
        "a zip after a program": (b"MZ" + bytes(700) + zipped(members), four),
        "a large zip": (zipped_large(members), four),
        "a large zip after a program": (b"MZ" + bytes(700) + zipped_large(members), four),
        "a zip in a zip": (
            zipped({"in.jar": zipped({"a.pyc": small_pyc()})}),
            ["in.jar/a.py"],
        ),
        "a pyz": (pyz(code_only()), three),
        "a pyz with a dict": (pyz(code_only(), True), three),
        "a program": (program(entries), whole),
        "a program that was signed": (program(entries, bytes(70_000)), whole),
    }
    return made[what]


KINDS = [
    "a zip",
    "a zipapp",
    "a zip after a program",
    "a large zip",
    "a large zip after a program",
    "a zip in a zip",
    "a pyz",
    "a pyz with a dict",
    "a program",
    "a program that was signed",
]
