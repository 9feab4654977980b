# SPDX-License-Identifier: Apache-2.0
"""A cache entry's tree of guards as the body of a Python generator, one line per guard.

The body follows torch's traversal of the tree: each value is fetched once and gets a name, then its
guards are yielded in torch's order, then come the values reached from it.  The result is the text
of the lines, and torch's guard for each ``yield``.

    x = L['x']
    # y = x + 1  # a.py:3 in f
    yield TENSOR_MATCH(x, 'torch.Tensor', kept_0_0[0], dtype='torch.float32', …)
"""

from __future__ import annotations

import builtins
import functools
import keyword
import re
import weakref
from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Callable, Container, Mapping

from pellucid.dump.model.events import Guard
from pellucid.dump.model.names import as_comment, identifier, scrub, without_ids

from ..taps.guard_objects import DictKeys, Kept
from ..taps.guard_tree import Leaf, Manager, read_tree
from ..taps.guard_ways import Ways, way_to
from . import access as guard_access
from . import checks as guard_checks
from . import kinds as guard_kinds
from .kinds import Context, split

# The last name of a source, and the number or numbered key after it: `_modules['0']`.  The search
# starts at the end: sources are long, and there is one per value.
_LAST_NAME = re.compile(r".*(?<!\w)([^\W\d]\w*)\W*(?:\['?(\d+)'?\])?\W*\Z", re.DOTALL)
_MODULE = re.compile(r"__import_(\w+)\Z")
_NUMBER = re.compile(r"\[(?:0|[1-9][0-9]*)\]")
_AFTER_A_NAME = frozenset(["", ",", ")", ".", "["])
_ADDRESS = re.compile(r"[0-9][0-9]{8,}")  # a search for a first digit is fast
_KEY_WITH_ADDRESS = re.compile(r"(?<=\[)'(\w*[0-9]{9}\w*)'(?=\])")
_OVERLAPS = re.compile(r"overlapping=\[(.*)\], non_overlapping=\[(.*)\]\)", re.DOTALL)
_TAKEN = frozenset([*dir(builtins), *keyword.kwlist, *dir(guard_checks), "torch", "L", "G"])


@dataclass(frozen=True)
class Translation:
    """A cache entry's guards: as lines of a generator's body, and individually."""

    body: tuple[str, ...]
    guards: tuple[Guard, ...]
    """One for each ``yield`` that may fail, in order."""
    kept: Kept
    forms: tuple[str, ...] = ()
    """Each distinct form of a line: lines that differ only in value names or numbers share one."""


def translate(
    guard_manager: Any,
    slug: str,
    names: Mapping[str, Any],
    type_name: Callable[[int], str] = lambda _: "object",
    ways: Ways = MappingProxyType({}),
    files: Container[str] = (),
) -> Translation:
    """Translate a cache entry's guard manager to Python.

    ``names`` are the names in torch's guard text; ``type_name`` returns the name of a class by its
    id, for a torch that does not record it.  ``ways`` records how torch reached the guards, and
    ``files`` are the candidates for user lines.
    """
    writer = _Writer(guard_manager, slug, names, type_name)
    writer.ways, writer.files = ways, files
    top, epilogue = read_tree(getattr(guard_manager, "root", guard_manager))
    writer.tree(top)
    writer.epilogue(epilogue)
    kept = Kept(guard_manager, writer.keeps, writer.shown)
    return Translation(tuple(writer.body), tuple(writer.guards), kept, tuple(writer.forms))


def translate_tree(
    top: Manager, last: list[Leaf], slug: str, names: Mapping[str, Any]
) -> Translation:
    """Translate a tree that was read from a file, and its guards that torch checks last.

    Nothing of the process that wrote it is kept.
    """
    writer = _Writer(top, slug, names, lambda _: "object")
    writer.is_here = False
    writer.tree(top)
    writer.epilogue(last)
    kept = Kept(None, (), writer.shown)
    return Translation(tuple(writer.body), tuple(writer.guards), kept, tuple(writer.forms))


