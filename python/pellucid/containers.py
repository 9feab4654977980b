# SPDX-License-Identifier: Apache-2.0
"""Containers of code besides `.pyc` files: zip archives, PyInstaller programs and PYZ archives.

They are recognized by their bytes, at any position: a zip may follow a program, and a program may
contain a PYZ, a zip, or both. Members are listed first and read when needed. Nothing in them is
executed, and PyInstaller is not needed.
"""

import functools
import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Callable, Iterator, List, NamedTuple, Optional, Tuple, Type, Union

from pellucid import _core
from pellucid.errors import DecompileError

_DAMAGED: Tuple[Type[Exception], ...] = (zipfile.BadZipFile, zlib.error, EOFError)
try:
    from lzma import LZMAError
except ImportError:  # a Python built without it
    pass
else:
    _DAMAGED += (LZMAError,)

# No `.pyc` of a real module is nearly this large; larger files are refused before reading.
LARGEST_FILE = 1 << 30
LARGEST_MEMBER = 256 << 20  # a small archive can claim to be large
LARGEST_STREAM = 256 << 20  # a pipe or a device has no size
MOST_MEMBERS = 200_000
DEEPEST = 4  # archives in archives
MOST_HELD = 1 << 30  # bytes of nested archives that are unpacked to search them

_HEAD = 20  # the number of bytes needed to recognize code

Read = Callable[[], bytes]


class Member(NamedTuple):
    """One code object of a container: its name there, and a function that reads its bytes."""

    name: str
    read: Read
    place: str  # the path for its source, with slashes; it is not sanitized yet


class Data(NamedTuple):
    """A piece of a file, or of bytes in memory."""

    path: Optional[Path]
    held: bytes
    start: int
    size: int

    def read(self, at: int, count: int) -> bytes:
        """Return bytes at an offset, fewer at its end. Raises OSError."""
        count = max(0, min(count, self.size - at))
        if self.path is None:
            return self.held[self.start + at : self.start + at + count]
        with self.path.open("rb") as file:
            file.seek(self.start + at)
            return file.read(count)

    def part(self, at: int, size: int) -> "Data":
        """Return ``size`` bytes from ``at`` on; fewer at the end."""
        at = max(0, min(at, self.size))
        return self._replace(start=self.start + at, size=max(0, min(size, self.size - at)))

    def open(self) -> Union[io.BufferedReader, io.BytesIO]:
        """Return it as a file."""
        if self.path is not None and self.start == 0 and self.size == self.path.stat().st_size:
            return self.path.open("rb")
        return io.BytesIO(self.read(0, self.size))


def of_file(path: Path) -> Data:
    """Return a whole file. Raises OSError."""
    return Data(path, b"", 0, path.stat().st_size)


def of_bytes(data: bytes) -> Data:
    """Return bytes in memory."""
    return Data(None, data, 0, len(data))


def looks_like_code(head: bytes) -> bool:
    """Return true if a file that begins like this may be a `.pyc`, or code with a broken header.

    >>> looks_like_code(bytes(16) + bytes([0xE3, 0, 0, 0]))
    True
    """
    if len(head) > 16 and head[2:4] == b"\r\n" and head[16] & 0x7F == 0x63:
        return True
    if head[:1] == b"\xe3":
        return True
    front = head[:16]
    starts = (at for at in (4, 8, 12, 16) if len(head) > at and head[at] & 0x7F == 0x63)
    return any(not any(front[:at]) or head[2:4] == b"\r\n" for at in starts)


def holds_code(data: Data) -> bool:
    """Return true if it is code that pellucid can read, with any header. Raises OSError."""
    return looks_like_code(data.read(0, _HEAD)) and _core.holds_code(data.read(0, data.size))


def kind_of(data: Data) -> str:
    """Return its kind, judging by its bytes: "program", "pyz", "zip" or (by default) "code"."""
    head = data.read(0, _HEAD)
    if head[:4] == b"PYZ\0":
        return "pyz"
    if head[:4] != b"PK\3\4" and looks_like_code(head):
        return "code"
    if _find_cookie(data) is not None:
        return "program"
    return "zip" if _is_zip(data) else "code"


