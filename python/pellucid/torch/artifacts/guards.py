# SPDX-License-Identifier: Apache-2.0
"""The guards of a saved function, as a tree that :mod:`..guards.translate` turns into Python.

torch saves its guards with what they were made from: sources, texts, the sizes of tensors, the
values in scope.  It builds its tree again when it loads them, and so does this module, in torch's
order.  The ids of objects belong to the process that saved them, so a file has their classes only.
"""

from __future__ import annotations

import functools
import math
import re
from typing import Any, Callable, Iterator, Mapping, Sequence

from pellucid.dump.model.events import CacheEntry, CompileKey
from pellucid.pickle_tree import Node, Tree

from ..guards.translate import translate_tree
from ..taps.guard_tree import Leaf, Manager
from .sources import DEEPEST, Managers, Scope, source_of

MOST = 500_000
"""The number of guards that are kept per entry."""


_CLASS = re.compile(r", type=<class '(\w+)'>\Z")
_BUILTIN = {cls.__name__: cls for cls in (dict, list, tuple, set, frozenset)}


class _Anything:
    """A placeholder for torch, to parse values whose text uses its names."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self


# The names that torch's guard text may use (torch._dynamo.guards, SYMPY_INTERP).
_FUNCTIONS = """
    ___as_tensor ___check_obj_id ___check_type_id ___dataclass_fields ___dict_contains
    ___from_numpy ___get_current_stream ___get_torch_function_mode_stack_at ___key_to_id
    ___list_reverseiterator_backing_list ___list_reverseiterator_len ___namedtuple_fields
    ___normalize_count_iter ___normalize_range_iter ___odict_getitem ___set_getitem
    ___tuple_iterator_getitem ___tuple_iterator_len ___unwrap_async_collective_tensor
    __load_module __math_isnan __numpy_isnan inspect math utils_device
    IsNonOverlappingAndDenseIndicator cast_symbool_to_symint_guardless
