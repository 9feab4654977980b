# SPDX-License-Identifier: Apache-2.0
"""One frame, run until something that a program could see.

`run` executes what only moves values: loads and stores of bound variables, constants, the stack,
jumps whose way is known. It stops before an effect, before a branch on a value that is not known,
and at the places where it is told to. What an effect is, `effect` says; the instructions it knows
are in `effects.py`. An instruction that is in neither list is refused.
"""

import types
from typing import Callable, Container, Dict, List, Optional, Tuple

from codes import VERSION, Code, Instruction, Refused
from effects import TESTS, Effect, effect_of, need, need_object
from values import BOOL, MAYBE, NULL, NULL_KIND, OBJECT, PLACE, Constants, Loan, State, Value

STOP, EFFECT, FORK = "stop", "effect", "fork"
# What may be popped without being an object.
_DROPPED = (MAYBE, NULL_KIND) if VERSION >= (3, 14) else ()
# How many instructions run without an effect, a branch or a place to stop at.
_MOST_SILENT = 20000
_LARGEST_SMALL = 255
_COMMON = {repr(value): value for value in (None, True, False, "", -1)}
_ITERATOR_SLOTS = 2 if VERSION >= (3, 15) else 1


class Side:
    """One of the two frames: 0 is the original's, 1 the text's."""

    def __init__(self, number: int, code: Code, identities: "Identities") -> None:
        self.number = number
        self.code = code
        self.constants = identities.constants
        self.identities = identities
        self.steps = 0  # instructions run so far
        self.most_stack = code.code.co_stacksize

    def run(self, state: State, at: int, stops: Container[int], moved: bool) -> Tuple[str, int]:
        """Run from instruction `at`; return why and where it stopped.

        It stops in `stops` only after something has been executed.
        """
        instructions = self.code.instructions
        limit = self.steps + _MOST_SILENT
        stack = state.stacks[self.number]
        while True:
            if moved and at in stops:
                return STOP, at
            if at >= len(instructions):
                raise Refused("control runs off the end")
            if len(stack) > self.most_stack:
                raise Refused("the stack is larger than co_stacksize")
            instruction = instructions[at]
            step = SILENT.get(instruction.op)
            if step is None:
                return EFFECT, at
            following = step(self, state, stack, instruction, at)
            if following == _AN_EFFECT:
                return EFFECT, at
            if following == _A_FORK:
                return FORK, at
            at = following
            moved = True
            self.steps += 1
            if self.steps > limit:
                raise Refused("a loop without effects")

    def effect(self, state: State, at: int) -> Effect:
        """Return the effect of the instruction at which `run` stopped."""
        self.steps += 1
        return effect_of(self, state, self.code.instructions[at])

    def condition(self, state: State, at: int) -> Value:
        """Return what the branch depends on at which `run` stopped: a BOOL."""
        value = state.resolve(state.stacks[self.number][-1])
        if self.code.instructions[at].op in _NONE_JUMPS:
            return self.identities.is_none(value)
        return value

    def constant(self, index: int) -> Value:
        """Return the Value of a constant, or of the code object that it is."""
        value = self.code.code.co_consts[index]
        if isinstance(value, types.CodeType):
            return self.constants.by_key(("code", self.number, index))
        return self.constants.of(value)


class Identities:
    """Truth values that depend on nothing but which objects two values are."""

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self._same: Dict[frozenset[Value], Value] = {}

    def is_none(self, value: Value) -> Value:
        """Return whether a value is None: a BOOL, or True or False."""
        constants = self.constants
        if value is constants.none:
            return constants.true
        if value.is_fixed or value.kind == BOOL:
            return constants.false
        if value.is_none is None:
            value.is_none = Value(BOOL)
        return value.is_none

    def same(self, x: Value, y: Value) -> Value:
        """Return whether two values are one object."""
        if x is self.constants.none or y is self.constants.none:
            return self.is_none(y if x is self.constants.none else x)
        pair = frozenset((x, y))
        if pair not in self._same:
            self._same[pair] = Value(BOOL)
        return self._same[pair]

    def inverse(self, value: Value) -> Value:
        """Return `not value` of a BOOL."""
        if value is self.constants.true:
            return self.constants.false
        if value is self.constants.false:
            return self.constants.true
        if value.inverse is None:
            value.inverse = Value(BOOL)
            value.inverse.inverse = value
        return value.inverse


