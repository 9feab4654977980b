# SPDX-License-Identifier: Apache-2.0
"""Values without their contents: what is known of two frames that run side by side.

Two slots that hold one `Value` hold one object, in whichever of the two frames they are.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from codes import Refused, key_of

OBJECT = "object"
BOOL = "bool"  # True or False
NULL_KIND = "null"  # no object: an unbound variable, or the NULL that a call expects
MAYBE = "maybe"  # an object or none
CELL = "cell"
PLACE = "place"  # the offset of an instruction, which differs between the two frames


class Value:
    """One object, or none. Compared by identity."""

    __slots__ = ("constant", "inverse", "is_none", "kind")

    def __init__(self, kind: str, constant: Any = None) -> None:
        self.kind = kind
        self.constant = constant  # a key, see Constants
        self.inverse: Optional[Value] = None  # `not` of a BOOL
        self.is_none: Optional[Value] = None  # whether it is None

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same whatever happens."""
        return self.constant is not None


class Loan(Value):
    """A value on the stack that counts on a variable to keep its object alive (3.14)."""

    __slots__ = ("of", "slot")

    def __init__(self, of: Value, slot: int) -> None:
        super().__init__(of.kind, of.constant)
        self.of = of
        self.slot = slot


NULL = Value(NULL_KIND, "NULL")
SOME_PLACE = Value(PLACE, "place")


class Constants:
    """One Value for each constant."""

    def __init__(self) -> None:
        self._known: Dict[Any, Value] = {}
        self.none, self.true, self.false = self.of(None), self.of(True), self.of(False)

    def of(self, constant: Any) -> Value:
        """Return the Value of a constant that is not a code object."""
        return self.by_key(key_of(constant), BOOL if isinstance(constant, bool) else OBJECT)

    def by_key(self, key: Any, kind: str = OBJECT) -> Value:
        """Return the Value of a key."""
        if key not in self._known:
            self._known[key] = Value(kind, key)
        return self._known[key]

    def truth(self, value: Value) -> Optional[bool]:
        """Return whether a constant is true; None if that is not known."""
        key = value.constant
        if not isinstance(key, tuple) or not isinstance(key[0], type):
            return None
        if key[0] in (int, bool, str, bytes, type(None), tuple, frozenset):
            return bool(key[1])
        return True if key[0] is type(Ellipsis) else None


class State:
    """What two frames hold. Index 0 is the original's, 1 the text's."""

    __slots__ = ("differing", "handled", "keywords", "known", "locals", "stacks")

    def __init__(self, stacks: Any, variables: Any, handled: Any) -> None:
        self.stacks: List[List[Value]] = stacks
        self.locals: List[List[Value]] = variables
        self.handled: List[Value] = handled  # the exception that is being handled
        self.keywords: List[Optional[Value]] = [None, None]  # 3.12: names of keyword arguments
        self.known: Dict[Value, Value] = {}  # what a test has shown: what a Value is
        self.differing = {i for i, (x, y) in enumerate(zip(*variables)) if x is not y}

    def copy(self) -> State:
        """Return a state that changes on its own."""
        new = State.__new__(State)
        new.stacks = [list(stack) for stack in self.stacks]
        new.locals = [list(variables) for variables in self.locals]
        new.handled = list(self.handled)
        new.keywords = list(self.keywords)
        new.known = dict(self.known)
        new.differing = set(self.differing)
        return new

    def resolve(self, value: Value) -> Value:
        """Return what a value is known to be."""
        if isinstance(value, Loan):
            value = value.of
        return self.known.get(value, value)

    def store(self, side: int, slot: int, value: Value) -> None:
        """Change a variable of one side. Raises Refused if its object is lent."""
        self.check_not_lent(side, slot)
        if isinstance(value, Loan):
            raise Refused("a lent value is stored")
        self.locals[side][slot] = value
        if self.resolve(self.locals[0][slot]) is self.resolve(self.locals[1][slot]):
            self.differing.discard(slot)
        else:
            self.differing.add(slot)

    def check_not_lent(self, side: int, slot: int) -> None:
        """Raise Refused if a value on the stack counts on a variable."""
        if any(isinstance(value, Loan) and value.slot == slot for value in self.stacks[side]):
            raise Refused("a variable changes whose object is lent")

    def all_values(self) -> List[Value]:
        """Return what all slots hold, in a fixed order."""
        # Of the text, the compiler has seen to that.
        if any(isinstance(value, Loan) for value in self.stacks[0]):
            raise Refused("a value is lent from one block to the next")
        found = [*self.handled, *self.locals[0], *self.locals[1], *self.stacks[0], *self.stacks[1]]
        return [self.resolve(value) for value in found]


def joined_kind(one: str, other: str) -> str:
    """Return what is known of a value that is of one kind or of the other."""
    if one == other:
        return one
    if PLACE in (one, other):
        return PLACE
    return OBJECT if {one, other} == {OBJECT, BOOL} else MAYBE


Label = Any  # a fixed Value, or the number of a class of slots that hold one object


class Relation(NamedTuple):
    """What holds whenever two frames are at a pair of places: the invariant."""

    labels: Tuple[Label, ...]  # by slot
    kinds: Tuple[str, ...]  # by class

    def state(self, depths: Tuple[int, int], variables: int) -> State:
        """Return the most general state of this relation."""
        made = [Value(kind) for kind in self.kinds]
        held = [label if isinstance(label, Value) else made[label] for label in self.labels]
        at = 2
        pieces = []
        for size in (variables, variables, *depths):
            pieces.append(held[at : at + size])
            at += size
        return State(pieces[2:], pieces[:2], held[:2])


def relation_of(values: List[Value]) -> Relation:
    """Return what holds in one state."""
    return _relation(values, values, lambda value: value.kind)


def weakened(relation: Relation, values: List[Value]) -> Relation:
    """Return what holds under a relation and in one more state."""

    def kind(label: Label) -> str:
        return label.kind if isinstance(label, Value) else relation.kinds[label]

    return _relation(list(relation.labels), values, kind)


def _relation(labels: List[Label], values: List[Value], kind_of: Any) -> Relation:
    classes: Dict[Tuple[Label, Value], int] = {}
    found: List[Label] = []
    kinds: List[str] = []
    for label, value in zip(labels, values):
        if label is value and value.is_fixed:
            found.append(value)
            continue
        key = (label, value)
        if key not in classes:
            classes[key] = len(kinds)
            kinds.append(joined_kind(kind_of(label), value.kind))
        found.append(classes[key])
    return Relation(tuple(found), tuple(kinds))
