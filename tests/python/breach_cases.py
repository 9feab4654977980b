"""Code that CPython runs otherwise than it reads: one small change a kind, for each version.

Run under the Python whose code is changed, it writes a pickled dictionary to standard output: for
each kind the marshalled module, and under "" all programs as they were compiled.
"""

import dis
import marshal
import pickle
import struct
import sys
from pathlib import Path
from types import CodeType
from typing import Any, Callable, Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fuzz" / "adversary"))

from assembler import VERSION, Instr, Parts, put_together, take_apart
from frame_cases import CASES as FRAMES
from range_cases import CASES as RANGES

PLAIN = "def f(x, y):\n    a = x is y\n    b = x in y\n    c = x < y\n    return a, b, c\n"
TEST = "def f(x):\n    if x:\n        return 1\n    return 2\n"
MAYBE = "def f(x):\n    if x:\n        y = 1\n    return y\n"
CALL = "def f(x):\n    return dict(x, key=x)\n"
STARRED = "def f(x):\n    return x.append(*x)\n"
CELL = "def f(x):\n    z = x\n    return z, lambda: x\n"
LOOP = "def f(x):\n    for y in x:\n        z = y\n    return x\n"
METHOD = "def f(x):\n    return super().f()\n"
DEEP = "def f(x):\n    def g():\n        return x\n    return g\n"
HIDING = "def f(x):\n    def g(y):\n        return [x for x in y], x\n    return g\n"
YIELD = "def f(x):\n    try:\n        yield x\n    finally:\n        print(x)\n"
FROM = "def f(x):\n    yield from x\n"
HANDLER = "def f(x):\n    try:\n        x()\n    except ValueError as e:\n        return x(e)\n"
DELETED = "def f(x):\n    del x\n    try: x\n    except NameError: pass\n    return 1\n"
LISTING = "async def f(x):\n    async for y in x:\n        pass\n    return x\n"
SLICE = "def f(x, y):\n    return x[y:y]\n"
MATCH = "def f(x):\n    match x:\n        case 0: return 1\n        case [a, b]: return a\n"
FIRST = "def f(x):\n    match x:\n        case [0, a]: return a\n"
CLASSES = "def f(x):\n    match x:\n        case int(c): return c\n"
KEYS = "def f(x):\n    match x:\n        case {1: a, 'k': b}: return a, b\n"
PARTS = "def f(x):\n    match x:\n        case [a, *b]: return a, b\n"
NAMED = "def f(x):\n    match x:\n        case [1, 2] as c: return c\n"
WALRUS = "def f(x):\n    global y\n    return [y := z for z in x]\n"
ANNOTATED = "class f:\n    x: int = 1\n"
CLASS = "class f:\n    x = 1\n"
UNUSED = "def f(x, y):\n    return x\n"
NONE = "def f(x):\n    if x is None:\n        x = 1\n    return 2\n"
SUM = "def f(x):\n    return x + x\n"
PAIR = "def f(x):\n    return x, 1.5, x, 1.5\n"
PAIRS = "def f(x):\n    return x, (1, 'a'), x, (1, 'a')\n"
DEEP_PAIRS = "def f(x):\n    return x, ((1000, 2),), x, ((3000, 4),), x, ((1000, 2),)\n"
SLICES = "def f(x):\n    return x[1000:2000], x[1000:2000]\n"
FLOAT = "def f(x):\n    return x, 1.25\n"
REPLACED = "def f(x):\n    x.m((x := 5))\n"
ADDED = "def f(x, y):\n    try: x + y\n    except: return 1\n"
CALLED = "def f():\n    try: g()\n    except: return 1\n"
FORMATTED = "def f(x):\n    return f'{x}{(x := 1)}'\n"
ENTERED = "def f(x):\n    with x:\n        x = None\n"
REBOUND = "def f(x):\n    for y in x:\n        x = y\n"
OTHER_SELF = "def f(x):\n    super(int, x).m((x := 5))\n"
ASYNC = "async def f(x):\n    yield x\n    return\n"

CO_GENERATOR = 0x20
BORROW = "LOAD_FAST_BORROW"