def members(data: Data) -> Iterator[Member]:
    """Yield the code in a container. Raises OSError, or DecompileError if it is damaged."""
    held = [0]
    for count, member in enumerate(_members(data, kind_of(data), DEEPEST, held)):
        if count == MOST_MEMBERS:
            raise _too_many()
        yield member


def _members(data: Data, kind: str, depth: int, held: List[int]) -> Iterator[Member]:
    if kind == "zip":
        yield from _of_zip(data, depth, held)
    elif kind == "pyz":
        yield from _of_pyz(data, False)
    elif kind == "program":
        yield from _of_program(data, depth, held)


def _within(data: Data, name: str, depth: int, held: List[int], place: str) -> Iterator[Member]:
    """Yield the code in a nested archive."""
    kind = kind_of(data)
    if depth == 0 or kind == "code":
        return
    try:
        for member in _members(data, kind, depth - 1, held):
            yield member._replace(name=f"{name}/{member.name}", place=f"{place}{member.place}")
    except DecompileError as error:
        yield Member(name, refusing(error), place + name)


def refusing(error: DecompileError) -> Read:
    """Return a reader that raises an error, for a member that cannot be read."""

    def read() -> bytes:
        raise error

    return read


# --- zip archives, at any offset ----------------------------------------------------------------


def _is_zip(data: Data) -> bool:
    # The end record is within the last 64 KiB.
    tail = data.read(max(0, data.size - (1 << 16) - 22), (1 << 16) + 22)
    if b"PK\5\6" not in tail:
        return False
    with data.open() as file:
        return zipfile.is_zipfile(file)


class _Counted(io.BufferedReader):
    """The file of an archive, which counts the table's entries before zipfile parses them.

    An archive records the place and size of its table several times, and versions of zipfile differ
    in which record they use, so whatever they read is counted.
    """

    def read(self, size: Optional[int] = -1) -> bytes:
        """Return bytes as a file does. Raises DecompileError if the table is too large."""
        if size is not None and size > LARGEST_MEMBER:
            raise DecompileError("a table larger than 256 MiB", 0, "limit")
        data = super().read(size)
        if data.count(b"PK\1\2") > MOST_MEMBERS:
            raise _too_many()
        return data


def _too_many() -> DecompileError:
    return DecompileError("more than 200,000 members", 0, "limit")


def _of_zip(data: Data, depth: int, held: List[int]) -> Iterator[Member]:
    try:
        with _Counted(data.open()) as file, zipfile.ZipFile(file) as archive:
            infos = sorted(archive.infolist(), key=lambda info: info.filename)
            if len(infos) > MOST_MEMBERS:
                raise _too_many()
            for info in infos:
                yield from _of_zip_member(data, archive, info, depth, held)
    except (zipfile.BadZipFile, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, DecompileError):
            raise
        raise DecompileError(f"not a zip archive: {lowered(error)}") from error


@functools.lru_cache(maxsize=2)
def _opened(data: Data, _stamp: Tuple[int, ...]) -> zipfile.ZipFile:
    is_whole = data.path is not None and data.start == 0 and data.size == data.path.stat().st_size
    return zipfile.ZipFile(data.path if is_whole and data.path else data.open())


def _archive(data: Data) -> zipfile.ZipFile:
    """Return an archive, cached so that its table is read once for consecutive members."""
    if data.path is None:
        return _opened(data, ())
    now = data.path.stat()
    return _opened(data, (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns))


def _of_zip_member(
    data: Data, archive: zipfile.ZipFile, info: zipfile.ZipInfo, depth: int, held: List[int]
) -> Iterator[Member]:
    name = info.filename
    if info.is_dir():
        return
    own = Member(name, lambda: _read_zip_member(data, name), name)
    if name.endswith(".pyc"):
        yield own
        return
    if name.endswith(".py"):
        return
    try:
        with archive.open(info) as packed:
            head = packed.read(_HEAD)
    except _DAMAGED:
        return  # its name does not claim that it is code
    except (OSError, RuntimeError, NotImplementedError, ValueError):
        return
    if looks_like_code(head):
        if _core.holds_code(own.read()):
            yield own
    elif head[:4] in (b"PK\3\4", b"PYZ\0", b"\x7fELF") or head[:2] == b"MZ":
        held[0] += info.file_size
        if depth == 0 or held[0] > MOST_HELD or info.file_size > LARGEST_MEMBER:
            return
        yield from _within(of_bytes(own.read()), name, depth, held, f"{name}/")


