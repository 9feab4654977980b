# SPDX-License-Identifier: Apache-2.0
"""Transformed frames of a log, which has no code for them."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Mapping, Sequence

from pellucid.brief import counted
from pellucid.dump.model.dynamo_names import broken_function
from pellucid.dump.model.events import (
    Break,
    CacheEntry,
    CompileKey,
    Frame,
    Link,
    Place,
    Recompile,
    Verdict,
)
from pellucid.dump.model.names import as_comment, is_resumed, label
from pellucid.dump.store.session import Session

from ..text.dump import RUNS, frame_status, recompile_lines, transformed_name, valid
from ..text.full_code import full_code_name

NO_BYTECODE = "a log has no bytecode"
_RAN = "# This file is what ran in the process that wrote the log."
_PROOF = re.compile(r"proven (\w+)\Z")


class Frames:
    """Creates the frames of one session, and numbers their functions."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._numbers: dict[str, int] = {}
        self._places: dict[Place, int] = {}

    def number(self, key: CompileKey, place: Place) -> int:
        """Return the number of a compile's function, which a reset does not change."""
        frame = key.frame
        if frame not in self._numbers:
            known = self._places.get(place) if key.epoch else None
            self._numbers[frame] = len(set(self._numbers.values())) if known is None else known
            self._places.setdefault(place, self._numbers[frame])
        return self._numbers[frame]

    def add(self, key: CompileKey, place: Place, text: str | None, listing: str | None) -> Frame:
        """Write the file of a frame, and record it.

        Args:
            key: its compile.
            place: where the function begins, or resumes.
            text: the file that a capture sent to the log; None if there is none.
            listing: torch's own listing of the bytecode; None if the log has none.
        """
        session = self._session
        number = self.number(key, place)
        name = session.claim(transformed_name(key, place.function), (key, number))
        verdict = Verdict("failed", NO_BYTECODE)
        if text is None:
            text = self._text(key, place, listing)
        else:
            proof = _PROOF.search(text.partition("\n")[0])
            told = f", which says: proven {proof[1]}" if proof else ""
            verdict = Verdict("unproven", f"it is from a capture made together with the log{told}")
            text = text.replace(RUNS, _RAN, 1)
        session.write(name, valid(text))
        links = () if verdict.status == "failed" else _links(text, place)
        frame = Frame(key, number, place, None, verdict, name, swapped=False, links=links)
        frame = replace(frame, parent=self._parent(key, place))
        session.record(frame)
        return frame

    def _text(self, key: CompileKey, place: Place, listing: str | None) -> str:
        head = [
            f"{label(place.function)} · {place} · compile [{key}] · not decompiled: {NO_BYTECODE}",
            "NOT RUNNING from this file: it was created from a log",
        ]
        breaks = [event for event in self._session.of(Break) if event.key == key]
        head += [f"graph break: {stop.title}" for stop in breaks if stop.title]
        if listing is not None:
            head += ["", "Dynamo's bytecode, as the log lists it:", *listing.split("\n")]
        return as_comment("\n".join(head)) + "\n"

    def _parent(self, key: CompileKey, place: Place) -> str:
        """Return the compile that a resume function continues: the last that broke at its line."""
        if not is_resumed(place.function):
            return ""
        name, line = broken_function(place.function)
        found = ""
        for frame in self._session.of(Frame):
            of, _ = broken_function(frame.place.function)
            if frame.key.epoch != key.epoch or (of, frame.place.file) != (name, place.file):
                continue
            breaks = (stop for stop in self._session.of(Break) if stop.key == frame.key)
            at = [stop.place.line for stop in breaks if stop.place is not None]
            if frame.key.frame != key.frame and (line in at or not found):
                found = frame.key.id or ""
        return found

    def write_full_code(
        self, entries: Mapping[CompileKey, CacheEntry]
    ) -> dict[str, Sequence[Frame]]:
        """Write one file per function with its versions and guards; store the guards' lines.

        Returns the versions by file name.
        """
        session = self._session
        versions: dict[int, list[Frame]] = {}
        for frame in session.of(Frame):
            versions.setdefault(frame.function, []).append(frame)
        full: dict[str, Sequence[Frame]] = {}
        for number, frames in versions.items():
            first = frames[0]
            with session.guard(f"writing the guards of {first.place.function}"):
                name = session.claim(full_code_name(first.key.frame, first.place.function), number)
                # Newest first, which is torch's order until a version matches a call.
                known = [entries[f.key] for f in reversed(frames) if f.key in entries]
                keys = {frame.key for frame in frames}
                again = [event for event in session.of(Recompile) if event.key in keys]
                text, known = _full_code(frames, known, again)
                session.write(name, text)
                session.functions.set_cache(number, known)
                full[name] = frames
        return full


