# SPDX-License-Identifier: Apache-2.0
"""Python expressions for torch's accessors, which lead from one guarded value to the next.

torch's accessors are faster than Python's own, and stricter: ``DictGetItemGuardAccessor`` reads a
dict as a dict, whatever its class overrides, and fails for anything else.  If both are equivalent,
the plain expression is used.
"""

from __future__ import annotations

import ast
import keyword
import re
from typing import Any, Callable, Mapping

from pellucid.dump.model.expressions import literal, names_in, parse

from ..taps.guard_tree import Manager

_PLAIN_STRING = re.compile(r"'\w*'\Z")

# Maps a dictionary's string key to its expression in the file; keys with an address differ between
# runs.
Name = Callable[[str], str]


def access(
    parent: Manager, child: Manager, above: str, names: Mapping[str, Any], name: Name
) -> str | None:
    """Return the expression for a child's value, given the parent's expression; None if unknown."""
    make = _BY_ACCESSOR.get(child.access)
    text = None if make is None else make(parent, child, above, names, name)
    return text if text is not None else _from_source(parent, child, above, names)


def is_plain_dict(manager: Manager) -> bool:
    """Return true if torch has verified, before anything below, that this is exactly a dict."""
    if manager.access in ("", "GlobalsGuardAccessor", "GetGenericDictGuardAccessor"):
        return True
    return _is_exactly(manager, dict)


def _is_exactly(manager: Manager, cls: type) -> bool:
    checked = manager.ordered_keys >= 0 or any(leaf.kind == "TYPE_MATCH" for leaf in manager.leaves)
    return checked and manager.type is cls


def _dict_item(
    parent: Manager, child: Manager, above: str, names: Mapping[str, Any], name: Name
) -> str:
    key = _key(parent, child, names, name)
    if key is None:
        # An object as key; the accessor only has its printed form.
        return f"item_by_repr({above}, {name(child.key)})"
    if is_plain_dict(parent) or parent.access == "TypeDictGuardAccessor":
        return f"{above}[{key}]"
    return f"dict.__getitem__({above}, {key})"


def _key(parent: Manager, child: Manager, names: Mapping[str, Any], name: Name) -> str | None:
    text = child.key
    if child.access == "FrameLocalsGuardAccessor":
        text = text.partition("key=")[2].rpartition(", framelocals_idx=")[0]
    # Older releases print a string without quotes; then use the source.
    tail = child.source[len(parent.source) + 1 : -1]
    if _PLAIN_STRING.match(text) and (tail == text or child.source.endswith(f".{text[1:-1]}")):
        return name(text[1:-1])
    shown = literal(tail, names, lambda value: text in (str(value), repr(value)))
    shown = literal(text, names, lambda _: True) if shown is None else shown
    if shown is None:
        return name(text) if text.isidentifier() else None
    try:
        value = ast.literal_eval(shown)
    except ValueError:  # one of torch's names
        return shown
    return name(value) if isinstance(value, str) else shown


def _sequence_item(cls: type) -> Callable[..., str]:
    def make(parent: Manager, child: Manager, above: str, *_: Any) -> str:
        if _is_exactly(parent, cls):
            return f"{above}[{child.key}]"
        return f"{cls.__name__}.__getitem__({above}, {child.key})"

    return make


def _item(
    parent: Manager, child: Manager, above: str, names: Mapping[str, Any], name: Name
) -> str | None:
    # Printed without quotes; the source shows whether it is a string.
    if child.source.endswith(f"[{child.key!r}]"):
        return f"{above}[{name(child.key)}]"
    key = literal(child.key, names, lambda _: True)
    return None if key is None else f"{above}[{key}]"


def _attribute(_: Manager, child: Manager, above: str, *__: Any) -> str:
    if child.key.isidentifier() and not keyword.iskeyword(child.key):
        return f"{above}.{child.key}"
    return f"getattr({above}, {child.key!r})"


def _weakly_global(
    parent: Manager, child: Manager, above: str, names: Mapping[str, Any], name: Name
) -> str:
    return f"{above}[{name(child.key)}]()"


def _simple(form: str) -> Callable[..., str]:
    def make(_: Manager, child: Manager, above: str, *__: Any) -> str:
        return form.format(above=above, key=child.key)

    return make


_BY_ACCESSOR: Mapping[str, Callable[..., str | None]] = {
    "FrameLocalsGuardAccessor": _dict_item,
    "DictGetItemGuardAccessor": _dict_item,
    "GlobalsGuardAccessor": _simple("G"),
    "GetGenericDictGuardAccessor": _simple("instance_dict({above})"),
    "ListGetItemGuardAccessor": _sequence_item(list),
    "TupleGetItemGuardAccessor": _sequence_item(tuple),
    "SetGetItemGuardAccessor": lambda parent, child, above, *_: (
        f"list({above})[{child.key.rpartition('=')[2]}]"
    ),
    "GetItemGuardAccessor": _item,
    "GetAttrGuardAccessor": _attribute,
    "GenericGetAttrGuardAccessor": _simple("object.__getattribute__({above}, {key!r})"),
    "CodeGuardAccessor": _simple("{above}.__code__"),
    "ClosureGuardAccessor": _simple("given({above}.__closure__)"),
    "FuncDefaultsGuardAccessor": _simple("given({above}.__defaults__)"),
    "FuncKwDefaultsGuardAccessor": _simple("given({above}.__kwdefaults__)"),
    "TypeGuardAccessor": _simple("type({above})"),
    "TypeDictGuardAccessor": _simple("vars({above})"),
    "TypeMROGuardAccessor": _simple("{above}.__mro__"),
    "GradGuardAccessor": _simple("{above}.grad"),
    "GlobalWeakRefGuardAccessor": _weakly_global,
    "WeakRefCallGuardAccessor": _simple("{above}()"),
    "CallFunctionNoArgsGuardAccessor": _simple("{above}()"),
    "TupleIteratorGetItemAccessor": _simple("tuple_iterator_item({above}, {key})"),
    "TensorPropertyGuardAccessor:SIZE": _simple("{above}.size({key})"),
    "TensorPropertyGuardAccessor:STRIDE": _simple("{above}.stride({key})"),
    "TensorPropertyGuardAccessor:STORAGE_OFFSET": _simple("{above}.storage_offset()"),
    # The numbered values of a shape guard; torch misspells the name when it prints it.
    "IndexedGuardAccesor": _simple("{above}"),
    "IndexedGuardAccessor": _simple("{above}"),
    "key": _simple("list(dict.keys({above}))[{key}]"),
    "value": _simple("list(dict.values({above}))[{key}]"),
}


def _from_source(
    parent: Manager, child: Manager, above: str, names: Mapping[str, Any]
) -> str | None:
    """Return the child's source with the parent's expression substituted.

    Used for accessors that call arbitrary functions, and for those newer than this table.
    """
    text = child.source
    if parent.access:
        if parent.source not in text:
            return None
        text = text.replace(parent.source, above)
    tree = parse(text)
    if tree is None:
        return None
    return text if names_in(tree) <= {above, "L", "G", *names, *_PLAIN} else None


_PLAIN = frozenset(
    ["__import__", "int", "float", "bool", "str", "len", "type", "list", "dict", "tuple", "object"]
)
