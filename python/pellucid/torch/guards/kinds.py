# SPDX-License-Identifier: Apache-2.0
"""The call that decides each kind of leaf guard in a dumped file.

The called functions are in :mod:`~pellucid.torch.guards.checks`, under torch's names.  A guard's
expected value is parsed from torch's text if that is unambiguous, which torch's own leaf confirms.
Values without text (identities, objects of the program) are kept in the process
(:mod:`~pellucid.torch.taps.guard_objects`), and the file has a number and a description.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from typing import Any, Callable, Mapping

from pellucid.dump.model.expressions import literal, names_in, parse
from pellucid.dump.model.names import scrub

from ..taps.guard_tree import Leaf, Manager
from .checks import SINGLE

_TYPE = re.compile(r"\w+\((?P<what>.*), (?P<id>\d+)\)(?:, type=(?P<type>.*))?\Z", re.DOTALL)
_TENSOR = re.compile(
    r"check_tensor\((?P<what>.*), (?P<cls>[^,]*), (?P<keys>DispatchKeySet\([^()]*\)), "
    r"torch\.(?P<dtype>\w+), device=(?P<device>\w+), requires_grad=(?P<grad>\w+), "
    r"size=(?P<size>\[.*\]), stride=(?P<stride>\[.*\])\)\Z",
    re.DOTALL,
)
_KEPT = re.compile(r"[ (]kept_\w+\[")
_CLASS = re.compile(r"<class '([^']+)'>\Z")
_UNMARKED = (
    "_dynamo_dynamic_indices",
    "_dynamo_weak_dynamic_indices",
    "_dynamo_unbacked_indices",
    "_dynamo_strict_unbacked_indices",
    "_dynamo_static_indices",
)


@dataclass
class Context:
    """The context for translating a leaf."""

    names: Mapping[str, Any]
    """The values of the names in torch's text, as torch itself resolves them."""
    keep: Callable[[Any], str]
    """Keep an object in the process; returns the expression for it, empty if nothing is kept."""
    type_name: Callable[[int], str]
    """Returns the name of the class with an id, for a torch whose text lacks it."""


@dataclass(frozen=True)
class Translated:
    """The call that decides a leaf guard, and whether it works in another process."""

    call: str
    by_value: bool


def translate(leaf: Leaf, manager: Manager, value: str, context: Context) -> Translated:
    """Return the call for a leaf guard on the value of the expression ``value``."""
    make = _BY_KIND.get(leaf.kind)
    texts = [expression(part) for part in leaf.parts]
    if make is not None and texts:
        call = make(leaf, manager, value, texts, context)
        if call is not None:
            is_kept = _KEPT.search(call) is not None
            return Translated(call, not is_kept or leaf.kind in _DESCRIBED)
    if leaf.kind in _ALSO_AS_WORDED:
        inside = [reworded(text, manager.source, value, context.names) for text in texts]
        if texts and None not in inside:
            return Translated(f"{leaf.kind}({', '.join(map(str, inside))})", True)
    return Translated(asked(leaf, value, context.keep(leaf.handle)), False)


def asked(leaf: Leaf, value: str, kept: str) -> str:
    """Return the call that lets torch's own leaf decide about a value."""
    shown = scrub(" and ".join(map(expression, leaf.parts)))
    kept = kept or "None"
    if leaf.kind == "EQUALS_MATCH":
        return f"{leaf.kind}({value}, {kept}, {shown!r})"
    return f"LEAF_GUARD({leaf.kind!r}, {value}, {kept}, {shown!r})"


def expression(part: str) -> str:
    """Return torch's text without the user's line.

    >>> expression("L['k'] == '#'      # x * k  # a.py:9 in f")
    "L['k'] == '#'"
    """
    return split(part)[0]


@functools.lru_cache(maxsize=4096)
def split(text: str) -> tuple[str, str]:
    """Split torch's text into the expression and the user's line.

    >>> split("L['k'] == '#'      # x * k  # a.py:9 in f")
    ("L['k'] == '#'", 'x * k  # a.py:9 in f')
    """
    before, mark, after = text.partition("#")
    if not mark:
        return text.strip(), ""
    if "\\" not in before and '"' not in before and before.count("'") % 2 == 0:
        return before.strip(), after.strip()  # all strings before it are closed
    for found in _STRING_OR_COMMENT.finditer(text):
        if found[0] == "#":
            return text[: found.start()].strip(), text[found.end() :].strip()
    return text.strip(), ""


