# SPDX-License-Identifier: Apache-2.0
"""torch's compile caches: hits, and the reasons why one was bypassed."""

from __future__ import annotations

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import CacheUse

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program


def caches(capture: Capture, program: Program) -> list[Finding]:
    """Find cache hits (the code was compiled elsewhere) and bypassed caches."""
    groups: dict[tuple[str, str, str], list[CacheUse]] = {}
    for event in capture.of(CacheUse):
        if event.result != "miss":
            groups.setdefault((event.cache, event.result, event.reason), []).append(event)
    return [_finding(*group, events) for group, events in groups.items()]


def _finding(cache: str, result: str, reason: str, events: list[CacheUse]) -> Finding:
    name = cache.replace("_", " ")
    keys = tuple(dict.fromkeys(str(event.key) for event in events))
    if result == "hit":
        cause = (
            f"the {name} had the result (hit): what is shown was compiled by an earlier "
            f"process or call"
        )
        remedy, sure = "", "certain"
    elif result == "unsaved":
        told = " ".join(reason.split()) or "torch gives no reason"
        cause = f"the result could not be saved in the {name}, so each process compiles it: {told}"
        remedy, sure = "", "unknown"
    else:
        told = " ".join(reason.split()) or "torch gives no reason"
        cause, remedy, sure = f"the {name} was bypassed ({result}): {told}", "", "unknown"
    return Finding(
        id=identify("cache", None, f"{cache} {result} {reason[:40]}"),
        kind="cache",
        place=None,
        code="",
        cause=cause,
        quoted=reason,
        remedy=remedy,
        sure=sure,
        count=len(events),
        keys=keys,
    )


KIND = Kind(
    "cache",
    rank=220,
    means="A compile cache had the result, was bypassed, or could not save it.",
    words="note on caches",
    many="notes on caches",
    tone="note",
    is_compared=False,
    find=caches,
)
