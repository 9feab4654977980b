# SPDX-License-Identifier: Apache-2.0
"""Failed guards of code compiled ahead of time."""

from __future__ import annotations

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import FailedGuard, Frame
from pellucid.dump.model.failures import failures_of
from pellucid.dump.model.names import label, scrub

from ..finding import Finding, Link, identify
from ..kind import Kind
from ..source import Program
from ..words import difference


def failed_guards(capture: Capture, program: Program) -> list[Finding]:
    """Find calls that raised an error because guards of code compiled ahead of time failed."""
    groups: dict[tuple[str, str], list[FailedGuard]] = {}
    for event in capture.of(FailedGuard):
        groups.setdefault((str(event.key), event.text), []).append(event)
    return [_failed(capture, program, events) for events in groups.values()]


def _failed(capture: Capture, program: Program, events: list[FailedGuard]) -> Finding:
    event = events[0]
    frame = next(iter(capture.of(Frame, event.key)), None)
    failure = failures_of(event.key, [event.text])[0]
    name = "the function" if frame is None else f"`{label(frame.place.function)}`"
    way = "compiled ahead of time" if frame is None or frame.way != "loaded" else "loaded"
    place = event.place or (None if frame is None else frame.place)
    return Finding(
        id=identify("guard", place, f"{failure.kind} {failure.source}".strip()),
        kind="guard",
        place=place,
        code=program.code(place),
        cause=f"a call to {name}, which was {way}, raised RuntimeError: {difference(failure)}",
        quoted=scrub(event.text),
        remedy=_remedy(failure.kind, failure.source),
        sure="certain" if failure.kind in ("size", "int", "float") else "likely",
        count=len(events),
        keys=(str(event.key),),
        links=() if frame is None else (Link(frame.file, 0, "runs"),),
    )


def _remedy(kind: str, source: str) -> str:
    if kind == "size":
        tensor, _, index = source.partition(".size(")
        return (
            f"compile with `dynamic=True`, or call `torch._dynamo.mark_dynamic({tensor}, "
            f"{index.rstrip(')')})` on the example tensor before you call `aot_compile`"
        )
    if kind in ("int", "float"):
        return f"pass `{source}` as a tensor, also to `aot_compile`"
    return (
        "call it the way it was compiled, or use `torch.compile` without `aot_compile`, which "
        "compiles a new version for such a call"
    )


KIND = Kind(
    "guard",
    rank=30,
    means="A guard of code compiled ahead of time failed, and the call raised an error.",
    words="guard failed",
    many="guards failed",
    judged="rules out",
    find=failed_guards,
)