def _read_zip_member(data: Data, member: str) -> bytes:
    try:
        archive = _archive(data)
        claimed = archive.getinfo(member).file_size
        if claimed <= LARGEST_MEMBER:
            with archive.open(member) as packed:
                unpacked = packed.read(LARGEST_MEMBER + 1)
    except _DAMAGED as error:
        raise DecompileError(f"damaged in its archive: {lowered(error)}") from error
    # an unknown method, or a password
    except (NotImplementedError, RuntimeError, KeyError) as error:
        raise DecompileError(f"cannot be unpacked: {lowered(error)}", 0, "unsupported") from error
    if claimed > LARGEST_MEMBER or len(unpacked) > LARGEST_MEMBER:
        raise DecompileError("larger than 256 MiB", 0, "limit")
    return unpacked


def unpacked(packed: bytes, size: int = LARGEST_MEMBER) -> bytes:
    """Decompress zlib data. Raises DecompileError if it is damaged, or larger than `size`."""
    try:
        worker = zlib.decompressobj()
        out = worker.decompress(packed, size + 1)
    except zlib.error as error:
        raise DecompileError(f"damaged in its archive: {lowered(error)}") from error
    if len(out) > size:
        raise DecompileError("larger than its archive may say", 0, "limit")
    if not worker.eof:
        raise DecompileError("damaged in its archive: unexpected end", 0, "truncated")
    return out


def lowered(error: Exception) -> str:
    """Return an exception's message as part of a sentence."""
    text = str(error).strip().rstrip(".") or type(error).__name__
    return text[0].lower() + text[1:]


# --- PyInstaller -------------------------------------------------------------------------------
#
# A program ends with its archive (CArchive): data, a table, and a cookie with the places of both.
# Its entries are scripts (marshalled code), modules, and usually one PYZ with all other modules,
# each compressed by zlib. The format is the same from 4.0 to 6.x except for details that are read
# here in either form; encryption of the PYZ was added in 2.1 and removed in 6.0.

_MAGIC = b"MEI\014\013\012\013\016"
_COOKIE = struct.Struct("!8sIIII64s")
_ENTRY = struct.Struct("!IIIIBc")
_KEY = "pyimod00_crypto_key"


# ELF, Windows, Mach-O (32 and 64 bits, either byte order, and universal).
_EXECUTABLES = (
    b"\x7fELF",
    b"MZ",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
)


class _Cookie(NamedTuple):
    start: int  # of the archive in the file
    table: int
    table_size: int
    version: Tuple[int, int]


def _find_cookie(data: Data) -> Optional[_Cookie]:
    """Return the last cookie in the file.

    Only signatures, padding and debug sections of an executable may follow it.
    """
    step = 1 << 20
    end = data.size
    least = 0 if data.read(0, 4).startswith(_EXECUTABLES) else max(0, data.size - (1 << 16))
    while end > least:
        start = max(least, end - step)
        block = data.read(start, end - start + len(_MAGIC) - 1)
        at = block.rfind(_MAGIC)
        while at >= 0:
            cookie = _cookie(data, start + at)
            if cookie is not None:
                return cookie
            at = block.rfind(_MAGIC, 0, at + len(_MAGIC) - 1)
        end = start
    return None


def _cookie(data: Data, at: int) -> Optional[_Cookie]:
    packed = data.read(at, _COOKIE.size)
    if len(packed) < _COOKIE.size:
        return None
    _, size, table, table_size, number, _ = _COOKIE.unpack(packed)
    start = at + _COOKIE.size - size
    major, minor = divmod(number, 100 if number >= 100 else 10)
    if start < 0 or table + table_size + _COOKIE.size > size or major not in (2, 3):
        return None
    return _Cookie(start, table, table_size, (major, minor))


class _Entry(NamedTuple):
    name: str
    kind: str
    packed: Data
    size: int
    is_packed: bool

    def read(self) -> bytes:
        if max(self.size, self.packed.size) > LARGEST_MEMBER:
            raise DecompileError("larger than 256 MiB", 0, "limit")
        data = self.packed.read(0, self.packed.size)
        return unpacked(data, self.size) if self.is_packed else data


