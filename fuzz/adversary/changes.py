# SPDX-License-Identifier: Apache-2.0
"""What is changed in a code object: every field, in ways that no compiler has.

It runs under the Python whose code it changes. All that is random comes from the generator that a
`Changer` is given.
"""

import dis
import random
from types import CodeType
from typing import Any, Callable, Dict, List, Optional, Tuple

from assembler import VERSION, Entry, Instr, Parts, put_together, take_apart

ODD_NAMES = ("\u212a", "K", "\ufb01", "fi", "__debug__", "None", "x y", "", "\uff41", "a", "__x")
ODD_NAMES += ("_C__x", "class", "match", "a\u202eb", ".0", "x", "self", "__class__", "e\u0301")
EQUAL: Tuple[Tuple[Any, Any], ...] = (
    *((1, True), (1, 1.0), (0, False), (0, 0.0), (0.0, -0.0), (2, 2.0), (True, 1.0), (1, 1 + 0j)),
    *((3, 3.0), ((1, 2), (1.0, 2)), ((), frozenset()), ("a", b"a"), (None, False), ("", None)),
    *((0j, -0j), (frozenset([1]), frozenset([True])), ((0,), (-0.0,)), (10, 10.0)),
)
VALUES = (None, 0, 1, True, False, 1.0, -0.0, "a", "", b"a", (), (1, True), ..., -1, 2**70, 1j)
VALUES += (("a",), ("x", "y"), frozenset(), frozenset([1, 2]), (None,), "x", ("a", "a"), 256, 10**9)
BITS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 0x1000, 0x2000, 0x20000, 0x80000, 0x100000)
BITS += (0x400000, 0x800000, 0x1000000, 0x2000000, 0x4000000, 0x8000000)
# Opcodes that stand for each other, a line a kind.
_KIN = """
LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_CLOSURE
LOAD_DEREF LOAD_FAST LOAD_CLOSURE LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF
STORE_FAST STORE_DEREF DELETE_FAST DELETE_DEREF MAKE_CELL
NOP POP_TOP DUP_TOP POP_ITER POP_BLOCK POP_EXCEPT PUSH_NULL PUSH_EXC_INFO COPY
RAISE_VARARGS RERAISE RETURN_VALUE YIELD_VALUE INTERPRETER_EXIT
GET_ITER GET_YIELD_FROM_ITER GET_AITER GET_AWAITABLE UNARY_NOT TO_BOOL
LOAD_NAME LOAD_GLOBAL STORE_NAME STORE_GLOBAL DELETE_NAME DELETE_GLOBAL
BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_STRING BUILD_MAP UNPACK_SEQUENCE
LIST_APPEND SET_ADD LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE MAP_ADD
POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE FOR_ITER
JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD JUMP_ABSOLUTE
JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP POP_JUMP_IF_TRUE SETUP_FINALLY
LOAD_CONST LOAD_SMALL_INT RETURN_CONST LOAD_COMMON_CONSTANT LOAD_SPECIAL
CALL CALL_FUNCTION_EX CALL_KW CALL_FUNCTION CALL_METHOD CALL_FUNCTION_KW
CALL_INTRINSIC_1 CALL_INTRINSIC_2 CONVERT_VALUE FORMAT_SIMPLE FORMAT_VALUE
IS_OP CONTAINS_OP COMPARE_OP BINARY_OP
RESUME GEN_START NOP RETURN_GENERATOR COPY_FREE_VARS
CHECK_EXC_MATCH CHECK_EG_MATCH JUMP_IF_NOT_EXC_MATCH WITH_EXCEPT_START
SWAP COPY ROT_TWO ROT_THREE ROT_FOUR ROT_N DUP_TOP_TWO
"""
KIN = [line.split() for line in _KIN.splitlines() if line]


