# SPDX-License-Identifier: Apache-2.0
"""Guards that torch leaves out of the code it saves."""

from __future__ import annotations

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import FilteredGuards, Frame, Place
from pellucid.dump.model.names import label

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program
from ..words import named

_MOST = 3
REMEDIES = {
    "aot_compile": "pass {values} to the function as an argument: guards on arguments are kept, "
    "and a tensor may have a different value in each call",
    "caching_precompile": "call `torch._dynamo.reset()` after you replace {values}, or set "
    "`torch._dynamo.config.caching_precompile = False`",
}
"""What drops guards that cannot be saved, and what to do about it."""


def dropped_guards(capture: Capture, program: Program) -> list[Finding]:
    """Find guards that torch does not save: the saved code misses changes of their values."""
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


KIND = Kind(
    "unguarded",
    rank=210,
    means="Saved code does not check some values that it depends on.",
    words="note on dropped guards",
    many="notes on dropped guards",
    tone="note",
    quotes_torch=False,
    find=dropped_guards,
)
