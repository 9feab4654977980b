# SPDX-License-Identifier: Apache-2.0
"""Differences between compiled code and the program, as recorded by ``find_difference``."""

from __future__ import annotations

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.differences import OWN, STAGE_NAMES, STATE
from pellucid.dump.model.observed import Parting

from ..finding import Finding, Link, identify
from ..kind import Kind
from ..source import Program


def differences(capture: Capture, program: Program) -> list[Finding]:
    """Find operations whose results differ from eager, if the capture checked them."""
    result = []
    for event in capture.of(Parting):
        what = event.operation or "results"
        result.append(
            Finding(
                id=identify("difference", event.place, f"{event.stage} {what}"),
                kind="difference",
                place=event.place,
                code=event.code or program.code(event.place),
                cause=_cause(event),
                remedy=event.remedy,
                quoted="\n".join(_quoted(event)),
                links=(Link(event.file, event.line, "computed here"),) if event.file else (),
                keys=(str(event.key),),
            )
        )
    return result


def _cause(event: Parting) -> str:
    if event.stage == OWN:
        return f"your compiled code computes a different result from eager. {event.cause}"
    if event.operation == STATE:
        return f"the compiled function leaves the program in a different state: {event.state[0]}"
    later, earlier = STAGE_NAMES[event.stage], STAGE_NAMES[event.previous]
    if not event.operation:
        return f"{later} gives different results from {earlier}: {event.words}"
    words = f": {event.words}" if event.words else ""
    return (
        f"{later} computes `{event.operation}` in the {event.direction} pass differently "
        f"from {earlier}{words}"
    )


def _quoted(event: Parting) -> list[str]:
    sides = ((event.previous, event.before), (event.stage, event.after))
    lines = [f"{stage}: {values}" for stage, values in sides if values is not None]
    lines += [event.nearer] if event.nearer else []
    return lines + list(event.state)


KIND = Kind(
    "difference",
    rank=100,
    means="Compiled code computes a different result from eager (found by find_difference).",
    words="difference from eager",
    many="differences from eager",
    judged="rules out",
    quotes_torch=False,
    find=differences,
)