def first(parts: Parts, name: str) -> Instr:
    return next(instr for instr in parts.instrs if dis.opname[instr.op] == name)


def argument(name: str, change: Callable[[int], int]) -> Callable[[CodeType], CodeType]:
    """Change the argument of the first instruction of a name."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        instr = first(parts, name)
        instr.arg = change(instr.arg)
        return put_together(code, parts)

    return changed


def without(name: str) -> Callable[[CodeType], CodeType]:
    """Leave out the first instruction of a name."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        parts.instrs.remove(first(parts, name))
        return put_together(code, parts)

    return changed


def before(name: str, new: str, arg: int = 0) -> Callable[[CodeType], CodeType]:
    """Put an instruction before the first one of a name; jumps to that stay."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        place = parts.instrs.index(first(parts, name))
        parts.instrs.insert(place, Instr(dis.opmap[new], arg))
        return put_together(code, parts)

    return changed


def becomes(name: str, new: str) -> Callable[[CodeType], CodeType]:
    """Make the first instruction of a name another one."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        first(parts, name).op = dis.opmap[new]
        return put_together(code, parts)

    return changed


def fields(**changes: Any) -> Callable[[CodeType], CodeType]:
    return lambda code: code.replace(**changes)


def flag(bit: int) -> Callable[[CodeType], CodeType]:
    return lambda code: code.replace(co_flags=code.co_flags ^ bit)


def entry_without(target: str) -> Callable[[CodeType], CodeType]:
    """Leave out the entries of the exception table whose handler starts with an instruction."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        kept = [entry for entry in parts.entries if dis.opname[entry.target.op] != target]
        assert len(kept) < len(parts.entries)
        return put_together(code, Parts(parts.instrs, kept))

    return changed


def unmarked(code: CodeType) -> CodeType:
    """Take the mark off the first entry of the exception table."""
    table: bytes = code.co_exceptiontable  # type: ignore[attr-defined]
    changes: Dict[str, Any] = {"co_exceptiontable": bytes([table[0] & 127]) + table[1:]}
    return code.replace(**changes)


def within_a_prefix(code: CodeType) -> CodeType:
    """Let what is protected begin between a prefix and its instruction."""
    parts = take_apart(code)
    call = parts.entries[0].begin
    place = parts.instrs.index(call)
    assert dis.opname[call.op].startswith("LOAD_FAST") and call.target is None
    parts.instrs.insert(place, Instr(dis.opmap["EXTENDED_ARG"], 0))
    return put_together(code, parts)


def up_to_the_call(code: CodeType) -> CodeType:
    """Let what is protected end right before the call in it."""
    parts = take_apart(code)
    call = next(instr for instr in parts.instrs if dis.opname[instr.op] == "CALL")
    parts.entries[0] = parts.entries[0]._replace(end=call)
    return put_together(code, parts)


def protected_from(name: str, kept: int) -> Callable[[CodeType], CodeType]:
    """Protect only what begins with the instruction of a name, whose handler keeps more slots."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        begin = next(i for i in parts.instrs if dis.opname[i.op].startswith(name))
        if VERSION < (3, 11):
            setup = first(parts, "SETUP_FINALLY")
            parts.instrs.remove(setup)
            parts.instrs.insert(parts.instrs.index(begin), setup)
        else:
            deeper = [entry._replace(depth=entry.depth + kept) for entry in parts.entries]
            parts.entries[:] = [deeper[0]._replace(begin=begin), *deeper[1:]]
        return put_together(code, parts)

    return changed


def late_pop(code: CodeType) -> CodeType:
    """Exchange POP_EXCEPT with the load that follows it."""
    parts = take_apart(code)
    for i, (a, b) in enumerate(zip(parts.instrs, parts.instrs[1:])):
        if dis.opname[a.op] == "POP_EXCEPT" and dis.opname[b.op] == "LOAD_CONST":
            parts.instrs[i], parts.instrs[i + 1] = b, a
            return put_together(code, parts)
    raise LookupError("no POP_EXCEPT before a load")


