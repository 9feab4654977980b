# SPDX-License-Identifier: Apache-2.0
"""Dynamo's sources in a pickle: how torch reaches a guarded value, as its text and as a tree."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from pellucid.pickle_tree import Node

from ..taps.guard_tree import Manager

DEEPEST = 400
# torch/_dynamo/source.py: {0}, {1}, … are the fields, the base first.  If a class
# is not in the table and has a base, the text is that of its base.
_TEXTS: Mapping[str, str] = {
    "LocalSource": "L[{0}]",
    "SyntheticLocalSource": "SYNTHETIC_LOCAL[{0}]",
    "GlobalSource": "G[{0}]",
    "GlobalWeakRefSource": "G[{0}]()",
    "ImportSource": "__import__({0})",
    "TorchFunctionModeStackSource": "___get_torch_function_mode_stack_at({0})",
    "WeakRefCallSource": "{0}()",
    "CallFunctionNoArgsSource": "{0}()",
    "GenericAttrSource": "object.__getattribute__({0}, {1})",
    "TypeDictSource": "dict({0}.__dict__)",
    "TypeMROSource": "{0}.__mro__",
    "CodeSource": "{0}.__code__",
    "ClosureSource": "{0}.__closure__",
    "GradSource": "{0}.grad",
    "IndexedSource": "({1}, {0})",
    "NegateSource": "{0}.__neg__()",
    "ConvertIntSource": "cast_symbool_to_symint_guardless({0})",
    "DynamicScalarSource": "int({0})",
    "FlattenScriptObjectSource": "{0}.__obj_flatten__()",
    "ScriptObjectQualifiedNameSource": "{0}._type().qualified_name()",
    "AttrProxySource": "{0}.get_base()",
    "GetItemSource": "{0}[{1}]",
    "DictGetItemSource": "{0}[{1}]",
    "DictSubclassGetItemSource": "{0}[{1}]",
    "ListGetItemSource": "list.__getitem__({0}, {1})",
    "ConstDictKeySource": "list(dict.keys({0}))[{1}]",
    "TupleIteratorGetItemSource": "___tuple_iterator_getitem({0}, {1})",
    "ListReverseIteratorBackingListSource": "___list_reverseiterator_backing_list({0})",
    "NamedTupleFieldsSource": "___namedtuple_fields({0})",
    "DataclassFieldsSource": "___dataclass_fields({0})",
    "TypeSource": "type({0})",
    "NumpyTensorSource": "___from_numpy({0})",
    "SubclassAttrListSource": "{0}.__tensor_flatten__()[0]",
    "UnwrapCollectiveTensorSource": "___unwrap_async_collective_tensor({0})",
    "FloatTensorSource": "___as_tensor({0})",
    "CallMethodItemSource": "{0}.item()",
    "CurrentStreamSource": "___get_current_stream({0})",
    "GlobalStateSource": "",
    "ShapeEnvSource": "",
    "BackwardStateSource": "",
}
_ATTRIBUTES = frozenset(
    ["AttrSource", "CellContentsSource", "ParamBufferSource", "UnspecializedParamBufferSource"]
)
# With their own accessors in `guards.access`; all others go by their text.
_ACCESSORS: Mapping[str, str] = {
    "LocalSource": "DictGetItemGuardAccessor",
    "GlobalSource": "DictGetItemGuardAccessor",
    "DictGetItemSource": "DictGetItemGuardAccessor",
    "DictSubclassGetItemSource": "DictGetItemGuardAccessor",
    "ClosureSource": "ClosureGuardAccessor",
    "CodeSource": "CodeGuardAccessor",
    "TupleIteratorGetItemSource": "TupleIteratorGetItemAccessor",
    "GradSource": "GradGuardAccessor",
    "IndexedSource": "IndexedGuardAccessor",
}
_BY_TEXT = "text"
_DICT_ITEMS = ("DictGetItemSource", "DictSubclassGetItemSource")
_PROPERTIES = ("size()[{0}]", "stride()[{0}]", "storage_offset()")


class Source(NamedTuple):
    """One source."""

    text: str
    """As torch writes it: ``L['x'].size()[0]``; empty for the state of the process."""
    base: Node | None
    """The source of the object that it is a part of."""
    access: str
    """The name of an accessor, as :mod:`..guards.access` knows it."""
    key: str
    """Its argument."""


def source_of(node: Node, depth: int = 0) -> Source:
    """Read a source; it is read once, however often it is used."""
    return node.tree.once("source", node.number, lambda: _read(node, depth))


def _read(node: Node, depth: int) -> Source:
    name = node.cls.rpartition(".")[2]
    args = node.args
    if depth > DEEPEST or not name.endswith("Source"):
        return Source("…", None, _BY_TEXT, "")
    base = args[0] if args and args[0].cls.endswith("Source") else None
    shown = [_shown(arg, depth) for arg in args]
    key = shown[1 if base is not None else 0] if len(shown) > (base is not None) else ""
    access = _ACCESSORS.get(name, _BY_TEXT)
    if name in _ATTRIBUTES and len(args) > 1:
        key = str(args[1].value)
        is_name = key.isidentifier()
        text = f"{shown[0]}.{key}" if is_name else f"getattr({shown[0]}, {key!r})"
        return Source(text, base, "GetAttrGuardAccessor", key)
    if name == "DefaultsSource" and len(args) > 2:
        field = "__kwdefaults__" if args[2].value else "__defaults__"
        return Source(f"{shown[0]}.{field}[{shown[1]}]", base, access, key)
    if name == "TensorPropertySource" and len(args) > 1:
        which = args[1].args[0].value if args[1].args else None
        form = _PROPERTIES[which] if which in (0, 1, 2) else "…"
        index = shown[2] if len(shown) > 2 else ""
        return Source(f"{shown[0]}.{form.format(index)}", base, access, index)
    if name == "ContextVarGetSource":
        has_default = len(args) > 2 and args[1].value is True
        return Source(f"{shown[0]}.get({shown[2] if has_default else ''})", base, access, key)
    if name == "GetItemSource" and len(args) > 2 and args[2].value is True:
        parts = args[1].items  # the class slice, and its arguments
        key = f"slice{parts[1].plain()!r}" if len(parts) > 1 else "…"
        return Source(f"{shown[0]}[{key}]", base, access, key)
    form = _TEXTS.get(name, "{0}" if base is not None else "…")
    if name in _DICT_ITEMS and len(args) > 1 and args[1].cls.endswith("Source"):
        access = _BY_TEXT  # the key is one of the dict's own, by its number
        form = "dict.__getitem__({0}, {1})" if "Subclass" in name else form
    return Source(form.format(*shown, *[""] * 3), base, access, key)


def _shown(node: Node, depth: int) -> str:
    """Return a field in the text of a source."""
    return source_of(node, depth + 1).text if node.cls.endswith("Source") else repr(node.plain())


class Managers:
    """The tree of guarded values, which grows with each source."""

    def __init__(self) -> None:
        self.top = Manager("L", "", "", None)
        self._by_text: dict[str, Manager] = {"": self.top}

    def of(self, node: Node) -> Manager:
        """Return the manager of a source's value."""
        path = [node]
        while len(path) < DEEPEST and source_of(path[-1]).text not in self._by_text:
            base = source_of(path[-1]).base
            if base is None:
                break
            path.append(base)
        above = self.top
        for source in map(source_of, reversed(path)):
            known = self._by_text.get(source.text)
            if known is None:
                above = (
                    self._globals() if source.text.startswith("G[") and above is self.top else above
                )
                known = self.below(above, source.text, source.access, source.key)
            above = known
        return above

    def below(self, above: Manager, text: str, access: str, key: str) -> Manager:
        """Return the manager of a part of a value."""
        if text not in self._by_text:
            self._by_text[text] = Manager(text, access, key, None)
            above.children.append(self._by_text[text])
        return self._by_text[text]

    def _globals(self) -> Manager:
        return self.below(self.top, "G", "GlobalsGuardAccessor", "")


