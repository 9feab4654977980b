# SPDX-License-Identifier: Apache-2.0
"""A capture in a few lines: what was compiled, what was found, and what to change."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, Sequence

from pellucid.brief import counted
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Break, Frame, Graph, Skipped
from pellucid.dump.model.names import is_resumed

from .counts import counts_of, installed, versions_of
from .find import count_line
from .finding import Finding
from .kinds import KINDS
from .words import file_name, sentence, times, where

if TYPE_CHECKING:
    from pellucid.dump.store.session import Session

_MOST = 3
"""The number of findings shown, and of functions named."""


class Line(NamedTuple):
    """A line of a summary, and its terminal style."""

    text: str
    style: str = ""


def has_compiled(captures: Sequence[Capture | Session]) -> bool:
    """Return true if torch compiled something, or tried to."""
    return any(capture.of(kind) for capture in captures for kind in (Frame, Graph, Skipped, Break))


def summary(
    captures: Sequence[Capture], findings: Sequence[Finding], width: int = 100
) -> list[Line]:
    """Return the lines of a summary; notes (on caches, on precision) are left out."""
    told = [finding for finding in findings if KINDS[finding.kind].tone != "note"]
    lines: list[Line] = []
    for title, text in (
        ("Compiled", _compiled(captures)),
        ("Decompiled", _decompiled(captures)),
        ("Found", count_line(told).replace(" found", "")),
    ):
        lines += [Line(line) for line in _titled(title, text, width)]
    lines += listed(told, width)
    if len(told) > _MOST:
        lines.append(Line(f"   and {len(told) - _MOST} more, on the page"))
    return lines


def listed(findings: Sequence[Finding], width: int = 100, most: int = _MOST) -> list[Line]:
    """Return the first findings: kind, line, cause, and what to change."""
    lines: list[Line] = []
    kinds = max([0, *(len(KINDS[finding.kind].words) for finding in findings[:most])])
    for number, finding in enumerate(findings[:most], 1):
        head = f"{number}. {KINDS[finding.kind].words:{kinds}}  {where(finding)}"
        lines.append(Line(_cut(f"{head}   {finding.code}".rstrip(), width), "bold"))
        cause = f"   {sentence(finding.cause)}{_often(finding)}"
        lines += [Line(line) for line in _wrapped(cause, "   ", width)]
        change = f"   {sentence(finding.remedy)}" if finding.remedy else ""
        lines += [Line(line, "green") for line in _wrapped(change, "   ", width)]
    return lines


def compiled_lines(captures: Sequence[Capture], width: int = 100) -> list[str]:
    """Return the lines of a summary that say what was compiled."""
    return _titled("Compiled", _compiled(captures), width)


def _titled(title: str, text: str, width: int) -> list[str]:
    return _wrapped(f"{title:<12}{text}", " " * 12, width)


def _often(finding: Finding) -> str:
    """Return how often a cause occurred, unless the cause already says so."""
    if finding.count == 1 or finding.kind in ("recompile", "limit", "slow"):
        return ""
    compiles = len(finding.keys)
    return f" Seen in {compiles} compiles." if compiles > 1 else f" Seen {times(finding.count)}."


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _compiled(captures: Sequence[Capture]) -> str:
    found = versions_of(captures)
    names = [
        f"{_quoted(name)} ({file_name(file)}{f':{line}' if line else ''})"
        for file, line, name in found
    ]
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    told = counts_of(captures, ()).compiled.replace(" compiled", "", 1)
    processes = f" in {len(captures)} processes" if len(captures) > 1 else ""
    return f"{told}{processes}: {', '.join(names[:_MOST])}{more}" if names else told


def _quoted(name: str) -> str:
    """Quote the name of a function, and of its wrapper, as code."""
    return f"`{name}`".replace(", inside ", "`, inside `")


def _decompiled(captures: Sequence[Capture]) -> str:
    frames = [frame for capture in captures for frame in installed(capture)]
    if not frames:
        return "nothing"
    resumed = sum(is_resumed(frame.place.function) for frame in frames)
    proven = Counter(frame.verdict.status for frame in frames if frame.verdict.proven)
    running = sum(frame.swapped for frame in frames)
    verb = "resumes" if resumed == 1 else "resume"
    parts = f" ({resumed} {verb} after a graph break)" if resumed else ""
    verdict = f"{_share(sum(proven.values()), len(frames))}proven"
    if proven:
        verdict += f" {' or '.join(sorted(proven, reverse=True))}"
    ran = "this file is" if len(frames) == 1 else "these files are"
    ran = ran if running else "PyTorch's bytecode is"
    if 0 < running < len(frames):
        ran = f"{running} of these files are"
    return f"{counted(len(frames), 'frame')}{parts}, {verdict}; {ran} what ran"


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} " if part < whole else "all " if whole > 1 else ""
