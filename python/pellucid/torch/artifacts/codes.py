# SPDX-License-Identifier: Apache-2.0
"""The code objects in a pickle of torch's: as code of this Python, which is never run.

torch saves a code object field by field.  CPython trusts the fields of a code object, so those of a
file become one only if its instructions are whole.  All other code, and that of another version of
Python, is decompiled, and its proven source compiled: see :mod:`pellucid.porting.code`.
"""

from __future__ import annotations

import marshal
import opcode
import sys
from types import CodeType
from typing import Any, Mapping, NamedTuple, Optional

from pellucid.errors import DecompileError
from pellucid.pickle_tree import Node
from pellucid.porting.code import port

Version = Optional["tuple[int, int]"]
_RUNNING = sys.version_info[:2]
_DEEPEST = 50
# What CodeType takes, in its order.
_FIELDS = ["argcount", "posonlyargcount", "kwonlyargcount", "nlocals", "stacksize", "flags"]
_FIELDS += ["code", "consts", "names", "varnames", "filename", "name", "qualname", "firstlineno"]
_FIELDS += ["linetable", "exceptiontable", "freevars", "cellvars"]
_INTERFACE = ["argcount", "posonlyargcount", "kwonlyargcount", "flags", "varnames", "filename"]
_INTERFACE += ["name", "firstlineno", "freevars", "cellvars"]
if _RUNNING < (3, 11):
    _FIELDS = [name for name in _FIELDS if name not in ("qualname", "exceptiontable")]
if _RUNNING < (3, 10):
    _FIELDS[_FIELDS.index("linetable")] = "lnotab"


class Read(NamedTuple):
    """A code object that was read."""

    code: CodeType
    is_ported: bool
    """Whether it is not the code in the file, but code that does the same."""


def code_of(node: Node, version: Version) -> Read:
    """Return the code object that a value is; it is read once.

    Args:
        node: a ``SerializedCode``, or the call that makes a code object of one.
        version: the Python that wrote it; None if unknown.

    Raises:
        DecompileError: it is not a code object.
        CannotPort: it is of another version of Python, and this one cannot express it.
    """
    return node.tree.once("code", node.number, lambda: _read(node, version))


def _read(node: Node, version: Version) -> Read:
    if node.get("co_code") is None:
        raise DecompileError("not a code object")
    is_safe = version == _RUNNING and _is_whole(node, 0)
    try:
        data = node.tree.core.code(node.number)
        if data is None:
            raise DecompileError("not a code object")
        if is_safe:
            return Read(_code(marshal.loads(data)), False)  # written by the core, from its fields
    except DecompileError:  # marshal has no bytes for a constant, such as a torch.Size
        if not is_safe:
            raise
        return Read(_made(node), False)
    except (ValueError, TypeError, EOFError, SystemError) as error:
        raise DecompileError(f"not a code object of this Python: {error}") from error
    return Read(port(data, version=version).code, True)


def outline_of(node: Node) -> CodeType:
    """Return code that has the interface, name and place of a code object, and does nothing.

    Raises:
        DecompileError: the fields are not those of a code object.
    """
    return node.tree.once("outline", node.number, lambda: _outline(node))


def _outline(node: Node) -> CodeType:
    try:
        fields = {f"co_{name}": node.fields[f"co_{name}"].plain() for name in _INTERFACE}
        return _NOTHING.replace(co_nlocals=len(fields["co_varnames"]), **fields)
    except (ValueError, TypeError, KeyError, SystemError) as error:
        raise DecompileError(f"not a code object: {error}") from error


def _nothing() -> None:
    """Do nothing."""


_NOTHING = _nothing.__code__


def _code(value: object) -> CodeType:
    if not isinstance(value, CodeType):
        raise TypeError("it is something else")
    return value


def _made(node: Node) -> CodeType:
    """Return code with placeholders for the objects among its constants."""
    consts = (
        _made(each) if each.get("co_code") is not None else each.plain()
        for each in node.fields["co_consts"].items
    )
    try:
        fields: list[Any] = [node.fields[f"co_{name}"].plain() for name in _FIELDS]
        fields[_FIELDS.index("consts")] = tuple(consts)
        return CodeType(*fields)
    except (ValueError, TypeError, KeyError, SystemError) as error:
        raise DecompileError(f"not a code object of this Python: {error}") from error


def _is_whole(node: Node, depth: int) -> bool:
    """Return true if each instruction of a code object, and of those in it, is there to its end."""
    code, consts = node.get("co_code"), node.get("co_consts")
    if code is None or consts is None or depth > _DEEPEST:
        return False
    data = code.value if code.kind == "bytes" else b"\0"
    at = 0
    while at + 1 < len(data):
        if data[at] not in _CACHES:
            return False
        at += 2 + 2 * _CACHES[data[at]]
    nested = (each for each in consts.items if each.get("co_code") is not None)
    return at == len(data) and all(_is_whole(each, depth + 1) for each in nested)


def _caches() -> Mapping[int, int]:
    """Return the number of inline caches after each instruction that a compiler writes."""
    found = dict.fromkeys((n for name, n in opcode.opmap.items() if _is_written(name)), 0)
    sizes = getattr(opcode, "_inline_cache_entries", {})
    if not sizes and _RUNNING >= (3, 11):
        return {}  # then no code is known to be whole
    if isinstance(sizes, Mapping):  # by name since 3.13
        found.update(
            (opcode.opmap[name], size) for name, size in sizes.items() if name in opcode.opmap
        )
    else:
        found.update((number, size) for number, size in enumerate(sizes) if number in found)
    return found


def _is_written(name: str) -> bool:
    return not name.startswith("INSTRUMENTED_")


_CACHES = _caches()
