# SPDX-License-Identifier: Apache-2.0
"""How much of a dump leads back to the user's lines on the page: `link_shares.py DUMP…`.

Counted are guards, statements of transformed code, nodes of graphs by stage, and calls of kernels.
What leads to no line is shown with ``--show 20``.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

from pellucid import load
from pellucid.dump.model.events import ExternCall, Frame, Graph, KernelFile
from pellucid.report.model import View, view_of
from pellucid.report.pool import Pool

Span = Tuple[int, int, int]
Part = Tuple[str, Span, str]
"""What kind of thing it is, where it stands, and how it is shown."""
_CALLS = ("call_function", "call_method", "call_module")


def reached(view: View) -> Set[Span]:
    """Return the pieces of files to which links lead from the user's lines."""
    users = {view.files.number[user.path] for user in view.users}
    spans = list(view.links.spans)
    below: Dict[int, List[int]] = defaultdict(list)
    for upper, lower in view.links.edges:
        below[upper].append(lower)
    pending = [number for span, number in view.links.spans.items() if span[0] in users]
    found = set(pending)
    while pending:
        for lower in below[pending.pop()]:
            if lower not in found:
                found.add(lower)
                pending.append(lower)
    return {spans[number] for number in found}


def parts(view: View) -> Iterator[Part]:
    """Yield all that should lead to a line of the user's."""
    for function in view.functions:
        for i, row in enumerate(function.rows):
            # What has no source is about the state of the process, and stands for no line.
            if row.source and any(guard is not None for guard in row.guards):
                yield "guards", (function.guards, i, i), f"{row.source} {row.where}".strip()
    for frame in view.capture.of(Frame):
        number = view.files.number.get(frame.file)
        if number is not None:
            yield from _statements(view, number)
    for graph in view.capture.of(Graph):
        number = view.files.number.get(graph.file)
        for node in view.nodes.get(graph.file, ()) if number is not None else ():
            if node.op in _CALLS:
                assert number is not None
                line = node.line - 1
                yield f"nodes of {graph.stage}", (number, line, line), f"{node.name}: {node.target}"
    for kind in (KernelFile, ExternCall):
        for call in view.capture.of(kind):
            number = view.files.number.get(call.program)
            lines = call.calls if isinstance(call, KernelFile) else (call.line,)
            for line in lines if number is not None else ():
                assert number is not None
                name = "kernels" if kind is KernelFile else "calls of libraries"
                yield name, (number, line - 1, line - 1), call.name


def _statements(view: View, number: int) -> Iterator[Part]:
    text = "\n".join(view.files.lines(number))
    for function in ast.walk(ast.parse(text)):
        for node in getattr(function, "body", ()) if isinstance(function, ast.FunctionDef) else ():
            first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
            if not isinstance(
                node, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)
            ):
                words = ast.get_source_segment(text, node) or ""
                yield "statements", (number, first, last), words.partition("\n")[0][:100]


def shares(view: View) -> Tuple[Counter[str], Counter[str], List[Part]]:
    """Return how many parts there are, how many lead to a line, and those that do not."""
    of, led, lost = Counter[str](), Counter[str](), []
    covered: Dict[int, Set[int]] = defaultdict(set)
    for number, first, last in reached(view):
        covered[number].update(range(first, last + 1))
    for kind, (number, first, last), words in dict.fromkeys(parts(view)):
        of[kind] += 1
        if covered[number].isdisjoint(range(first, last + 1)):
            lost.append((kind, (number, first, last), words))
        else:
            led[kind] += 1
    return of, led, lost


def main() -> int:
    """Print the shares of the dumps that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    total, total_led = Counter[str](), Counter[str]()
    for dump in arguments.dump:
        view = view_of(load(dump), Pool())
        of, led, lost = shares(view)
        total += of
        total_led += led
        print(f"{dump.name}: " + ", ".join(f"{kind} {led[kind]}/{of[kind]}" for kind in of))
        for kind, (number, first, _last), words in lost[: arguments.show]:
            print(f"  {kind}: {view.files.files[number].name}:{first + 1}: {words}")
    for kind in total:
        share = 100 * total_led[kind] / total[kind]
        print(f"{kind:32} {total_led[kind]:6} of {total[kind]:6}  {share:5.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