def without_after(name: str, following: str) -> Callable[[CodeType], CodeType]:
    """Leave out what follows the first instruction of a name."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        place = parts.instrs.index(first(parts, name)) + 1
        assert dis.opname[parts.instrs[place].op] == following
        del parts.instrs[place]
        return put_together(code, parts)

    return changed


def after(name: str, following: str, arg: int) -> Callable[[CodeType], CodeType]:
    """Change the argument of what follows the first instruction of a name."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        instr = parts.instrs[parts.instrs.index(first(parts, name)) + 1]
        assert dis.opname[instr.op] == following
        instr.arg = arg
        return put_together(code, parts)

    return changed


def last_reraise(code: CodeType) -> CodeType:
    """Let the last RERAISE take another slot for where the exception was raised."""
    parts = take_apart(code)
    instr = next(i for i in parts.instrs if dis.opname[i.op] == "RERAISE" and i.arg == 1)
    instr.arg = 2
    return put_together(code, parts)


def zero_is_false(code: CodeType) -> CodeType:
    """Have False where 0 was, among constants and small numbers."""
    parts = take_apart(code)
    consts = [False if c == 0 and c is not None else c for c in code.co_consts]
    for instr in parts.instrs:
        if dis.opname[instr.op] == "LOAD_SMALL_INT" and instr.arg == 0:
            instr.op, instr.arg = dis.opmap["LOAD_CONST"], len(consts)
    return put_together(code, parts).replace(co_consts=(*consts, False))


def none_is_one(code: CodeType) -> CodeType:
    """Return 1 at the end."""
    parts = take_apart(code)
    at = [i for i, x in enumerate(parts.instrs) if dis.opname[x.op].startswith("RETURN_")]
    for i in at:
        if dis.opname[parts.instrs[i].op] == "RETURN_CONST":
            parts.instrs[i].arg = len(code.co_consts)
        elif dis.opname[parts.instrs[i].op] == "RETURN_VALUE":
            load = parts.instrs[i - 1]
            load.op, load.arg = dis.opmap["LOAD_CONST"], len(code.co_consts)
    return put_together(code, parts).replace(co_consts=(*code.co_consts, 1))


def key(old: Any, new: Any) -> Callable[[CodeType], CodeType]:
    """Put another key into a tuple of them."""

    def changed(code: CodeType) -> CodeType:
        keys = [
            tuple(new if k == old else k for k in c) if isinstance(c, tuple) else c
            for c in code.co_consts
        ]
        assert tuple(keys) != code.co_consts
        return code.replace(co_consts=tuple(keys))

    return changed


def called(old: str, new: str) -> Callable[[CodeType], CodeType]:
    """Rename a local."""

    def changed(code: CodeType) -> CodeType:
        names = [new if name == old else name for name in code.co_varnames]
        return code.replace(co_varnames=tuple(names))

    return changed


def over_a_global(code: CodeType) -> CodeType:
    """Let a comprehension's loop bind the global that it assigns to."""
    inner = next(c for c in code.co_consts if isinstance(c, CodeType))
    parts = take_apart(inner)
    local = inner.co_varnames.index("z")
    for instr in parts.instrs:
        name = dis.opname[instr.op]
        if name in ("STORE_FAST", "LOAD_FAST") and instr.arg == local:
            instr.op, instr.arg = dis.opmap[name.replace("FAST", "GLOBAL")], 0
    new = put_together(inner, parts)
    consts = [new if c is inner else c for c in code.co_consts]
    return code.replace(co_consts=tuple(consts))


def in_the_cell(store: bool, load: bool) -> Callable[[CodeType], CodeType]:
    """Let a comprehension use the cell that has the name of its local."""

    def changed(code: CodeType) -> CodeType:
        inner = next(c for c in code.co_consts if isinstance(c, CodeType))
        parts = take_apart(inner)
        local = inner.co_varnames.index("x")
        cell = len(inner.co_varnames) + len(inner.co_cellvars) + inner.co_freevars.index("x")
        to, of = (cell if store else local), (cell if load else local)
        for instr in parts.instrs:
            name = dis.opname[instr.op]
            if name == "STORE_FAST_LOAD_FAST" and instr.arg == (local << 4 | local):
                instr.arg = to << 4 | of
            if VERSION == (3, 12) and name == "LOAD_FAST" and instr.arg == local:
                instr.arg = of
        assert parts.instrs != take_apart(inner).instrs
        new = put_together(inner, parts)
        consts = [new if c is inner else c for c in code.co_consts]
        return code.replace(co_consts=tuple(consts))

    return changed


