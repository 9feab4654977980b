# SPDX-License-Identifier: Apache-2.0
"""How Python treats a `.pyc` that it finds next to its source.

(importlib/_bootstrap_external.py: SourceLoader.get_code; PEP 552)
"""

from __future__ import annotations

import struct

from pellucid import _core

USED = "Python uses it"
UNCHECKED = "Python uses it without comparing it with the source"
STALE_DATE = "Python ignores it: the source has a different date"
STALE_SIZE = "Python ignores it: the source has a different size"
STALE_HASH = "Python ignores it: the source has a different hash"
NOT_READ = "Python ignores it and reads the source beside it"
OTHER_PYTHON = "Python ignores it: its name says {}, and its magic number {}"
PRERELEASE = "Python ignores it: its magic number is that of a pre-release"
UNKNOWN_FLAGS = "Python ignores it: its header has unknown flags"

_MASK = (1 << 64) - 1


def use_of(pyc: bytes, source: bytes, date: int | None, minor: int, tag: str | None) -> str:
    """Return what an import does with a `.pyc`, in words; empty if unknown.

    Args:
        pyc: the file, with its header.
        source: the source beside it.
        date: when the source was modified, in seconds; None if unknown.
        minor: the version of the file, Python 3.``minor``.
        tag: the tag in its name, ``cpython-312``; empty if it is beside its source, and not in
            ``__pycache__``; None if it is somewhere else.
    """
    if tag == "":
        return NOT_READ
    if tag is None or len(pyc) < 16:
        return ""
    if tag != f"cpython-3{minor}":
        return OTHER_PYTHON.format(tag, f"cpython-3{minor}")
    if pyc[:4] != (_core.header_for(3, minor) or pyc)[:4]:
        return PRERELEASE
    flags, when, size = struct.unpack_from("<III", pyc, 4)
    if flags > 3:
        return UNKNOWN_FLAGS
    if flags == 1:
        return UNCHECKED
    if flags == 3:
        return USED if pyc[8:16] == source_hash(pyc[:4], source, minor) else STALE_HASH
    if size != len(source) & 0xFFFFFFFF:
        return STALE_SIZE
    if date is None:
        return ""
    return USED if when == date & 0xFFFFFFFF else STALE_DATE


def source_hash(magic: bytes, source: bytes, minor: int) -> bytes:
    """Return the hash of a source in the header of a hash-based `.pyc`, 8 bytes.

    It is SipHash keyed with the magic number: SipHash-2-4, from 3.11 on SipHash-1-3.
    (Aumasson and Bernstein, SipHash: a fast short-input PRF, 2012)
    """
    rounds, final = (1, 3) if minor >= 11 else (2, 4)
    key = int.from_bytes(magic, "little")
    v = [key ^ 0x736F6D6570736575, 0x646F72616E646F6D, key ^ 0x6C7967656E657261, 0x7465646279746573]
    padded = source + bytes(7 - len(source) % 8) + bytes([len(source) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        _mix(v, rounds)
        v[0] ^= word
    v[2] ^= 0xFF
    _mix(v, final)
    return (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")


def _mix(v: list[int], rounds: int) -> None:
    for _ in range(rounds):
        v[0] = (v[0] + v[1]) & _MASK
        v[2] = (v[2] + v[3]) & _MASK
        v[1] = _rotated(v[1], 13) ^ v[0]
        v[3] = _rotated(v[3], 16) ^ v[2]
        v[0] = _rotated(v[0], 32)
        v[2] = (v[2] + v[1]) & _MASK
        v[0] = (v[0] + v[3]) & _MASK
        v[1] = _rotated(v[1], 17) ^ v[2]
        v[3] = _rotated(v[3], 21) ^ v[0]
        v[2] = _rotated(v[2], 32)


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK
