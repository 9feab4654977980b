# SPDX-License-Identifier: Apache-2.0
"""Captures and decompilations as HTML for the output of a notebook's cell.

Each is one element that asks for nothing: no script, no picture, no address. All that comes from a
program or a file is escaped, and characters that are not printed are written out, so a name can
neither leave its element nor turn the text around.
"""

import html
from typing import Any, Callable, Dict, List, Sequence

from pellucid.brief import counted
from pellucid.dump.model.capture import PAGE, Capture
from pellucid.dump.model.events import Frame
from pellucid.findings import Finding, count_line, find
from pellucid.findings.counts import counts_of
from pellucid.findings.remedy import Trial, has_failed, titled
from pellucid.findings.words import sentence, short

from .style import STYLE

_FINDINGS, _FRAMES, _LINES = 12, 12, 80
"""How many of each are shown; the dump has all."""
_MARKS = {"works": "good", "helps": "warn", "suggestion": "soft"}
_WIDEST = 2000
"""A longer line is cut."""


def safe(text: str) -> str:
    """Return a text as HTML, with what is not printed written out.

    >>> safe("a<b\\u202e")
    'a&lt;b\\\\u202e'
    """
    shown = (c if c in "\n\t" or c.isprintable() else ascii(c)[1:-1] for c in text)
    return html.escape("".join(shown))


def capture_html(capture: Capture) -> str:
    """Return a capture as HTML: what was found, and what runs."""
    found = find(capture)
    frames = capture.of(Frame)
    compiled = counts_of([capture], found).compiled
    parts = [
        f"<p><b>{safe(count_line(found))}</b><span class='soft'> · {safe(compiled)}</span></p>",
        *(_finding(finding) for finding in found[:_FINDINGS]),
        _more(len(found) - _FINDINGS, "finding"),
        *(_frame(capture, frame) for frame in frames[:_FRAMES]),
        _more(len(frames) - _FRAMES, "frame"),
        _where(capture),
    ]
    return _element(parts)


def decompilation_html(found: Any) -> str:
    """Return a decompilation as HTML: its verdict and its source."""
    verdict = found.verdict
    kind = "warn" if verdict.status == "unproven" else "good"
    said = [f"<p><span class='mark {kind}'>{safe(verdict.status)}</span> "]
    said.append(f"<span class='soft'>{safe(verdict.reason or verdict.tier)}</span></p>")
    notes = [*found.notes, *(diagnostic.message for diagnostic in found.diagnostics)]
    lines = "".join(f"<p class='soft'>{safe(note)}</p>" for note in notes[:_FINDINGS])
    return _element(["".join(said), lines, _code(found.source)])


_SHOWN: Dict[str, Callable[[Any], str]] = {
    "Session": lambda session: capture_html(session.snapshot()),
    "Capture": capture_html,
    "Decompilation": decompilation_html,
    "Finding": lambda finding: _element([_finding(finding)]),
}


def html_of(value: Any) -> str:
    """Return the HTML of a session, capture, finding or decompilation for a notebook."""
    return _SHOWN[type(value).__name__](value)


def _element(parts: Sequence[str]) -> str:
    return f"<div class='pellucid'><style>{STYLE}</style>{''.join(parts)}</div>"


def _more(number: int, word: str) -> str:
    return f"<p class='soft'>and {counted(number, f'more {word}')}</p>" if number > 0 else ""


def _finding(finding: Finding) -> str:
    times = f" ({finding.count}x)" if finding.count > 1 else ""
    rows: List[str] = []
    if finding.lines:
        listed = "\n".join(f"{short(line.place)}  {line.code}" for line in finding.lines)
        rows.append(f"<pre>{safe(listed[:_WIDEST])}</pre>")
    elif finding.code:
        rows.append(f"<pre>{safe(finding.code[:_WIDEST])}</pre>")
    for title, remedy in titled(finding.remedies):
        trial = remedy.trial or Trial(remedy.status)
        head = f"<b>{title}:</b> " if title else ""
        status = _MARKS.get(remedy.status, "old")
        mark = f" <span class='mark {status}'>{safe(trial.title)}</span>"
        shown = mark if title or remedy.trial is not None else ""
        rows.append(f"<p>{head}{safe(sentence(remedy.told))}{shown}</p>")
        if remedy.diff and not has_failed(remedy):
            rows.append(f"<pre>{_diff(remedy.diff)}</pre>")
        if trial.detail:
            rows.append(f"<p class='soft'>{safe(trial.detail)}</p>")
    if finding.quoted and finding.sure == "unknown":
        rows.append(f"<pre>{safe(finding.quoted)}</pre>")
    known = [
        f"confidence: {finding.sure}",
        *[f"compiles {', '.join(finding.keys[:8])}"] * bool(finding.keys),
    ]
    known += [link.file for link in finding.links[:4]]
    rows.append(f"<p class='soft'>{safe(' · '.join(known))}</p>")
    return (
        f"<details><summary><span class='mark warn'>{safe(finding.kind)}</span> "
        f"<span class='soft'>{safe(short(finding.place) + times)}</span> {safe(finding.cause)}"
        f"</summary>{''.join(rows)}</details>"
    )


def _diff(text: str) -> str:
    lines = []
    for line in text.splitlines():
        kind = {"+": "new", "-": "old"}.get(line[:1], "") if line[:3] not in ("+++", "---") else ""
        lines.append(f"<span class='{kind}'>{safe(line)}</span>" if kind else safe(line))
    return "\n".join(lines)


def _frame(capture: Capture, frame: Frame) -> str:
    kind = "good" if frame.verdict.proven else "warn"
    runs = "runs from its file" if frame.swapped else "Dynamo's code runs"
    soft = " · ".join(filter(None, (short(frame.place), runs, frame.file)))
    return (
        f"<details><summary><span class='mark {kind}'>{safe(frame.verdict.status)}</span> "
        f"<code>[{safe(str(frame.key))}] {safe(frame.place.function)}</code> "
        f"<span class='soft'>{safe(soft)}</span></summary>"
        f"{_code(capture.text(frame.file))}</details>"
    )


def _where(capture: Capture) -> str:
    page = capture.directory / PAGE
    shown = page if page.exists() else capture.directory
    return f"<p class='soft'>{safe(str(shown))}</p>"


def _code(text: str) -> str:
    lines = [line[:_WIDEST] for line in text.splitlines()]
    cut = f"\n… {counted(len(lines) - _LINES, 'more line')}" if len(lines) > _LINES else ""
    return f"<pre>{_coloured(chr(10).join(lines[:_LINES]))}{cut}</pre>"


def _coloured(text: str) -> str:
    """Return Python as HTML with comments, strings and keywords told apart."""
    from pygments import token
    from pygments.lexers.python import PythonLexer

    kinds = ((token.Comment, "c"), (token.String, "s"), (token.Keyword, "k"))
    parts = []
    for found, piece in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        kind = next((name for each, name in kinds if found in each), "")
        parts.append(f"<span class='{kind}'>{safe(piece)}</span>" if kind else safe(piece))
    return "".join(parts)