"""
_NAMES: dict[str, Any] = dict.fromkeys(_FUNCTIONS.split())
_NAMES.update(torch=_Anything(), device=_Anything(), inf=math.inf)


def entry_of(key: CompileKey, data: bytes) -> CacheEntry:
    """Return the guards of one version from the pickle of its state.

    Raises:
        DecompileError: it is not a pickle.
    """
    state = Tree(data).root
    graph = state.get("output_graph")
    if graph is None:
        return CacheEntry(key, ())
    builder = _Builder(graph)
    for guard in _sorted_guards(graph):
        builder.add(guard)
    builder.add_shapes(state.get("shape_code_parts"))
    made = translate_tree(builder.managers.top, builder.last, key.slug, _NAMES)
    return CacheEntry(key, made.guards, made.body, None, made.forms)


def _sorted_guards(graph: Node) -> list[Node]:
    """Return the guards in the order in which torch saved them, which is the order of its tree."""
    guards = graph.get("_guards")
    inner = None if guards is None else guards.get("inner")
    return [] if inner is None else list(inner.elements[:MOST])


class _Builder:
    """Builds the tree of managers, and the guards that are checked last."""

    def __init__(self, graph: Node) -> None:
        self._graph = graph
        self.managers = Managers()
        self.last: list[Leaf] = []
        self._scope = Scope(graph.get("local_scope"), graph.get("global_scope"))
        self._said: set[tuple[str, tuple[str, ...]]] = set()
        self._tensors: list[tuple[str, Manager]] = []
        sizes = graph.get("input_source_to_sizes_strides")
        self._sizes = {} if sizes is None else {source_of(k).text: v for k, v in sizes.pairs}

    def add(self, guard: Node) -> None:
        """Add the leaves of one of torch's guards."""
        made = guard.get("create_fn")
        source = guard.get("originating_source")
        if made is None or source is None:
            return
        # A function, or a partial of one with its keywords.
        partial = made.cls.endswith("partial") and made.args
        name = (made.args[0] if partial else made).path.rpartition(".")[2]
        handle = _BY_FUNCTION.get(name, _Builder._told)
        handle(self, guard, source, _keywords(made) if partial else {})

    # -- leaves --

    def _leaf(
        self, manager: Manager, kind: str, parts: Sequence[str], guard: Node, handle: Any = None
    ) -> None:
        said = (kind, tuple(parts))
        if said in self._said:
            return  # torch adds no part twice
        self._said.add(said)
        line = _line_of(guard)
        told = tuple(f"{part}  # {line}" if line else part for part in parts)
        manager.leaves.append(Leaf(kind, told, handle or _holds))

    def _told(self, guard: Node, source: Node, _: Mapping[str, Node]) -> None:
        """Add what the guard's own texts say: one kind and one text for each leaf."""
        kinds, texts = _once(guard.get("guard_types")), _once(guard.get("code_list"))
        manager, previous = self.managers.of(source), ""
        for kind, text in zip(kinds, texts):
            leaf = _LEAVES.get(kind, "LAMBDA_GUARD")
            if kind == "EQUALS_MATCH" and "isnan(" in text:
                leaf = "COMPLEX_IS_NAN" if "is complex" in text else "FLOAT_IS_NAN"
            elif kind == "BOOL_MATCH":
                leaf = "TRUE_MATCH" if text.endswith("== True") else "FALSE_MATCH"
            elif kind == "SEQUENCE_LENGTH":
                # torch checks the class of everything but dicts first.
                leaf = "LENGTH_CHECK" if previous == "TYPE_MATCH" else "DICT_LENGTH"
            elif kind == "TYPE_MATCH":
                named = _CLASS.search(text)
                manager.type = None if named is None else _BUILTIN.get(named[1])
            elif kind == "DICT_KEYS_MATCH":
                self._keys(manager, guard, source, text)
                continue
            previous = kind
            self._leaf(manager, leaf, [text], guard)

    def _keys(self, manager: Manager, guard: Node, source: Node, text: str) -> None:
        """Add the keys of a dict; their order only matters if torch says so."""
        ordered = self._graph.get("guard_on_key_order")
        names = {source_of(each).text for each in (ordered.elements if ordered else ())}
        if manager.source not in names and text.startswith("list("):
            text = text.replace("list(", "set(", 1).replace(" == ", " == set(", 1) + ")"
        self._leaf(manager, "LAMBDA_GUARD", [text], guard)

    def _contains(self, guard: Node, source: Node, keywords: Mapping[str, Node]) -> None:
        key = keywords["key"].plain() if "key" in keywords else None
        for text in _once(guard.get("code_list")):
            absent = text.startswith("not ")
            kind = "SET_CONTAINS" if text[4 * absent :].startswith("set.") else "DICT_CONTAINS"
            holds = functools.partial(_contains, key, absent)
            self._leaf(self.managers.of(source), kind, [text], guard, holds)

    def _attribute(self, guard: Node, source: Node, keywords: Mapping[str, Node]) -> None:
        name = str(keywords["attr"].value) if "attr" in keywords else ""
        manager = self.managers.of(source)
        for text in _once(guard.get("code_list")):
            if text.startswith("not "):
                self._leaf(manager, "NO_HASATTR", [text], guard)
            else:  # reading it is the check
                self.managers.below(
                    manager, f"{manager.source}.{name}", "GetAttrGuardAccessor", name
                )

    def _not_in_dict(self, guard: Node, source: Node, keywords: Mapping[str, Node]) -> None:
        name = str(keywords["attr"].value) if "attr" in keywords else ""
        manager = self.managers.of(source)
        own = f"{manager.source}.__dict__"
        inside = self.managers.below(manager, own, "GetGenericDictGuardAccessor", "")
        text = f"not ___dict_contains({name!r}, {own})"
        self._leaf(inside, "DICT_CONTAINS", [text], guard, lambda held: name not in held)

    def _tensor(self, guard: Node, source: Node, keywords: Mapping[str, Node]) -> None:
        manager = self.managers.of(source)
        tensor = keywords.get("value") or self._scope.value(source)
        told = None if tensor is None else _check_of(manager.source, tensor, self._sizes)
        if told is None or "ID_MATCH" in _once(guard.get("guard_types")):
            self._told(guard, source, {})
            return
        self._leaf(manager, "TENSOR_MATCH", [told], guard)
        if not _is_of_builtin_module(source):
            self._tensors.append((manager.source, manager))
        marks = _once(guard.get("code_list"))
        if marks:
            self._leaf(manager, "DIMENSION_DYNAMIC_MARKING_GUARD", marks, guard)

    def _same(self, guard: Node, source: Node, keywords: Mapping[str, Node]) -> None:
        other = keywords.get("source_b")
        if other is None:
            return
        ours, theirs = self.managers.of(source), self.managers.of(other)
        line = _line_of(guard)
        for text in _once(guard.get("code_list")):
            leaf = Leaf("OBJECT_ALIASING", (f"{text}  # {line}" if line else text,), object())
            ours.leaves.append(leaf)
            theirs.leaves.append(leaf)

    def _state(self, guard: Node, source: Node, _: Mapping[str, Node]) -> None:
        state = self._graph.get("global_state_guard")
        changes = () if state is None else (item for item in state.items if item.kind == "state")
        told = next((item.value for change in changes for item in change.items), "")
        text = f"___check_global_state() against {told}"
        self._leaf(self.managers.top, "GLOBAL_STATE", [text], guard)

    def _modes(self, guard: Node, source: Node, _: Mapping[str, Node]) -> None:
        modes = self._graph.get("torch_function_mode_stack")
        is_empty = modes is None or not modes.elements
        kind = "TORCH_FUNCTION_MODE_STACK" if is_empty else "TORCH_FUNCTION_STATE"
        text = "___check_torch_function_mode_stack()"
        self._leaf(self.managers.top, kind, [text], guard)

    def _none(self, guard: Node, source: Node, _: Mapping[str, Node]) -> None:
        """Add nothing: the state of the process, or the shapes, have it."""

    def _root(self, guard: Node, source: Node, _: Mapping[str, Node]) -> None:
        for kind, text in zip(_once(guard.get("guard_types")), _once(guard.get("code_list"))):
            self._leaf(self.managers.top, _LEAVES.get(kind, "LAMBDA_GUARD"), [text], guard)

    # -- what comes after all guards --

    def add_shapes(self, shapes: Node | None) -> None:
        """Add the relations of sizes, and that no two tensors are one."""
        if len(self._tensors) > 1:
            names = ", ".join(name for name, _ in self._tensors)
            leaf = Leaf("NO_TENSOR_ALIASING", (f"check_no_aliasing({names})",), object())
            for _, manager in self._tensors:
                manager.leaves.append(leaf)
        told = None if shapes is None else shapes.get("verbose_code_parts")
        parts = tuple(_expressions(told))
        if shapes is None or not parts:
            return
        fallback, sources = shapes.get("python_fallback"), shapes.get("shape_env_sources")
        if (fallback is not None and fallback.value) or sources is None:
            self.last.append(Leaf("LAMBDA_GUARD", parts, _holds))
            return
        leaf = Leaf("SYMBOLIC_SHAPE_GUARD", parts, object())
        for source in sources.elements:
            manager = self.managers.of(source)
            value = self._scope.value(source)
            if value is not None and value.kind == "float":
                manager.type = float
            number = len(manager.children)
            indexed = self.managers.below(
                manager, f"({number}, {manager.source})", "IndexedGuardAccessor", ""
            )
            indexed.leaves.append(leaf)