_AN_EFFECT, _A_FORK = -1, -2
_Step = Callable[[Side, State, List[Value], Instruction, int], int]


def _jump(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    assert i.target is not None
    return i.target


def _push(value_of: Callable[[Side, Instruction], Value]) -> _Step:
    def step(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
        stack.append(value_of(side, i))
        return at + 1

    return step


def _small_int(side: Side, i: Instruction) -> Value:
    if i.arg > _LARGEST_SMALL:
        raise Refused("LOAD_SMALL_INT of a large number")
    return side.constants.of(i.arg)


def _common(side: Side, i: Instruction) -> Value:
    if i.text in _COMMON:
        return side.constants.of(_COMMON[i.text])
    return side.constants.by_key(("common", i.arg))


def _pop(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    need(stack, 1)
    value = stack.pop()
    if value.kind not in _DROPPED and value.kind != PLACE:
        need_object(value)
    return at + 1


def _drop_iterator(above: int) -> _Step:
    def step(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
        need(stack, above + _ITERATOR_SLOTS)
        first = len(stack) - above - _ITERATOR_SLOTS
        need_object(stack[first])
        del stack[first : first + _ITERATOR_SLOTS]
        return at + 1

    return step


def _copy(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    need(stack, max(i.arg, 1))
    if i.arg < 1:
        raise Refused("COPY 0")
    value = stack[-i.arg]
    if value.kind != PLACE:
        need_object(value)
    stack.append(value)
    return at + 1


def _swap(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    need(stack, i.arg)
    if i.arg < 2:
        raise Refused(f"SWAP {i.arg}")
    stack[-1], stack[-i.arg] = stack[-i.arg], stack[-1]
    return at + 1


_OnSlot = Callable[[Side, State, List[Value], int], None]


def _each(*acts: _OnSlot) -> _Step:
    """Do one thing with a variable, or one with each of two, or nothing."""

    def step(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
        slots = (i.arg,) if len(acts) == 1 else (i.arg >> 4, i.arg & 15)
        for act, slot in zip(acts, slots):
            if slot >= len(side.code.slots):
                raise Refused("there is no such variable")
            act(side, state, stack, slot)
        return at + 1

    return step


def _load(side: Side, state: State, stack: List[Value], slot: int) -> None:
    stack.append(need_object(state.locals[side.number][slot]))


def _borrow(side: Side, state: State, stack: List[Value], slot: int) -> None:
    stack.append(Loan(need_object(state.locals[side.number][slot]), slot))


def _take(side: Side, state: State, stack: List[Value], slot: int) -> None:
    stack.append(state.locals[side.number][slot])
    state.store(side.number, slot, NULL)


def _store(side: Side, state: State, stack: List[Value], slot: int) -> None:
    need(stack, 1)
    value = stack.pop()
    if value.kind == PLACE:
        raise Refused("the place of an exception is stored")
    state.store(side.number, slot, value)


def _delete(side: Side, state: State, stack: List[Value], slot: int) -> None:
    state.store(side.number, slot, NULL)


def _if_bound(step: _Step) -> _Step:
    """Do something with a variable if it is bound; else it is an effect."""

    def checked(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
        is_bound = state.locals[side.number][i.arg].kind in (OBJECT, BOOL)
        return step(side, state, stack, i, at) if is_bound else _AN_EFFECT

    return checked


def _push_exc_info(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    need(stack, 1)
    need_object(stack[-1])
    stack.insert(-1, state.handled[side.number])
    state.handled[side.number] = state.resolve(stack[-1])
    return at + 1


def _pop_except(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    need(stack, 1)
    state.handled[side.number] = state.resolve(need_object(stack.pop()))
    return at + 1


def _kw_names(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    state.keywords[side.number] = side.constant(i.arg)
    return at + 1


def _is_op(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    need(stack, 2)
    y, x = (state.resolve(need_object(stack.pop())) for _ in range(2))
    found = state.resolve(side.identities.same(x, y))
    stack.append(side.identities.inverse(found) if i.arg else found)
    return at + 1


def _truth(side: Side, state: State, value: Value) -> Optional[Value]:
    """Return the truth of a value if no code has to run for it."""
    value = state.resolve(value)
    truth = side.constants.truth(value)
    if truth is not None:
        return side.constants.true if truth else side.constants.false
    return value if value.kind == BOOL else None


def _to_bool(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    need(stack, 1)
    truth = _truth(side, state, stack[-1])
    if truth is None:
        return _AN_EFFECT
    stack[-1] = truth
    return at + 1


def _not(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    need(stack, 1)
    truth = _truth(side, state, stack[-1]) if TESTS else _is_true(side, state, stack[-1], False)
    if truth is None:
        return _AN_EFFECT
    stack[-1] = side.identities.inverse(truth)
    return at + 1


def _is_true(side: Side, state: State, value: Value, wanted: bool) -> Value:
    """Return what a jump of 3.13 and later goes by: it expects True or False, and looks for one.

    Only the compiler's own `__annotate__` leaves another value to it.
    """
    value = state.resolve(need_object(value))
    if value.kind == BOOL:
        return value
    if wanted:
        return state.resolve(side.identities.same(value, side.constants.true))
    is_false = state.resolve(side.identities.same(value, side.constants.false))
    return side.identities.inverse(is_false)


_NONE_JUMPS = ("POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE")


def _pop_jump(side: Side, state: State, stack: List[Value], i: Instruction, at: int) -> int:
    need(stack, 1)
    value = state.resolve(need_object(stack[-1]))
    if i.op in _NONE_JUMPS:
        truth = state.resolve(side.identities.is_none(value))
    else:
        wanted = i.op == "POP_JUMP_IF_TRUE"
        found = _truth(side, state, value) if TESTS else _is_true(side, state, value, wanted)
        if found is None:
            return _AN_EFFECT
        truth = stack[-1] = state.resolve(found)
    if truth not in (side.constants.true, side.constants.false):
        return _A_FORK
    stack.pop()
    jumps_if = i.op in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE")
    assert i.target is not None
    return i.target if (truth is side.constants.true) == jumps_if else at + 1


SILENT: Dict[str, _Step] = {
    **dict.fromkeys(("NOP", "NOT_TAKEN"), _each()),
    **dict.fromkeys(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"), _jump),
    **dict.fromkeys(("LOAD_FAST", "LOAD_CLOSURE"), _each(_load)),
    "LOAD_FAST_LOAD_FAST": _each(_load, _load),
    "LOAD_FAST_BORROW": _each(_borrow),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": _each(_borrow, _borrow),
    "LOAD_FAST_CHECK": _if_bound(_each(_load)),
    "LOAD_FAST_AND_CLEAR": _each(_take),
    "STORE_FAST": _each(_store),
    "STORE_FAST_STORE_FAST": _each(_store, _store),
    "STORE_FAST_LOAD_FAST": _each(_store, _load),
    "DELETE_FAST": _if_bound(_each(_delete)),
    "LOAD_CONST": _push(lambda side, i: side.constant(i.arg)),
    "LOAD_SMALL_INT": _push(_small_int),
    "LOAD_COMMON_CONSTANT": _push(_common),
    "LOAD_ASSERTION_ERROR": _push(lambda side, i: side.constants.by_key(("AssertionError",))),
    "PUSH_NULL": _push(lambda side, i: NULL),
    "POP_TOP": _pop,
    "POP_ITER": _drop_iterator(0),
    "END_SEND": _drop_iterator(1),
    "COPY": _copy,
    "SWAP": _swap,
    "PUSH_EXC_INFO": _push_exc_info,
    "POP_EXCEPT": _pop_except,
    "KW_NAMES": _kw_names,
    "IS_OP": _is_op,
    "TO_BOOL": _to_bool,
    "UNARY_NOT": _not,
    **dict.fromkeys(
        ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"),
        _pop_jump,
    ),
}
