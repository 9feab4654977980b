# SPDX-License-Identifier: Apache-2.0
"""Queries on the compiling process, for information that torch's trace lacks."""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType
from typing import Any, Iterable, Iterator, Mapping

from pellucid.dump.model.events import Place
from pellucid.dump.store.session import Session

from ..taps import graph_hooks, guard_filter, guard_ways, hooks, outcomes
from ..taps.inductor import Origin, origins_of_buffers
from ..taps.operators import operators_to_register, schemas_of
from ..taps.outcomes import Failure
from . import sources


class Process:
    """This process, queried while torch's event is handled.

    For a trace from another process, :class:`~pellucid.torch.logs.answers.Answers` answers instead,
    as far as it can.
    """

    def string(self, index: object) -> str | None:
        """Return the string that the trace interned as a number."""
        return hooks.interned(index)

    def code(self) -> CodeType | None:
        """Return the code object that Dynamo is compiling."""
        return graph_hooks.code_being_compiled()

    def callers(self) -> Iterator[Place]:
        """Return the calls that led to the frame that Dynamo is compiling, innermost first."""
        return graph_hooks.callers_of_compile()

    def graph(self, kind: str, payload: str) -> Any | None:
        """Return the graph module whose text is in an event."""
        return graph_hooks.emitted_graph(kind, payload)

    def direction(self) -> str:
        """Return the pass of the graph that Inductor is compiling."""
        return graph_hooks.direction()

    def origins(self) -> Mapping[str, Origin]:
        """Return the origin of each buffer of the program whose event is handled."""
        return origins_of_buffers()

    def operators(self, text: str) -> tuple[tuple[str, str], ...]:
        """Return the operators in a graph that some code registers, and its module."""
        return operators_to_register(text)

    def ways(self) -> guard_ways.Ways:
        """Return how torch reached the guards that it is building."""
        return guard_ways.guard_ways()

    def filtered(self) -> guard_filter.Filtered | None:
        """Return the guards that a filter drops from those that torch is building."""
        return guard_filter.filtered_guards()

    def schemas(self, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the schemas of operators, for all overloads of each."""
        return schemas_of(names)

    def failure(self, kind: str, values: Mapping[str, Any]) -> Failure:
        """Return the error of class ``kind`` that ends the current compile.

        ``values`` are torch's metrics of the compile.
        """
        return outcomes.failure(kind)

    def handled(self) -> BaseException | None:
        """Return the exception that is being handled."""
        return sys.exc_info()[1]

    def computed_again(self) -> frozenset[str] | None:
        """Return the operations that torch recomputes in a backward pass; None if unknown."""
        return hooks.computed_again()

    def thread(self) -> int:
        """Return the id of the thread that an event comes from."""
        return threading.get_ident()

    def keep_source(self, session: Session, file: str) -> None:
        """Store the current content of a user's file."""
        sources.keep_file(session, file)

    def is_users(self, file: str) -> bool:
        """Return true if a file is user code, not an installed library."""
        return sources.is_users(file)

    def is_compilers(self, file: str) -> bool:
        """Return true if a file is the compiler's own, which some releases report instead."""
        return file.endswith(_COMPILER)


_COMPILER = os.path.join("torch", "_dynamo", "convert_frame.py")
PROCESS = Process()
