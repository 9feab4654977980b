# SPDX-License-Identifier: Apache-2.0
"""What each instruction takes and leaves that a program could see, or that could raise."""

import dis
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from codes import VERSION, Instruction, Refused
from values import BOOL, CELL, MAYBE, NULL, OBJECT, PLACE, State, Value

TESTS = VERSION == (3, 12)  # jumps and UNARY_NOT ask an object for its truth themselves
_CALLEE_FIRST = VERSION >= (3, 13)  # NULL or self is above the callee, not below it


class Effect(NamedTuple):
    """What one instruction does.

    Two effects are the same if their keys are equal and their inputs are the same objects. Then
    they have the same results.
    """

    key: Tuple[Any, ...]
    inputs: List[Value]
    pops: int
    results: Tuple[Any, ...] = ()  # kinds of new values, or Values
    left: Tuple[str, ...] = ()  # what is still on the stack when it raises
    # "next", "again" (the instruction itself), "raise", "return", "loop" or "send".
    follows: str = "next"
    slot: Optional[int] = None  # the variable that changes
    inverts: bool = False  # it pushes `not` of the result
    handled: bool = False  # the exception that is being handled may become another one


def need(stack: List[Value], count: int) -> None:
    """Raise Refused if the stack is smaller."""
    if len(stack) < count:
        raise Refused("the stack is too small")


def need_object(value: Value) -> Value:
    """Raise Refused if a value may be no object."""
    if value.kind not in (OBJECT, BOOL, CELL):
        raise Refused(f"a {value.kind} where an object has to be")
    return value


_ONE: Tuple[Any, ...] = (OBJECT,)
_METHOD: Tuple[Any, ...] = (OBJECT, MAYBE) if _CALLEE_FIRST else (MAYBE, OBJECT)
_CALLEE: Tuple[Any, ...] = (OBJECT, NULL) if _CALLEE_FIRST else (NULL, OBJECT)

