# SPDX-License-Identifier: Apache-2.0
"""Names that are the same in every run.

Dynamo's generated names contain a uuid (``__compiled_fn_1_bfd0a77c_…``), an object's address
(``___module_iter_140330457142016_c1``) or a process-wide counter.  Files and sources of a capture
use names derived from the compile id instead.  Everything here is pure text.
"""

from __future__ import annotations

import builtins
import keyword
import re
from types import ModuleType
from typing import Any, Iterable, Mapping

from .dynamo_names import HELD, IMPORT, NUMBERED, NUMBERED_GRAPH, RESUMED, broken_function

_UUID = re.compile(r"_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}\b")
_ID_IN_NAME = re.compile(r"_\d{9,}(?=_|\Z)")
# Graphs are long, and a pattern is found fast if it begins with plain text or a set of characters:
# what must not come before it is checked after its beginning.
_ADDRESS = re.compile(r"0x(?<!\w0x)[0-9a-fA-F]{6,16}\b")
_ID_IN_TEXT = re.compile(r"[0-9](?<![\w.].)[0-9]{11,15}(?![\w.])")
_ID_INSIDE_NAME = re.compile(r"_[0-9]{12,16}(?=_|\b)")
# A quick test: all that `scrub` looks for contains this, and most short text does not.
_MANY_DIGITS = re.compile(r"[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]{4}")
# The object id in a guard; short if the interpreter is at a fixed address.
_ID_OF_CHECK = re.compile(r"(_id\([^\n]*?, )\d{6,16}\b")
_NOT_IDENTIFIER = re.compile(r"\W+", re.ASCII)


def slug(compile_id: str | None, epoch: int = 0) -> str:
    """Return a compile id in a form that is valid in file names and identifiers.

    >>> slug("0/1"), slug("!2/0/1"), slug("0/1", epoch=1), slug(None)
    ('0_1', 'a2_0_1', 'r1_0_1', 'x')
    """
    text = "x" if compile_id is None else compile_id.replace("!", "a").replace("/", "_")
    return f"r{epoch}_{text}" if epoch else text


def frame_part(compile_id: str | None, epoch: int = 0) -> str:
    """Return the frame of a compile id, which all its recompiles share.

    >>> frame_part("3/1"), frame_part("3/2", epoch=1)
    ('3', 'r1_3')
    """
    return slug(compile_id, epoch).rpartition("_")[0] or "x"


def identifier(name: str) -> str:
    """Return a function's name in a form that is valid in file names and identifiers.

    >>> identifier("<lambda>"), identifier("forward"), identifier("é")
    ('lambda', 'forward', 'x')
    """
    return _NOT_IDENTIFIER.sub("_", name).strip("_") or "x"


def definable(name: str) -> str:
    """Return a function's name in a form that is valid in a ``def``.

    >>> definable("<lambda>"), definable("forward")
    ('lambda_', 'forward')
    """
    name = identifier(name)
    return f"{name}_" if keyword.iskeyword(name) else name


def label(function: str) -> str:
    """Return the display name of a function; Dynamo's names of resume functions become words.

    >>> label("forward"), label("torch_dynamo_resume_in_forward_at_31")
    ('forward', 'forward, resumed after line 31')
    """
    of, line = broken_function(function)
    return function if line is None else f"{of}, resumed after line {line}"


def is_resumed(function: str) -> bool:
    """Return true if this is the name of a resume function."""
    return RESUMED.match(function) is not None


def known_globals(names: Iterable[str], scope: Mapping[str, Any]) -> dict[str, str]:
    """Map names that Dynamo installed in ``scope`` for builtins and modules to their own names.

    The mapping keeps the meaning: a builtin's name is used only if ``scope`` has no other object of
    that name.

    >>> scope = {"___module_iter_140330457142016_c0": iter}
    >>> known_globals(scope, scope), known_globals(scope, {**scope, "iter": 1})
    ({'___module_iter_140330457142016_c0': 'iter'}, {})
    """
    found = {}
    for name in names:
        match = HELD.match(name)
        value = scope.get(name) if match else None
        if match is None or value is None:
            continue
        if isinstance(value, ModuleType):
            own = identifier(value.__name__)
            if own not in scope and not hasattr(builtins, own):
                found[name] = own
        elif getattr(builtins, match[1], None) is value and scope.get(match[1], value) is value:
            found[name] = match[1]
    return found


