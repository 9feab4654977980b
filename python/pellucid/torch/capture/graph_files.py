# SPDX-License-Identifier: Apache-2.0
"""Running a captured graph, and Inductor's program for it, from the dumped file.

torch generates a graph's ``forward`` as a string without a file.  After that, the readable print of
the graph (shapes, the user's lines) is compiled under the dumped file's name.  If the result has
the same instructions, constants and names as torch's own code, it replaces the code of the same
function.  So only file and lines can differ, and that is checked, not assumed.
"""

from __future__ import annotations

import sys
import weakref
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any

from pellucid.dump.model.events import Graph, GraphRun
from pellucid.dump.model.graph_text import nodes_of_text
from pellucid.dump.store.session import Session

from ..dynamo.rewrite import same_instructions
from ..taps import graph_hooks, hooks
from ..text.dump import compiled, graph_text, named_class, without_imports


def follow(session: Session, event: Graph, graph: Any) -> None:
    """Run ``graph`` from the file of ``event`` whenever torch generates its code.

    During a compile, torch generates a graph's code repeatedly, and most backends never run it.  So
    code generated then waits for :meth:`Session.settle`.
    """
    waiting: dict[int, weakref.ref[Any]] = {}

    def generated(module: Any) -> None:
        number = id(module)
        if session.settled(event.key):
            run(module)
        elif number not in waiting:
            waiting[number] = weakref.ref(module)
            session.postpone(event.key, lambda: waited(number))

    def waited(number: int) -> None:
        module = waiting.pop(number)()
        if module is not None:
            run(module)

    def run(module: Any) -> None:
        with session.guard(f"running {event.file}"):
            if session.has_program(event.key):
                result = GraphRun(event.file, False, "the backend generated a program from it")
            else:
                result = _swap(session, event, module)
            session.record_once(result)  # torch generates some graphs several times

    # AOTAutograd compiles a copy of the backward graph; copies of other graphs are internal to
    # torch.
    copies = event.stage == "backward"
    if not graph_hooks.after_recompile(graph, generated, copies):
        session.record(GraphRun(event.file, False, "the graph does not have a separate class"))


def _swap(session: Session, event: Graph, module: Any) -> GraphRun:
    function = graph_hooks.forward_function(module)
    if function is None:
        return GraphRun(event.file, False, "torch has not generated its code")
    # The text printed during tracing has the user's lines, which torch drops later.  A backend that
    # runs AOTAutograd's graphs in Python makes them take one list, so they are printed again; a
    # graph changed in any other way is the backend's own.
    bodies = [event.text]
    if function.__code__.co_varnames[1:2] == ("args_list",):
        bodies += [named_class(graph_hooks.readable(module)), str(module.code)]
    path = session.path(event.file)
    for body in bodies:
        text = graph_text(replace(event, text=body), runs=True)
        code = _forward_code(text, str(path))
        if code is None:
            continue
        code = _named_as(code, function.__code__)
        if not same_instructions(code, function.__code__):
            continue
        if not hooks.never_compile(code):
            return GraphRun(event.file, False, "this torch cannot exclude it from compilation")
        session.write(event.file, text)
        if body is not event.text:
            modules = None if event.needs is None else dict(event.needs.modules)
            session.nodes[event.file] = nodes_of_text(text, modules)
        function.__code__ = code
        return GraphRun(event.file, True)
    why = "the backend changed it, or it does not compile to what torch runs"
    return GraphRun(event.file, False, why)


def run_program(session: Session, event: Graph, path: str) -> bool:
    """Run Inductor's program from the file of ``event``; return False until it is loaded.

    ``path`` is Inductor's own file.
    """
    functions = graph_hooks.program_functions(path)
    if functions:
        run_functions(session, event, functions)
    return bool(functions)


def run_functions(session: Session, event: Graph, functions: list[FunctionType]) -> None:
    """Run the functions of a generated program from the file of ``event``.

    The text is the same except for our header, so each function has the same instructions.
    """
    text = graph_text(event, runs=True)
    # torch compiles some programs with the future flags of its own module.
    futures = functions[0].__code__.co_flags & annotations.compiler_flag
    module = compiled(text, futures)
    mine = [] if module is None else _all_code(_in_file(module, str(session.path(event.file))))
    swapped = 0
    for function in functions:
        code = next((c for c in mine if same_instructions(c, function.__code__)), None)
        if code is not None and hooks.never_compile(code):
            function.__code__ = code
            swapped += 1
    if swapped == len(functions):
        session.write(event.file, text)
        session.record(GraphRun(event.file, True))
    else:
        why = f"{len(functions) - swapped} of {len(functions)} functions differ"
        session.record(GraphRun(event.file, False, why))


def _all_code(module: CodeType) -> list[CodeType]:
    """Return every code object of a module, outer ones first."""
    found = [module]
    for code in found:
        found.extend(const for const in code.co_consts if isinstance(const, CodeType))
    return found[1:]


def _named_as(code: CodeType, other: CodeType) -> CodeType:
    changes: dict[str, Any] = {"co_flags": other.co_flags, "co_name": other.co_name}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = other.co_qualname
    return code.replace(**changes)


def _forward_code(text: str, filename: str) -> CodeType | None:
    """Return the code of the outermost ``forward`` in a printed graph."""
    module = compiled(without_imports(text))
    if module is None:
        return None
    scopes = [module, *(c for c in module.co_consts if isinstance(c, CodeType))]
    for scope in scopes:
        for const in scope.co_consts:
            if isinstance(const, CodeType) and const.co_name == "forward":
                return _in_file(const, filename)
    return None


def _in_file(code: CodeType, filename: str) -> CodeType:
    """Return the same code with a different file name."""
    consts = (_in_file(c, filename) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=filename, co_consts=tuple(consts))