# By how many values they take from the stack, how many below those they look at, and what they
# push.
_FIXED: Dict[Tuple[int, int, Tuple[str, ...]], str] = {
    (0, 0, ()): "SETUP_ANNOTATIONS RESUME DELETE_NAME DELETE_GLOBAL",
    (1, 0, ()): "STORE_NAME STORE_GLOBAL DELETE_ATTR",
    (2, 0, ()): "DELETE_SUBSCR STORE_ATTR END_ASYNC_FOR",
    (3, 0, ()): "STORE_SUBSCR",
    (4, 0, ()): "STORE_SLICE",
    (0, 0, _ONE): "LOAD_BUILD_CLASS LOAD_LOCALS LOAD_NAME RETURN_GENERATOR",
    (1, 0, _ONE): "UNARY_NEGATIVE UNARY_INVERT GET_YIELD_FROM_ITER GET_AITER GET_AWAITABLE "
    "CALL_INTRINSIC_1 CONVERT_VALUE FORMAT_SIMPLE YIELD_VALUE LOAD_FROM_DICT_OR_GLOBALS",
    (2, 0, _ONE): "BINARY_OP BINARY_SUBSCR CALL_INTRINSIC_2 FORMAT_WITH_SPEC BUILD_TEMPLATE "
    "SET_FUNCTION_ATTRIBUTE IMPORT_NAME",
    (3, 0, _ONE): "BINARY_SLICE MATCH_CLASS",
    (1, 0, (OBJECT, OBJECT)): "BEFORE_WITH BEFORE_ASYNC_WITH",
    (1, 0, (OBJECT, MAYBE)): "LOAD_SPECIAL",
    (0, 1, _ONE): "GET_LEN GET_ANEXT IMPORT_FROM",
    (0, 2, _ONE): "MATCH_KEYS",
    (0, 1, (BOOL,)): "MATCH_MAPPING MATCH_SEQUENCE",
    (1, 1, (BOOL,)): "CHECK_EXC_MATCH",
}
# Those that depend on the argument: how many values they take, and what they push.
_BY_ARGUMENT: Dict[str, Callable[[int], Tuple[int, Tuple[Any, ...]]]] = {
    **dict.fromkeys(
        ("BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_STRING", "BUILD_SLICE"),
        lambda arg: (arg, _ONE),
    ),
    "BUILD_CONST_KEY_MAP": lambda arg: (arg + 1, _ONE),
    "BUILD_MAP": lambda arg: (2 * arg, _ONE),
    "BUILD_INTERPOLATION": lambda arg: (2 + (arg & 1), _ONE),
    "FORMAT_VALUE": lambda arg: (1 + (arg & 4 == 4), _ONE),
    "UNPACK_SEQUENCE": lambda arg: (1, _ONE * arg),
    "UNPACK_EX": lambda arg: (1, _ONE * ((arg & 255) + 1 + (arg >> 8))),
    "COMPARE_OP": lambda arg: (2, (BOOL,) if VERSION >= (3, 13) and arg & 16 else _ONE),
    "GET_ITER": lambda arg: (1, (OBJECT, MAYBE) if VERSION >= (3, 15) else _ONE),
    "LOAD_ATTR": lambda arg: (1, _METHOD if arg & 1 else _ONE),
    "LOAD_SUPER_ATTR": lambda arg: (3, _METHOD if arg & 1 else _ONE),
    "LOAD_GLOBAL": lambda arg: (0, _CALLEE if arg & 1 else _ONE),
    "CALL_KW": lambda arg: (arg + 3, _ONE),
    "CALL_FUNCTION_EX": lambda arg: (4 if VERSION >= (3, 14) else 3 + (arg & 1), _ONE),
    "MAKE_FUNCTION": lambda arg: (
        1 if VERSION >= (3, 13) else 1 + bin(arg & 15).count("1"),
        _ONE,
    ),
}
# Which bits of an argument mean something but a name or how many values are taken: all, or these.
_BITS = {"LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 3, "END_ASYNC_FOR": 0}
_SHAPES = {op: shape for shape, ops in _FIXED.items() for op in ops.split()}
_NAMED = frozenset(dis.opname[op] for op in dis.hasname)
# What changes a container further down: how many values they take; the argument says where it is.
_INTO = {
    "LIST_APPEND": 1,
    "SET_ADD": 1,
    "MAP_ADD": 2,
    "LIST_EXTEND": 1,
    "SET_UPDATE": 1,
    "DICT_UPDATE": 1,
    "DICT_MERGE": 1,
}
# What a failing DICT_MERGE names in its message: the callee, within so many slots further down.
_MERGE_SEES = 4
# Whose last result may be the object that it takes, and no more its own than that was (3.14).
PASSES_ON = {
    "LOAD_ATTR": 2,  # with so many results
    "LOAD_SUPER_ATTR": 2,
    "LOAD_SPECIAL": 2,
    "FORMAT_SIMPLE": 1,
    "GET_YIELD_FROM_ITER": 1,
}
# What keeps its operand on the stack, from one block to the next (3.15).
MAY_NOT_BORROW = ("GET_ITER",) if VERSION >= (3, 15) else ()
# Where a generator waits. What is thrown into it arrives there, above a value that was sent.
_SENT = ("RETURN_GENERATOR", "YIELD_VALUE")


def effect_of(side: Any, state: State, i: Instruction) -> Effect:
    """Return the effect of an instruction of one side. Raises Refused if it is unknown."""
    stack = state.stacks[side.number]
    if state.keywords[side.number] is not None and i.op != "CALL":
        raise Refused("KW_NAMES without a call")
    special = _SPECIAL.get(i.op)
    if special is not None:
        return special(side, state, stack, i)
    shape = shape_of(i.op, i.arg)
    if shape is not None:
        takes, sees, results = shape
        bits = i.arg & _BITS.get(i.op, 0 if i.op in _NAMED else -1)
        key = (i.op, i.value, bits) if i.op in _NAMED else (i.op, bits)
        left = _ONE if i.op in _SENT else ()
        return Effect(key, _top(stack, takes + sees), takes, results, left)
    if i.op in _INTO:
        return _into(stack, i)
    raise Refused(f"the instruction {i.op}")


def shape_of(op: str, arg: int) -> Optional[Tuple[int, int, Tuple[Any, ...]]]:
    """Return how many values an instruction takes, how many more it sees, and what it pushes."""
    if op in _BY_ARGUMENT:
        takes, pushes = _BY_ARGUMENT[op](arg)
        return takes, 0, pushes
    return _SHAPES.get(op)


def _top(stack: List[Value], count: int) -> List[Value]:
    need(stack, count)
    return stack[len(stack) - count :]


def _into(stack: List[Value], i: Instruction) -> Effect:
    pops = _INTO[i.op]
    sees = _MERGE_SEES if i.op == "DICT_MERGE" else 1
    depth = pops + i.arg
    need(stack, depth)
    if i.arg < 1:
        raise Refused(f"{i.op} 0")
    below = stack[max(0, len(stack) - depth - sees + 1) : len(stack) - depth + 1]
    return Effect((i.op,), [*below, *_top(stack, pops)], pops)


def _contains(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    return Effect((i.op, i.arg >> 1), _top(stack, 2), 2, (BOOL,), inverts=bool(i.arg & 1))


def _call(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    names = state.keywords[side.number]
    more = [] if names is None else [names]
    return Effect((i.op, i.arg, len(more)), _top(stack, i.arg + 2) + more, i.arg + 2, (OBJECT,))


def _test(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    follows = "next" if i.op == "TO_BOOL" else "again"
    return Effect(("truth",), [need_object(_top(stack, 1)[0])], 1, (BOOL,), follows=follows)


def _check_group(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    return Effect((i.op,), _top(stack, 2), 2, (OBJECT, OBJECT), handled=True)


def _with_except(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    callee = 2 if VERSION >= (3, 14) else 1
    seen = _top(stack, callee + 3)
    _need_place(seen[callee])
    return Effect((i.op,), [*seen[:callee], seen[-1]], 0, (OBJECT,))


def _need_place(value: Value) -> None:
    if value.kind != PLACE:
        raise Refused("the place of an exception is not where it should be")


def _cleanup_throw(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    none = side.constants.none
    if VERSION >= (3, 15):
        return Effect((i.op,), _top(stack, 4), 4, (none, MAYBE, OBJECT))
    return Effect((i.op,), _top(stack, 3), 3, (none, OBJECT))


def _raise(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    return Effect((i.op, i.arg), _top(stack, i.arg), i.arg, follows="raise")


def _reraise(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    if i.arg:
        _need_place(_top(stack, i.arg + 1)[0])
    return Effect((i.op,), [need_object(_top(stack, 1)[0])], 1, follows="raise")


def _return(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    if i.op == "RETURN_CONST":
        return Effect(("return",), [side.constant(i.arg)], 0, follows="return")
    return Effect(("return",), [need_object(_top(stack, 1)[0])], 1, follows="return")


def _for_iter(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    if VERSION < (3, 15):
        return Effect((i.op,), [need_object(_top(stack, 1)[0])], 0, (OBJECT,), follows="loop")
    iterator, index = _top(stack, 2)
    kind = NULL if index is NULL else MAYBE
    inputs = [iterator, index]
    return Effect((i.op,), inputs, 1, (kind, OBJECT), left=(MAYBE,), follows="loop")


def _send(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    if VERSION < (3, 15):
        return Effect((i.op,), _top(stack, 2), 1, (OBJECT,), follows="send")
    receiver, index, value = _top(stack, 3)
    kind = NULL if index is NULL else MAYBE
    inputs = [receiver, index, value]
    return Effect((i.op,), inputs, 2, (kind, OBJECT), left=(MAYBE,), follows="send")


def _cell_of(side: Any, state: State, slot: int) -> Value:
    variables = state.locals[side.number]
    if slot >= len(variables) or variables[slot].kind != CELL:
        raise Refused("a variable is used as a cell and may be none")
    return variables[slot]


def _deref(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    pops, results = _DEREFS[i.op]
    inputs = [*_top(stack, pops), _cell_of(side, state, i.arg)]
    return Effect((i.op, side.code.slots[i.arg]), inputs, pops, results)


_DEREFS: Dict[str, Tuple[int, Tuple[str, ...]]] = {
    "LOAD_DEREF": (0, (OBJECT,)),
    "STORE_DEREF": (1, ()),
    "DELETE_DEREF": (0, ()),
    "LOAD_FROM_DICT_OR_DEREF": (1, (OBJECT,)),
}


def _unbound(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    value = state.locals[side.number][i.arg]
    if value.kind not in (MAYBE, "null"):
        raise Refused("a variable that is a cell")
    results = (OBJECT,) if i.op == "LOAD_FAST_CHECK" else ()
    return Effect((i.op, i.arg), [value], 0, results, slot=i.arg)


def _make_cell(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    if i.arg >= len(side.code.slots):
        raise Refused("there is no such variable")
    value = state.locals[side.number][i.arg]
    return Effect((i.op, i.arg), [value], 0, (CELL,), slot=i.arg)


def _copy_free(side: Any, state: State, stack: List[Value], i: Instruction) -> Effect:
    count = len(side.code.slots) - side.code.first_free
    if i.arg != count or stack:
        raise Refused("COPY_FREE_VARS of another number of variables")
    return Effect((i.op,), [], 0, (CELL,) * count)


_Special = Callable[[Any, State, List[Value], Instruction], Effect]
_SPECIAL: Dict[str, _Special] = {
    "CONTAINS_OP": _contains,
    "CALL": _call,
    "CHECK_EG_MATCH": _check_group,
    "WITH_EXCEPT_START": _with_except,
    "CLEANUP_THROW": _cleanup_throw,
    "RAISE_VARARGS": _raise,
    "RERAISE": _reraise,
    "RETURN_VALUE": _return,
    "RETURN_CONST": _return,
    "FOR_ITER": _for_iter,
    "SEND": _send,
    "LOAD_FAST_CHECK": _unbound,
    "DELETE_FAST": _unbound,
    "MAKE_CELL": _make_cell,
    "COPY_FREE_VARS": _copy_free,
    **dict.fromkeys(_DEREFS, _deref),
    **dict.fromkeys(("TO_BOOL", "UNARY_NOT", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"), _test),
}