def _entries(data: Data, cookie: _Cookie) -> List[_Entry]:
    archive = data.part(cookie.start, data.size)
    table = archive.read(cookie.table, cookie.table_size)
    entries: List[_Entry] = []
    at = 0
    while at + _ENTRY.size <= len(table):
        length, offset, packed, size, flag, kind = _ENTRY.unpack_from(table, at)
        if length < _ENTRY.size or at + length > len(table):
            raise DecompileError("PyInstaller: a damaged table", cookie.start + cookie.table + at)
        name = table[at + _ENTRY.size : at + length].rstrip(b"\0")
        part = archive.part(offset, packed)
        entries.append(
            _Entry(name.decode("utf-8", "replace"), kind.decode("latin-1"), part, size, flag != 0)
        )
        at += length
    return entries


def _of_program(data: Data, depth: int, held: List[int]) -> Iterator[Member]:
    cookie = _find_cookie(data)
    if cookie is None:
        raise DecompileError("PyInstaller: no archive")
    entries = _entries(data, cookie)
    is_encrypted = any(entry.name == _KEY for entry in entries)
    header = _core.header_for(*cookie.version) or b""
    for entry in entries:
        if entry.kind in "smM":
            place = entry.name.replace(".", "/") if entry.kind != "s" else entry.name
            place += "/__init__.pyc" if entry.kind == "M" else ".pyc"
            yield Member(entry.name, _with_header(entry.read, header), place)
        elif entry.kind in "zZxb" and depth > 0:
            yield from _of_entry(entry, is_encrypted, depth, held)


def _of_entry(entry: _Entry, is_encrypted: bool, depth: int, held: List[int]) -> Iterator[Member]:
    if not entry.is_packed:
        inner = entry.packed
    else:
        if not entry.name.endswith((".zip", ".pyz", ".whl", ".egg", ".pkg")):
            return
        held[0] += entry.size
        if held[0] > MOST_HELD:
            return
        try:
            inner = of_bytes(entry.read())
        except DecompileError as error:
            yield Member(entry.name, refusing(error), entry.name)
            return
    if inner.read(0, 4) == b"PYZ\0":
        try:
            for member in _of_pyz(inner, is_encrypted):
                yield member._replace(name=f"{entry.name}/{member.name}")
        except DecompileError as error:
            yield Member(entry.name, refusing(error), entry.name)
    elif inner.read(0, 4) == b"PK\3\4":
        yield from _within(inner, entry.name, depth, held, f"{entry.name}/")


def _with_header(read: Read, header: bytes) -> Read:
    """Add a header to code without one; the version is the archive's."""

    def headed() -> bytes:
        data = read()
        return header + data if header and data[:1] in (b"\xe3", b"c") else data

    return headed


def _of_pyz(data: Data, is_encrypted: bool) -> Iterator[Member]:
    head = data.read(0, 12)
    if len(head) < 12:
        raise DecompileError("PYZ: the archive ends within its header", len(head), "truncated")
    header = head[4:8] + bytes(12)
    at = struct.unpack("!i", head[8:])[0]
    if not 12 <= at < data.size or data.size - at > LARGEST_MEMBER:
        raise DecompileError("PYZ: a missing table", 8)
    try:
        table = _core.unmarshal(data.read(at, data.size - at))
        rows = table.items() if isinstance(table, dict) else table
        named = [
            (str(name), int(kind), int(start), int(size)) for name, (kind, start, size) in rows
        ]
    except (TypeError, ValueError) as error:
        raise DecompileError(f"PYZ: a damaged table: {lowered(error)}", at) from error
    for name, kind, start, size in sorted(named):
        if kind in (0, 1):
            place = name.replace(".", "/") + ("/__init__.pyc" if kind == 1 else ".pyc")
            read = _reads_pyz(data.part(start, size), is_encrypted)
            yield Member(place, _with_header(read, header), place)


def _reads_pyz(packed: Data, is_encrypted: bool) -> Read:
    def read() -> bytes:
        if packed.size > LARGEST_MEMBER:
            raise DecompileError("larger than 256 MiB", 0, "limit")
        data = packed.read(0, packed.size)
        if data[:1] in (b"\xe3", b"c"):
            return data
        try:
            return unpacked(data)
        except DecompileError:
            if is_encrypted:
                text = "encrypted by PyInstaller (--key); the key is in the program"
                raise DecompileError(text, 0, "unsupported") from None
            raise

    return read
