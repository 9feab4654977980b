# SPDX-License-Identifier: Apache-2.0
"""The compiled functions of an artifact as frames, guards and files of a capture."""

from __future__ import annotations

import builtins
import contextlib
from types import CodeType, FunctionType, ModuleType
from typing import Any, Mapping, Sequence

from pellucid.dump.model.capture import first_graphs
from pellucid.dump.model.events import CacheEntry, CompileKey, Frame, Graph, Place, Started, Verdict
from pellucid.dump.model.guard_places import with_lines
from pellucid.dump.model.ids import LOADED, own_id, version_of
from pellucid.dump.model.names import as_comment, definable, label, stable_globals
from pellucid.dump.model.origin import Origin
from pellucid.dump.store.session import Session
from pellucid.errors import CannotPort, DecompileError
from pellucid.pickle_tree import Node

from ..capture.frames import place_of
from ..dynamo.links import links_of, resume_calls
from ..dynamo.rewrite import Rewriting, rewrite
from ..dynamo.terms import terms
from ..dynamo.user_lines import resumed_codes
from ..text.dump import RUNS, transformed_name, transformed_text, valid
from ..text.full_code import full_code_name, full_code_text
from ..text.full_code_names import bindings
from .codes import Read, Version, code_of, outline_of
from .compiled import Variant
from .foreign import names_in, rewrite_foreign
from .guards import entry_of

_BUILTINS = "__builtins_dict__"
AHEAD, PACKAGE = "saved", "saved package"
_READ = "# This file is for reading: it is from a saved artifact, and nothing in it has run."


