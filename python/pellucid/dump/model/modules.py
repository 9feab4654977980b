# SPDX-License-Identifier: Apache-2.0
"""The user's module of each graph node: comments in the graph, and a tree."""

from __future__ import annotations

import re
from typing import Mapping, Sequence, Tuple

ModulePath = Tuple[Tuple[str, str], ...]
"""From the outermost module to the innermost: its dotted path and the name of its class."""

_NODE = re.compile(r"^( +)(\w+)(?:: \"[^\"]*\")? = ")
_SHOWN = 8
"""The number of nodes per module that the tree names."""


def with_modules(body: str, modules: Mapping[str, ModulePath]) -> str:
    """Add a comment to a printed graph wherever the module changes.

    Args:
        body: the class as torch.fx prints it.
        modules: the path of each node that belongs to a module, by the node's name.
    """
    lines: list[str] = []
    last: ModulePath = ()
    for line in body.split("\n"):
        found = _NODE.match(line)
        path = modules.get(found[2]) if found else None
        # A node outside any module follows without a comment, as in the source.
        if found and path is not None and path != last:
            lines.append(f"{found[1]}# in {path[-1][0]} ({path[-1][1]})")
        if found:
            last = path or ()
        lines.append(line)
    return "\n".join(lines)


def module_tree(modules: Mapping[str, ModulePath]) -> str:
    """Return the modules as a tree, each with its nodes; empty if there are none.

    >>> linear = (("self.a", "Linear"),)
    >>> print(module_tree({"t": linear, "addmm": linear, "x": linear + (("self.a.b", "ReLU"),)}))
    The modules, each with the nodes that it computes:
      self.a (Linear): t, addmm
        self.a.b (ReLU): x
    """
    nodes: dict[ModulePath, list[str]] = {}
    for name, path in modules.items():
        for depth in range(1, len(path) + 1):
            nodes.setdefault(path[:depth], [])
        nodes[path].append(name)
    if not nodes:
        return ""
    first_seen = {path: number for number, path in enumerate(nodes)}
    lines = ["The modules, each with the nodes that it computes:"]
    for path in sorted(nodes, key=lambda path: _order(path, first_seen)):
        names = nodes[path]
        lines.append("  " * len(path) + f"{path[-1][0]} ({path[-1][1]}){_listed(names)}")
    return "\n".join(lines)


_TREE = "# The modules, each with the nodes that it computes:"
_BRANCH = re.compile(r"#( +)(\S+) \((\w+)\)(?:: (.*))?$")
_MODULE = re.compile(r" +# in (\S+) \((\w+)\)$")


def modules_of_text(text: str) -> dict[str, ModulePath]:
    """Return the modules of nodes from the comments in a dumped file.

    The tree at the end names a few nodes of each module; a comment names the first node of each
    run.

    >>> tree = "# The modules, each with the nodes that it computes:\\n#   self.a (Linear): t"
    >>> modules_of_text(tree + "\\n#     self.a.b (ReLU): x")["x"]
    (('self.a', 'Linear'), ('self.a.b', 'ReLU'))
    """
    body, _, tree = text.partition(_TREE)
    found: dict[str, ModulePath] = {}
    path: list[tuple[str, str]] = []
    paths: dict[tuple[str, str], ModulePath] = {}
    for line in tree.split("\n")[1:]:
        branch = _BRANCH.match(line)
        if branch is None:
            break
        path[len(branch[1]) // 2 - 1 :] = [(branch[2], branch[3])]
        paths[branch[2], branch[3]] = tuple(path)
        for name in (branch[4] or "").split(", "):
            if name.isidentifier():
                found[name] = tuple(path)
    module: ModulePath | None = None
    for line in body.split("\n") if paths else ():
        marked = _MODULE.match(line)
        if marked:
            module = paths.get((marked[1], marked[2]))
        elif module is not None:
            node = _NODE.match(line)
            if node:
                found.setdefault(node[2], module)
                module = None
    return found


def _order(path: ModulePath, first_seen: Mapping[ModulePath, int]) -> list[int]:
    """Sort parents before children, and siblings in graph order."""
    return [first_seen[path[:depth]] for depth in range(1, len(path) + 1)]


def _listed(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f", … {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f": {', '.join(names[:_SHOWN])}{more}"