def _links(text: str, place: Place) -> tuple[Link, ...]:
    """Return links from the lines of a transformed file to user lines, from its comments."""
    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines, 1) if line and line[0] not in "# "), 1)
    end = re.compile(rf"# +\S*{re.escape(os.path.basename(place.file))}:(\d{{1,9}})\b")
    found = [(n, match[1]) for n, line in enumerate(lines, 1) for match in end.finditer(line)]
    found = [(n, line) for n, line in found if n >= first]
    # Lines before the first comment belong to the same user line.
    found[:1] = [(first, line) for _, line in found[:1]]
    return tuple(Link(n, "user", f"{place.file}:{line}") for n, line in found)


def line_of_listing(text: str) -> int | None:
    """Return the line at which a resume function resumes, from torch's listing of its bytecode.

    A prologue restores the stack, and jumps to the break.

    >>> text = "  7    0 RESUME 0\\n       2 JUMP_FORWARD 1 (to 6)\\n  8    4 NOP\\n       6 NOP\\n"
    >>> line_of_listing(text)
    8
    """
    line, target = None, ""
    for row in text.split("\n"):
        found = _ROW.match(row)
        if found is None:
            continue
        line = int(found["line"]) if found["line"] else line
        here = found["label"] or found["offset"]
        if not target:
            jump = _JUMP.search(row)
            target = jump[1] if jump is not None else ""
        elif found["operation"] != "NOT_TAKEN" and _is_there(here, target):
            return line
    return None


def _is_there(here: str | None, target: str) -> bool:
    if here is None or here.isdigit() != target.isdigit():
        return False
    return here == target if not here.isdigit() else int(here) >= int(target)


_ROW = re.compile(
    r" *(?:(?P<line>\d{1,9})(?= {2,}\S| +(?:>>|L\d+:)| +\d+ +[A-Z]))? *(?:>> *)?(?:-+> *)?"
    r"(?:(?P<label>L\d{1,9}): *)?(?:(?P<offset>\d{1,9}) +)?(?P<operation>[A-Z][A-Z_]+)(?: |$)"
)
_JUMP = re.compile(r"\bJUMP_(?:FORWARD|ABSOLUTE)\b.*\(to (L?\d{1,9})\)")


def _full_code(
    frames: Sequence[Frame], entries: Sequence[CacheEntry], recompiles: Sequence[Recompile]
) -> tuple[str, list[CacheEntry]]:
    """Return the text of a function's file, and its entries with the lines of their guards."""
    place = frames[0].place
    head = [f"{label(place.function)} · {place} · {counted(len(frames), 'compiled version')}"]
    head += [f"  [{f.key}] {f.file}: {frame_status(f)}" for f in frames]
    if recompiles:
        head += ["Recompiled because:", *("  " + line for line in recompile_lines(recompiles))]
    head.append(
        "Created from a log: the guards are torch's descriptions, which this file cannot evaluate."
    )
    lines = as_comment("\n".join(head)).split("\n")
    found = []
    for entry in entries:
        lines += ["", "", f"# {counted(len(entry.guards), 'guard')} of [{entry.key}]"]
        guards, last = [], ""
        for guard in entry.guards:
            if guard.user_line and guard.user_line != last:
                last = guard.user_line
                lines += ["#", as_comment(f"  {last}".replace("\n", " "))]
            lines.append(as_comment(f"{guard.kind}: {guard.text}".replace("\n", " ")))
            guards.append(replace(guard, line=len(lines)))
        found.append(CacheEntry(entry.key, tuple(guards)))
    return "\n".join(lines) + "\n", found
