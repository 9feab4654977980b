# SPDX-License-Identifier: Apache-2.0
"""Dynamo's code of another version of Python: source that is proven without that Python.

It is decompiled as :mod:`..dynamo.rewrite` does it for live code, with the same facts.  The proof
lowers the source for the version of the bytecode, and needs no interpreter.
"""

from __future__ import annotations

import ast
import contextlib
import re
from dataclasses import dataclass
from types import CodeType
from typing import Any, Iterable, Mapping, Sequence

from pellucid.decompilation import generated_file
from pellucid.dump.model.events import Verdict
from pellucid.dump.model.names import definable, scrub, stable_globals
from pellucid.forms import proven_form
from pellucid.matching.judge import lowered
from pellucid.pickle_tree import Node
from pellucid.result import Decompilation

from ..dynamo.generated import facts
from ..dynamo.local_names import named
from ..dynamo.rewrite import Rewriting
from ..dynamo.user_lines import annotate

_NAMES = ("co_names", "co_varnames", "co_cellvars", "co_freevars")


@dataclass
class _Shape:
    """What facts need to know of a code object."""

    co_name: str
    co_names: tuple[str, ...]
    co_varnames: tuple[str, ...]
    co_cellvars: tuple[str, ...]
    co_freevars: tuple[str, ...]
    co_consts: tuple[Any, ...] = ()


def rewrite_foreign(
    node: Node,
    version: tuple[int, int],
    original: CodeType,
    tag: str,
    graphs: Sequence[str],
    resumed: Mapping[str, CodeType],
) -> Rewriting:
    """Return the source of a transformed frame; no verdict is better than that of its bytecode.

    Args:
        node: the ``SerializedCode``.
        version: the Python that wrote it.
        original: the program's function, as code of this Python.
        tag: the slug of its compile id.
        graphs: the printed graphs that it calls.
        resumed: the code of the resume functions that it calls, by name.
    """
    try:
        objects = _objects(node)
        data = node.tree.core.code(
            node.number, {each.number: name for name, each in objects.items()}
        )
        if data is None:
            raise ValueError("not a code object")
        shape = _Shape(node.text("co_name"), **{name: names_in(node, name) for name in _NAMES})
        made: Any = shape
        known = facts(original, made)
        name = definable(shape.co_name)
        known["nested"] = [name]
        known["stand_ins"] = list(objects)
        data = _alone(data, (node.text("co_qualname"), shape.co_name), name)
        if version >= (3, 14):
            data = _without_class(data)

        def written(forms: dict[str, int]) -> Decompilation:
            return generated_file(data, version, known, forms)

        found, verdict = proven_form(written, "relowered")
        source, status = found.source, verdict.status
        # The proof of a text knows what the names of objects stand for.
        if objects and status == "unproven" and _holds(data, source, version, known):
            status = "equivalent"
        if shape.co_freevars:
            usual = _mentioning(written({}).source, name, shape.co_freevars)
            if usual != source and _holds(data, usual, version, known):
                source, status = usual, "equivalent"
        text = annotate(named(source, known["temporaries"], {}), original, graphs, resumed)
        is_proven = status != "unproven"
        if is_proven and text != source and not _holds(data, text, version, known):
            text = source
        shown = stable_globals(shape.co_names, re.findall(r"\w+", text), tag)
        if shown:
            names = "|".join(map(re.escape, sorted(shown, key=len, reverse=True)))
            text = re.sub(rf"\b(?:{names})\b", lambda match: shown[match[0]], text)
        reason = "" if is_proven else scrub(verdict.reason)
        constants = {constant: each.plain() for constant, each in objects.items()}
        return Rewriting(original, text, Verdict(status, reason), _named=constants)
    except Exception as error:  # the artifact decides what is in the code
        reason = f"{type(error).__name__}: {str(error).strip() or 'no message'}"
        return Rewriting(original, None, Verdict("failed", scrub(reason)))


def _objects(code: Node) -> dict[str, Node]:
    """Return the objects among the constants of code, by names that nothing in it has."""
    taken = {each.value for each in code.below() if each.kind == "str"}
    found: dict[str, Node] = {}
    pending, seen = [code], {code.number}
    while pending:
        node = pending.pop()
        consts = node.get("co_consts")
        if consts is None and node.kind in ("call", "global", "persistent"):
            kind = (node.cls or node.path).rpartition(".")[2]
            name = f"_const_{kind}" if kind.isidentifier() else "_const_object"
            while name in taken:
                name += "_"
            taken.add(name)
            found[name] = node
            continue
        for item in (consts or node).items:
            if item.number not in seen:
                seen.add(item.number)
                pending.append(item)
    return found


def _mentioning(source: str, name: str, free: Iterable[str]) -> str:
    """Return a source whose function keeps the free variables that Dynamo's code does not use.

    >>> print(_mentioning("def outer(a, b):\\n    def f():\\n        return a\\n", "f", ["a", "b"]))
    def outer(a, b):
        def f():
            if False:
                b
            return a
    <BLANKLINE>
    """
    defined = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    function = next((node for node in defined if node.name == name), None)
    if function is None:
        return source
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    lines, at = source.split("\n"), function.body[0].lineno - 1
    indent = " " * function.body[0].col_offset
    unused = [f"{indent}    {each}" for each in free if each not in used]
    return "\n".join(
        [*lines[:at], *([f"{indent}if False:", *unused] if unused else []), *lines[at:]]
    )


def _alone(data: bytes, names: Iterable[str], name: str) -> bytes:
    """Return marshalled code under a name that a function can have, without what is around it.

    Dynamo's names begin with two underscores, which a class would mangle; a lambda has no name.

    >>> _alone(b"\\x03A.fx\\x01f", ["A.f", "f"], "f")
    b'\\x01fx\\x01f'
    """
    new = name.encode("utf-8", "surrogatepass")
    for old in (each.encode("utf-8", "surrogatepass") for each in dict.fromkeys(names)):
        for size in (4, 1) if old not in (b"", new) else ():
            with contextlib.suppress(OverflowError):
                before = len(old).to_bytes(size, "little") + old
                if 0 < data.count(before) <= 2:  # of this code, and of no other in it
                    data = data.replace(before, len(new).to_bytes(size, "little") + new)
                    break
    return data


def _without_class(data: bytes) -> bytes:
    """Return marshalled code that does not say that it is a method (CO_METHOD, since 3.14)."""
    at = 20  # the last byte of the flags, after the type and four numbers
    return data[:at] + bytes([data[at] & ~0x08]) + data[at + 1 :]


def _holds(data: bytes, text: str, version: tuple[int, int], known: dict[str, list[str]]) -> bool:
    try:
        return all(v.status != "unproven" for v in lowered(data, text, 0, version, known))
    except SyntaxError:
        return False


def names_in(node: Node, name: str) -> tuple[str, ...]:
    """Return a tuple of names among the fields of a code object."""
    found = node.get(name)
    return tuple(str(each.value) for each in (found.items if found is not None else ()))
