# SPDX-License-Identifier: Apache-2.0
"""A pickle as a tree of values: what loading it would make, without loading it."""

import collections
import marshal
import os
import pickle
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from pellucid import DecompileError, _core
from pellucid.pickle_tree import MOST_VALUES, Tree


class Point:
    def __init__(self, x: Any) -> None:
        self.x = x


class Slotted:
    __slots__ = ("__dict__", "a")


class Runs:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


VALUES = [
    None,
    True,
    False,
    0,
    -1,
    255,
    1 << 70,
    -(1 << 90),
    1.5,
    float("-inf"),
    "",
    "é\udc80\U0001f600",
    b"\0\xff" * 300,
    (),
    [1, [2, (3,)]],
    {"a": 1, 2: [None]},
    {1, 2},
    frozenset("ab"),
]


def tree(value: Any, protocol: int = 4) -> Tree:
    return Tree(pickle.dumps(value, protocol))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_plain_values_are_those_that_were_pickled(protocol: int) -> None:
    # Below protocol 4 a set, and below 3 bytes, are calls.
    plain = [v for v in VALUES if protocol > 3 or not isinstance(v, (set, frozenset, bytes))]
    found = tree(plain, protocol).root.plain()
    assert found == plain
    assert list(map(type, found)) == list(map(type, plain))


def test_an_object_has_its_class_and_its_attributes() -> None:
    root = tree(Point({"deep": [Point(3)]})).root
    assert root.kind == "call" and root.cls == f"{__name__}.Point"
    deep = root.fields["x"].fields["deep"].elements[0]
    assert deep.cls.endswith(".Point") and deep.fields["x"].value == 3
    assert root.get("y") is None and root.text("x") == ""


def test_attributes_in_slots_are_found() -> None:
    made: Any = Slotted()
    made.a, made.b = 1, "two"
    root = tree(made).root
    assert root.fields["a"].value == 1 and root.text("b") == "two"


def test_containers_of_other_classes_have_their_elements() -> None:
    root = tree([collections.OrderedDict(a=1), collections.deque([2, 3])]).root
    ordered, queue = root.elements
    assert [(k.value, v.value) for k, v in ordered.pairs] == [("a", 1)]
    assert [each.value for each in queue.elements] == [2, 3]


def test_names_that_getattr_leads_to_are_paths() -> None:
    assert tree(Point.__init__).root.path == f"{__name__}.Point.__init__"


def test_shared_values_are_one_node() -> None:
    shared = [1]
    first, second = tree([shared, shared]).root.items
    assert first == second
    looped: Any = []
    looped.append(looped)
    root = tree(looped).root
    assert root.items == (root,)
    assert len(list(root.below())) == 1


def test_code_objects_are_marshalled() -> None:
    code = (lambda x: x + 1).__code__
    names = "argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names"
    names += " varnames filename name qualname firstlineno linetable exceptiontable freevars"
    fields = {
        f"co_{name}": getattr(code, f"co_{name}")
        for name in f"{names} cellvars lnotab".split()
        if hasattr(code, f"co_{name}") and name != "lnotab"
    }
    if sys.version_info < (3, 10):
        fields["co_lnotab"] = code.co_lnotab
    made: Any = Point(None)
    made.__dict__ = fields
    root = tree(made).root
    data = root.tree.core.code(root.number)
    assert data is not None and marshal.loads(data).co_code == code.co_code
    assert root.tree.core.code(root.items[0].number) is None


def test_nothing_is_called(tmp_path: Path) -> None:
    root = tree({"a": Runs(tmp_path / "made")}).root
    made = root.fields["a"]
    assert made.cls == "os.mkdir" and made.args[0].value == str(tmp_path / "made")
    assert repr(made.plain()) == "<os.mkdir object>"
    assert not (tmp_path / "made").exists()


def test_what_is_not_a_whole_pickle_is_an_error() -> None:
    for data in (b"", b"\x80\x04", pickle.dumps([1, 2])[:-1], b"not a pickle"):
        with pytest.raises(DecompileError):
            Tree(data)


def test_the_number_of_values_is_limited() -> None:
    data = pickle.dumps(list(range(1000)))
    assert _core.Pickle(data, 0, 100).failure
    assert _core.Pickle(data).failure is None and MOST_VALUES < 1 << 24


def test_a_wrong_number_is_an_error() -> None:
    core = tree([1]).core
    for ask in (core.kind, core.value, core.items, core.path, core.code):
        with pytest.raises(IndexError):
            ask(core.size)


def test_a_deep_pickle_is_shown_to_a_depth() -> None:
    deep = b"\x80\x04" + b"]" * 20_000 + b"a" * 19_999 + b"."
    root = Tree(deep).root
    assert repr(root.plain()).endswith("…" + "]" * 41)
    assert sum(1 for _ in root.below()) == 20_000


def test_a_value_that_doubles_is_shown_in_part() -> None:
    value: Any = "x"
    for _ in range(60):
        value = (value, value)
    root = tree(value).root
    assert sum(1 for _ in root.below()) == 61
    assert len(repr(root.plain())) < 1 << 20


def test_damaged_pickles_are_read_or_refused() -> None:
    rng = random.Random(3)
    seed = pickle.dumps([Point({"a": [1, 2.5, (b"x", {3})]}), Point, {"k": Point.__init__}], 4)
    read = 0
    for _ in range(1500):
        data = bytearray(seed)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            root = Tree(bytes(data)).root
        except DecompileError:
            continue
        read += 1
        repr(root.plain())
        for node in root.below():
            assert isinstance(node.path, str) and isinstance(node.cls, str)
            assert node.pairs is not None and node.elements is not None and node.fields is not None
    assert read > 100
