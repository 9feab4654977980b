# SPDX-License-Identifier: Apache-2.0
"""Runs of random flow graphs: an oracle decides and writes down, two functions are compared."""

import os
import random
import sys
import types
from typing import Any, List, Optional

from graph_shapes import Graph

_ORACLES = 3
_BUDGET = 30  # decisions that are made at random; then the shortest way out is taken
_LONGEST = 4000  # events: what goes on longer is given up, in both


class Oracle:
    """Decides for one run, and writes down what it is told."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.random = random.Random(seed)
        self.graph = graph
        self.left = _BUDGET
        self.events: List[Any] = []

    def add(self, *event: Any) -> None:
        self.events.append(event)
        if len(self.events) > _LONGEST:
            raise Endless

    def note(self, block: int) -> None:
        self.add("block", block)
        self.left -= 1
        if self.left > 0 and self.random.random() < 0.25:
            raise self.random.choice((ValueError, KeyError, ZeroDivisionError))(block)

    def choose(self, block: int, exit: str) -> Any:
        self.add("choose", block)
        if self.left > 0:
            first = self.random.random() < 0.5
        else:
            yes, no = (self.graph.blocks[i].near for i in self.graph.blocks[block].targets)
            first = yes <= no
        if exit == "none":
            return None if first else 1
        return first

    def info(self) -> None:
        self.add("info", _chain(sys.exc_info()[1]))

    def make(self) -> BaseException:
        return LookupError(len(self.events))

    def show(self, value: Any) -> None:
        self.add("show", _plain(value))

    def run(self, function: Any) -> List[Any]:
        arguments = (self.note, self.choose, self.info, self.make, self.show, KeyError)
        try:
            self.events.append(("returned", _plain(function(*arguments))))
        except Exception as error:
            self.events.append(("raised", _chain(error)))
        if sys.exc_info() != (None, None, None):
            raise Leaking
        return self.events


class Endless(BaseException):
    """The run is given up; there may be handlers that catch even this, over and over."""


class Leaking(BaseException):
    """An exception is still being handled when the function has returned."""


def _plain(value: Any) -> str:
    simple = value is None or isinstance(value, (int, str, bool))
    return repr(value) if simple else type(value).__name__ + repr(getattr(value, "args", ""))


def _chain(error: Optional[BaseException]) -> List[str]:
    found: List[str] = []
    while error is not None and len(found) < 6:
        found.append(_plain(error))
        error = error.__context__
    return found


def run_isolated(seed: int, first: types.CodeType, second: Any) -> str:
    """Compare both in a child process; where that is killed, see whether the original is, too."""
    verdict = _in_child(seed, first, second)
    if not verdict.startswith(("killed", "endless")):
        return verdict
    alone = _in_child(seed, first, types.FunctionType(first, {"__builtins__": __builtins__}))
    if alone.startswith("killed"):
        return "invalid"
    return verdict if alone == verdict or verdict != "endless" else "differs: it never ends"


def _in_child(seed: int, first: types.CodeType, second: Any) -> str:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(5)  # no exception: the child ends, whatever it catches
        verdict = "differs"
        try:
            verdict = compare(seed, first, second)
        except BaseException as error:
            verdict = f"breaks: {type(error).__name__}: {error}"
        os.write(writer, verdict.encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if answer:
        return answer
    return "endless" if status == 14 else f"killed by {status}"


def compare(seed: int, original: types.CodeType, decompiled: Any) -> str:
    """Say "same", or where both differ."""
    graph = Graph(seed)
    function = types.FunctionType(original, {"__builtins__": __builtins__})
    for number in range(_ORACLES):
        ours = Oracle(graph, seed * 100 + number).run(decompiled)
        try:
            theirs = Oracle(graph, seed * 100 + number).run(function)
        except Leaking:
            return "invalid"  # what the interpreter makes of it has no meaning
        if ours != theirs:
            for index, (a, b) in enumerate(zip(ours, theirs)):
                if a != b:
                    return f"differs at event {index}: {a} is to be {b}"
            return f"differs in length: {len(ours)} is to be {len(theirs)}"
    return "same"
