# SPDX-License-Identifier: Apache-2.0
"""The inputs of the command line: `.pyc` files, folders, archives and programs.

Every input becomes a list of jobs, each with the bytes of one code object and the path for its
source. An input is recognized by its bytes; its suffix is ignored, except that a `.pyc` file is
always read. No two jobs share a path, and no path is outside the requested folder.
"""

import os
import re
import stat
import sys
from pathlib import Path, PurePosixPath
from typing import IO, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from pellucid import containers
from pellucid.containers import LARGEST_FILE, LARGEST_STREAM, Member, Read
from pellucid.errors import DecompileError

# `module.cpython-311.opt-1.pyc`, the form of names in __pycache__ (PEP 3147 and PEP 488).
TAGGED = re.compile(r"(?P<stem>.+?)\.(?P<tag>[a-z]+-\d+)(?:\.opt-(?P<level>\w+))?")


class Job(NamedTuple):
    """One code object, from a file or an archive member, and its output path (None: stdout)."""

    path: Path
    out: Optional[Path]
    member: Optional[str] = None
    read_member: Optional[Read] = None
    is_source: bool = False  # the text of a source in a constant, rather than code
    about: Tuple[str, ...] = ()  # what surrounds the code in a pickle, one line each

    @property
    def name(self) -> str:
        """Return the name used in messages."""
        return f"{self.path}/{self.member}" if self.member else str(self.path)

    def read(self) -> bytes:
        """Return the bytes. Raises OSError, or DecompileError if an archive is damaged."""
        if self.read_member is not None:
            return self.read_member()
        if str(self.path) == "-":
            return _read_stream(sys.stdin.buffer)
        what = self.path.stat()
        if stat.S_ISREG(what.st_mode) and what.st_size > LARGEST_FILE:
            raise DecompileError("larger than 1 GiB", 0, "limit")
        with self.path.open("rb") as stream:
            return stream.read() if stat.S_ISREG(what.st_mode) else _read_stream(stream)


class _Found(NamedTuple):
    path: Path
    member: Optional[str]
    inside: PurePosixPath  # relative to the given folder or archive
    read_member: Optional[Read] = None
    about: Tuple[str, ...] = ()
    is_source: bool = False  # a `.py` file of an archive


class Searched(NamedTuple):
    """An input, and the code that was found in it."""

    given: Path
    found: List[_Found]


def jobs_of(inputs: Sequence[Searched], out: Optional[str]) -> List[Job]:
    """Return a job for each `.pyc` of the inputs.

    With several files, a folder or an archive, `out` is a folder that mirrors the input:
    `pkg/__pycache__/mod.cpython-311.pyc` becomes `out/pkg/mod.py`. Several folders and archives
    each get a separate folder in it. Raises DecompileError if that folder is a file.
    """
    given = [each.given for each in inputs]
    groups = [each.found for each in inputs]
    if out is None:
        found = [each for group in groups for each in group]
        return [Job(f.path, None, f.member, f.read_member, about=f.about) for f in found]
    holds_many = [
        path.is_dir() or any(found.member is not None for found in group)
        for path, group in zip(given, groups)
    ]
    is_folder = out.endswith(("/", os.sep)) or Path(out).is_dir()
    if len(given) == 1 and not holds_many[0] and not is_folder:
        return [Job(given[0], Path(out))]
    if Path(out).exists() and not Path(out).is_dir():
        raise DecompileError(f"{out} is not a folder, and there is more than one file to write")
    jobs: List[Job] = []
    places = _Places(Path(out))
    for path, group, many in zip(given, groups, holds_many):
        own = _folder_name(path) if many and sum(holds_many) > 1 else ""
        plain = _untagged([each.inside for each in group])
        for each, inside in zip(group, plain):
            place = places.take(PurePosixPath(own) / inside)
            jobs.append(Job(each.path, place, each.member, each.read_member, about=each.about))
    return jobs


def find(given: Path, sources: bool = False, carves: bool = False) -> Iterator[_Found]:
    """Yield the code of a file, a folder or an archive, sorted by name.

    With `sources`, the `.py` files of archives are among it. With `carves`, it is the code objects
    at any place of each file instead.

    Raises DecompileError for an invalid archive.
    """
    if given.is_dir():
        for folder, folders, files in os.walk(given):
            folders.sort()
            # Joining a name is cheaper than splitting a path, and there are many names.
            top = Path(folder)
            above = PurePosixPath(top.relative_to(given).as_posix())
            for name in sorted(files):
                yield from find_in_folder(top / name, above / name, sources, carves)
        return
    if not given.is_file():  # standard input, a pipe, a device
        name = "stdin.pyc" if str(given) == "-" else given.name
        yield _Found(given, None, PurePosixPath(name))
        return
    if given.stat().st_size > LARGEST_FILE:
        yield _Found(given, None, PurePosixPath(given.name))  # its job will refuse it
        return
    found = containers.contents_of(given, sources, carves)
    if found.is_archive:
        yield from _found(given, found.members, PurePosixPath(given.name), PurePosixPath())
    else:
        yield _Found(given, None, PurePosixPath(given.name))