class _Writer:
    def __init__(
        self, owner: Any, slug: str, names: Mapping[str, Any], type_name: Callable[[int], str]
    ) -> None:
        self._owner = weakref.ref(owner)
        self.ways: Ways = {}
        self.files: Container[str] = ()
        self.is_here = True
        self.body: list[str] = []
        self.forms: dict[str, None] = {}
        self.guards: list[Guard] = []
        self.keeps: list[Any] = []
        self.shown: dict[str, str] = {}
        self._named: dict[str, str] = {}
        self._kept = f"kept_{slug}"
        self._names = names
        self._context = Context(names, self._keep, type_name)
        self._variables: Counter[str] = Counter()
        self._user_line = ""
        self._relations: dict[Any, list[str]] = {}
        self._remaining: Counter[tuple[str, ...]] = Counter()

    # -- the walk --

    def tree(self, top: Manager) -> None:
        """Write the tree: first the guards on the process, then those on values."""
        self._count(top)
        self._leaves(top, None, "L")
        self.body.append("yield VALUES  # from here on torch calls no torch function or mode")
        self.forms["yield VALUES"] = None
        pending: list[tuple[tuple[Manager, ...], str]] = [
            ((top, child), "L") for child in reversed(top.children)
        ]
        while pending:
            path, above = pending.pop()
            parent, child = path[-2:]
            value = self._value(parent, child, above)
            if value is None:
                continue
            if child.ordered_keys >= 0:
                self._ordered(path, value)
            self._leaves(child, parent, value)
            pending.extend(((*path, below), value) for below in reversed(child.children))

    def epilogue(self, leaves: list[Leaf]) -> None:
        """Write the guards that torch checks last: expressions over all values."""
        for leaf in leaves:
            self._expressions(leaf, "", leaf.kind)

    def _count(self, top: Manager) -> None:
        pending = [top]
        while pending:
            manager = pending.pop()
            for leaf in manager.leaves:
                if leaf.kind in _DECIDED_AT_THE_LAST:
                    self._remaining[leaf.parts] += 1
            pending.extend(manager.children)

    def _value(self, parent: Manager, child: Manager, above: str) -> str | None:
        text = guard_access.access(parent, child, above, self._names, self._name)
        if child.access in ("key", "value"):
            text = f"{above}_items[{child.key}][{'01'[child.access == 'value']}]"
        if text is None:
            what = f"{child.source} by {child.access}, and what is below it"
            self.body.append(as_comment(f"not decided: {scrub(' '.join(what.split()))}"))
            return None
        if text == "G":
            return text
        variable = self._variable(child)
        source = " ".join(scrub(child.source).split())
        # Omit the comment if it only repeats the line.
        comment = "" if text == source else f"  # {source}"
        comment = comment if source.isprintable() else f"  {as_comment(source)}"
        self.body.append(f"{variable} = {text}{comment}")
        self._form("_ = ", text, above)
        return variable

    def _ordered(self, path: tuple[Manager, ...], value: str) -> None:
        manager = path[-1]
        cls = None if manager.type is None else guard_kinds.class_name(manager.type)
        asked = self._keep(DictKeys(self._owner, [manager.source for manager in path]))
        kept = f", {self._keep(id(manager.type))}" if manager.type not in (None, dict) else ""
        told = (f"len({manager.source}) >= {manager.ordered_keys}",)
        call = f"DICT_KEYS({value}, {cls!r}, {manager.ordered_keys}, L, {asked}{kept})"
        self._yield(call, value, "DICT_KEYS", manager.source, told)
        if manager.ordered_keys:
            self.body.append(f"{value}_items = list(dict.items({value}))")

    # -- leaves --

    def _leaves(self, manager: Manager, parent: Manager | None, value: str) -> None:
        for leaf in manager.leaves:
            relation = _RELATIONS.get(leaf.kind)
            if relation is not None:
                relation(self, leaf, manager, parent, value)
                continue
            made = guard_kinds.translate(leaf, manager, value, self._context)
            self._tell(leaf.parts[0] if leaf.parts else "")
            source = manager.source if manager.access else ""
            self._yield(made.call, value, leaf.kind, source, leaf.parts, made.by_value)

    def _expressions(self, leaf: Leaf, source: str, kind: str) -> None:
        told = [guard_kinds.reworded(split(part)[0], "", "", self._names) for part in leaf.parts]
        if None in told or not told:
            call = guard_kinds.asked(leaf, "L", self._keep(leaf.handle))
            self._yield(call, "L", kind, source, leaf.parts, by_value=False)
            return
        for text, part in zip(told, leaf.parts):
            self._tell(part)
            self._yield(f"SHAPE_GUARD({text})", "", kind, source, (part,))

    def _aliasing(self, leaf: Leaf, manager: Manager, _: object, value: str) -> None:
        seen = self._relations.setdefault(leaf.handle, [])
        if seen:
            self._tell(leaf.parts[0])
            call = f"OBJECT_ALIASING({value}, {seen[0]})"
            self._yield(call, value, leaf.kind, manager.source, leaf.parts)
        seen.append(value)

    def _no_aliasing(self, leaf: Leaf, manager: Manager, _: object, value: str) -> None:
        seen = self._relations.setdefault(leaf.handle, [])
        if not seen:
            seen.append(self._unique("tensors"))
            self.body.append(f"{seen[0]} = []")
            parts = leaf.parts
        else:  # the text names every tensor; the first guard has it
            parts = (f"check_no_aliasing(…, {manager.source}, …)",)
        call = f"NO_TENSOR_ALIASING({value}, {seen[0]})"
        self._yield(call, value, leaf.kind, manager.source, parts)

    def _overlapping(self, leaf: Leaf, manager: Manager, _: object, value: str) -> None:
        found = _OVERLAPS.search(leaf.parts[0])
        lists = self._relations.setdefault(leaf.parts, [[], []])  # type: ignore[list-item]
        apart = found is not None and manager.source in found[2].split(", ")
        lists[apart].append(value)  # type: ignore[attr-defined]
        self._remaining[leaf.parts] -= 1
        if not self._remaining[leaf.parts]:
            together, others = (f"[{', '.join(part)}]" for part in lists)
            call = f"STORAGE_OVERLAPPING({together}, {others})"
            self._yield(call, value, leaf.kind, manager.source, leaf.parts)

    def _shape(self, leaf: Leaf, manager: Manager, parent: Manager | None, value: str) -> None:
        cls = "float" if parent is not None and parent.type is float else "int"
        self._yield(f"{leaf.kind}({value}, {cls})", value, leaf.kind, manager.source, leaf.parts)
        self._remaining[leaf.parts] -= 1
        if not self._remaining[leaf.parts]:
            self._expressions(leaf, manager.source, leaf.kind)

    # -- lines --

    def _yield(
        self,
        call: str,
        value: str,
        kind: str,
        source: str,
        parts: tuple[str, ...],
        by_value: bool = True,
    ) -> None:
        if _ADDRESS.search(call):
            call = _KEY_WITH_ADDRESS.sub(lambda found: self._name(found[1]), call)
        self.body.append(f"yield {call}")
        self._form("yield ", call, value)
        told = " and ".join(split(part)[0] for part in parts)
        line = _no_hint(split(parts[0])[1]) if parts else ""
        expression = call if by_value else None
        way = way_to(self.ways, source, line, self.files)
        self.guards.append(Guard(kind, scrub(told), line, expression, _scrubbed(source), way=way))

    def _form(self, start: str, text: str, value: str) -> None:
        """Record the form of a line; ``value`` is the name of the value in it."""
        if value not in ("", "G"):
            before, _, after = text.partition(value)
            if before[-1:] in ("", "(") and after[:1] in _AFTER_A_NAME:
                text = f"{before}_{after}"
        self.forms[start + _NUMBER.sub("[1]", text)] = None

    def _tell(self, part: str) -> None:
        line = _no_hint(split(part)[1])
        if line and line != self._user_line:
            self._user_line = line
            self.body.append(as_comment(line.replace("\n", " ")))

    def _keep(self, item: Any) -> str:
        if not self.is_here:
            return ""
        self.keeps.append(item)
        return f"{self._kept}[{len(self.keeps) - 1}]"

    def _name(self, text: str) -> str:
        if not _ADDRESS.search(text) and scrub(text) == text:
            return repr(text)
        known = self._named.get(text)
        if known is None:
            shown = _ADDRESS.sub("…", scrub(without_ids(text)))
            while shown in self.shown:
                shown += "_"
            self.shown[shown] = text
            self.keeps.append(text)
            known = self._named[text] = f"{self._kept}.name({len(self.keeps) - 1}, {shown!r})"
        return known

    def _variable(self, manager: Manager) -> str:
        return self._unique("key" if manager.access == "key" else _last_name(manager.source[-80:]))

    def _unique(self, name: str) -> str:
        # A numbered name may already be another value's name.
        while True:
            number = self._variables.get(name, 0) + 1
            if number == 1 and self._is_taken(name):
                name = f"{name}_"
                continue
            self._variables[name] = number
            if number == 1:
                return name
            name = f"{name}_{number}"

    def _is_taken(self, name: str) -> bool:
        if name in _TAKEN or name in self._names or name.startswith("kept_"):
            return True
        # torch searches its modules' files for an unknown attribute, every time.
        theirs = vars(self._names["torch"]).get(name) if "torch" in self._names else None
        return type(theirs).__module__ == "torch"


