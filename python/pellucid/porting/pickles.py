# SPDX-License-Identifier: Apache-2.0
"""Pickles whose code objects were made by another version of Python.

cloudpickle and dill write a code object as a call of its constructor, whose arguments differ from
version to version. In a ported pickle the arguments are dropped, and the ported code is loaded
instead. Everything else stays, byte for byte, except that it is no longer divided into frames.
"""

import marshal
import pickletools
import struct
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from pellucid import _core
from pellucid.errors import CannotPort
from pellucid.porting.code import Ported, Version, port, to_pyc

_Op = Tuple[str, int, int]  # its name, where it starts, and where the next one starts

# Drops the function and its arguments, which are what REDUCE would take.
_DROP = b"00"
_NONE = b"N"
_LOADS = b"cmarshal\nloads\n"
_CALL_WITH_ONE = b"\x85R"
_BYTES = {"SHORT_BINBYTES", "BINBYTES", "BINBYTES8"}


class PortedPickle(NamedTuple):
    """A pickle that was ported to the running Python."""

    data: bytes
    """The pickle. Loading it imports and calls what loading the original does, and
    ``marshal.loads`` for each code object."""
    codes: Tuple[Ported, ...]
    """Its code objects, in the order in which they are loaded."""

    def __repr__(self) -> str:
        return f"<PortedPickle: {len(self.data)} bytes, code objects: {len(self.codes)}>"


def port_pickle(data: bytes, *, version: Optional[Version] = None) -> PortedPickle:
    """Return a pickle whose code objects run in the running Python.

    Nothing is loaded, imported or called.

    Args:
        data: a pickle of functions or classes, as cloudpickle and dill write it in CPython 3.8 to
            3.15.
        version: the Python version that wrote it, such as ``(3, 8)``, if several fit.

    Raises:
        CannotPort: it is not a valid pickle, or one of its code objects cannot be ported.
    """
    ported: List[Ported] = []
    edits: Dict[int, bytes] = {}
    ops = list(_ops(data))
    for offset, name, code, refusal, is_nested in _core.code_in_pickle(data):
        op = next((op for op in ops if op[1] <= offset < op[2]), ("", 0, 0))
        if is_nested and op[0] == "REDUCE":  # its code comes with the one around it
            edits[op[1]] = _DROP + _NONE
            continue
        if refusal:
            raise CannotPort(f"{name}: {refusal}")
        if op[0] != "REDUCE" and op[0] not in _BYTES:
            raise CannotPort(f"{name}: its code is not loaded in a known way")
        try:
            found = port(code, version=version)
        except CannotPort as error:
            raise CannotPort(f"{name}: {error}") from None
        ported.append(found)
        if op[0] == "REDUCE":
            edits[op[1]] = _DROP + _LOADS + _bytes(marshal.dumps(found.code)) + _CALL_WITH_ONE
        else:
            has_header = data[offset] & 0x7F != ord("c")
            edits[op[1]] = _bytes(to_pyc(found.code) if has_header else marshal.dumps(found.code))
    return PortedPickle(b"".join(_edited(data, ops, edits)) if edits else data, tuple(ported))


def _ops(data: bytes) -> Iterator[_Op]:
    """Yield the opcodes of all pickles in the data. Raises CannotPort."""
    start = 0
    while start < len(data):
        last = ("", 0)
        try:
            for opcode, _, at in pickletools.genops(data[start:]):
                if at:
                    yield last[0], last[1], start + at
                last = opcode.name, start + (at or 0)
        except (ValueError, UnicodeDecodeError) as error:
            raise CannotPort(f"it is not a valid pickle: {error}") from error
        start = last[1] + 1
        yield last[0], last[1], start


def _edited(data: bytes, ops: List[_Op], edits: Dict[int, bytes]) -> Iterator[bytes]:
    for name, start, end in ops:
        if name != "FRAME":  # its length would be wrong, and is not needed
            yield edits.get(start, data[start:end])


def _bytes(data: bytes) -> bytes:
    """Return the opcode that loads bytes."""
    return b"B" + struct.pack("<I", len(data)) + data
