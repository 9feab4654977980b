# SPDX-License-Identifier: Apache-2.0
"""Code in constants: `exec(marshal.loads(zlib.decompress(b"...")))`, without running any of it.

A constant is unpacked through the layers that loaders put around code (zlib, gzip, bz2, lzma, base
16, 32, 64 and 85, reversed bytes), in any order, until there is marshalled code or source text. The
result is searched in turn. All of this is bounded: in depth, in bytes, and in attempts.
"""

import base64
import binascii
import bz2
import hashlib
import lzma
import re
import zlib
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from pellucid import _core
from pellucid.errors import DecompileError
from pellucid.inputs import Job

LEAST = 40  # bytes of a constant; no code is shorter
LEAST_INSIDE = 16  # bytes of a layer
MOST_LAYERS = 8  # around one code object
DEEPEST = 10  # levels of code in code
MOST_UNPACKED = 64 << 20  # bytes of one layer
MOST_IN_ALL = 256 << 20  # bytes of all layers of one file
MOST_TRIES = 400  # attempts per constant
MOST_FOUND = 1000  # per file

Version = Optional[Tuple[int, int]]


class Hidden(NamedTuple):
    """The content of a constant with its layers removed."""

    number: str  # "2.1": the first inside the second one of a file
    holder: str  # the path of the code object with the constant
    layers: Tuple[str, ...]  # from the outside in
    data: bytes
    is_code: bool  # otherwise source text

    @property
    def words(self) -> str:
        """Return the location: "<module>: base64, zlib"."""
        return f"{self.holder}: {', '.join(self.layers) or 'marshal'}"


class _Budget:
    """The remaining budget for one file."""

    def __init__(self) -> None:
        self.bytes = MOST_IN_ALL
        self.found = MOST_FOUND
        self.seen: Set[bytes] = set()

    def is_new(self, data: bytes) -> bool:
        key = hashlib.sha256(data).digest()
        is_new = key not in self.seen
        self.seen.add(key)
        return is_new


def hidden_in(data: bytes, version: Version = None) -> List[Hidden]:
    """Return the code in the constants of a file, and in the constants of that code.

    Raises DecompileError if the bytes do not contain a code object themselves.
    """
    return list(_hidden(data, version, "", DEEPEST, _Budget()))


def _hidden(
    data: bytes, version: Version, number: str, depth: int, budget: _Budget
) -> Iterator[Hidden]:
    count = 0
    header = _core.header_for(*_core.pyc_version(data) if version is None else version) or b""
    for holder, value in _core.long_constants(data, LEAST, version):
        for layers, inner, is_code in _unwrapped(value, budget):
            if budget.found == 0:
                return
            budget.found -= 1
            count += 1
            name = f"{number}{count}"
            if is_code and inner[:1] in (b"\xe3", b"c"):
                inner = header + inner  # the version of its holder, unless that does not fit
            yield Hidden(name, holder, layers, inner, is_code)
            if is_code and depth > 1:
                yield from _hidden(inner, None, f"{name}.", depth - 1, budget)


_Found = Tuple[Tuple[str, ...], bytes, bool]


def _unwrapped(value: "str | bytes", budget: _Budget) -> "List[_Found]":
    """Return the content inside the layers of one constant, with as few layers as possible."""
    if isinstance(value, str):
        try:
            start = value.encode("latin-1")
        except UnicodeEncodeError:
            return []
    else:
        start = value
    todo: List[Tuple[Tuple[str, ...], bytes]] = [((), start)]
    tries = MOST_TRIES
    for layers, data in todo:  # todo grows during the loop
        if not budget.is_new(data):
            continue
        found = _finished(layers, data)
        if found is not None:
            return [found]
        if len(layers) == MOST_LAYERS:
            continue
        for name, unpack in _LAYERS.items():
            if tries == 0 or budget.bytes <= 0:
                return []
            if name == "reversed" and layers[-1:] == ("reversed",):
                continue
            tries -= 1
            try:
                inner = unpack(data)
            except _TooMuch as bomb:
                budget.bytes -= bomb.size
                continue
            if inner is not None and len(inner) >= LEAST_INSIDE:
                budget.bytes -= len(inner)
                todo.append(((*layers, name), inner))
    return []


def _finished(layers: "Tuple[str, ...]", data: bytes) -> "Optional[_Found]":
    if (data[:1] in (b"\xe3", b"c") or data[2:4] == b"\r\n") and _core.holds_code(data):
        return layers, data, True
    unpacked = any(name != "reversed" for name in layers)
    if unpacked and _is_source(data):
        return layers, data, False
    return None


_WORDS = re.compile(rb"\b(import|def|class|exec|eval|print|lambda|return)\b")


def _is_source(data: bytes) -> bool:
    """Return true if the bytes are text that contains Python keywords, and not an encoding."""
    if len(data) > MOST_UNPACKED or not _WORDS.search(data[:65536]):
        return False
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(c.isprintable() or c in "\n\r\t\f" for c in text[:65536])


class _TooMuch(Exception):
    """A layer was larger than the limit."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


# --- layers ------------------------------------------------------------------------------------


def _zlib(data: bytes) -> Optional[bytes]:
    if len(data) < 6 or data[0] & 15 != 8 or int.from_bytes(data[:2], "big") % 31:
        return None
    return _inflated(data, zlib.MAX_WBITS)


def _gzip(data: bytes) -> Optional[bytes]:
    return _inflated(data, 16 + zlib.MAX_WBITS) if data[:2] == b"\x1f\x8b" else None


def _inflated(data: bytes, bits: int) -> Optional[bytes]:
    worker = zlib.decompressobj(bits)
    try:
        return _whole(worker.decompress(data, MOST_UNPACKED), worker.eof)
    except zlib.error:
        return None


def _whole(unpacked: bytes, is_all: bool) -> bytes:
    if not is_all:
        raise _TooMuch(len(unpacked))
    return unpacked


def _bz2(data: bytes) -> Optional[bytes]:
    if data[:3] != b"BZh":
        return None
    worker = bz2.BZ2Decompressor()
    try:
        return _whole(worker.decompress(data, MOST_UNPACKED), worker.eof)
    except (OSError, ValueError):
        return None


def _lzma(data: bytes) -> Optional[bytes]:
    if data[:6] != b"\xfd7zXZ\0" and data[:1] != b"\x5d":
        return None
    try:
        worker = lzma.LZMADecompressor(memlimit=2 * MOST_UNPACKED)
        return _whole(worker.decompress(data, MOST_UNPACKED), worker.eof)
    except (lzma.LZMAError, ValueError, MemoryError):
        return None


def _decoder(
    letters: bytes, decode: "Callable[[bytes], bytes]"
) -> "Callable[[bytes], bytes | None]":
    wanted = frozenset(letters)

    def unpack(data: bytes) -> Optional[bytes]:
        plain = data.translate(None, b" \t\r\n")
        # Check the alphabet before decoding: most constants are ordinary text.
        if len(plain) > MOST_UNPACKED or not wanted.issuperset(plain):
            return None
        try:
            return decode(plain)
        except (binascii.Error, ValueError):
            return None

    return unpack


def _padded(decode: "Callable[[bytes], bytes]") -> "Callable[[bytes], bytes]":
    return lambda data: decode(data.rstrip(b"=") + b"=" * (-len(data.rstrip(b"=")) % 4))


_DIGITS = b"0123456789"
_UPPER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = _DIGITS + _UPPER + _UPPER.lower()

_LAYERS: "Dict[str, Callable[[bytes], Optional[bytes]]]" = {
    "zlib": _zlib,
    "gzip": _gzip,
    "bz2": _bz2,
    "lzma": _lzma,
    "base16": _decoder(_DIGITS + b"ABCDEFabcdef", binascii.unhexlify),
    "base32": _decoder(_UPPER + b"234567=", base64.b32decode),
    "base64": _decoder(_LETTERS + b"+/=", _padded(base64.b64decode)),
    "base64url": _decoder(_LETTERS + b"-_=", _padded(base64.urlsafe_b64decode)),
    "base85": _decoder(_LETTERS + b"!#$%&()*+-;<=>?@^_`{|}~", base64.b85decode),
    "ascii85": _decoder(bytes(range(33, 118)) + b"z~", base64.a85decode),
    "reversed": lambda data: data[::-1],
}


# --- jobs --------------------------------------------------------------------------------------


def with_hidden(jobs: Sequence[Job], version: Version) -> Iterator[Job]:
    """Yield each job, followed by one for each code object hidden in its constants.

    The source of the second one in `mod.py` goes to `mod.2.py`.
    """
    for job in jobs:
        yield job
        try:
            found = hidden_in(job.read(), version)
        except (DecompileError, OSError, MemoryError):
            continue  # the job itself will report the error
        for hidden in found:
            out = beside(job.out, hidden.number) if job.out is not None else None
            member = f"{hidden.number} (in {hidden.words})"
            if job.member is not None:
                member = f"{job.member}/{member}"
            yield Job(job.path, out, member, _given(hidden.data), not hidden.is_code)


def _given(data: bytes) -> "Callable[[], bytes]":
    return lambda: data


def beside(out: Path, number: str) -> Path:
    """Return the path for the source of hidden code in a file.

    >>> beside(Path("a/mod.py"), "2.1").as_posix()
    'a/mod.2.1.py'
    """
    return out.with_name(f"{out.stem}.{number}{out.suffix}")
