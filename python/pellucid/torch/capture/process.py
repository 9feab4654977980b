# SPDX-License-Identifier: Apache-2.0
"""What can be asked beside torch's trace: the process that compiles, while it does."""

from __future__ import annotations

import os
import threading
from types import CodeType
from typing import Any, Iterable, Iterator, Mapping

from ..model.events import Place
from ..store.session import Session
from ..taps import graph_hooks, guard_filter, guard_ways, hooks, outcomes
from ..taps.inductor import Origin, origins_of_buffers
from ..taps.operators import operators_to_register, schemas_of
from ..taps.outcomes import Failure
from . import sources


class Process:
    """This process, asked while torch's event is handled.

    Who reads a trace that another process has left answers in its place, as far as it can
    (:class:`~pellucid.torch.logs.answers.Answers`).
    """

    def string(self, index: object) -> str | None:
        """Return the string that the trace has written as a number."""
        return hooks.interned(index)

    def code(self) -> CodeType | None:
        """Return the code object that Dynamo works on now."""
        return graph_hooks.code_being_compiled()

    def callers(self) -> Iterator[Place]:
        """Return the calls that led to the frame that Dynamo works on now, innermost first."""
        return graph_hooks.callers_of_compile()

    def graph(self, kind: str, payload: str) -> Any | None:
        """Return the graph module whose text an event carries."""
        return graph_hooks.emitted_graph(kind, payload)

    def direction(self) -> str:
        """Tell which pass the graph is of that Inductor works on now."""
        return graph_hooks.direction()

    def origins(self) -> Mapping[str, Origin]:
        """Tell where each buffer of the program comes from whose event is handled."""
        return origins_of_buffers()

    def operators(self, text: str) -> tuple[tuple[str, str], ...]:
        """Name the operators in a graph that something registers, and its module."""
        return operators_to_register(text)

    def ways(self) -> guard_ways.Ways:
        """Tell how torch came to the guards that it makes now."""
        return guard_ways.guard_ways()

    def filtered(self) -> guard_filter.Filtered | None:
        """Tell which guards a filter drops of those that torch makes now."""
        return guard_filter.filtered_guards()

    def schemas(self, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """Tell the schemas of operators, of all overloads of each."""
        return schemas_of(names)

    def failure(self, kind: str, values: Mapping[str, Any]) -> Failure:
        """Tell of the error of class ``kind`` with which a compile ends now.

        ``values`` are torch's metrics of the compile.
        """
        return outcomes.failure(kind)

    def thread(self) -> int:
        """Return a number of the thread that an event comes from."""
        return threading.get_ident()

    def keep_source(self, session: Session, file: str) -> None:
        """Keep a file of the user's as it is now."""
        sources.keep_file(session, file)

    def is_users(self, file: str) -> bool:
        """Return true if a file is the user's own: of no library that is installed."""
        return sources.is_users(file)

    def is_compilers(self, file: str) -> bool:
        """Return true if a file is the compiler's, which some releases tell of instead."""
        return file.endswith(_COMPILER)


_COMPILER = os.path.join("torch", "_dynamo", "convert_frame.py")
PROCESS = Process()
