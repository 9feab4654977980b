"""The nodes of a graph, read from its file, for dumps that do not tell them apart."""

from __future__ import annotations

import re

from pellucid.torch.model.events import Place
from pellucid.torch.model.nodes import Node

_NODE = re.compile(r"^ {4,8}(\w+)(?::\s*\"([^\"]*)\")? = (.*)$")
_INPUT = re.compile(r"\b(\w+)\s*:\s*\"([^\"]*)\"")
_FILE = re.compile(r"^\s*# File: (.+):(\d+) in (.+?)(?:, code: (.*))?$")
_MODULE = re.compile(r"^\s*# in (.+)$")
_PART = re.compile(r"(\S+) \((\w+)\)")
_WORD = re.compile(r"(?<!\.)\b[A-Za-z_]\w*(?!\s*=[^=])|(?<==)\s*[A-Za-z_]\w*")
_NAME = re.compile(r"[\w.]+$")
_TENSOR = re.compile(r"^(\w+)\[([^\]]*)\](?:\[([^\]]*)\])?(\w.*)?$")


def nodes_of_text(text: str) -> tuple[Node, ...]:
    """Return what the lines of a dumped graph say about its nodes.

    >>> first, = nodes_of_text('  def forward(self, a):\\n        b: "f32[2]" = a.abs()')
    >>> first.name, first.line, first.shape, first.target
    ('b', 2, ('2',), 'a.abs')
    """
    found: list[Node] = []
    known: set[str] = set()
    place: Place | None = None
    module: tuple[tuple[str, str], ...] = ()
    inside = signature = False
    for number, line in enumerate(text.split("\n"), 1):
        if not inside:
            inside = line.lstrip().startswith("def forward(")
            signature = inside
        if not inside:
            continue
        if signature:
            for name, kind in _INPUT.findall(line):
                found.append(_node(name, kind, "placeholder", name, (), number, None, ()))
                known.add(name)
            signature = not line.rstrip().endswith(":")
            continue
        where = _FILE.match(line)
        if where is not None:
            place, module = Place(where[1], int(where[2]), where[3]), ()
            continue
        within = _MODULE.match(line)
        if within is not None:
            module = tuple((a, b) for a, b in _PART.findall(within[1]))
            continue
        if line.startswith("    def ") or (line and not line[0].isspace()):
            break
        made = _NODE.match(line)
        if made is None:
            continue
        called = made[3].partition(";  ")[0]
        target = called.partition("(")[0].strip()
        words = dict.fromkeys(word for word in _WORD.findall(called) if word in known)
        if not _NAME.match(target):
            target = _WORD.sub(lambda m: "…" if m[0] in known else m[0], called)
        node = _node(
            *(made[1], made[2] or "", "call_function", target, tuple(words), number, place, module)
        )
        found.append(node)
        known.add(made[1])
    return tuple(found)


def _node(
    name: str,
    kind: str,
    op: str,
    target: str,
    args: tuple[str, ...],
    line: int,
    place: Place | None,
    module: tuple[tuple[str, str], ...],
) -> Node:
    tensor = _TENSOR.match(kind)
    shape = stride = None
    dtype = device = ""
    if tensor is not None:
        dtype, device = tensor[1], tensor[4] or ""
        shape = _sizes(tensor[2])
        stride = _sizes(tensor[3]) if tensor[3] is not None else None
    return Node(name, op, target, line, place, shape, dtype, device, stride, args, module)


def _sizes(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")) if text.strip() else ()