def _found(
    path: Path, members: Sequence[Member], inside: PurePosixPath, folder: PurePosixPath
) -> Iterator[_Found]:
    for member in members:
        if member.is_whole:
            yield _Found(path, None, inside)
        else:
            place = folder / _safe(member.place)
            about = tuple(member.about)
            yield _Found(path, member.name, place, member.read, about, member.is_source)


def find_in_folder(
    path: Path, inside: PurePosixPath, sources: bool = False, carves: bool = False
) -> Iterator[_Found]:
    """Yield a file of a folder if it is code, and its members if it is an archive."""
    if path.name.endswith(".pyc") and not carves:
        yield _Found(path, None, inside)
        return
    try:
        if not path.is_file():
            return
        if path.suffix != ".py" and path.stat().st_size <= LARGEST_FILE:
            members = containers.contents_of(path, sources, carves).members
            yield from _found(path, members, inside, inside)
    except OSError:
        return  # its name does not claim that it is code
    except DecompileError as error:
        if error.code == "limit":  # it contains code, but too much
            yield _Found(path, None, inside, containers.refusing(error))


def _read_stream(stream: IO[bytes]) -> bytes:
    data = stream.read(LARGEST_STREAM + 1)
    if len(data) > LARGEST_STREAM:
        raise DecompileError("larger than 256 MiB", LARGEST_STREAM, "limit")
    return data


def _safe(member: str) -> PurePosixPath:
    """Return a member's path without parts that lead out of the folder."""
    parts = re.split(r"[/\\]", member)
    return PurePosixPath(*(p.replace(":", "_") for p in parts if p not in ("", ".", "..")))


def _folder_name(path: Path) -> str:
    return path.resolve().name


def _untagged(paths: Sequence[PurePosixPath]) -> List[PurePosixPath]:
    """Return each source's path, outside `__pycache__` and, if still unique, without its tag."""
    plain: List[PurePosixPath] = []
    tagged: List[PurePosixPath] = []
    for path in paths:
        folder = path.parent.parent if path.parent.name == "__pycache__" else path.parent
        match = TAGGED.fullmatch(path.stem) if folder != path.parent else None
        tagged.append(folder / f"{path.stem}.py")
        plain.append(folder / f"{match.group('stem') if match else path.stem}.py")
    # If both `mod.cpython-38.pyc` and `mod.cpython-39.pyc` exist, they keep their tags.
    count: Dict[str, int] = {}
    for place in plain:
        count[_key(place)] = count.get(_key(place), 0) + 1
    return [p if count[_key(p)] == 1 else t for p, t in zip(plain, tagged)]


def _key(place: PurePosixPath) -> str:
    # Names that differ only in case are one file on some systems.
    return str(place).casefold()


class _Places:
    """Returns each path once: a second `mod.py` becomes `mod~2.py`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: Dict[str, int] = {}

    def take(self, place: PurePosixPath) -> Path:
        free = place
        number = self._taken.get(_key(place), 0)
        while number and _key(free) in self._taken:
            number += 1
            free = place.with_name(f"{place.stem}~{number}.py")
        self._taken[_key(place)] = max(number, 1)
        self._taken.setdefault(_key(free), 1)
        return self._folder / free


def search(
    inputs: Sequence[str], carves: bool = False
) -> Tuple[List[Searched], List[Tuple[str, str]]]:
    """Return the inputs with their code, and (input, reason) for each that has none."""
    good: List[Searched] = []
    bad: List[Tuple[str, str]] = []
    for given in inputs:
        try:
            path = Path(given)
            if given != "-":
                os.stat(given)  # the text as given, since Path("") is a folder
            found = list(find(path, carves=carves))
            if found:
                good.append(Searched(path, found))
            else:
                bad.append((given, "no compiled Python in it"))
        except OSError as error:
            bad.append((given, (error.strerror or str(error)).lower()))
        except (DecompileError, ValueError) as error:
            bad.append((given, str(error)))
    return good, bad


def split_errors(inputs: Sequence[str]) -> Tuple[List[str], List[Tuple[str, str]]]:
    """Return the inputs that have code, and (input, reason) for each of the others."""
    good, bad = search(inputs)
    return [str(each.given) for each in good], bad
