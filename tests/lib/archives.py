# SPDX-License-Identifier: Apache-2.0
"""Archives of code that tests make: zip archives, PYZ archives, programs of PyInstaller."""

import importlib.util
import io
import marshal
import struct
import sys
import zipfile
import zlib
from typing import Any


def zipped(members: "dict[str, bytes]") -> bytes:
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


def program(entries: "list[tuple[str, bytes, bytes, bool]]", after: bytes = b"") -> bytes:
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
