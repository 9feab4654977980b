# SPDX-License-Identifier: Apache-2.0
"""The findings of a test as a file in the repository, and how a capture differs from it.

A snapshot has no line numbers, times or notes: it stays the same while the program is edited
elsewhere and runs on another machine.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Mapping, Sequence

from pellucid._version import __version__
from pellucid.brief import counted
from pellucid.dump.model.capture import Capture
from pellucid.findings import Finding, find_all
from pellucid.findings.counts import counts_of
from pellucid.findings.kinds import KINDS
from pellucid.findings.summary import listed
from pellucid.findings.words import file_name, sentence

_COUNTED = {"functions": "function", "versions": "version", "graphs": "graph"}
"""The counts of a snapshot, and their nouns; findings have their own."""


@dataclass(frozen=True, order=True)
class Entry:
    """A finding in a snapshot."""

    kind: str
    file: str
    code: str
    cause: str
    count: int


@dataclass(frozen=True)
class Snapshot:
    """What a test compiled, and what was found."""

    versions: Mapping[str, str]
    """The versions that it was made with; not compared."""
    counts: Mapping[str, int]
    findings: tuple[Entry, ...]

    def is_same(self, other: Snapshot) -> bool:
        """Return true if two snapshots have the same content."""
        return (self.counts, self.findings) == (other.counts, other.findings)

    def write(self, path: Path) -> None:
        """Write the file, unless it has the same content already."""
        try:
            known = read(path)
        except ValueError:  # such as the marks of a merge conflict
            known = None
        if known is not None and known.is_same(self):
            return
        findings = [asdict(entry) for entry in self.findings]
        record = {"versions": self.versions, "counts": self.counts, "findings": findings}
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record, indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8", errors="backslashreplace")


def read(path: Path) -> Snapshot | None:
    """Read a snapshot; None if there is no such file.

    Raises:
        ValueError: the file is not a snapshot.
    """
    if not path.is_file():
        return None
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found = tuple(sorted(Entry(**entry) for entry in record["findings"]))
        counts = {name: int(record["counts"][name]) for name in _COUNTED}
        return Snapshot(dict(record["versions"]), counts, found)
    except KeyError as error:
        raise ValueError(f"{path} is not a snapshot: it has no {error}") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is not a snapshot: {error}") from None


@dataclass(frozen=True)
class Taken:
    """A snapshot of a capture, with the findings from which its entries were made, one per line."""

    snapshot: Snapshot
    findings: Sequence[Finding]


def take(captures: Sequence[Capture]) -> Taken:
    """Return the snapshot of a capture, which may be that of several processes."""
    findings = find_all(captures)
    counts = asdict(counts_of(captures, findings))
    kept = [part for finding in findings if _is_kept(finding) for part in _by_line(finding)]
    versions = {"pellucid": __version__}
    for name in ("python", "torch"):
        versions[name] = captures[0].versions.get(name, "")
    entries = tuple(sorted(map(_entry, kept)))
    return Taken(Snapshot(versions, {name: counts[name] for name in _COUNTED}, entries), kept)


def _is_kept(finding: Finding) -> bool:
    """Return true for findings that are the same in every run: not for notes and slow compiles."""
    kind = KINDS[finding.kind]
    return kind.tone != "note" and (kind.is_compared or kind.judged != "" or kind.tone == "again")


def _by_line(finding: Finding) -> list[Finding]:
    """Return a finding once for each of its lines, so that a new line is a new finding."""
    return [
        replace(finding, place=line.place, code=line.code, lines=(), count=1)
        for line in finding.lines
    ] or [finding]


def _entry(finding: Finding) -> Entry:
    place = finding.place
    file = file_name(place.file) if place is not None else ""
    return Entry(finding.kind, file, finding.code, finding.cause, finding.count)


def differences(old: Snapshot, new: Taken) -> list[str]:
    """Return how a capture differs from its snapshot, in words: what is new, then what is gone."""
    lines = _numbers(old.counts, new.snapshot.counts)
    added = Counter(new.snapshot.findings) - Counter(old.findings)
    gone = Counter(old.findings) - Counter(new.snapshot.findings)
    if added:
        found = [finding for finding in new.findings if _entry(finding) in added]
        lines += ["New:", *(line.text for line in listed(found, most=len(found)))]
    if gone:
        lines += ["Gone:", *(_gone(entry) for entry in gone)]
    return lines


def _gone(entry: Entry) -> str:
    words = KINDS[entry.kind].words if entry.kind in KINDS else entry.kind
    return f"-  {words}  {entry.file}   {entry.code}\n   {sentence(entry.cause)}"


def _numbers(old: Mapping[str, int], new: Mapping[str, int]) -> list[str]:
    changed = [
        f"{counted(old.get(name, 0), word)} before, now {new[name]}"
        for name, word in _COUNTED.items()
        if old.get(name, 0) != new[name]
    ]
    return [f"{line}." for line in changed]


def other_versions(old: Snapshot, new: Snapshot) -> str:
    """Return which versions differ from those of the snapshot, in words; empty for none."""
    names = {"pellucid": "pellucid", "python": "Python", "torch": "PyTorch"}
    changed = [
        f"{word} {old.versions.get(name)} (now {new.versions[name]})"
        for name, word in names.items()
        if old.versions.get(name) != new.versions[name]
    ]
    return f"The snapshot was written with {', '.join(changed)}." if changed else ""