def of_a_constant(code: CodeType) -> CodeType:
    """Match with a number where a class was."""
    parts = take_apart(code)
    instr = first(parts, "LOAD_GLOBAL")
    instr.op, instr.arg = dis.opmap["LOAD_CONST"], len(code.co_consts)
    return put_together(code, parts).replace(co_consts=(*code.co_consts, 2))


def annotations_as_a_global(code: CodeType) -> CodeType:
    """Take the annotations of a class from a global."""
    parts = take_apart(code)
    place = code.co_names.index("__annotations__")
    loads = [i for i in parts.instrs if dis.opname[i.op] == "LOAD_NAME" and i.arg == place]
    loads[0].op, loads[0].arg = dis.opmap["LOAD_GLOBAL"], place << (VERSION >= (3, 11))
    return put_together(code, parts)


def method_beside_a_star(code: CodeType) -> CodeType:
    """Load a function and its receiver for a call that takes no receiver."""
    parts = take_apart(code)
    parts.instrs.remove(first(parts, "PUSH_NULL"))
    load = first(parts, "LOAD_ATTR")
    if VERSION < (3, 12):
        load.op = dis.opmap["LOAD_METHOD"]
    else:
        load.arg |= 1
    return put_together(code, parts)


def test_of_itself(code: CodeType) -> CodeType:
    """Test a code object where a variable was."""
    parts = take_apart(code)
    load = next(i for i in parts.instrs if dis.opname[i.op].startswith("LOAD_FAST"))
    load.op, load.arg = dis.opmap["LOAD_CONST"], len(code.co_consts)
    return put_together(code, parts).replace(co_consts=(*code.co_consts, code))


def long_sum(code: CodeType) -> CodeType:
    """Add so often that no compiler follows."""
    parts = take_apart(code)
    add = next(i for i, x in enumerate(parts.instrs) if dis.opname[x.op].startswith("BINARY_"))
    load = parts.instrs[add - 1].copy()
    load.op, load.arg = dis.opmap["LOAD_FAST"], 0
    more = [part.copy() for _ in range(12000) for part in (load, parts.instrs[add])]
    parts.instrs[add + 1 : add + 1] = more
    return put_together(code, parts)


