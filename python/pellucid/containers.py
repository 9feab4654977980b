# SPDX-License-Identifier: Apache-2.0
"""The code in files: the core reads archives, and Python lends it the decompressors that it has.

An archive is recognized by its bytes. Its members are listed first and read when needed. Nothing in
them is executed.
"""

import importlib
import os
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from pellucid import _core
from pellucid.errors import DecompileError

# No `.pyc` of a real module is nearly this large; larger files are refused before reading.
LARGEST_FILE = 1 << 30
LARGEST_MEMBER = 256 << 20  # a small archive can claim to be large
LARGEST_STREAM = 256 << 20  # a pipe or a device has no size
MOST_MEMBERS = 200_000
_MOST_MEMORY = 256 << 20  # of a decompressor

Member = _core.Member
Read = Callable[[], bytes]


class Contents(NamedTuple):
    """The code of a file: the file itself if it is code, then the members of an archive."""

    is_archive: bool
    members: List[Member]


def contents_of(path: Path, sources: bool = False, carves: bool = False) -> Contents:
    """Return the code of a file; with `sources`, the `.py` files of an archive are among it.

    With `carves`, return code objects at any place of the file instead.

    Raises:
        OSError: the file cannot be read.
        DecompileError: it is a damaged archive, or larger than the limits.
    """
    with path.open("rb"):  # with Python's words for what is wrong
        return Contents(*_core.contents(os.fsencode(path), _unpack, MOST_MEMBERS, sources, carves))


def loads(path: Path) -> List[Tuple[Dict[str, Any], str]]:
    """Return what loading each pickle of a file would do, in order: plain values, and a text.

    Raises:
        OSError: the file cannot be read.
        DecompileError: it is a damaged archive, or larger than the limits.
    """
    with path.open("rb"):
        return _core.loads(os.fsencode(path), _unpack)


def refusing(error: DecompileError) -> Read:
    """Return a reader that raises an error, for a member that cannot be read."""

    def read() -> bytes:
        raise error

    return read


def _bz2() -> Any:
    import bz2

    return bz2.BZ2Decompressor()


def _lz4() -> Any:
    return importlib.import_module("lz4.frame").LZ4FrameDecompressor()  # the package lz4


def _xz() -> Any:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY)


def _lzma() -> Any:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_ALONE, _MOST_MEMORY)


def _zstd() -> Any:
    zstd = importlib.import_module("compression.zstd")  # Python 3.14 and later
    return zstd.ZstdDecompressor()


_DECOMPRESSORS: Dict[str, Callable[[], Any]] = {
    "bz2": _bz2,
    "lz4": _lz4,
    "xz": _xz,
    "lzma": _lzma,
    "zstd": _zstd,
}


def _unpack(kind: str, packed: bytes, most: int) -> bytes:
    """Return the first bytes of what is packed, `most` at most. Raises DecompileError."""
    try:
        worker = _DECOMPRESSORS[kind]()
    except ImportError as error:
        advice = (
            "install the package lz4, or unpack it first" if kind == "lz4" else "unpack it first"
        )
        why = f"compressed with {kind}, which this Python cannot unpack: {advice}"
        raise DecompileError(why, 0, "unsupported") from error
    if kind == "lzma":  # zip archives have two numbers before it, and not its size
        packed = packed[4:9] + b"\xff" * 8 + packed[9:]
    try:
        unpacked = bytes(worker.decompress(packed, most))
        while worker.eof and worker.unused_data and len(unpacked) < most:  # one after another
            packed, worker = worker.unused_data, _DECOMPRESSORS[kind]()
            unpacked += worker.decompress(packed, most - len(unpacked))
        return unpacked
    except MemoryError:
        raise
    except Exception as error:  # each module has its own exception
        raise DecompileError(f"damaged in its archive: {lowered(error)}") from error


def lowered(error: Exception) -> str:
    """Return an exception's message as part of a sentence."""
    text = str(error).strip().rstrip(".") or type(error).__name__
    return text[0].lower() + text[1:]
