# SPDX-License-Identifier: Apache-2.0
"""The compiled functions and graphs in the pickles of an artifact."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Iterable, Iterator

from pellucid.dump.model.dynamo_names import GRAPH
from pellucid.pickle_tree import Node, Tree

from .codes import Version

RESULTS = ("AOTAutogradResult", "BundledAOTAutogradResult", "GenericAOTAutogradResult")
GRAPHS = ("CompiledFxGraph", "CompiledAOTI")


@dataclass
class Variant:
    """One compiled version of a function."""

    original: Node
    """The code of the program's function."""
    code: Node
    """Dynamo's code."""
    guards: bytes
    """The pickle of the state of its guards; empty if there is none."""
    names: tuple[str, ...] = ()
    """Its backend ids: the names of the graphs that it calls."""
    resumes: tuple[str, ...] = ()
    """The names under which others call it, if it is a resume function."""
    modules: dict[str, str] = field(default_factory=dict)
    """The modules that it uses, by the name of the global that holds each."""
    is_ahead: bool = False
    """Whether it raises an error if a guard fails, since nothing is compiled at the call."""


def functions_in(trees: Iterable[Tree]) -> list[list[Variant]]:
    """Return the compiled functions, each as its versions, in the order of the file."""
    found: list[list[Variant]] = []
    for tree in trees:
        ahead = list(_ahead(tree))
        if ahead:
            found.append(ahead)
        for entry in tree.objects("_DynamoCodeCacheEntry"):
            versions = list(_versions(entry))
            if versions:
                found.append(versions)
    # Each version of a module's forward is a separate pickle, with equal code.
    same: dict[object, list[Variant]] = {}
    for versions in found:
        first = versions[0]
        key: object = _identity(first.original) if first.is_ahead else id(first)
        same.setdefault(key, []).extend(versions)
    return list(same.values())


def _identity(code: Node) -> tuple[object, ...]:
    parts = (code.get(name) for name in ("co_filename", "co_name", "co_firstlineno", "co_code"))
    return tuple(None if part is None else part.value for part in parts)


def _ahead(tree: Tree) -> Iterator[Variant]:
    """Yield the function that a pickle of `save_compiled_function` holds."""
    root = tree.root
    environment, original = root.get("runtime_env"), root.get("original_code")
    code = None if environment is None else environment.get("bytecode")
    if environment is None or original is None or code is None:
        return
    yield Variant(
        original,
        code,
        _bytes(root, "guards_state"),
        (root.text("backend_id"),),
        modules=_texts(environment.get("import_sources")),
        is_ahead=True,
    )


def _versions(entry: Node) -> Iterator[Variant]:
    original, guarded = entry.get("python_code"), entry.get("guarded_codes")
    if original is None or guarded is None:
        return
    names = entry.get("function_names")
    for version in guarded.elements:
        code = version.get("dynamo_code")
        if code is not None:
            used = code.get("co_names")
            called = [str(name.value) for name in (used.items if used is not None else ())]
            yield Variant(
                original,
                code,
                _bytes(version, "guards_state"),
                tuple(name for name in called if GRAPH.match(name)),
                tuple(str(name.value) for name in (names.elements if names is not None else ())),
                _texts(entry.get("import_sources")),
            )


def _bytes(node: Node, name: str) -> bytes:
    found = node.get(name)
    return bytes(found.value) if found is not None and found.kind == "bytes" else b""


def _texts(node: Node | None) -> dict[str, str]:
    fields = {} if node is None else node.fields
    return {name: value.value for name, value in fields.items() if value.kind == "str"}


@dataclass
class Backend:
    """What torch made of one graph."""

    captured: str = ""
    """Dynamo's graph, if the backend is given that and keeps it."""
    joint: str = ""
    forward: str = ""
    backward: str = ""
    programs: list[tuple[str, str]] = field(default_factory=list)
    """The graph that Inductor generated each program from, and the program."""

    @property
    def is_empty(self) -> bool:
        graphs = self.captured or self.joint or self.forward or self.backward
        return not (graphs or self.programs)


def backends_in(trees: Iterable[Tree]) -> list[tuple[str, Backend]]:
    """Return what was made of each graph, by the name that calls it; empty if that is unknown."""
    found: list[tuple[str, Backend]] = []
    seen: set[str] = set()
    for tree in trees:
        named = {
            content.number: artifact.text("key")
            for artifact in tree.objects("BundledAOTAutogradCacheArtifact")
            for content in filter(None, [artifact.get("content")])
        }
        inside: set[int] = set()
        for result in tree.objects(*RESULTS):
            graphs = [node for node in result.below() if _is_graph(node)]
            inside.update(node.number for node in graphs)
            name = named.get(result.number) or _owner(tree)
            found.append((name, _backend(result, graphs)))
        for module in tree.objects("_GraphModulePickleData"):
            fields = module.get("gm_dict")
            code = "" if fields is None else fields.text("_code").strip("\n")
            if code:
                text = f"class GraphModule(torch.nn.Module):\n{textwrap.indent(code, '    ')}\n"
                found.append((_owner(tree), Backend(captured=text)))
        for graph in tree.objects(*GRAPHS):
            if graph.number not in inside:
                found.append(("", _backend(None, [graph])))
    kept = []
    for name, backend in found:
        # A bundle has the graph of a function, and that of the cache beside it.
        programs = [part for part in backend.programs if part[1] not in seen or name]
        backend.programs = programs
        seen.update(text for _, text in programs)
        if not backend.is_empty:
            kept.append((name, backend))
    return kept


def _owner(tree: Tree) -> str:
    """Return the name of the graph that a pickle within a saved function is of."""
    outer: Tree | None = tree
    while outer is not None:
        name = outer.root.text("backend_id")
        if name:
            return name
        outer = outer.within
    return ""


def _is_graph(node: Node) -> bool:
    return node.kind == "call" and node.cls.rpartition(".")[2] in GRAPHS


def _backend(result: Node | None, graphs: Iterable[Node]) -> Backend:
    found = Backend()
    if result is not None:
        found.joint = result.text("aot_joint_graph_str")
        found.forward = result.text("aot_forward_graph_str")
        found.backward = result.text("aot_backward_graph_str")
    for graph in graphs:
        program, before = graph.text("source_code"), graph.text("inductor_post_grad_graph_str")
        if program or before:
            found.programs.append((before, program))
    return found


def system_of(trees: Iterable[Tree]) -> tuple[dict[str, str], Version]:
    """Return the versions of what wrote an artifact, and its Python."""
    for tree in trees:
        for system in tree.objects("SystemInfo"):
            python, torch = system.text("python_version"), system.get("torch_version")
            numbers = [part for part in python.split(".")[:2] if part.isdigit() and len(part) < 4]
            told = str(torch.args[0].value) if torch is not None and torch.args else ""
            told = told or system.text("torch_version")
            found = {"python": python[:80], "torch": told[:80], "gpu": system.text("gpu_name")[:80]}
            version = (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else None
            return {name: value for name, value in found.items() if value}, version
    return {}, None


def sources_in(trees: Iterable[Tree]) -> list[tuple[str, int, str]]:
    """Return the texts of whole modules that are saved: module, a function's line, text."""
    found = {}
    for tree in trees:
        for source in tree.objects("InlinedSource"):
            line, text = source.get("firstlineno"), source.text("content")
            if text and line is not None and line.kind == "int":
                found[source.text("module"), line.value] = text
    return [(module, line, text) for (module, line), text in found.items()]