# An unterminated string extends to the end of the text.
_STRING_OR_COMMENT = re.compile(
    r"'(?:[^'\\]|\\.)*(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)|#", re.DOTALL
)


def reworded(text: str, source: str, value: str, names: Mapping[str, Any]) -> str | None:
    """Return torch's text with ``value`` in place of ``source``; None if it is not Python.

    >>> reworded("len(L['x']) == 3", "L['x']", "x", {"len": len})
    'len(x) == 3'
    """
    told = text.replace(source, value) if source not in ("", "L", "G") else text
    tree = parse(told)
    if tree is None or not names_in(tree) <= {value, "L", "G", *names, *_BUILTINS}:
        return None
    return " ".join(told.split()) if "\n" in told else told


_BUILTINS = frozenset(
    [
        "bool",
        "complex",
        "dict",
        "float",
        "frozenset",
        "getattr",
        "hasattr",
        "int",
        "isinstance",
        "len",
        "list",
        "max",
        "min",
        "object",
        "round",
        "set",
        "str",
        "sum",
        "tuple",
        "type",
    ]
)


def _after(operator: str, text: str) -> str | None:
    _, found, rest = text.rpartition(operator)
    return rest if found else None


def _type(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str | None:
    found = _TYPE.match(_no_hint(texts[0]))
    if found is None:
        return None
    identity = int(found["id"])
    named = _CLASS.match(found["type"] or "")
    name = named[1] if named else to.type_name(identity)
    if "." not in name and named:
        return f"{leaf.kind}({value}, {name!r})"
    return f"{leaf.kind}({value}, {name!r}{_kept(to, identity)})"


def _identity(
    leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context
) -> str | None:
    found = _TYPE.match(_no_hint(texts[0]))
    if found is None:
        return None
    identity = int(found["id"])
    for one in SINGLE:
        if identity == id(one):
            return f"{leaf.kind}({value}, {repr(one)!r})"
    named = _CLASS.match(found["type"] or "")
    name = named[1] if named else class_name(manager.type)
    return f"{leaf.kind}({value}, {name!r}{_kept(to, identity)})"


def _kept(to: Context, identity: int) -> str:
    """Return the argument that has an object's id; empty for the id of another process."""
    kept = to.keep(identity)
    return kept and f", {kept}"


def _no_hint(text: str) -> str:
    return text.partition(" (HINT: ")[0].strip()


def class_name(cls: type | None) -> str:
    """Return a class's name in ``repr`` form; ``object`` if the class is unknown."""
    if cls is None:
        return "object"
    name = cls.__qualname__
    return name if cls.__module__ == "builtins" else f"{cls.__module__}.{name}"


def _nothing(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str:
    return f"{leaf.kind}({value})"


def _equals(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str | None:
    text = _no_hint(texts[0])
    # The source may contain == in a string, and so may the value.
    wanted = text[len(manager.source) :].strip() if text.startswith(manager.source) else text
    shown = literal(wanted[2:], to.names, leaf.handle) if wanted.startswith("==") else None
    return None if shown is None else f"{leaf.kind}({value}, {shown})"


def _count(make: Callable[[int], Any]) -> Callable[..., str | None]:
    def translated(
        leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context
    ) -> str | None:
        wanted = _after("==", _no_hint(texts[0]))
        if wanted is None:  # `not x`, which some guards use for an empty container
            wanted = "0"
        shown = literal(wanted, to.names, lambda count: leaf.handle(make(count)))
        return None if shown is None else f"{leaf.kind}({value}, {shown})"

    return translated


def _range(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str | None:
    wanted = _after("==", _no_hint(texts[0])) or ""
    shown = literal(wanted, to.names, lambda parts: leaf.handle(iter(range(*parts))))
    return None if shown is None else f"{leaf.kind}({value}, {shown})"


def _contains(make: Callable[[Any], Any]) -> Callable[..., str | None]:
    def translated(
        leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context
    ) -> str | None:
        text = _no_hint(texts[0])
        absent = text.startswith("not ")
        inside = text.partition("(")[2].rpartition(f", {manager.source})")[0]
        if not inside:
            inside = text[4:] if absent else text
            inside, _, _ = inside.rpartition(f" in {manager.source}")
        shown = literal(
            inside,
            to.names,
            lambda key: leaf.handle(make(key)) is not absent and leaf.handle(make(None)) is absent,
        )
        return None if shown is None else f"{leaf.kind}({value}, {shown}, {not absent})"

    return translated


def _keys(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str | None:
    wanted = _after("==", _no_hint(texts[0])) or ""
    shown = literal(wanted, to.names, lambda keys: leaf.handle(dict.fromkeys(keys)))
    return None if shown is None else f"{leaf.kind}({value}, {shown})"


def _no_attribute(
    leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context
) -> str | None:
    found = re.search(r", '(\w+)'\)(?: == False)?\Z", _no_hint(texts[0]))
    return None if found is None else f"{leaf.kind}({value}, {found[1]!r})"


def _marking(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str | None:
    absent = [
        name for name in _UNMARKED if f"hasattr({manager.source}, {name!r}) == False" in texts
    ]
    probe = _Marked()
    if absent:
        setattr(probe, absent[0], {0})
    # torch only checks the marks of a tensor that has a flag for them; the text lacks that.
    if not leaf.handle(probe):
        return None
    if len(absent) == len(texts) == len(_UNMARKED):
        return f"{leaf.kind}({value})"
    inside = [reworded(text, manager.source, value, to.names) for text in texts]
    return None if None in inside else f"{leaf.kind}({value}, {', '.join(map(str, inside))})"


class _Marked:
    """An object with marked dimensions but without the flag for them."""


def _tensor(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str | None:
    found = _TENSOR.match(texts[0])
    if found is None or literal(found["size"], {}, _is_list) is None:
        return None
    # Loaded code was compiled elsewhere: the value there is a stand-in of a different class.
    known = getattr(manager.type, "__name__", "") == found["cls"].rpartition(".")[2]
    cls = class_name(manager.type) if known else found["cls"]
    kept = _kept(to, id(manager.type)) if known else ""
    return (
        f"{leaf.kind}({value}, {cls!r}{kept}, dtype='torch.{found['dtype']}', "
        f"device={found['device']}, requires_grad={found['grad']}, size={found['size']}, "
        f"stride={found['stride']}, keys={found['keys'][len('DispatchKeySet(') : -1]!r})"
    )


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _state(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str | None:
    found = _after(" against ", texts[0])
    try:
        state = json.loads(found or "")
    except ValueError:
        return None
    return f"{leaf.kind}({state!r})" if isinstance(state, dict) else None


def _device(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str | None:
    shown = literal(_after("==", texts[0]) or "", to.names, lambda _: True)
    return None if shown is None else f"{leaf.kind}({shown})"


def _modes(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str:
    # The text does not name the modes.
    return f"{leaf.kind}({to.keep(leaf.handle) or None})"


def _level(leaf: Leaf, manager: Manager, value: str, texts: list[str], to: Context) -> str | None:
    shown = literal(_after("==", texts[0]) or "", to.names, lambda _: True)
    return None if shown is None else f"{leaf.kind}({shown})"


# Decided by their description in a process that keeps nothing.
_DESCRIBED = frozenset(["TYPE_MATCH", "TENSOR_MATCH", "ID_MATCH"])
# Arbitrary Python expressions that torch made a guard of, and kinds that this table may lack.
_ALSO_AS_WORDED = frozenset(["LAMBDA_GUARD", "DYNAMIC_INDICES"])
_BY_KIND: Mapping[str, Callable[..., str | None]] = {
    "TYPE_MATCH": _type,
    "ID_MATCH": _identity,
    "NONE_MATCH": _nothing,
    "NOT_NONE": _nothing,
    "TRUE_MATCH": _nothing,
    "FALSE_MATCH": _nothing,
    "FLOAT_IS_NAN": _nothing,
    "COMPLEX_IS_NAN": _nothing,
    "EQUALS_MATCH": _equals,
    "LENGTH_CHECK": _count(lambda count: [None] * min(count, 10**6)),
    "DICT_LENGTH": _count(lambda count: dict.fromkeys(range(min(count, 10**6)))),
    "TUPLE_ITERATOR_LEN": _count(lambda count: iter((None,) * min(count, 10**6))),
    "RANGE_ITERATOR_MATCH": _range,
    "DICT_CONTAINS": _contains(lambda key: {key: None}),
    "SET_CONTAINS": _contains(lambda item: {item}),
    "MAPPING_KEYS_MATCH": _keys,
    "NO_HASATTR": _no_attribute,
    "DIMENSION_DYNAMIC_MARKING_GUARD": _marking,
    "TENSOR_MATCH": _tensor,
    "GLOBAL_STATE": _state,
    "DEFAULT_DEVICE": _device,
    "TORCH_FUNCTION_MODE_STACK": _modes,
    "DUAL_LEVEL_MATCH": _level,
}
