# SPDX-License-Identifier: Apache-2.0
"""Several captures on one page: alike ones stand together, and the first difference is told."""

from __future__ import annotations

import hashlib
import re
from dataclasses import astuple
from typing import Any, Dict, List, Sequence, Tuple

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import (
    Artifact,
    Break,
    CacheUse,
    Frame,
    Graph,
    KernelFile,
    Log,
    Metrics,
    Problem,
    Recompile,
    Skipped,
    Started,
)
from pellucid.findings.kinds.ranks import is_folder, parting_of, settings_apart
from pellucid.findings.lines import break_place

_NOTABLE = (Break, Recompile, Skipped)
_STAGES = ("captured", "joint", "forward", "backward", "inference")
_COMPARED = (Started, Graph, CacheUse, Break, Recompile, Frame, Skipped, KernelFile)
_OF_ONE_PROCESS = re.compile(r"\b(?:cuda|cpu|xpu):\d+\b|rank_?\d+", re.IGNORECASE)


def name_of(capture: Capture, directory: str, several: bool) -> str:
    """Return what a capture is called among the others of a page."""
    if capture.rank is not None:
        name = f"rank {capture.rank}"
    else:
        name = capture.process or ("" if several else capture.directory.name)
    if not several:
        return name
    return f"{directory} {name}".strip()


def grouped(captures: Sequence[Tuple[str, Capture]]) -> List[Tuple[List[str], Capture]]:
    """Return the captures that differ, each with the names of those that are like it."""
    found: Dict[bytes, Tuple[List[str], Capture]] = {}
    for name, capture in captures:
        found.setdefault(_digest(capture), ([], capture))[0].append(name)
    return list(found.values())


def usual_first(
    groups: Sequence[Tuple[List[str], Capture]],
) -> List[Tuple[List[str], Capture]]:
    """Return groups with the one first that most captures are in, so that the odd ones are told."""
    return sorted(groups, key=lambda group: -len(group[0]))


def _digest(capture: Capture) -> bytes:
    digest = hashlib.sha256()
    kept = [
        event
        for event in capture.events
        if not isinstance(event, (Artifact, Log, Metrics, Problem))
    ]
    settings = [(name, v) for name, v in capture.configuration.items() if not is_folder(v)]
    events = [(type(event).__name__, astuple(event)) for event in kept]
    caches = {number: [*map(astuple, versions)] for number, versions in capture.caches.items()}
    text = repr((events, caches, sorted(capture.versions.items()), settings))
    digest.update(_alike(text).encode("utf-8", "backslashreplace"))
    for file in sorted(capture.files):
        if file.endswith((".json", ".md", ".gz")):
            continue  # they repeat the events, and say which rank it is and how long it took
        digest.update(_alike(capture.text(file)).encode("utf-8", "backslashreplace"))
    return digest.digest()


def _alike(text: str) -> str:
    return _OF_ONE_PROCESS.sub("#", text)


