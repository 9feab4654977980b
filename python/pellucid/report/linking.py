# SPDX-License-Identifier: Apache-2.0
"""The edges of one capture: see :mod:`~pellucid.report.links` for what they mean."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from pellucid.dump.model.capture import Capture, first_graphs
from pellucid.dump.model.events import ExternCall, Frame, Graph, KernelFile, Place
from pellucid.dump.model.program_flow import Consumers, given_to, results_of
from pellucid.findings.lines import UserFile

from .files import Files
from .guards import Row
from .links import (
    BY_LINE,
    BY_NAME,
    EXACT,
    STAGES_BACKWARDS,
    Links,
    Statements,
    graph_calls,
    resume_calls,
    short_places,
    source_comments,
)

Nodes = Dict[str, Tuple[Any, ...]]


class Linker:
    """Finds the edges of a capture, one kind of file after the other."""

    def __init__(
        self, capture: Capture, files: Files, users: Sequence[UserFile], nodes: Nodes
    ) -> None:
        self.links = Links()
        self.capture, self.files, self.nodes = capture, files, nodes
        self.users = {user.path: user for user in users}
        self.short: Dict[str, List[UserFile]] = {}
        for user in users:
            self.short.setdefault(os.path.basename(user.path), []).append(user)
        self.resumed: Dict[str, List[Frame]] = {}
        for frame in capture.of(Frame):
            self.resumed.setdefault(getattr(frame, "parent", ""), []).append(frame)
        self.graphs = {graph.file: graph for graph in capture.of(Graph)}
        self.captured: Dict[str, str] = {}
        for graph in first_graphs(self.graphs.values()):
            self.captured[graph.file.partition(".")[0]] = graph.file

    def all(self, tables: Sequence[Tuple[int, int, Sequence[Row]]]) -> Links:
        """Return all edges.

        Args:
            tables: the number of the file of a function's guards, of its full code, and its rows.
        """
        for frame in self.capture.of(Frame):
            self._transformed(frame)
        self._stages()
        self._programs()
        for number, full, rows in tables:
            self._guards(number, full, rows)
        return self.links

    def _user(self, path: str, line: int) -> Tuple[int, int, int] | None:
        user = self.users.get(path)
        if user is None or line not in user.index:
            return None
        at = user.index[line]
        return (self.files.number[path], at, at)

    def _place(self, place: Place | None) -> Tuple[int, int, int] | None:
        return None if place is None else self._user(place.file, place.line)

    def _transformed(self, frame: Frame) -> None:
        number = self.files.number.get(frame.file)
        if number is None:
            return
        lines = self.files.lines(number)
        statements = Statements(lines)
        linked = set()
        for link in getattr(frame, "links", ()):
            first, last = statements.at(link.line - 1)
            span = (number, first, last)
            if link.kind == "user":
                path, _, line = link.target.rpartition(":")
                user = self._user(path, int(line)) if line.isdigit() else None
                if user is not None:
                    self.links.add(user, span, EXACT)
                    linked.add(first)
            elif link.kind == "graph":
                self._call(span, link.target)
            elif link.kind == "resume" and link.target in self.files.number:
                self._goes_on(span, link.target)
        for line, name, start, end in short_places(lines):
            at = statements.at(line) if line in statements.first_last else statements.after(line)
            if at[0] in linked:
                continue
            users = self.short.get(name, ())
            user_file = self._of_frame(users, frame)
            for each in range(start, end + 1) if user_file else ():
                user = self._user(user_file.path, each) if user_file else None
                if user is not None:
                    self.links.add(user, (number, *at), BY_LINE)
        for line, name in graph_calls(lines):
            if name in self.captured:
                self._call((number, *statements.at(line)), self.captured[name])
        for line, _name in resume_calls(lines):
            for other in self.resumed.get(str(frame.key), ()):
                self._goes_on((number, *statements.at(line)), other.file)

    @staticmethod
    def _of_frame(users: Sequence[UserFile], frame: Frame) -> UserFile | None:
        same = [user for user in users if user.path == frame.place.file]
        return same[0] if same else (users[0] if len(users) == 1 else None)

    def _call(self, span: Tuple[int, int, int], graph: str) -> None:
        number = self.files.number.get(graph)
        if number is not None:
            for node in self.nodes.get(graph, ()):
                if node.op not in ("placeholder", "output"):
                    self.links.add(span, (number, node.line - 1, node.line - 1), EXACT)

    def _goes_on(self, span: Tuple[int, int, int], file: str) -> None:
        number = self.files.number.get(file)
        if number is not None:
            for line, text in enumerate(self.files.lines(number)):
                if text.startswith("def "):
                    self.links.add(span, (number, line, line), EXACT)
                    return

    def _stages(self) -> None:
        """Link each node with its line, and with the node of its name in the stage before."""
        before: Dict[Tuple[str, str], Tuple[Tuple[int, int, int], Any]] = {}
        for file, graph in self.graphs.items():
            number = self.files.number.get(file)
            for node in self.nodes.get(file, ()) if number is not None else ():
                assert number is not None
                if node.op == "output":
                    continue
                span = (number, node.line - 1, node.line - 1)
                user = self._place(node.place)
                if user is not None and node.op != "placeholder":
                    self.links.add(user, span, EXACT)
                named = (str(graph.key), node.name)
                known = before.get(named)
                if known is not None and known[1] == _what(node):
                    self.links.add(known[0], span, BY_NAME)
                before[named] = (span, _what(node))

    def _programs(self) -> None:
        by_key: Dict[str, List[Graph]] = {}
        for graph in self.graphs.values():
            by_key.setdefault(str(graph.key), []).append(graph)
        kernels: Dict[str, List[KernelFile]] = {}
        for kernel in self.capture.of(KernelFile):
            kernels.setdefault(kernel.program, []).append(kernel)
        for file, graph in self.graphs.items():
            number = self.files.number.get(file)
            if number is None or not graph.is_program:
                continue
            lines = self.files.lines(number)
            statements = Statements(lines)
            find = self._finder(by_key[str(graph.key)], graph.stage)
            for line, names in source_comments(lines):
                _first, last = statements.after(line)
                for found, how in (each for name in names for each in find(name)):
                    self.links.add(found, (number, line, max(last, line)), how)
            made = kernels.get(file, ())
            for kernel in made:
                self._kernel(number, lines, statements, kernel, find)
            silent = [kernel for kernel in made if not kernel.nodes and not kernel.exact]
            if silent:
                flow = self._flow(by_key[str(graph.key)], graph, lines)
                calls = {k.name: [statements.at(call - 1) for call in k.calls] for k in made}
                given = {
                    at: given_to("\n".join(lines[at[0] : at[1] + 1]))
                    for each in calls.values()
                    for at in each
                }
                takers = Counter(name for names in given.values() for name in names)
                for kernel in silent:
                    for at in calls[kernel.name]:
                        self._by_flow((number, *at), kernel.name, given[at], takers, flow)

    def _kernel(
        self, number: int, lines: List[str], statements: Statements, kernel: KernelFile, find: Any
    ) -> None:
        calls = [line - 1 for line in getattr(kernel, "calls", ())]
        if not calls:
            calls = [
                i
                for i, text in enumerate(lines)
                if text.lstrip().startswith((f"{kernel.name}(", f"{kernel.name}.run("))
            ]
        defined = next((i for i, x in enumerate(lines) if x.startswith(f"{kernel.name} = ")), None)
        other = self.files.number.get(kernel.file)
        whole = None if other is None else (other, 0, max(0, self.files.files[other].size - 1))
        definition = None if defined is None else (number, *statements.at(defined))
        if definition is not None and whole is not None:
            self.links.add(definition, whole, EXACT)
        for call in calls:
            first, last = statements.at(call)
            if first > 0 and "# Topologically Sorted Source Nodes" in lines[first - 1]:
                first -= 1
            span = (number, first, last)
            if definition is not None:
                self.links.add(span, definition, EXACT)
            elif whole is not None:
                self.links.add(span, whole, EXACT)
            for name in getattr(kernel, "nodes", ()):
                for found, how in find(name):
                    self.links.add(found, span, how)
            for name in kernel.exact:  # of the graph that the finder looks into first
                for found, _how in find(name):
                    self.links.add(found, span, EXACT)

    def _flow(
        self, graphs: Sequence[Graph], program: Graph, lines: List[str]
    ) -> List[Tuple[Graph, Consumers, Dict[str, List[str]]]]:
        """Return a program's own graph and the captured one, with what their values are called."""
        direction = program.stage.partition("_")[2]
        own = (f"after_post_grad_{direction}", "after_post_grad", direction, "inference")
        late = next((g for stage in own for g in graphs if g.stage == stage), None)
        early = next((g for g in graphs if g.stage == "captured"), None)
        calls = [call for call in self.capture.of(ExternCall) if call.program == program.file]
        exact = results_of(lines, {call.line: call.exact for call in calls})
        named = results_of(lines, {call.line: call.nodes for call in calls})
        return [
            (graph, Consumers(self.nodes.get(graph.file, ())), results)
            for graph, results in ((late, exact), (early, named))
            if graph is not None and graph.file in self.files.number
        ]

    def _by_flow(
        self,
        span: Tuple[int, int, int],
        kernel: str,
        given: Sequence[str],
        takers: Mapping[str, int],
        flow: Sequence[Tuple[Graph, Consumers, Dict[str, List[str]]]],
    ) -> None:
        """Link the call of a kernel that tells no nodes with those that take what it is given."""
        for graph, consumers, results in flow:
            made = [node for name in given for node in results.get(name, ())]
            names = consumers.computed(kernel, [*made, *given])
            # What no other kernel is given is taken by this one, whatever torch made of it since.
            alone = (name for name in given if takers[name] == 1 and name in consumers.names)
            names = names or consumers.after([*made, *alone])
            nodes = {node.name: node for node in self.nodes.get(graph.file, ())}
            file = self.files.number[graph.file]
            for name in names:
                self.links.add((file, nodes[name].line - 1, nodes[name].line - 1), span, BY_NAME)
            # What torch has put in itself has no line; the captured graph may tell one.
            if any(nodes[name].place is not None for name in names):
                break

    def _finder(self, graphs: Sequence[Graph], stage: str) -> Any:
        """Return what finds a node by its name: the latest stage that has it, as it is told."""
        backward = stage.endswith("backward")
        wrong = "forward" if backward else "backward"
        order = {name: i for i, name in enumerate(STAGES_BACKWARDS)}
        stages = sorted(
            (g for g in graphs if g.stage in order and not g.stage.endswith(wrong)),
            key=lambda g: order[g.stage],
        )
        known: Dict[str, Tuple[int, int, int]] = {}
        for graph in reversed(stages):
            number = self.files.number.get(graph.file)
            if number is not None:
                for node in self.nodes.get(graph.file, ()):
                    if node.op != "placeholder":
                        known[node.name] = (number, node.line - 1, node.line - 1)

        def find(name: str) -> Iterator[Tuple[Tuple[int, int, int], int]]:
            if name in known:
                yield known[name], BY_NAME

        return find

    def _guards(self, number: int, full: int, rows: Sequence[Row]) -> None:
        for i, row in enumerate(rows):
            span = (number, i, i)
            for guard in row.guards:
                if guard is None:
                    continue
                place = self._place(getattr(guard, "place", None))
                if place is not None:
                    self.links.add(place, span, EXACT)
                elif row.where:
                    for user, how in self._told(row.where):
                        self.links.add(user, span, how)
                line = getattr(guard, "line", 0)
                if line and full >= 0 and line <= self.files.files[full].size:
                    self.links.add(span, (full, line - 1, line - 1), EXACT)

    def _told(self, where: str) -> Iterator[Tuple[Tuple[int, int, int], int]]:
        """Find the user's line in torch's words, which name the end of a path."""
        words = where.split("#")[-1].split(" in ")[0].strip()
        path, _, line = words.rpartition(":")
        if not line.isdigit():
            return
        for user in self.users.values():
            if user.path.endswith(path):
                found = self._user(user.path, int(line))
                if found is not None:
                    yield found, BY_LINE
                return

    def inputs(self, number: int, rows: Sequence[Row], graphs: Sequence[Graph]) -> None:
        """Link the guards of a version's values with the graph's inputs and who takes them."""
        named: Dict[str, int] = {}
        for i, row in enumerate(rows):
            if row.source:
                named.setdefault(_as_input(row.source), i)
        for graph in graphs:
            file = self.files.number.get(graph.file)
            inputs: Dict[str, int] = {}
            for node in self.nodes.get(graph.file, ()) if file is not None else ():
                assert file is not None
                span = (file, node.line - 1, node.line - 1)
                if node.op == "placeholder":
                    at = named.get(node.name.lower())
                    if at is not None:
                        inputs[node.name] = inputs[node.name.lower()] = at
                        self.links.add((number, at, at), span, BY_NAME)
                for arg in node.args:
                    if arg in inputs and node.op != "placeholder":
                        at = inputs[arg]
                        self.links.add((number, at, at), span, BY_NAME)
                        if node.target == arg:
                            inputs[node.name] = at


def _as_input(source: str) -> str:
    """Return Dynamo's name of the input that a source becomes.

    >>> _as_input("L['self']._modules['qkv']._parameters['bias']"), _as_input("L['x']")
    ('l_self_modules_qkv_parameters_bias_', 'l_x_')
    """
    text = "".join(c if c.isalnum() else "_" for c in source)
    while "__" in text:
        text = text.replace("__", "_")
    return text.lower()


def _what(node: Any) -> Any:
    place = node.place
    return None if place is None else (place.file, place.line)
