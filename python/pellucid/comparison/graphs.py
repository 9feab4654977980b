# SPDX-License-Identifier: Apache-2.0
"""Comparison of two graphs, or of two programs' kernels, by what they compute, not by names."""

from __future__ import annotations

import difflib
import functools
import re
from typing import Mapping, NamedTuple, Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import ExternCall, Graph, KernelFile
from pellucid.dump.model.nodes import Node

from .change import Line

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_SYMBOL = re.compile(r"\b[suz](?:u?\d+|f\d+)\b")
_NOTE = re.compile(r": \"[^\"]*\"(?= = )")
_DELETED = re.compile(r";  (?:\w+ = )+None(?:  #.*)?$")


class _Read(NamedTuple):
    """One node: its meaning, its arguments, and its printed line."""

    meaning: tuple[object, ...]
    takes: tuple[int, ...]
    node: Node
    text: str


def graph_lines(one: Capture, two: Capture, first: Graph, second: Graph) -> list[Line]:
    """Return how two graphs differ; empty if they have the same operations, shapes and edges.

    Args:
        one, two: the captures.
        first, second: a graph of each.
    """
    if first.hash and first.hash == second.hash:
        return []
    a, b = _read(one, first), _read(two, second)
    matcher = difflib.SequenceMatcher(
        None, [node.meaning for node in a], [node.meaning for node in b], autojunk=False
    )
    lines: list[Line] = []
    same: dict[int, int] = {}
    reshaped = 0
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        same.update(zip(range(i1, i2), range(j1, j2)) if tag == "equal" else ())
        mine, theirs = list(a[i1:i2]), list(b[j1:j2])
        if tag == "replace" and i2 - i1 == j2 - j1:
            # Report only the first node that differs just in shape; the others follow from it.
            pairs = [(n, m) for n, m in zip(mine, theirs) if lines and _only_shapes(n, m)]
            reshaped += len(pairs)
            mine = [n for n in mine if all(n is not pair[0] for pair in pairs)]
            theirs = [n for n in theirs if all(n is not pair[1] for pair in pairs)]
            shown = _inputs_first(mine, theirs)
            reshaped += len(mine) - len(shown[0])
            mine, theirs = shown
        if tag != "equal":
            lines += [Line("-", n.text, first.file, n.node.line) for n in mine]
            lines += [Line("+", n.text, second.file, n.node.line) for n in theirs]
    for i, j in same.items():
        if not _same_edges(a[i].takes, b[j].takes, same):
            lines.append(Line("-", a[i].text, first.file, a[i].node.line))
            lines.append(Line("+", b[j].text, second.file, b[j].node.line))
    if reshaped:
        lines.append(Line(" ", f"and {reshaped} more that differ in shape or type"))
    return lines


def _inputs_first(one: list[_Read], two: list[_Read]) -> tuple[list[_Read], list[_Read]]:
    """Leave out nodes that differ only in shape if an input before them does too."""
    given = any(n.node.op == "placeholder" for n in one)
    pairs = [
        (n, m)
        for n, m in zip(one, two)
        if not (given and n.node.op != "placeholder" and _only_shapes(n, m))
    ]
    return [n for n, _ in pairs], [m for _, m in pairs]


def _only_shapes(one: _Read, two: _Read) -> bool:
    """Return true if two nodes do the same to values of different shapes or types."""
    return one.meaning[:2] == two.meaning[:2] and one.meaning != two.meaning


def _same_edges(one: Sequence[int], two: Sequence[int], same: Mapping[int, int]) -> bool:
    """Return true if two nodes take the same arguments, apart from arguments that changed."""
    if len(one) != len(two):
        return False
    return all(a not in same or same[a] == b for a, b in zip(one, two))


def _read(capture: Capture, graph: Graph) -> list[_Read]:
    lines = capture.text(graph.file).split("\n")
    numbers: dict[tuple[str, str], int] = {}
    symbols: dict[str, str] = {}

    def renamed(text: str) -> str:
        return _SYMBOL.sub(lambda m: symbols.setdefault(m[0], f"s{len(symbols)}"), text)

    found = []
    for number, node in enumerate(capture.nodes(graph.file)):
        text = lines[node.line - 1].strip() if 0 < node.line <= len(lines) else node.name
        text = _DELETED.sub("", text)
        value = _NOTE.sub("", text).partition(" = ")[2] if node.op != "output" else ""
        known = [m[0] for m in _NAME.finditer(_STRING.sub("''", value))]
        if node.op == "output":
            known = list(node.args)
        takes = tuple(numbers[node.graph, n] for n in known if (node.graph, n) in numbers)
        literal = _NAME.sub(functools.partial(_blank, numbers, node.graph), value)
        sizes = tuple(map(renamed, (*(node.shape or ("?",)), "/", *(node.stride or ("?",)))))
        is_given = node.op == "placeholder"
        meaning = (
            node.op,
            "" if is_given else renamed(literal),
            sizes,
            renamed(node.dtype),
            node.device,
            node.graph,
        )
        numbers[node.graph, node.name] = number
        shown = _given(node) if is_given else text
        found.append(_Read(meaning, takes, node, shown))
    return found


def _blank(known: Mapping[tuple[str, str], int], graph: str, found: re.Match[str]) -> str:
    return "_" if (graph, found[0]) in known else found[0]


def _given(node: Node) -> str:
    sizes = "" if node.shape is None else f"[{', '.join(node.shape)}]"
    return f"{node.name}: {node.dtype}{sizes} {node.device}".strip()


def kernel_lines(one: Capture, two: Capture, first: Graph, second: Graph) -> list[Line]:
    """Return how the kernels and library calls of two programs differ, in order."""
    a, b = _kernels(one, first), _kernels(two, second)
    matcher = difflib.SequenceMatcher(None, [k[1] for k in a], [k[1] for k in b], autojunk=False)
    lines: list[Line] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            lines += [Line("-", name, file, line) for name, _, file, line in a[i1:i2]]
            lines += [Line("+", name, file, line) for name, _, file, line in b[j1:j2]]
    return lines


def _kernels(capture: Capture, program: Graph) -> list[tuple[str, str, str, int]]:
    """Return the name, comparison key, file and line of each kernel call of a program, in order."""
    found = []
    for event in capture.events:
        if isinstance(event, KernelFile) and event.program == program.file:
            text = capture.text(event.file).partition("\n")[2]  # the first line names the program
            line = event.calls[0] if event.calls else event.line
            found.append((line, (event.name, _plain(text), event.file, 1)))
        elif isinstance(event, ExternCall) and event.program == program.file:
            found.append((event.line, (event.name, event.name, program.file, event.line)))
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def _plain(text: str) -> str:
    """Return a kernel's text without paths of the cache directory."""
    return re.sub(r"/[^\s\"']*/torchinductor[^\s\"']*", "…", text)