class Scope:
    """The values of locals and globals that are saved with guards."""

    def __init__(self, local: Node | None, global_: Node | None) -> None:
        self._roots = {"LocalSource": local, "GlobalSource": global_}

    def value(self, node: Node, depth: int = 0) -> Node | None:
        """Return the value of a source; None if it is not saved, or reached in an unusual way."""
        name, args = node.cls.rpartition(".")[2], node.args
        if depth > DEEPEST:
            return None
        if name in self._roots:
            root = self._roots[name]
            return None if root is None or not args else root.get(str(args[0].value))
        base = source_of(node).base
        if base is None:
            return None
        above = self.value(base, depth + 1)
        if above is None or name not in (*_ATTRIBUTES, *_ITEMS):
            return above if _TEXTS.get(name) is None and name not in _ATTRIBUTES else None
        key = args[1] if len(args) > 1 else None
        if key is None:
            return None
        if key.kind == "str":
            found = above.get(key.value)
            tables = (above.get(table) for table in _TABLES)
            inside = (table.get(key.value) for table in tables if table is not None)
            return found or next(filter(None, inside), None)
        if key.kind == "int":
            elements = above.elements
            if elements:
                return elements[key.value] if -len(elements) <= key.value < len(elements) else None
            return next(
                (v for k, v in above.pairs if k.kind == "int" and k.value == key.value), None
            )
        return None


_ITEMS = ("GetItemSource", "DictGetItemSource", "ListGetItemSource", "DictSubclassGetItemSource")
_TABLES = ("_parameters", "_buffers", "_modules")
