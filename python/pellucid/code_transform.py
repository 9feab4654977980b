# SPDX-License-Identifier: Apache-2.0
"""Source whose code object can replace another, under depyf's names.

pellucid itself makes code objects fit (:mod:`pellucid.recompile`) and leaves the source alone. This
module is for programs written for depyf that compile the text themselves, or use its decompiler's
instruction lists and syntax trees.
"""

from __future__ import annotations

import ast
import dis
import itertools
import sys
from dataclasses import dataclass
from types import CodeType
from typing import Any, Dict, Iterator, List, Optional, Tuple

from pellucid.utils import collect_all_code_objects

__all__ = [
    "ExceptionTableEntry",
    "IdentifierReplacer",
    "Instruction",
    "RemoveAssignment2Transformer",
    "RemoveAssignmentTransformer",
    "add_indentation",
    "check_exception_table",
    "convert_instruction",
    "decode_exception_table_varint",
    "fix_irregular_code",
    "get_parents",
    "lowest_common_parent",
    "nop_instruction",
    "nop_unreachable_bytecode",
    "parse_exception_table",
    "prepare_freevars_for_compile",
    "propagate_line_nums",
    "remove_indentation",
    "remove_some_temp",
    "set_parents",
    "simplify_finally_statement",
]

py311 = sys.version_info >= (3, 11)

# -- source text -----------------------------------------------------------------------------------


def add_indentation(code: str, indentation: int = 4) -> str:
    """Indent every line.

    >>> add_indentation("x = 1\\n")
    '    x = 1\\n'
    """
    return "".join(f"{' ' * indentation}{line}\n" for line in code.splitlines())


def remove_indentation(code: str, indentation: int = 4) -> str:
    """Remove an indentation from every line.

    >>> remove_indentation("    x = 1\\n")
    'x = 1\\n'
    """
    return "".join(f"{line[indentation:]}\n" for line in code.splitlines())


def fix_irregular_code(
    old_bytecode: CodeType,
    src_code: str,
    add_local_variables: Optional[List[str]] = None,
    add_cellvars: Optional[List[str]] = None,
) -> str:
    """Return source that compiles to a function with at least the names of another's.

    Args:
        old_bytecode: the code object with the names.
        src_code: one function, its head on the first line and its body on the lines below.
        add_local_variables: locals that are always bound.
        add_cellvars: names that a nested function always uses.

    Returns:
        The source; a function with free variables is nested in one that defines them.

    Raises:
        SyntaxError: the source does not compile.

    >>> def outer(cell):
    ...     return lambda a: (a, cell)
    >>> print(fix_irregular_code(outer(1).__code__, "def f(a):\\n    return a"))
    def __helper_outer_function():
        cell = None
        def f(a):
            return a
    <BLANKLINE>
    """
    name = src_code.split("(")[0].split()[-1]
    whole = _with_names(old_bytecode, src_code, add_local_variables or [], add_cellvars or [])
    (code,) = [c for c in collect_all_code_objects(_compiled(whole)) if c.co_name == name][:1]
    locals_ = {*old_bytecode.co_varnames} - {*code.co_varnames}
    cells = {*old_bytecode.co_cellvars} - {*code.co_cellvars}
    if not locals_ and not cells:
        return whole
    # Otherwise, names that the source does not bind would be globals.
    locals_ |= {*(add_local_variables or []), *(cells - {*code.co_varnames})}
    cells |= {*(add_cellvars or [])}
    return _with_names(old_bytecode, src_code, sorted(locals_), sorted(cells))


def _compiled(text: str) -> CodeType:
    code: CodeType = compile(text, "noname", "exec", dont_inherit=True)
    return code


def _with_names(old: CodeType, source: str, locals_: List[str], cells: List[str]) -> str:
    head, _, body = source.strip("\n").partition("\n")
    lines = [head]
    if locals_:
        bound = "; ".join(f"{name} = None" for name in locals_)
        lines.append(f"    {bound}  # as many locals as the original has")
    if cells:
        lines.append("    def __helper_for_cellvars():  # and as many cells")
        lines.append(f"        return {', '.join(cells)}")
    text = "\n".join([*lines, *body.split("\n")]).rstrip("\n") + "\n"
    if not old.co_freevars:
        return text
    free = "".join(f"    {name} = None\n" for name in old.co_freevars)
    return f"def __helper_outer_function():\n{free}{add_indentation(text)}"


def prepare_freevars_for_compile(
    old_bytecode: CodeType, src_code: str, add_local_variables: Optional[List[str]] = None
) -> str:
    """Call :func:`fix_irregular_code`, under its name in older versions of depyf."""
    return fix_irregular_code(old_bytecode, src_code, add_local_variables)


# -- instructions ----------------------------------------------------------------------------------

_JUMPS = frozenset([*dis.hasjabs, *dis.hasjrel])
_NEVER_CONTINUE = frozenset(
    [
        "BREAK_LOOP",
        "JUMP_ABSOLUTE",
        "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT",
        "JUMP_FORWARD",
        "RAISE_VARARGS",
        "RERAISE",
        "RETURN_CONST",
        "RETURN_VALUE",
    ]
)


@dataclass(eq=False)
class Instruction:
    """A mutable instruction of :mod:`dis`; compared by identity."""

    opcode: int
    opname: str
    arg: Optional[int]
    argval: Any
    argrepr: str
    offset: Optional[int] = None
    starts_line: Optional[int] = None
    is_jump_target: bool = False

    def short_inst_repr(self) -> str:
        """Return the instruction's name and offset."""
        return f"Instruction(opname={self.opname}, offset={self.offset})"

    def is_jump(self) -> bool:
        """Return true if the instruction may jump to a target."""
        return self.opcode in _JUMPS

    def get_jump_target(self) -> int:
        """Return the offset of the target; raise ValueError if this is not a jump."""
        if not self.is_jump():
            raise ValueError(f"{self.opname} is not a jump")
        return int(self.argval)


