# SPDX-License-Identifier: Apache-2.0
"""The functions of a capture: each with its frames, versions, breaks and recompiles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterator

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.dynamo_names import broken_function
from pellucid.dump.model.events import Break, CompileKey, Frame, Recompile, Started


@dataclass
class Version:
    """One compile of a function or of a resume function."""

    key: CompileKey
    frame: Frame | None
    part: int
    """0 for the function itself, 1 for the resume function of its first graph break."""

    def label(self, function: Function) -> str:
        """Return the display name: the function and the compile id."""
        part = f", part {self.part + 1}" if self.part else ""
        return f"{function.label} [{self.key}]{part}"


@dataclass
class Function:
    """One function of the program."""

    name: str
    """The name of its file without folders, and the function's name."""
    label: str
    versions: list[Version] = field(default_factory=list)
    breaks: list[Break] = field(default_factory=list)
    recompiles: list[Recompile] = field(default_factory=list)

    @property
    def frames(self) -> list[Frame]:
        """Return the compiled frames of the function."""
        return [version.frame for version in self.versions if version.frame is not None]

    def matched(self, other: Function) -> Iterator[tuple[InFunction, InFunction]]:
        """Yield the corresponding versions of two captures, matched by part and order."""
        for part in sorted({version.part for version in self.versions}):
            mine = [v for v in self.versions if v.part == part]
            theirs = [v for v in other.versions if v.part == part]
            for one, two in zip(mine, theirs):
                yield InFunction(self, one), InFunction(other, two)


@dataclass(frozen=True)
class InFunction:
    """A version with its function."""

    function: Function
    version: Version

    @property
    def key(self) -> CompileKey:
        """Return the compile."""
        return self.version.key

    @property
    def label(self) -> str:
        """Return the display name."""
        return self.version.label(self.function)


def functions_of(capture: Capture) -> list[Function]:
    """Return the functions of a capture, in the order in which torch first compiled them.

    Functions with the same name in one file are distinguished by their first lines.
    """
    frames = {frame.key: frame for frame in capture.of(Frame)}
    places = {started.key: started.place for started in capture.of(Started)}
    places.update({key: frame.place for key, frame in frames.items()})
    found: dict[tuple[str, str, int], Function] = {}
    of_key: dict[CompileKey, Function] = {}
    parts: dict[tuple[str, str, int], list[str]] = {}
    for key, place in places.items():
        if place is None or (key not in frames and not _is_reported(capture, key)):
            continue
        name, line = broken_function(place.function)
        file = place.file.replace("\\", "/").rpartition("/")[2]
        own = place.line if line is None else 0
        identity = (place.file, name, own)
        same = [i for i in found if i[:2] == identity[:2]]
        if line is not None and same:
            identity = same[-1]  # a resume function, whatever its line
        function = found.get(identity)
        if function is None:
            number = f" {len(same) + 1}" if same else ""
            function = Function(f"{file}:{name}{number}", f"{name} ({file}:{place.line})")
            found[identity] = function
        told = parts.setdefault(identity, [])
        part = "" if line is None else place.function
        if part not in told:
            told.append(part)
        of_key[key] = function
        at = told.index(part) if "" in told else told.index(part) + 1
        function.versions.append(Version(key, frames.get(key), at))
    for stop in capture.of(Break):
        if stop.key in of_key:
            of_key[stop.key].breaks.append(stop)
    for again in capture.of(Recompile):
        if again.key in of_key:
            of_key[again.key].recompiles.append(again)
    return list(found.values())


def _is_reported(capture: Capture, key: CompileKey) -> bool:
    """Return true if a break is known for a compile that produced no frame."""
    return any(stop.key == key for stop in capture.of(Break))
