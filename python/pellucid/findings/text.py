# SPDX-License-Identifier: Apache-2.0
"""Findings as text and as JSON: the output of ``pellucid explain``."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass
from typing import Sequence

from pellucid.brief import counted
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Calls, Frame, Log, Place
from pellucid.dump.model.failures import is_own
from pellucid.dump.model.names import is_resumed

from .counts import Counts, counts_of, versions_of
from .find import count_line
from .finding import Finding
from .remedy import has_failed, in_order, titled
from .words import sentence, short, times, where

_AT_ONCE = 7
"""The number of findings listed in the first ten lines."""
_WIDTH = 100
_LISTED = 40
"""The number of lines listed per finding."""


def explanation(
    captures: Sequence[Capture], findings: Sequence[Finding], width: int | None = None
) -> str:
    """Return the findings as text: a summary in the first ten lines, then the details.

    Args:
        captures: the captures.
        findings: their findings.
        width: the columns of the terminal, which limit each line; if None, lines of the summary can
            have any length.
    """
    processes = f", {len(captures)} processes" if len(captures) > 1 else ""
    compiled = counts_of(captures, findings).compiled
    lines = [f"{count_line(findings)}; {compiled}{processes}"]
    functions = _functions(captures)
    if functions:
        lines.append(f"compiled: {functions}")
    for log in (log for capture in captures for log in capture.of(Log)):
        lines += [f"{log.name}: {note}" for note in log.notes]
    counted = _calls(captures)
    if counted:
        lines.append(f"calls that ran compiled: {counted}")
    longest = max([0, *(len(finding.kind) for finding in findings)])
    for number, finding in enumerate(findings[:_AT_ONCE], 1):
        line = f"{number}. {finding.kind:{longest}}  {one_line(finding)}"
        lines.append(line if width is None or len(line) <= width else f"{line[: width - 1]}…")
    if len(findings) > _AT_ONCE:
        lines.append(f"   and {len(findings) - _AT_ONCE} more, below")
    if width is not None:
        lines = [part for line in lines for part in _wrapped(line, "", width)]
    for number, finding in enumerate(findings, 1):
        lines += ["", *_details(number, finding, min(width or _WIDTH, _WIDTH))]
    return "\n".join(lines) + "\n"


def one_line(finding: Finding) -> str:
    """Return a finding on one line: where, what, and what to change."""
    at = f"{where(finding)}  " if finding.place is not None else ""
    text = f"{sentence(finding.cause)} {sentence(finding.remedy)} {_tried(finding)}"
    return at + " ".join(text.split())


def _tried(finding: Finding) -> str:
    """Return the trial results in a few words; empty if nothing was tried."""
    if not any(remedy.trial for remedy in finding.remedies):
        return ""
    if all(has_failed(remedy) for remedy in finding.remedies):
        return "None of the remedies tried helps."
    first = in_order(finding.remedies)[0]
    return "" if first.trial is None else sentence(first.trial.title.capitalize())


def _details(number: int, finding: Finding, width: int) -> list[str]:
    lines = [f"{number}. {finding.kind}{f' {finding.place}' if finding.place else ''}"]
    if finding.lines:
        lines += _listed(finding)
    elif finding.code:
        lines.append(f"      {finding.code}")
    lines += _wrapped(sentence(finding.cause), "   ", width)
    if any(remedy.trial for remedy in finding.remedies):
        lines += _trials(finding, width)
    elif finding.remedy:
        title = "" if finding.remedy.startswith("no change needed") else "change: "
        lines += _wrapped(f"{title}{sentence(finding.remedy)}", "   ", width)
        lines += [f"      {line}" for line in finding.diff.splitlines()]
    seconds = finding.cost.seconds
    cost = [f"confidence: {finding.sure}"]
    if finding.count > 1 and not finding.lines:
        cost.append(f"seen {times(finding.count)}")
    if seconds:
        cost.append(f"{seconds:.2f} s of compile time")
    if finding.keys:
        more = f" and {len(finding.keys) - 8} more" if len(finding.keys) > 8 else ""
        cost.append(
            f"frame{'s' if len(finding.keys) > 1 else ''} {', '.join(finding.keys[:8])}{more}"
        )
    lines += _wrapped("; ".join(cost), "   ", width)
    lines += [f"   see {link.file}{f':{link.line}' if link.line else ''}" for link in finding.links]
    if finding.quoted and finding.sure == "unknown":
        lines += ["   torch says:", *(f"   | {line}" for line in finding.quoted.splitlines())]
    return lines


def _listed(finding: Finding) -> list[str]:
    """Return the lines of a finding that has several, each with its text."""
    shown = finding.lines[:_LISTED]
    width = max(len(short(line.place)) for line in shown)
    lines = [f"      {short(line.place):{width}}  {line.code}".rstrip() for line in shown]
    more = len(finding.lines) - _LISTED
    return [*lines, f"      and {counted(more, 'more line')}"] if more > 0 else lines


def _trials(finding: Finding, width: int) -> list[str]:
    """Return each remedy with its trial result: those that work first, those that failed last."""
    lines: list[str] = []
    for title, remedy in titled(finding.remedies):
        lines += _wrapped(f"{title}: {sentence(remedy.told)}".lstrip(": "), "   ", width)
        if not has_failed(remedy):
            lines += [f"      {line}" for line in remedy.diff.splitlines()]
        if title or remedy.trial is not None:
            lines += _wrapped(str(remedy.trial or remedy.status), "      ", width)
    return lines


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _functions(captures: Sequence[Capture]) -> str:
    told = []
    for (file, line, name), number in versions_of(captures).items():
        own = "" if is_own(file) else ", in a library"
        versions = f" in {counted(number, 'version')}" if number > 1 else ""
        told.append(f"{name} ({short(Place(file, line))}{own}){versions}")
    more = f" and {len(told) - 6} more" if len(told) > 6 else ""
    return ", ".join(told[:6]) + more


def _calls(captures: Sequence[Capture]) -> str:
    """Return how often each version of each function ran, if that was counted."""
    told: dict[str, list[str]] = {}
    for capture in captures:
        numbers = {event.key: event.number for event in capture.of(Calls)}
        for frame in capture.of(Frame):
            if frame.key in numbers and not is_resumed(frame.place.function):
                versions = told.setdefault(frame.place.function, [])
                versions.append(f"[{frame.key}] {numbers[frame.key]}")
    words = [f"{name} {', '.join(versions)}" for name, versions in told.items()]
    return "; ".join(words[:6]) + (f"; and {len(words) - 6} more" if len(words) > 6 else "")


SCHEMA = 1
"""The version of what :func:`as_json` returns; see docs/findings.md."""


@dataclass(frozen=True)
class Explained:
    """Everything that ``explain --json`` prints."""

    captures: tuple[str, ...]
    """The directories of the captures: one per process or rank."""
    counts: Counts
    """What was compiled, in numbers."""
    calls: dict[str, int]
    """How often each compiled version ran, by its compile id; empty unless calls were counted."""
    findings: tuple[Finding, ...]
    """The problems, the most severe first."""
    tool: str = "pellucid"
    """Always ``pellucid``."""
    schema: int = SCHEMA
    """The version of this format."""


def as_json(captures: Sequence[Capture], findings: Sequence[Finding]) -> str:
    """Return the same as JSON: an :class:`Explained`."""
    record = Explained(
        captures=tuple(str(capture.directory) for capture in captures),
        counts=counts_of(captures, findings),
        calls={str(event.key): event.number for capture in captures for event in capture.of(Calls)},
        findings=tuple(findings),
    )
    return json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n"