class Frames:
    """Writes the functions of one artifact."""

    def __init__(self, session: Session, version: Version) -> None:
        self._session = session
        self._version = version
        self._keys: list[tuple[CompileKey, Variant]] = []
        self._resumes: dict[str, FunctionType] = {}
        self._frames: dict[int, list[Frame]] = {}
        self._originals: dict[int, CodeType | None] = {}
        self._entries: dict[int, list[CacheEntry]] = {}

    def name(self, functions: Sequence[Sequence[Variant]]) -> dict[str, CompileKey]:
        """Give each version an id; return them by the names of the graphs that they call."""
        found: dict[str, CompileKey] = {}
        for number, versions in enumerate(functions):
            for ordinal, variant in enumerate(versions):
                key = self._session.start(version_of(own_id(LOADED, number), ordinal))
                self._keys.append((key, variant))
                for name in variant.names:
                    found.setdefault(name, key)
        return found

    def write(self) -> None:
        """Write the file of each version, and record its guards."""
        for _, variant in self._keys:
            self._add_resumes(variant)
        functions: dict[str, int] = {}
        for key, variant in self._keys:
            number = functions.setdefault(key.frame, len(functions))
            with self._session.guard(f"reading the code of [{key}]"):
                self._write(key, number, variant)
            with self._session.guard(f"reading the guards of [{key}]"):
                if variant.guards:
                    entry = entry_of(key, variant.guards)
                    self._entries.setdefault(number, []).append(entry)

    def _add_resumes(self, variant: Variant) -> None:
        for name in variant.resumes:
            with contextlib.suppress(DecompileError, ValueError, TypeError):
                code = self._original(variant).code
                if not code.co_freevars:
                    self._resumes[name] = FunctionType(code, {})

    def _original(self, variant: Variant) -> Read:
        """Return the code of the program's function, or its outline if this Python has no other."""
        try:
            return code_of(variant.original, self._version)
        except (CannotPort, DecompileError):
            return Read(outline_of(variant.original), True)

    def _write(self, key: CompileKey, number: int, variant: Variant) -> None:
        session, way = self._session, AHEAD if variant.is_ahead else PACKAGE
        captured = first_graphs(session.of(Graph, key))
        try:
            original = self._original(variant)
            texts = [graph.text for graph in captured]
            rewriting, resumed = self._rewrite(key, variant, original, texts)
        except (CannotPort, DecompileError) as error:
            self._refuse(key, number, variant, str(error), way)
            return
        is_outline = original.code is outline_of(variant.original)
        self._originals.setdefault(number, None if is_outline else original.code)
        place = place_of(original.code)
        session.record(Started(key, place))
        name = session.claim(transformed_name(key, place.function), (key, number))
        told = terms(rewriting.source or "", rewriting.constants, {})
        shows = not original.is_ported and not rewriting.verdict.proven
        text = transformed_text(key, place, rewriting, (), "", shows, told)
        text = text.replace(RUNS, _READ, 1)
        session.write(name, text)
        called = {f"__compiled_fn_{key.slug}": graph.file for graph in captured[-1:]}
        links = links_of(text, original.code, called, resumed=resumed)
        parent = session.resumes.parent(original.code, key)
        session.resumes.note(key, resume_calls(text, resumed))
        source, verdict = rewriting.source, rewriting.verdict
        frame = Frame(
            key, number, place, source, verdict, name, False, False, links, way, "", parent
        )
        session.record(frame)
        self._frames.setdefault(number, []).append(frame)

    def _rewrite(
        self, key: CompileKey, variant: Variant, original: Read, graphs: Sequence[str]
    ) -> tuple[Rewriting, Mapping[str, CodeType]]:
        """Return a version's source, and the code of the resume functions that it calls."""
        for held, module in variant.modules.items():
            # The proof builds on what Dynamo installs under its names.
            if held != "__import_" + module.replace(".", "_dot_"):
                raise CannotPort(f"{held} would be {module}, unlike in Dynamo's own code")
        if not original.is_ported:
            code, scope = code_of(variant.code, self._version).code, dict(self._resumes)
            origin = Origin(original.code, key.slug, {}, scope)
            return rewrite(code, origin, graphs), resumed_codes(code, scope)
        names = names_in(variant.code, "co_names")
        resumed = {n: self._resumes[n].__code__ for n in names if n in self._resumes}
        version = self._version or (0, 0)
        made = rewrite_foreign(variant.code, version, original.code, key.slug, graphs, resumed)
        return made, resumed

    def _refuse(
        self, key: CompileKey, number: int, variant: Variant, reason: str, way: str
    ) -> None:
        """Record a version whose code cannot be shown as source."""
        session, place = self._session, place_in(variant.original)
        name = session.claim(transformed_name(key, place.function), (key, number))
        head = f"{label(place.function)} · {place} · compile [{key}] · not decompiled: {reason}"
        session.write(name, as_comment(head) + "\n")
        session.record(Started(key, place))
        frame = Frame(key, number, place, None, Verdict("failed", reason), name, False, way=way)
        session.record(frame)
        self._originals.setdefault(number, None)
        self._frames.setdefault(number, []).append(frame)

    def write_full_code(self) -> dict[str, Sequence[Frame]]:
        """Write one file per function with its versions and guards; return them by file."""
        session = self._session
        full: dict[str, Sequence[Frame]] = {}
        graphs = {f"__compiled_fn_{g.key.slug}": g.file for g in first_graphs(session.of(Graph))}
        files = {
            n: full_code_name(f[0].key.frame, f[0].place.function) for n, f in self._frames.items()
        }
        codes = {
            self._originals[n]: (files[n], definable(f[0].place.function))
            for n, f in self._frames.items()
        }
        values = self._values()
        for number, versions in self._frames.items():
            place, entries = versions[0].place, self._entries.get(number, [])
            with session.guard(f"writing the full code of {place.function}"):
                text = full_code_text(
                    place,
                    self._originals[number],
                    entries,
                    {frame.key: frame for frame in versions},
                    bind=lambda names: bindings(names, values, graphs, codes.get),
                )
                name = session.claim(files[number], number)
                session.write(name, valid(text))
                session.functions.set_cache(number, [with_lines(entry, text) for entry in entries])
                full[name] = versions
        return full

    def _values(self) -> Mapping[str, Any]:
        """Return placeholders for what torch puts into globals. Nothing is imported."""
        found: dict[str, Any] = {"torch": ModuleType("torch")}
        for key, variant in self._keys:
            names = names_in(variant.code, "co_names")
            shown = stable_globals(names, (), key.slug)
            for name, module in variant.modules.items():
                if module.partition(".")[0] == "torch":
                    found[shown.get(name, name)] = ModuleType(module)
            for name in names:
                if name in self._resumes:
                    found[shown.get(name, name)] = self._resumes[name]
                elif name.startswith(_BUILTINS):
                    found[name] = found[shown.get(name, name)] = vars(builtins)
        return found


def place_in(code: Node) -> Place:
    """Return where a saved code object was written."""
    line = code.get("co_firstlineno")
    number = line.value if line is not None and line.kind == "int" else 0
    return Place(code.text("co_filename"), number, code.text("co_name"))
