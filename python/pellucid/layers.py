# SPDX-License-Identifier: Apache-2.0
"""The layers that loaders put around code, and how each is removed without running anything.

A layer returns None if the bytes do not have it. What it returns need not be right: bytes are code
only if the decompiler reads them as code.
"""

import base64
import binascii
import bz2
import codecs
import lzma
import pickletools
import zlib
from typing import Callable, Dict, Optional

MOST_UNPACKED = 64 << 20  # bytes of one layer


class TooMuch(Exception):
    """A layer was larger than the limit."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


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
        raise TooMuch(len(unpacked))
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


def _deflate(data: bytes) -> Optional[bytes]:
    worker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        unpacked = worker.decompress(data, MOST_UNPACKED)
    except zlib.error:
        return None
    # Raw deflate has no signature and no checksum: check that it ends where the data ends.
    return unpacked if worker.eof and not worker.unused_data else None


def _rot13(data: bytes) -> Optional[bytes]:
    if len(data) > MOST_UNPACKED or not data.isascii():
        return None
    return codecs.encode(data.decode("ascii"), "rot13").encode("ascii")


def _xor(data: bytes) -> Optional[bytes]:
    """Remove a repeated key from marshalled code, which begins with three numbers of 0."""
    zeros = data[1:13]
    for size in range(1, 9):
        if any(a != b for a, b in zip(zeros, zeros[size:])) or len(data) < LEAST_XORED:
            continue
        key = bytes(zeros[(i - 1) % size] for i in range(size))
        if not any(key):
            return None
        whole = key * (len(data) // size + 1)
        number = int.from_bytes(data, "big") ^ int.from_bytes(whole[: len(data)], "big")
        plain = number.to_bytes(len(data), "big")
        if plain[0] & 0x7F == 0x63:
            return plain
    return None


def _pickle(data: bytes) -> Optional[bytes]:
    """Return the longest text or bytes in a pickle, which is not loaded."""
    if len(data) < 2 or data[0] != 0x80 or not 2 <= data[1] <= 5:
        return None
    longest = b""
    try:
        for _, value, _ in pickletools.genops(data):
            if isinstance(value, str):
                value = value.encode("utf-8", "surrogatepass")
            if isinstance(value, bytes) and len(value) > len(longest):
                longest = value
    except Exception:  # of a damaged pickle, any
        return None
    return longest


LEAST_XORED = 40
_DIGITS = b"0123456789"
_UPPER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = _DIGITS + _UPPER + _UPPER.lower()


LAYERS: "Dict[str, Callable[[bytes], Optional[bytes]]]" = {
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
    "pickle": _pickle,
    "xor": _xor,
    "deflate": _deflate,
    "rot13": _rot13,
}
