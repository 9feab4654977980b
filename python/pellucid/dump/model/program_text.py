# SPDX-License-Identifier: Apache-2.0
"""Parser of an Inductor program: its kernels, their calls, and the nodes of each call.

Inductor writes a comment above a call that names the nodes of earlier graphs it computes::

    # Topologically Sorted Source Nodes: [linear, x], Original ATen: [aten.addmm]
    extern_kernels.addmm(...)

and above a Triton kernel the nodes of the graph from which the program was generated.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Iterator, Mapping, Sequence

_DEFINED = re.compile(r"^(\w+) = async_compile\.(\w+)\(", re.MULTILINE)
_SOURCES = re.compile(r"\s*# .*\bSource Nodes: \[([^\]]*)\]")
_FRAGMENT = re.compile(r"#   %(\w+) : ")
_OF_LIBRARY = ("extern_kernels.", "torch.ops.", "aten.", "inductor_ops.", "_quantized.")
_STREAM = "get_raw_stream"
# Functions that call the kernels to benchmark them, not to run the program.
_NO_PART = ("benchmark", "get_args")


@dataclass
class KernelText:
    """A kernel that a program defines, or a library kernel that it calls."""

    name: str
    kind: str
    """Inductor's method that compiles it, ``cpp_pybinding``; ``extern`` for library kernels."""
    line: int
    """The line of its definition; 0 for library kernels."""
    calls: list[int] = field(default_factory=list)
    """The lines that call it."""
    nodes: list[str] = field(default_factory=list)
    """The nodes that its calls compute, by the names in the comments."""
    generated_from: list[str] = field(default_factory=list)
    """The same in the graph from which the program was generated, if known."""
    arguments: list[tuple[str, ...]] = field(default_factory=list)
    """The names of the buffers that each call takes or produces."""


def kernels_of_text(text: str) -> tuple[KernelText, ...]:
    """Return the kernels of a program in the order of their lines; library calls are separate.

    >>> text = "def call(args):\\n    # Source Nodes: [a, b], Original ATen: [aten.mm]\\n"
    >>> kernels_of_text(text + "    extern_kernels.mm(x, y, out=buf0)")
    ... # doctest: +ELLIPSIS
    (KernelText(name='extern_kernels.mm', kind='extern', line=0, calls=[3], nodes=['a', 'b'], ...)
    """
    lines = text.split("\n")
    defined: dict[str, KernelText] = {}
    for found in _DEFINED.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        made = KernelText(found[1], found[2], line)
        made.generated_from = _fragment(lines, line)
        defined[made.name] = made
    externs = []
    for statement, call in _calls(text):
        name = ast_name(call.func)
        kernel = defined.get(name.rpartition(".")[0] if name.endswith(".run") else name)
        nodes = _sources(lines, statement.lineno)
        if kernel is None:
            if name == _STREAM or (nodes is None and not name.startswith(_OF_LIBRARY)):
                continue
            kernel = KernelText(name, "extern", 0)
            externs.append(kernel)
        kernel.calls.append(call.lineno)
        kernel.nodes += [node for node in nodes or () if node not in kernel.nodes]
        kernel.arguments.append(tuple(_names(statement)))
    return (*defined.values(), *externs)


@dataclass(frozen=True)
class Statement:
    """A statement of a program that produces values."""

    line: int
    end: int
    """Its last line."""
    fills: tuple[str, ...]
    """The buffers that it may be the first to fill: arguments of a call, or assigned names."""


def statements_of_text(text: str) -> tuple[Statement, ...]:
    """Return the statements of a program that fill buffers, in the order of their lines.

    >>> text = "def call(args):\\n    buf0 = empty_strided_cpu((2,), (1,), torch.float32)\\n"
    >>> text += "    extern_kernels.mm(arg0_1, arg0_1, out=buf0)\\n    buf2 = buf1[0]\\n"
    >>> [(statement.line, statement.fills) for statement in statements_of_text(text)]
    [(3, ('arg0_1', 'buf0')), (4, ('buf2',))]
    """
    lines = {line for kernel in kernels_of_text(text) for line in kernel.calls}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Expr, ast.Assign)):
            continue
        value, fills = node.value, ()  # type: ast.expr, tuple[str, ...]
        called = ast_name(value.func) if isinstance(value, ast.Call) else ""
        if isinstance(node, ast.Assign):
            made = isinstance(value, ast.Subscript) or (
                called and not called.startswith(("empty_strided", *_ALIASING))
            )
            names = (t for target in node.targets for t in ast.walk(target))
            fills = tuple(n.id for n in names if isinstance(n, ast.Name)) if made else ()
        elif isinstance(value, ast.Call) and (value.lineno in lines or node.lineno in lines):
            fills = tuple(dict.fromkeys(n for n in _names(node) if n != called.partition(".")[0]))
        if fills:
            found.append(Statement(node.lineno, node.end_lineno or node.lineno, fills))
    return tuple(sorted(found, key=lambda statement: statement.line))


_ALIASING = ("reinterpret_tensor", "alloc_from_pool", "assert_", _STREAM)


def add_origins(
    kernels: Sequence[KernelText], origins: Mapping[str, tuple[str, tuple[str, ...]]]
) -> None:
    """Add the nodes from which each kernel was generated.

    Args:
        kernels: the kernels of one program.
        origins: for each buffer, the part of the program that produces it, and that part's nodes.

    A call produces those of its buffers that no earlier call has produced.
    """
    made: set[str] = set()
    calls = [(line, at, kernel) for kernel in kernels for at, line in enumerate(kernel.calls)]
    for _, at, kernel in sorted(calls, key=lambda call: call[0]):
        for name in kernel.arguments[at]:
            part, nodes = origins.get(name, ("", ()))
            if nodes and part not in made:
                made.add(part)
                new = [node for node in nodes if node not in kernel.generated_from]
                kernel.generated_from += new


def ast_name(node: ast.expr) -> str:
    """Return an expression as a dotted name; empty if it is not one."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _calls(text: str) -> Iterator[tuple[ast.stmt, ast.Call]]:
    """Yield calls that are statements or assigned values, in the order of their lines."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, inside = pending.pop()
        value = getattr(node, "value", None)
        if inside and isinstance(node, (ast.Expr, ast.Assign)) and isinstance(value, ast.Call):
            yield node, value
        if isinstance(node, ast.FunctionDef):
            inside = not node.name.startswith(_NO_PART)
            if not inside:
                continue
        blocks = [getattr(node, name, ()) for name in ("body", "orelse", "finalbody")]
        pending += [(child, inside) for block in blocks for child in block][::-1]


def _sources(lines: list[str], line: int) -> tuple[str, ...] | None:
    """Return the nodes in the comment above a statement; None if there is no comment.

    On a device, the statement that gets the stream comes between comment and call.
    """
    for above in reversed(lines[max(0, line - 4) : line - 1]):
        found = _SOURCES.match(above)
        if found:
            return tuple(filter(None, found[1].split(", ")))
        text = above.strip()
        if text and not text.startswith("#") and f"{_STREAM}(" not in text:
            break
    return None


def _fragment(lines: list[str], line: int) -> list[str]:
    """Return the nodes listed in the comment above a definition."""
    names: list[str] = []
    for above in reversed(lines[: line - 1]):
        if not above.startswith("#"):
            break
        found = _FRAGMENT.match(above)
        if found:
            names.append(found[1])
    return list(dict.fromkeys(reversed(names)))


def _names(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
