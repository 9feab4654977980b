# SPDX-License-Identifier: Apache-2.0
"""Guards of saved code: those that failed in a call, and those that were left out."""

from __future__ import annotations

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import FailedGuard, FilteredGuards, Frame, Place
from pellucid.torch.model.failures import failures_of
from pellucid.torch.model.names import label, scrub

from .finding import Finding, Link, identify
from .source import Program
from .words import difference, named

_MOST = 3
REMEDIES = {
    "aot_compile": "pass {values} to the function as an argument: guards on arguments are kept, "
    "and a tensor may have a different value in each call",
    "caching_precompile": "call `torch._dynamo.reset()` after you replace {values}, or set "
    "`torch._dynamo.config.caching_precompile = False`",
}
"""What drops guards that cannot be saved, and what to do about it."""


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
        cause=f"a call of {name}, which was {way}, raised RuntimeError: {difference(failure)}",
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


def dropped_guards(capture: Capture, program: Program) -> list[Finding]:
    """Find guards that torch does not save: compiled code does not see when their values change."""
    groups: dict[tuple[str, Place | None], list[FilteredGuards]] = {}
    for event in capture.of(FilteredGuards):
        frame = next(iter(capture.of(Frame, event.key)), None)
        if event.name in REMEDIES:
            place = None if frame is None else frame.place
            groups.setdefault((event.name, place), []).append(event)
    return [_dropped(program, by, place, events) for (by, place), events in groups.items()]


def _dropped(
    program: Program, by: str, place: Place | None, events: list[FilteredGuards]
) -> Finding:
    dropped = list(dict.fromkeys(each for event in events for each in event.dropped))
    sources = list(dict.fromkeys(source for _, source in dropped))
    values = named(sources, _MOST)
    plural = len(sources) > 1
    name = "the function" if place is None else f"`{label(place.function)}`"
    at = next((event.place for event in events if event.place is not None), place)
    return Finding(
        id=identify("unguarded", at, f"{by} {sources[0]}"),
        kind="unguarded",
        place=at,
        code=program.code(at),
        cause=f"`{by}` drops the guard{'s' if plural else ''} on {values}: "
        f"the compiled code of {name} keeps running unchanged if "
        f"{'they change' if plural else 'it changes'}",
        quoted=", ".join(f"{kind} on {source}" for kind, source in dropped),
        remedy=REMEDIES[by].format(values=values),
        keys=tuple(dict.fromkeys(str(event.key) for event in events)),
    )