def apart(equal: Callable[[], Any]) -> Callable[[CodeType], CodeType]:
    """Load an equal object of its own where a constant is loaded for the second time."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        at = code.co_consts.index(equal())
        constant = dis.opmap["LOAD_CONST"]
        second = [i for i in parts.instrs if i.op == constant and i.arg == at][1]
        second.arg = len(code.co_consts)
        return put_together(code, parts).replace(co_consts=(*code.co_consts, equal()))

    return changed


def a_constant(before: Any, after: Any) -> Callable[[CodeType], CodeType]:
    """Replace a constant."""
    return lambda code: code.replace(
        co_consts=tuple(after if each == before else each for each in code.co_consts)
    )


# A NaN that no arithmetic makes.
NAN = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))[0]

Case = Tuple[Tuple[int, int], Tuple[int, int], str, Callable[[CodeType], CodeType]]
ALL, NEWEST = (3, 8), (3, 15)
CASES: Dict[str, Case] = {
    "is with another argument": ((3, 9), NEWEST, PLAIN, argument("IS_OP", lambda a: 3)),
    "in with another argument": ((3, 9), NEWEST, PLAIN, argument("CONTAINS_OP", lambda a: 2)),
    "the mask of a comparison": ((3, 12), NEWEST, PLAIN, argument("COMPARE_OP", lambda a: a ^ 12)),
    "the truth of a comparison": ((3, 13), NEWEST, PLAIN, argument("COMPARE_OP", lambda a: a | 16)),
    "a test of no truth": ((3, 13), NEWEST, TEST, without("TO_BOOL")),
    "an unchecked load": ((3, 12), NEWEST, MAYBE, becomes("LOAD_FAST_CHECK", "LOAD_FAST")),
    "names without their call": ((3, 11), (3, 12), CALL, before("LOAD_GLOBAL", "KW_NAMES", 1)),
    "half a call": ((3, 11), (3, 11), CALL, before("LOAD_FAST", "PRECALL")),
    "a starred call with another argument": (
        ALL,
        (3, 13),
        STARRED,
        argument("CALL_FUNCTION_EX", lambda a: 8),
    ),
    "annotations of a module in a class": (ALL, (3, 13), ANNOTATED, annotations_as_a_global),
    "a receiver for a starred call": ((3, 11), NEWEST, STARRED, method_beside_a_star),
    "a small stack": (ALL, NEWEST, CALL, fields(co_stacksize=0)),
    "a cell that is not made": ((3, 11), NEWEST, PLAIN, fields(co_cellvars=("x",))),
    "a cell that super() asks for": ((3, 11), NEWEST, METHOD, fields(co_cellvars=("x",))),
    "a prefix where a loop ends": ((3, 13), (3, 13), LOOP, before("POP_TOP", "EXTENDED_ARG", 1)),
    "a cell that nothing makes or asks for": ((3, 11), NEWEST, UNUSED, fields(co_cellvars=("y",))),
    "a cell that is made twice": ((3, 11), NEWEST, CELL, before("MAKE_CELL", "MAKE_CELL", 0)),
    "a local as a cell": ((3, 11), (3, 12), PLAIN, becomes("LOAD_FAST", "LOAD_DEREF")),
    "a checked cell": ((3, 13), (3, 13), DEEP, becomes("LOAD_FAST", "LOAD_FAST_CHECK")),
    "a cell, checked": ((3, 14), NEWEST, DEEP, becomes("LOAD_FAST_BORROW", "LOAD_FAST_CHECK")),
    "a borrowed receiver": ((3, 14), NEWEST, REPLACED, becomes("LOAD_FAST", BORROW)),
    "a borrowed text": ((3, 14), NEWEST, FORMATTED, becomes("LOAD_FAST", BORROW)),
    "a borrowed manager": ((3, 14), NEWEST, ENTERED, becomes("LOAD_FAST", BORROW)),
    "borrowed by an iterator": ((3, 15), NEWEST, REBOUND, becomes("LOAD_FAST", BORROW)),
    "borrowed by super()": ((3, 14), NEWEST, OTHER_SELF, becomes("LOAD_FAST", BORROW)),
    "the cell with a local's name": ((3, 12), NEWEST, HIDING, in_the_cell(False, True)),
    "the cell with a stored name": ((3, 13), NEWEST, HIDING, in_the_cell(True, False)),
    "the cell with a local's name, twice": ((3, 13), NEWEST, HIDING, in_the_cell(True, True)),
    "an argument in its cell": (ALL, (3, 10), CELL, becomes("LOAD_DEREF", "LOAD_FAST")),
    "flags of a generator": ((3, 11), NEWEST, PLAIN, flag(CO_GENERATOR)),
    "no flags of a generator": ((3, 11), NEWEST, YIELD, flag(CO_GENERATOR)),
    "a generator's start": ((3, 10), (3, 10), YIELD, before("LOAD_FAST", "GEN_START")),
    "no start of a generator": ((3, 10), (3, 10), YIELD, without("GEN_START")),
    "what is sent to a generator first": ((3, 11), NEWEST, YIELD, becomes("POP_TOP", "NOP")),
    "a frame that never starts": ((3, 11), NEWEST, PLAIN, without("RESUME")),
    "no resumption": ((3, 11), NEWEST, YIELD, without_after("YIELD_VALUE", "RESUME")),
    "resumed as what does not wait": ((3, 11), NEWEST, FROM, after("YIELD_VALUE", "RESUME", 1)),
    "close() without the handler": ((3, 12), (3, 12), YIELD, argument("YIELD_VALUE", lambda a: 1)),
    "close() past the handler": ((3, 13), (3, 14), YIELD, after("YIELD_VALUE", "RESUME", 5)),
    "close() past it in 3.15": ((3, 15), NEWEST, YIELD, after("YIELD_VALUE", "RESUME", 9)),
    "thrown past what it waits for": ((3, 12), NEWEST, FROM, entry_without("CLEANUP_THROW")),
    "handling continues": ((3, 11), NEWEST, HANDLER, entry_without("COPY")),
    "an entry up to a call": ((3, 13), NEWEST, HANDLER, up_to_the_call),
    "an entry from within a prefix": ((3, 11), NEWEST, DELETED, within_a_prefix),
    "an entry without a mark": ((3, 11), NEWEST, HANDLER, unmarked),
    "no place to raise from": ((3, 11), NEWEST, HANDLER, last_reraise),
    "a handler that keeps what is added": (ALL, NEWEST, ADDED, protected_from("BINARY_", 2)),
    "a handler that keeps a NULL": ((3, 11), (3, 12), CALLED, protected_from("LOAD_GLOBAL", 1)),
    "an exception that was not saved": ((3, 9), (3, 10), HANDLER, late_pop),
    "a pattern of False": ((3, 10), NEWEST, FIRST, zero_is_false),
    "a pattern of no class": ((3, 10), NEWEST, CLASSES, of_a_constant),
    "a key twice": ((3, 10), NEWEST, KEYS, key("k", True)),
    "a key that no pattern has": ((3, 10), NEWEST, KEYS, key("k", ())),
    "a part that is called _": ((3, 10), NEWEST, PARTS, called("a", "_")),
    "a pattern that is called _": ((3, 10), NEWEST, NAMED, called("c", "_")),
    "a walrus of a loop's variable": (ALL, (3, 11), WALRUS, over_a_global),
    "a cell of a class's own name": ((3, 12), NEWEST, CLASS, fields(co_cellvars=("__name__",))),
    "a code object that is tested": (ALL, NEWEST, NONE, test_of_itself),
    "a sum that is too long": (ALL, (3, 13), SUM, long_sum),
    "a result of an asynchronous generator": ((3, 8), NEWEST, ASYNC, none_is_one),
    "an argument that it has not": (ALL, (3, 10), LISTING, argument("END_ASYNC_FOR", lambda a: 9)),
    "two equal floats": (ALL, NEWEST, PAIR, apart(lambda: float("1.5"))),
    "two equal tuples": ((3, 10), NEWEST, PAIRS, apart(lambda: (1, "a"))),
    "two equal tuples around a third": ((3, 10), NEWEST, DEEP_PAIRS, apart(lambda: ((1000, 2),))),
    "two equal slices": ((3, 14), NEWEST, SLICES, apart(lambda: slice(1000, 2000))),
    "a list as a constant": ((3, 8), NEWEST, FLOAT, a_constant(1.25, [1, 2])),
    "a frozenset as a constant": (ALL, NEWEST, FLOAT, a_constant(1.25, frozenset([1]))),
    "a value below what is returned": (ALL, (3, 10), SUM, before("RETURN_VALUE", "DUP_TOP")),
    "a copy below what is returned": ((3, 11), NEWEST, SUM, before("RETURN_VALUE", "COPY", 1)),
    "the payload of a NaN": (ALL, NEWEST, FLOAT, a_constant(1.25, NAN)),
    "an argument for no slice": ((3, 8), (3, 11), SLICE, argument("BUILD_SLICE", lambda a: 4)),
    **RANGES,
    **FRAMES,
}


def main() -> None:
    """Write all that this Python has."""
    out: Dict[str, bytes] = {}
    texts: List[str] = []
    for name, (oldest, newest, text, change) in CASES.items():
        if not oldest <= VERSION <= newest:
            continue
        module = compile(text, "breach.py", "exec", dont_inherit=True)
        consts = [change(c) if isinstance(c, CodeType) else c for c in module.co_consts]
        out[name] = marshal.dumps(module.replace(co_consts=tuple(consts)))
        texts.append(text)
    out[""] = marshal.dumps(compile("".join(texts), "breach.py", "exec", dont_inherit=True))
    sys.stdout.buffer.write(pickle.dumps(out, protocol=4))


if __name__ == "__main__":
    main()