Handler = Callable[[_Builder, Node, Node, Mapping[str, Node]], None]

_BY_FUNCTION: Mapping[str, Handler] = {
    "TENSOR_MATCH": _Builder._tensor,
    "DUPLICATE_INPUT": _Builder._same,
    "HASATTR": _Builder._attribute,
    "NOT_PRESENT_IN_GENERIC_DICT": _Builder._not_in_dict,
    "DICT_CONTAINS": _Builder._contains,
    "DICT_NOT_CONTAINS": _Builder._contains,
    "SET_CONTAINS": _Builder._contains,
    "SET_NOT_CONTAINS": _Builder._contains,
    "GLOBAL_STATE": _Builder._state,
    "TORCH_FUNCTION_STATE": _Builder._modes,
    "DEFAULT_DEVICE": _Builder._root,
    "DUAL_LEVEL": _Builder._root,
    "FUNCTORCH_STACK_MATCH": _Builder._root,
    "AUTOGRAD_SAVED_TENSORS_HOOKS": _Builder._root,
    "GRAD_MODE": _Builder._none,
    "DETERMINISTIC_ALGORITHMS": _Builder._none,
    "FSDP_TRAINING_STATE": _Builder._none,
    "SHAPE_ENV": _Builder._none,
}
# torch's leaf for each of its functions; others are Python expressions.
_LEAVES: Mapping[str, str] = {
    "TYPE_MATCH": "TYPE_MATCH",
    "ID_MATCH": "ID_MATCH",
    "EQUALS_MATCH": "EQUALS_MATCH",
    "NONE_MATCH": "NONE_MATCH",
    "NOT_NONE_MATCH": "NOT_NONE",
    "WEAKREF_ALIVE": "NOT_NONE",
    "TUPLE_ITERATOR_LEN": "TUPLE_ITERATOR_LEN",
    "RANGE_ITERATOR_MATCH": "RANGE_ITERATOR_MATCH",
    "MAPPING_KEYS_CHECK": "MAPPING_KEYS_MATCH",
    "DEFAULT_DEVICE": "DEFAULT_DEVICE",
    "DUAL_LEVEL": "DUAL_LEVEL_MATCH",
}


