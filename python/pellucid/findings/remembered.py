# SPDX-License-Identifier: Apache-2.0
"""Trial results, stored beside the capture's record so that every view shows them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Sequence

from pellucid.dump.model.capture import TRIALS
from pellucid.dump.store.record import RECORD
from pellucid.dump.store.values import Mismatch, value_of

from .finding import Finding
from .remedy import Remedy, Trial, tried


def remember(directory: Path, findings: Sequence[Finding]) -> None:
    """Store the trial results of some findings; stored results of other findings are kept."""
    kept = _kept(directory)
    for finding in findings:
        for remedy in finding.remedies:
            if remedy.trial is not None:
                kept[_key(finding, remedy)] = remedy.trial
    rows = [{"remedy": key, "trial": asdict(trial)} for key, trial in kept.items()]
    record = {"trials": rows, "of": _record(directory), "tool": "pellucid"}
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    (directory / TRIALS).write_bytes(text.encode("utf-8", "backslashreplace"))


def with_trials(directory: Path, findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with their stored trial results, remedies that work first."""
    kept = _kept(directory)
    if not kept:
        return list(findings)

    def known(finding: Finding, remedy: Remedy) -> Remedy:
        trial = remedy.trial or kept.get(_key(finding, remedy))
        return remedy if trial is None else tried(remedy, trial)

    return [f.with_remedies([known(f, remedy) for remedy in f.remedies]) for f in findings]


def forget(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings without any trial results."""
    return [f.with_remedies([replace(r, trial=None) for r in f.remedies]) for f in findings]


def _key(finding: Finding, remedy: Remedy) -> tuple[str, ...]:
    return finding.id, remedy.kind, remedy.code, remedy.diff if remedy.kind == "edit" else ""


def _kept(directory: Path) -> dict[tuple[str, ...], Trial]:
    """Return the stored trial of each remedy; nothing if they belong to a different capture."""
    try:
        record = json.loads((directory / TRIALS).read_text(encoding="utf-8"))
        if record["of"] != _record(directory):
            return {}
        return {tuple(row["remedy"]): value_of(Trial, row["trial"]) for row in record["trials"]}
    except (OSError, ValueError, KeyError, TypeError, Mismatch):
        return {}


def _record(directory: Path) -> str:
    return hashlib.sha256((directory / RECORD).read_bytes()).hexdigest()