def convert_instruction(i: dis.Instruction) -> Instruction:
    """Copy an instruction of :mod:`dis`."""
    line: Any = i.starts_line
    if isinstance(line, bool):  # since 3.13, it only says whether a line starts
        line = getattr(i, "line_number", None) if line else None
    return Instruction(
        i.opcode, i.opname, i.arg, i.argval, i.argrepr, i.offset, line, bool(i.is_jump_target)
    )


def nop_instruction(inst: Instruction) -> Instruction:
    """Turn an instruction into a NOP in place, and return it."""
    inst.opcode, inst.opname = dis.opmap["NOP"], "NOP"
    inst.arg, inst.argval, inst.argrepr = 0, 0, ""
    inst.is_jump_target = False
    return inst


def propagate_line_nums(instructions: List[Instruction]) -> None:
    """Give each instruction without a line the line of the one before it."""
    line = None
    for inst in instructions:
        line = inst.starts_line = inst.starts_line or line


def simplify_finally_statement(instructions: List[Instruction]) -> None:
    """Leave the instructions unchanged: pellucid decompiles ``finally`` directly."""


def nop_unreachable_bytecode(code: CodeType, instructions: List[Instruction]) -> None:
    """Turn every unreachable instruction into a NOP."""
    numbers = {inst.offset: number for number, inst in enumerate(instructions)}
    table = parse_exception_table(getattr(code, "co_exceptiontable", b""))
    reached = set()
    pending = [0] if instructions else []
    while pending:
        number = pending.pop()
        if number in reached or number >= len(instructions):
            continue
        reached.add(number)
        inst = instructions[number]
        offset = inst.offset or 0
        targets = [inst.get_jump_target()] if inst.is_jump() else []
        targets += [entry.target for entry in table if entry.start <= offset <= entry.end]
        pending.extend(numbers[target] for target in targets if target in numbers)
        if inst.opname not in _NEVER_CONTINUE:
            pending.append(number + 1)
    for number, inst in enumerate(instructions):
        if number not in reached:
            nop_instruction(inst)


@dataclass
class ExceptionTableEntry:
    """The handler of a range of instructions; ``end`` is the offset of the last one."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


def decode_exception_table_varint(bytes_iter: Iterator[int]) -> int:
    """Read a number of an exception table: six bits per byte, the highest first.

    >>> decode_exception_table_varint(iter([0x41, 0x02]))
    66
    """
    value, more = 0, True
    while more:
        byte = next(bytes_iter)
        value, more = value << 6 | byte & 0x3F, bool(byte & 0x40)
    return value


def parse_exception_table(exntab: bytes) -> List[ExceptionTableEntry]:
    """Parse ``co_exceptiontable``, which code objects have since 3.11.

    The format is described in CPython's InternalDocs/exception_handling.md.
    """
    numbers = iter(exntab)
    read = decode_exception_table_varint
    table = []
    for first in numbers:
        start = 2 * read(itertools.chain([first], numbers))
        end = start + 2 * read(numbers) - 2
        target, depth_and_lasti = 2 * read(numbers), read(numbers)
        depth, lasti = divmod(depth_and_lasti, 2)
        table.append(ExceptionTableEntry(start, end, target, depth, bool(lasti)))
    check_exception_table(table)
    return table


def check_exception_table(tab: List[ExceptionTableEntry]) -> None:
    """Raise AssertionError unless the ranges are ordered and do not overlap."""
    before = -1
    for entry in tab:
        if not before < entry.start <= entry.end:
            raise AssertionError(f"exception table: the range from {entry.start} is out of order")
        before = entry.end


# -- syntax trees ----------------------------------------------------------------------------------


def set_parents(node: ast.AST, parent: Optional[ast.AST] = None) -> None:
    """Set the attribute ``parent`` on each node below ``node``."""
    for above in ast.walk(node):
        for child in ast.iter_child_nodes(above):
            child.parent = above  # type: ignore[attr-defined]


def get_parents(node: Optional[ast.AST]) -> List[ast.AST]:
    """Return a node and its ancestors, the nearest first; call :func:`set_parents` before."""
    found = []
    while node is not None:
        found.append(node)
        node = getattr(node, "parent", None)
    return found


def lowest_common_parent(
    node1: ast.AST, node2: ast.AST
) -> Tuple[Optional[ast.AST], Optional[ast.AST], Optional[ast.AST]]:
    """Return the lowest common ancestor, and its child on the path to each node."""
    common: Optional[ast.AST] = None
    pair: Tuple[Optional[ast.AST], Optional[ast.AST]] = (None, None)
    for pair in zip(get_parents(node1)[::-1], get_parents(node2)[::-1]):
        if pair[0] is not pair[1]:
            break
        common = pair[0]
    return (common, *pair)


def remove_some_temp(source_code: str, temp_prefix: str, indentation: int = 4) -> str:
    """Return the source unchanged: pellucid writes no temporaries that need removal."""
    return source_code


class RemoveAssignmentTransformer(ast.NodeTransformer):
    """Leaves a tree unchanged, for the same reason as :func:`remove_some_temp`."""

    def __init__(self, temp_name: str, temp_occurrences: Dict[str, List[Any]]) -> None:
        self.temp_name = temp_name
        self.temp_occurrences = temp_occurrences


class RemoveAssignment2Transformer(RemoveAssignmentTransformer):
    """Leaves a tree unchanged as well."""


class IdentifierReplacer(ast.NodeTransformer):
    """Renames every function to the same name, so that trees can be compared without it."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = "PLACEHOLDER"
        return self.generic_visit(node)