def joined(names: Sequence[str]) -> str:
    """Name captures that are alike in few words.

    >>> joined(["rank 0", "rank 1", "rank 2", "rank 5"]), joined(["a", "b"])
    ('ranks 0-2, 5', 'a, b')
    """
    ranks = [re.fullmatch(r"(.*)rank (\d+)", name) for name in names]
    if len(names) < 2 or not all(rank is not None and rank[1] == "" for rank in ranks):
        shown = ", ".join(names[:4])
        return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
    numbers = sorted(int(rank[2]) for rank in ranks if rank is not None)
    parts: List[List[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    told = [str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts]
    return f"ranks {', '.join(told)}"


def first_difference(
    one: Tuple[List[str], Capture], other: Tuple[List[str], Capture]
) -> Dict[str, Any]:
    """Return the finding that tells where two captures part."""
    a, b = joined(one[0]), joined(other[0])
    versions = _differing(one[1].versions, other[1].versions)
    settings = settings_apart(one[1], other[1])
    found = _of_ranks(one, other)
    if found is not None and not versions:
        cause, place, keys, quoted = found
    else:
        cause, place, keys, quoted = _parting(a, one[1], b, other[1])
    if versions or (settings and found is None):
        told = [f"{name}: {x} and {y}" for name, x, y in (*versions, *settings)]
        quoted = "\n".join([*told, *([quoted] if quoted else [])])
        for what, x, y in (versions or settings)[:1]:
            cause = f"{a} has {what} {x}, {b} {y}. {cause}"
    return {
        "id": f"ranks-{one[0][0]}-{other[0][0]}".replace(" ", "-"),
        "kind": "ranks",
        "place": place,
        "code": "",
        "cause": cause,
        "quoted": quoted,
        "remedy": "",
        "diff": "",
        "sure": "certain",
        "cost": {"seconds": None},
        "count": 1,
        "keys": keys,
        "links": [],
    }


def _of_ranks(
    one: Tuple[List[str], Capture], other: Tuple[List[str], Capture]
) -> Tuple[str, Dict[str, Any] | None, List[str], str] | None:
    """Where ranks of a job part, as `pellucid explain` says it; None for what are none."""
    if any(capture.rank is None or capture.process for _, capture in (one, other)):
        return None
    found = parting_of(one[1], other[1], joined(one[0]), joined(other[0]))
    if found is None:
        return None
    place = None if found.place is None else vars(found.place)
    return found.cause, place and dict(place), list(found.keys), found.quoted


def _differing(a: Any, b: Any) -> List[Tuple[str, str, str]]:
    names = [*a, *(name for name in b if name not in a)]
    return [
        (name, a.get(name, "nothing"), b.get(name, "nothing"))
        for name in names
        if _alike(a.get(name, "")) != _alike(b.get(name, ""))
    ]


def _parting(
    a: str, one: Capture, b: str, other: Capture
) -> Tuple[str, Dict[str, Any] | None, List[str], str]:
    first, second = _compared(one), _compared(other)
    for mine, theirs in zip(first, second):
        x, y = _plain(one, mine), _plain(other, theirs)
        if x != y:
            return _told(a, one, mine, b, other, theirs)
    if len(first) == len(second):
        words = "Their compiles are the same; guards, metrics or versions differ."
        return (f"{a} and {b}: {words}", None, [], "")
    longer, name, rest = (first, a, second) if len(first) > len(second) else (second, b, first)
    event = longer[len(rest)]
    end = b if name == a else a
    return (f"{end} ends where {name} {_does(event)}.", _where(event), [str(event.key)], "")


def _compared(capture: Capture) -> List[Any]:
    return [
        event
        for event in capture.events
        if isinstance(event, _COMPARED)
        and (not isinstance(event, Graph) or event.stage in _STAGES or event.is_program)
    ]


def _plain(capture: Capture, event: Any) -> Any:
    if isinstance(event, Graph):
        return ("Graph", event.key, event.stage, _alike(capture.text(event.file)))
    return (type(event).__name__, _alike(repr(astuple(event))))


def _told(
    a: str, one: Capture, mine: Any, b: str, other: Capture, theirs: Any
) -> Tuple[str, Dict[str, Any] | None, List[str], str]:
    keys = list(dict.fromkeys([str(mine.key), str(theirs.key)]))
    place = _where(mine) or _where(theirs)
    quoted = "\n".join(
        f"{name}: {reason}"
        for name, event in ((a, mine), (b, theirs))
        if isinstance(event, Recompile)
        for reason in event.reasons
    )
    if isinstance(mine, Graph) and isinstance(theirs, Graph) and mine.stage == theirs.stage:
        x, y = one.text(mine.file).split("\n"), other.text(theirs.file).split("\n")
        at = next((i for i, (p, q) in enumerate(zip(x, y)) if p != q), min(len(x), len(y)))
        lines = (t[at].strip() if at < len(t) else "(nothing)" for t in (x, y))
        words = f"The {mine.stage.replace('_', ' ')} graph of [{mine.key}] differs from line"
        return (f"{words} {at + 1} on: {a} and {b} diverge there.", place, keys, "\n".join(lines))
    if isinstance(mine, CacheUse) and isinstance(theirs, CacheUse) and mine.cache == theirs.cache:
        words = f"{mine.cache.replace('_', ' ')} of [{mine.key}]: {mine.result} in {a}"
        return (f"{words}, {theirs.result} in {b}.", place, keys, "")
    if isinstance(mine, _NOTABLE) != isinstance(theirs, _NOTABLE):
        ours = isinstance(mine, _NOTABLE)
        event, name, rest = (mine, a, b) if ours else (theirs, b, a)
        return (f"{name} {_does(event)}; {rest} did not.", _where(event) or place, keys, quoted)
    return (f"{a} {_does(mine)} where {b} {_does(theirs)}.", place, keys, quoted)


def _does(event: Any) -> str:
    if isinstance(event, Recompile):
        reason = event.reasons[0].partition("  # ")[0] if event.reasons else ""
        return f"recompiled [{event.key}] ({' '.join(reason.split())[:160]})"
    if isinstance(event, Started):
        return f"began to compile [{event.key}]" + (f" at {event.place}" if event.place else "")
    if isinstance(event, Break):
        return f"had a graph break in [{event.key}]"
    if isinstance(event, Skipped):
        return f"skipped [{event.key}] ({event.brief[:160]})"
    if isinstance(event, Graph):
        return f"generated the {event.stage.replace('_', ' ')} graph of [{event.key}]"
    if isinstance(event, CacheUse):
        return f"had a {event.result} in {event.cache.replace('_', ' ')} for [{event.key}]"
    return f"received the code of [{event.key}]"


def _where(event: Any) -> Dict[str, Any] | None:
    place = break_place(event) if isinstance(event, Break) else getattr(event, "place", None)
    if place is None:
        return None
    return {"file": place.file, "line": place.line, "function": place.function}