def stable_globals(
    names: Iterable[str],
    taken: Iterable[str],
    tag: str,
    known: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Map each name that differs between runs to one that does not.

    ``names`` are a code object's global and attribute names, ``taken`` all other names it uses,
    ``tag`` is the slug of its compile id (without it, graphs keep their numbers), and ``known``
    maps some names like :func:`known_globals`. The mapping is one-to-one and never collides with a
    name in use.

    >>> stable_globals(["torch", "__compiled_fn_1_bfd0a77c_ce1c_411a_b1af_d05db5785f3c"], [], "0_0")
    {'__compiled_fn_1_bfd0a77c_ce1c_411a_b1af_d05db5785f3c': '__compiled_fn_0_0'}
    """
    ordered = list(names)
    used = set(ordered) | set(taken)
    result: dict[str, str] = {}
    for name in ordered:
        if name in result:
            continue
        numbered = NUMBERED.match(name)
        if NUMBERED_GRAPH.match(name):
            wanted = f"__compiled_fn_{tag}" if tag else without_ids(name)
        elif IMPORT.match(name):
            wanted = _module(name)
        elif known and name in known:
            wanted = known[name]
        elif numbered is not None:
            wanted = numbered[1]
        elif name.startswith("__"):
            wanted = without_ids(name)
        else:
            continue
        if wanted == name:
            continue
        candidate, number = wanted, 0
        while candidate in used:
            number += 1
            candidate = f"{wanted}_{number}"
        used.add(candidate)
        result[name] = candidate
    return result


def without_ids(name: str) -> str:
    """Return a name without the parts that differ between runs.

    >>> without_ids("__optimizer_140147109550320_c0"), without_ids("_140147109550320_c0")
    ('__optimizer_c0', '_c0')
    """
    return _ID_IN_NAME.sub("", _UUID.sub("", name))


def _module(name: str) -> str:
    """Return the name of an imported module: ``torch_nn`` for ``__import_torch_dot_nn``."""
    path = name[len("__import_") :].split("_dot_")
    parts = [part.strip("_") for part in path]
    if parts[:2] == ["torch", "dynamo"] and len(parts) > 2:
        parts = ["dynamo", parts[-1]]
    return identifier("_".join(parts))


def scrub(text: str) -> str:
    """Replace addresses and object ids in text that is only read, never run.

    >>> scrub("<M object at 0x7f55f7c304e0>, ___check_obj_id(G['torch'], 140147109550320)")
    "<M object at 0x…>, ___check_obj_id(G['torch'], id…)"
    >>> scrub("___check_obj_id(G['Half'], 408445696), type=<class 'program.Half'>")
    "___check_obj_id(G['Half'], id…), type=<class 'program.Half'>"
    >>> scrub("G['__optimizer_140147109550320_c0']")
    "G['__optimizer_…_c0']"
    """
    if _MANY_DIGITS.search(text) is None:
        return text
    text = _ID_INSIDE_NAME.sub("_…", _UUID.sub("", text))
    if "_id(" in text:
        text = _ID_OF_CHECK.sub(r"\1id…", text)
    return _ID_IN_TEXT.sub("id…", _ADDRESS.sub("0x…", text))


_GETATTR = re.compile(r"getattr\(([^(),]*), '(\w+)'\)")
_IN_MODULE = re.compile(
    r"\.(?:__dict__\['_(?:modules|parameters|buffers)'\]|_(?:modules|parameters|buffers))"
    r"\['(\w+)'\]"
)
_OF_CLASS = re.compile(r"\bdict\(type\(([^()]*)\)\.__dict__\)\['(\w+)'\]")
_SCOPE = re.compile(r"^[LG]\['(\w+)'\]")


def as_written(source: str) -> str:
    """Return a value's source as the program writes it.

    >>> as_written("L['self']._modules['layers']._modules['2']._parameters['weight']")
    'self.layers.2.weight'
    >>> as_written("L['self'].__dict__['_modules']['ff'].0")
    'self.ff.0'
    >>> as_written("getattr(getattr(L['self'].blocks, '0').rest, '1')"), as_written("L['k']['a']")
    ('self.blocks.0.rest.1', "k['a']")
    >>> as_written("dict(type(L['self']).__dict__)['gain']")
    'self.gain'
    >>> as_written("G['os'].environ._data[b'DEBUG']")
    "os.environ['DEBUG']"
    """
    path, count = _IN_MODULE.sub(r".\1", _OF_CLASS.sub(r"\1.\2", source)), 1
    while count:
        path, count = _GETATTR.subn(r"\1.\2", path)
    return _ENVIRONMENT.sub(r".environ[\1]", _SCOPE.sub(r"\1", path))


_ENVIRONMENT = re.compile(r"\.environ\._data\[b('[^']*')\]")


def as_comment(text: str, limit: int = 0) -> str:
    """Turn text into comment lines; with ``limit``, at most that many.

    >>> as_comment("a\\nb\\nc", limit=2)
    '# a\\n# b\\n# … 1 more line'
    """
    # Only \n separates our lines: a form feed or \x85 inside must not end a comment.
    lines = text.split("\n")
    if not text.replace("\n", "").isprintable():
        lines = ["".join(c if c.isprintable() else " " for c in line) for line in lines]
    if limit and len(lines) > limit:
        more = len(lines) - limit
        lines = [*lines[:limit], f"… {more} more line{'s' if more > 1 else ''}"]
    return "\n".join(f"# {line}".rstrip() for line in lines)
