"""What the command line is given: `.pyc` files, folders, wheels, eggs and other zip archives.

Every input becomes a list of jobs, each with the bytes of one `.pyc` at hand and the place where
its source goes. No two jobs share a place, and no place lies outside the folder that was asked for.
"""

import os
import re
import sys
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from pellucid.errors import DecompileError

ARCHIVES = (".whl", ".egg", ".zip", ".pyz")
# No `.pyc` of a real module comes near this; what is larger is refused before it is read.
LARGEST_FILE = 1 << 30
LARGEST_MEMBER = 256 << 20  # a small archive can claim to hold much
LARGEST_STREAM = 256 << 20  # a pipe or a device has no size to ask for

# `module.cpython-311.opt-1.pyc`, as PEP 3147 and PEP 488 name the files in __pycache__.
_TAGGED = re.compile(r"(?P<stem>.+?)(?P<tag>\.[a-z]+-\d+(\.opt-\w+)?)")


class Job(NamedTuple):
    """One `.pyc`: a file, or a member of an archive; and where its source goes (None: stdout)."""

    path: Path
    out: Optional[Path]
    member: Optional[str] = None

    @property
    def name(self) -> str:
        """Return how messages call it."""
        return f"{self.path}/{self.member}" if self.member else str(self.path)

    def read(self) -> bytes:
        """Return the bytes. Raises OSError, or DecompileError if an archive is damaged."""
        if self.member is not None:
            return _read_member(self.path, self.member)
        if str(self.path) == "-":
            return _read_stream(sys.stdin.buffer)
        if not self.path.is_file():
            with self.path.open("rb") as stream:
                return _read_stream(stream)
        if self.path.stat().st_size > LARGEST_FILE:
            raise DecompileError("larger than 1 GiB", 0, "limit")
        return self.path.read_bytes()


class _Found(NamedTuple):
    path: Path
    member: Optional[str]
    inside: PurePosixPath  # relative to the folder or the archive that was given


def jobs_of(inputs: Sequence[str], out: Optional[str]) -> List[Job]:
    """Return a job for each `.pyc` of the inputs.

    With several files, a folder or an archive, `out` is a folder that mirrors what is in the input:
    `pkg/__pycache__/mod.cpython-311.pyc` becomes `out/pkg/mod.py`. Several folders and archives
    each get a folder of their own in it. Raises DecompileError for an archive that is none.
    """
    given = [Path(path) for path in inputs]
    groups = [list(_find(path)) for path in given]
    if out is None:
        return [Job(f.path, None, f.member) for group in groups for f in group]
    holds_many = [path.is_dir() or _is_archive(path) for path in given]
    is_folder = out.endswith(("/", os.sep)) or Path(out).is_dir()
    if len(given) == 1 and not holds_many[0] and not is_folder:
        return [Job(given[0], Path(out))]
    if Path(out).exists() and not Path(out).is_dir():
        raise DecompileError(f"{out} is no folder, and there is more than one file to write")
    jobs: List[Job] = []
    places = _Places(Path(out))
    for path, group, many in zip(given, groups, holds_many):
        own = _folder_name(path) if many and sum(holds_many) > 1 else ""
        plain = _untagged([each.inside for each in group])
        for each, inside in zip(group, plain):
            jobs.append(Job(each.path, places.take(PurePosixPath(own) / inside), each.member))
    return jobs


def _find(given: Path) -> Iterator[_Found]:
    if given.is_dir():
        for folder, folders, files in os.walk(given):
            folders.sort()
            for name in sorted(files):
                if name.endswith(".pyc"):
                    path = Path(folder, name)
                    yield _Found(path, None, PurePosixPath(path.relative_to(given).as_posix()))
    elif _is_archive(given):
        for member in _members(given):
            yield _Found(given, member, _safe(member))
    else:
        name = "stdin.pyc" if str(given) == "-" else given.name
        yield _Found(given, None, PurePosixPath(name))


def _is_archive(path: Path) -> bool:
    return path.suffix.lower() in ARCHIVES and path.is_file()


def _members(archive: Path) -> List[str]:
    try:
        with zipfile.ZipFile(archive) as file:
            return sorted(name for name in file.namelist() if name.endswith(".pyc"))
    except (zipfile.BadZipFile, UnicodeDecodeError, ValueError) as error:
        raise DecompileError(f"no zip archive: {_lowered(error)}") from error


def _read_member(archive: Path, member: str) -> bytes:
    try:
        with zipfile.ZipFile(archive) as file, file.open(member) as packed:
            data = packed.read(LARGEST_MEMBER + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DecompileError(f"damaged in its archive: {_lowered(error)}") from error
    except (NotImplementedError, RuntimeError, KeyError) as error:  # a method, a password
        raise DecompileError(f"cannot be unpacked: {_lowered(error)}", 0, "unsupported") from error
    if len(data) > LARGEST_MEMBER:
        raise DecompileError("larger than 256 MiB", 0, "limit")
    return data


def _read_stream(stream: IO[bytes]) -> bytes:
    data = stream.read(LARGEST_STREAM + 1)
    if len(data) > LARGEST_STREAM:
        raise DecompileError("larger than 256 MiB", LARGEST_STREAM, "limit")
    return data


def _lowered(error: Exception) -> str:
    text = str(error).strip().rstrip(".") or type(error).__name__
    return text[0].lower() + text[1:]


def _safe(member: str) -> PurePosixPath:
    """Return a member's path without what would lead out of the folder."""
    parts = re.split(r"[/\\]", member)
    return PurePosixPath(*(p.replace(":", "_") for p in parts if p not in ("", ".", "..")))


def _folder_name(path: Path) -> str:
    return path.resolve().name


def _untagged(paths: Sequence[PurePosixPath]) -> List[PurePosixPath]:
    """Return where each source goes: beside `__pycache__`, and without its tag if it is alone."""
    plain: List[PurePosixPath] = []
    tagged: List[PurePosixPath] = []
    for path in paths:
        folder = path.parent.parent if path.parent.name == "__pycache__" else path.parent
        match = _TAGGED.fullmatch(path.stem) if folder != path.parent else None
        tagged.append(folder / f"{path.stem}.py")
        plain.append(folder / f"{match.group('stem') if match else path.stem}.py")
    # `mod.cpython-38.pyc` beside `mod.cpython-39.pyc`: both keep their tags.
    count: Dict[str, int] = {}
    for place in plain:
        count[_key(place)] = count.get(_key(place), 0) + 1
    return [p if count[_key(p)] == 1 else t for p, t in zip(plain, tagged)]


def _key(place: PurePosixPath) -> str:
    # Two names that differ in case only are one file on some systems.
    return str(place).casefold()


class _Places:
    """Hands out each place once: a second `mod.py` becomes `mod~2.py`."""

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


def split_errors(inputs: Sequence[str]) -> Tuple[List[str], List[Tuple[str, str]]]:
    """Return the inputs that can be looked into, and (input, reason) for each of the others."""
    good: List[str] = []
    bad: List[Tuple[str, str]] = []
    for given in inputs:
        try:
            path = Path(given)
            if given != "-":
                os.stat(given)  # of the text as it was given: Path("") is a folder
            if next(_find(path), None) is None:
                bad.append((given, "no .pyc files in it"))
            else:
                good.append(given)
        except OSError as error:
            bad.append((given, (error.strerror or str(error)).lower()))
        except (DecompileError, ValueError) as error:
            bad.append((given, str(error)))
    return good, bad