# Each value has several guards, and each user line many.
_scrubbed = functools.lru_cache(maxsize=1024)(scrub)


@functools.lru_cache(maxsize=1024)
def _no_hint(line: str) -> str:
    return scrub(line.partition(" (HINT: ")[0].strip().lstrip("# "))


_DECIDED_AT_THE_LAST = frozenset(["STORAGE_OVERLAPPING", "SYMBOLIC_SHAPE_GUARD"])
"""The relations that are decided once the last of their values is available."""


@functools.lru_cache(maxsize=1024)
def _last_name(source: str) -> str:
    """Return a variable name for the value at the end of a source; a model's layers share it."""
    found = _LAST_NAME.match(_ADDRESS.sub("", source))
    name = "_".join(filter(None, found.groups())) if found else "value"
    module = _MODULE.match(name)
    name = module[1].replace("_dot_", "_") if module else name
    return identifier(name).lower() if name.isupper() else identifier(name)


_RELATIONS: Mapping[str, Callable[..., None]] = {
    "OBJECT_ALIASING": _Writer._aliasing,
    "NO_TENSOR_ALIASING": _Writer._no_aliasing,
    "STORAGE_OVERLAPPING": _Writer._overlapping,
    "SYMBOLIC_SHAPE_GUARD": _Writer._shape,
}
