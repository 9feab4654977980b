# SPDX-License-Identifier: Apache-2.0
"""NaN and Inf produced by an operation of a compiled graph."""

from __future__ import annotations

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import NonFinite

from ..finding import Finding, Link, identify
from ..kind import Kind
from ..source import Program


def nans(capture: Capture, program: Program) -> list[Finding]:
    """Find the operations that produced NaN or Inf, if the capture looked for them."""
    result = []
    for event in capture.of(NonFinite):
        inputs = "; ".join(str(value) for value in event.inputs[:2])
        of = f" from {inputs}" if inputs else ""
        did = f"produced {event.what} in the {event.stage} pass{of}"
        if event.stage == "input":
            did = f"was passed in with {event.what}"
        end = "" if event.reached else "; no result contains it"
        result.append(
            Finding(
                id=identify("nan", event.place, f"{event.stage} {event.operation}"),
                kind="nan",
                place=event.place,
                code=event.code or program.code(event.place),
                cause=f"`{event.operation}` {did}{end}",
                links=(Link(event.file, event.line, "this value"),) if event.file else (),
                keys=(str(event.key),),
            )
        )
    return result


KIND = Kind(
    "nan",
    rank=90,
    means="An operation produced NaN or Inf (found by find_nan).",
    words="NaN or Inf",
    judged="rules out",
    find=nans,
)