def _contains(key: object, absent: bool, held: Any) -> bool:
    return (key in held) is not absent


def _holds(_: object) -> bool:
    """Accept every value that a guard's text may contain: torch's own guard is not there to ask."""
    return True


def _keywords(partial: Node) -> Mapping[str, Node]:
    """Return the keywords of a functools.partial, whose state is (function, args, keywords, …)."""
    for change in partial.items:
        if change.kind == "state" and change.items and len(change.items[0].items) > 2:
            return change.items[0].items[2].fields
    return {}


def _once(texts: Node | None) -> list[str]:
    """Return the texts of a list, which torch fills again each time it builds the guards."""
    found = [] if texts is None else [str(each.value) for each in texts.elements]
    for times in range(len(found), 1, -1):
        length, rest = divmod(len(found), times)
        if not rest and found == found[:length] * times:
            return found[:length]
    return found


def _expressions(helper: Node | None) -> Iterator[str]:
    """Yield the texts of torch's helper for shape guards: a tuple's or a dataclass's list."""
    if helper is not None:
        first = next((node for node in helper.below() if node.kind == "list"), None)
        exprs = helper.get("exprs") or first
        while exprs is not None and exprs.items and exprs.items[0].kind == "list":
            exprs = exprs.items[0]
        for each in () if exprs is None else exprs.elements:
            if each.kind == "str":
                yield each.value


def _line_of(guard: Node) -> str:
    """Return the user's line that caused a guard, with its place, as torch writes it."""
    stack = guard.get("user_stack")
    frames = () if stack is None else stack.elements
    if not frames:
        return ""
    last = frames[-1]
    line, name = last.get("lineno"), last.text("name")
    place = f"{last.text('filename')}:{line.value if line is not None else 0} in {name}"
    code = " ".join((last.text("_line") or last.text("_lines")).strip().partition("\n")[0].split())
    return f"{code}  # {place}" if code else place


def _check_of(name: str, tensor: Node, sizes: Mapping[str, Node]) -> str | None:
    """Return torch's text for the check of a tensor.

    None if it is not saved in the usual way: a subclass that wraps other tensors.
    """
    if not tensor.cls.endswith("._unpickle_tensor") or len(tensor.args) < 4:
        return None
    meta, device, cls, keys = tensor.args[:4]
    if len(meta.args) < 4:
        return None
    dtype, shape, strides, grad = meta.args[:4]
    known = sizes.get(name)
    if known is not None:
        shape, strides = known.get("size") or shape, known.get("stride") or strides
    place = [arg.value for arg in device.args]
    text = str(place[0]) if place else ""
    index = place[1] if len(place) > 1 else None
    if ":" in text:
        index = int(text.partition(":")[2]) if text.partition(":")[2].isdigit() else None
    kind = cls.path.rpartition(".")[2] or "Tensor"
    return (
        f"check_tensor({name}, {kind}, DispatchKeySet({keys.value}), {dtype.path}, "
        f"device={index}, requires_grad={grad.value}, size={_numbers(shape)}, "
        f"stride={_numbers(strides)})"
    )


def _is_of_builtin_module(source: Node) -> bool:
    """Return true if torch does not check that a tensor is none of the others."""
    if source.cls.endswith("NumpyTensorSource"):
        return True
    for _ in range(DEEPEST):
        base = source_of(source).base
        if base is None:
            return False
        if base.cls.endswith("UnspecializedBuiltinNNModuleSource"):
            return True
        source = base
    return False


def _numbers(sizes: Node) -> str:
    """Return sizes as torch prints them: None for a dynamic one."""
    return str([each.value if each.kind == "int" else None for each in sizes.elements])