class Changer:
    """Changes code objects, in as many places as the generator says."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.done: List[str] = []
        of_code = (
            self.arguments,
            self.opcodes,
            self.kin,
            self.inserted,
            self.dropped,
            self.swapped,
        )
        self._kinds: List[Callable[[CodeType], CodeType]] = [
            *(3 * of_code + (self.arguments, self.prefixes, self.jumps, self.raw_bytes)),
            *(self.names, self.varnames, self.varnames, self.cells, self.cells, self.constants),
            *(self.equal_constants, self.flags, self.flags, self.counts, self.stacksize),
            *(self.table, self.table, self.line_table, self.titles, self.rearranged),
        ]
        if VERSION < (3, 11):
            self._kinds = [kind for kind in self._kinds if kind != self.table]

    def change(self, module: CodeType) -> CodeType:
        """Return the code of a module with one to three changes somewhere in it."""
        for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3))):
            module = self._somewhere(module)
        return module

    def _somewhere(self, module: CodeType) -> CodeType:
        """Change one of the code objects: mostly those of functions."""
        path: List[int] = []
        code = module
        while True:
            inner = [i for i, c in enumerate(code.co_consts) if isinstance(c, CodeType)]
            if not inner or self.rng.random() < (0.05 if not path else 0.6):
                break
            path.append(self.rng.choice(inner))
            code = code.co_consts[path[-1]]
        kind = self.rng.choice(self._kinds)
        self.done.append(kind.__name__)
        return self._replaced(module, path, kind(code))

    def _replaced(self, code: CodeType, path: List[int], new: CodeType) -> CodeType:
        if not path:
            return new
        consts = list(code.co_consts)
        consts[path[0]] = self._replaced(consts[path[0]], path[1:], new)
        return code.replace(co_consts=tuple(consts))

    # -- instructions -----------------------------------------------------------------------------

    def arguments(self, code: CodeType) -> CodeType:
        """Give an instruction another argument."""
        parts = take_apart(code)
        instr = self.rng.choice(parts.instrs)
        instr.arg = self._argument(instr.arg, parts)
        if self.rng.random() < 0.7:
            instr.target = None
        return put_together(code, parts)

    def _argument(self, old: int, parts: Parts) -> int:
        choice = self.rng.random()
        if choice < 0.4:
            return self.rng.choice((0, 1, 2, 3, 4, 5, 8, 16, 32, 64, 128, 255))
        if choice < 0.6:
            return max(0, old + self.rng.choice((-1, 1, 2, 256)))
        if choice < 0.85:
            return old ^ 1 << self.rng.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16))
        return self.rng.choice(parts.instrs).arg

    def opcodes(self, code: CodeType) -> CodeType:
        """Make an instruction another one, of a code object or any."""
        parts = take_apart(code)
        instr = self.rng.choice(parts.instrs)
        if self.rng.random() < 0.5:
            other = self.rng.choice(parts.instrs)
            instr.op = other.op
            if self.rng.random() < 0.7:
                instr.arg = other.arg
        else:
            instr.op = self._any_opcode()
            if self.rng.random() < 0.5:
                instr.arg = self.rng.choice((0, 1, 2, 3))
        return put_together(code, parts)

    def _any_opcode(self) -> int:
        return self.rng.choice(sorted(op for op in dis.opmap.values() if op < 256))

    def kin(self, code: CodeType) -> CodeType:
        """Make an instruction one of its kind."""
        parts = take_apart(code)
        places = list(range(len(parts.instrs)))
        self.rng.shuffle(places)
        for i in places:
            name = dis.opname[parts.instrs[i].op]
            others = {o for kin in KIN if name in kin for o in kin if o in dis.opmap and o != name}
            if others:
                parts.instrs[i].op = dis.opmap[self.rng.choice(sorted(others))]
                break
        return put_together(code, parts)

    def inserted(self, code: CodeType) -> CodeType:
        """Put one or two instructions between others."""
        parts = take_apart(code)
        for _ in range(self.rng.choice((1, 1, 2))):
            new = self.rng.choice(parts.instrs).copy()
            if self.rng.random() < 0.6:
                new = Instr(self._any_opcode(), self.rng.choice((0, 0, 1, 1, 2, 3)))
            place = self.rng.randrange(len(parts.instrs))
            if new.target is None and self.rng.random() < 0.3:
                new.target = self.rng.choice(parts.instrs)
            parts.instrs.insert(place, new)
            if self.rng.random() < 0.5:
                for instr in parts.instrs:
                    if place + 1 < len(parts.instrs) and instr.target is parts.instrs[place + 1]:
                        instr.target = new
        return put_together(code, parts)

    def dropped(self, code: CodeType) -> CodeType:
        """Leave an instruction out."""
        parts = take_apart(code)
        place = self.rng.randrange(len(parts.instrs))
        gone = parts.instrs.pop(place)
        following = parts.instrs[place] if place < len(parts.instrs) else None
        for instr in parts.instrs:
            if instr.target is gone:
                instr.target = following
        for i, entry in enumerate(parts.entries):
            begin, end, target = (
                following if part is gone else part
                for part in (entry.begin, entry.end, entry.target)
            )
            if begin is not None and target is not None:
                parts.entries[i] = Entry(begin, end, target, entry.depth, entry.lasti)
        return put_together(code, parts)

    def swapped(self, code: CodeType) -> CodeType:
        """Exchange two instructions, neighbours mostly."""
        parts = take_apart(code)
        if len(parts.instrs) < 2:
            return code
        i = self.rng.randrange(len(parts.instrs) - 1)
        j = i + 1 if self.rng.random() < 0.7 else self.rng.randrange(len(parts.instrs))
        a, b = parts.instrs[i], parts.instrs[j]
        a.op, b.op, a.arg, b.arg = b.op, a.op, b.arg, a.arg
        a.target, b.target = b.target, a.target
        return put_together(code, parts)

    def prefixes(self, code: CodeType) -> CodeType:
        """Put EXTENDED_ARGs before an instruction that needs none."""
        parts = take_apart(code)
        instr = self.rng.choice(parts.instrs)
        instr.extra = self.rng.choice((1, 1, 2, 3))
        if self.rng.random() < 0.4:
            instr.arg += 256
        return put_together(code, parts)

    def jumps(self, code: CodeType) -> CodeType:
        """Let a jump lead elsewhere."""
        parts = take_apart(code)
        jumps = [instr for instr in parts.instrs if instr.target is not None]
        if jumps:
            self.rng.choice(jumps).target = self.rng.choice(parts.instrs)
        return put_together(code, parts)

    def raw_bytes(self, code: CodeType) -> CodeType:
        """Change a byte of the code, whatever it means."""
        data = bytearray(code.co_code)
        data[self.rng.randrange(len(data))] = self.rng.randrange(256)
        return code.replace(co_code=bytes(data))

    def rearranged(self, code: CodeType) -> CodeType:
        """Move an instruction or two from one place to another."""
        parts = take_apart(code)
        length = self.rng.choice((1, 2))
        i = self.rng.randrange(len(parts.instrs))
        moved = parts.instrs[i : i + length]
        del parts.instrs[i : i + length]
        j = self.rng.randrange(len(parts.instrs) + 1)
        parts.instrs[j:j] = moved
        return put_together(code, parts)

    # -- tables -----------------------------------------------------------------------------------

    def names(self, code: CodeType) -> CodeType:
        """Change the names of globals and attributes."""
        return code.replace(co_names=self._renamed(code.co_names, code))

    def varnames(self, code: CodeType) -> CodeType:
        """Change the names of locals."""
        return code.replace(co_varnames=self._renamed(code.co_varnames, code))

    def _renamed(self, names: Tuple[str, ...], code: CodeType) -> Tuple[str, ...]:
        table = list(names)
        if not table:
            return names
        i, j = self.rng.randrange(len(table)), self.rng.randrange(len(table))
        choice = self.rng.random()
        others = code.co_varnames + code.co_cellvars + code.co_freevars + code.co_names
        if choice < 0.3:
            table[i], table[j] = table[j], table[i]
        elif choice < 0.6:
            table[i] = self.rng.choice(others)
        elif choice < 0.7:
            self.rng.shuffle(table)
        else:
            table[i] = self.rng.choice(ODD_NAMES)
        return tuple(table)

    def cells(self, code: CodeType) -> CodeType:
        """Change the cells and free variables, what they are called and how many they are."""
        which = self.rng.choice(("co_cellvars", "co_freevars"))
        table = list(getattr(code, which))
        others = code.co_varnames + code.co_cellvars + code.co_freevars + code.co_names + ("n",)
        choice = self.rng.random()
        if choice < 0.3 or not table:
            table.insert(self.rng.randrange(len(table) + 1), self.rng.choice(others))
        elif choice < 0.5:
            table.pop(self.rng.randrange(len(table)))
        elif choice < 0.7:
            self.rng.shuffle(table)
        else:
            table[self.rng.randrange(len(table))] = self.rng.choice(others)
        changed: Dict[str, Any] = {which: tuple(table)}
        return code.replace(**changed)

    def constants(self, code: CodeType) -> CodeType:
        """Make a constant another value, or that of another place."""
        table = list(code.co_consts)
        if not table:
            return code
        i = self.rng.randrange(len(table))
        if self.rng.random() < 0.4:
            j = self.rng.randrange(len(table))
            table[i], table[j] = table[j], table[i]
        else:
            table[i] = self.rng.choice((*VALUES, *table))
        return code.replace(co_consts=tuple(table))

    def equal_constants(self, code: CodeType) -> CodeType:
        """Make a constant another one that is equal to it, or looks so."""
        table = list(code.co_consts)
        places = list(range(len(table)))
        self.rng.shuffle(places)
        for i in places:
            for pair in EQUAL:
                for a, b in (pair, pair[::-1]):
                    if type(table[i]) is type(a) and repr(table[i]) == repr(a):
                        table[i] = b
                        return code.replace(co_consts=tuple(table))
        return code

    # -- numbers ----------------------------------------------------------------------------------

    def flags(self, code: CodeType) -> CodeType:
        """Set or clear a flag."""
        return code.replace(co_flags=code.co_flags ^ self.rng.choice(BITS))

    def counts(self, code: CodeType) -> CodeType:
        """Change a count of arguments, or the first line."""
        fields = ("co_argcount", "co_kwonlyargcount", "co_posonlyargcount", "co_firstlineno")
        which = self.rng.choice(fields)
        value = max(0, getattr(code, which) + self.rng.choice((-1, 1)))
        changed: Dict[str, Any] = {which: value}
        if self.rng.random() < 0.3:  # one more of the one kind, one less of the other
            changed = {
                "co_argcount": code.co_argcount + 1,
                "co_kwonlyargcount": max(0, code.co_kwonlyargcount - 1),
            }
        return code.replace(**changed)

    def stacksize(self, code: CodeType) -> CodeType:
        """Say that the stack is smaller or larger."""
        size = self.rng.choice((0, 1, 2, code.co_stacksize - 1, code.co_stacksize + 5, 5000))
        return code.replace(co_stacksize=max(0, size))

    def line_table(self, code: CodeType) -> CodeType:
        """Change a byte of the line table, or have none."""
        which = "co_linetable" if VERSION >= (3, 10) else "co_lnotab"
        table = bytearray(getattr(code, which))
        if not table or self.rng.random() < 0.2:
            table = bytearray()
        else:
            table[self.rng.randrange(len(table))] = self.rng.randrange(256)
        changed: Dict[str, Any] = {which: bytes(table)}
        return code.replace(**changed)

    def titles(self, code: CodeType) -> CodeType:
        """Change what the code object is called."""
        fields = ["co_name", "co_filename"] + (["co_qualname"] if VERSION >= (3, 11) else [])
        titles = (
            "f",
            "g",
            "<lambda>",
            "<listcomp>",
            "<genexpr>",
            "<module>",
            "",
            "a b",
            "C",
            "__x",
        )
        titles += ("<generic parameters of f>", "__annotate__", "f.<locals>.g", "x.f", "class")
        changed: Dict[str, Any] = {self.rng.choice(fields): self.rng.choice(titles)}
        return code.replace(**changed)

    def table(self, code: CodeType) -> CodeType:
        """Change the exception table: what is protected, by which handler, how deep."""
        parts = take_apart(code)
        entries, instrs = parts.entries, parts.instrs
        if not entries or self.rng.random() < 0.1:
            begin, end, target = (self.rng.choice(instrs) for _ in range(3))
            depth = self.rng.choice((0, 0, 1, 2))
            entries.append(Entry(begin, end, target, depth, self.rng.choice((0, 1))))
            return put_together(code, parts)
        i = self.rng.randrange(len(entries))
        choice = self.rng.randrange(12)
        depth: Optional[int] = None
        if choice == 0:
            entries.pop(i)
        elif choice == 1:
            self.rng.shuffle(entries)
        elif choice == 2:
            entries[i] = entries[i]._replace(
                depth=max(0, entries[i].depth + self.rng.choice((-1, 1)))
            )
        elif choice == 3:
            entries[i] = entries[i]._replace(lasti=1 - entries[i].lasti)
        elif choice == 4:
            entries[i] = entries[i]._replace(target=self.rng.choice(instrs))
        elif choice == 5:
            entries[i] = entries[i]._replace(begin=self._near(instrs, entries[i].begin))
        elif choice == 6:
            entries[i] = entries[i]._replace(end=self._near(instrs, entries[i].end))
        elif choice in (7, 8):
            self._split(instrs, entries, i)
        elif choice in (9, 10):
            self._join(entries, i)
        else:
            entries.insert(self.rng.randrange(len(entries) + 1), entries[i])
        return put_together(code, parts)

    def _split(self, instrs: List[Instr], entries: List[Entry], i: int) -> None:
        """Make two rows of one, with an instruction between them that neither has, or none."""
        row = entries[i]
        begin = instrs.index(row.begin)
        end = instrs.index(row.end) if row.end in instrs else len(instrs)
        if end - begin < 2:
            return
        at = self.rng.randrange(begin + 1, end)
        left_out = self.rng.choice((0, 0, 1))
        rows = [row._replace(end=instrs[at])]
        if at + left_out < end:
            rows.append(row._replace(begin=instrs[at + left_out]))
        entries[i : i + 1] = rows

    def _join(self, entries: List[Entry], i: int) -> None:
        """Make one row of two, and of what is between them."""
        if i + 1 < len(entries):
            entries[i : i + 2] = [entries[i]._replace(end=entries[i + 1].end)]

    def _near(self, instrs: List[Instr], instr: Optional[Instr]) -> Instr:
        place = instrs.index(instr) if instr in instrs else len(instrs) - 1
        place += self.rng.choice((-3, -2, -1, 1, 2, 3))
        return instrs[max(0, min(len(instrs) - 1, place))]
