# SPDX-License-Identifier: Apache-2.0
"""Compile tests/cases with every CPython found into tests/cases/pyc, one archive per version.

The archives are checked in, so the cases of all versions are tested on a machine that has one
Python only. A version whose interpreter is missing keeps its members, and so does a case that
still compiles to the same code: without a change no byte of an archive changes. `--check` writes
nothing and fails when a member is missing, left over, made from another text, or (with the very
release that made it) no longer what the compiler makes.

The members are stored, not deflated: no release of zlib can change a byte then, and git, which
compresses an archive as a whole and keeps later ones as differences, needs the least space.
"""

import argparse
import fnmatch
import functools
import importlib.util
import io
import marshal
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
PYCS = CASES / "pyc"


# --- what reads the archives --------------------------------------------------------------------


def pycs_of(version: str) -> "Dict[str, bytes]":
    """Return the compiled cases of a version by name ("loops/a_case"), in the names' order."""
    return dict(_read(version).pycs)


def unpack(version: str, folder: Path, only: str = "*") -> "List[Path]":
    """Write the compiled cases whose name fits a pattern into a folder; return their paths."""
    written = []
    for name, data in pycs_of(version).items():
        path = folder / f"{name}.pyc"
        if fnmatch.fnmatchcase(name, only):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            written.append(path)
    return written


class Archive(NamedTuple):
    """What the archive of one version holds."""

    pycs: "Dict[str, bytes]"
    release: str
    """The release of CPython that compiled them; it is the archive's comment."""


def path_of(version: str) -> Path:
    """Return where the archive of a version is."""
    return PYCS / f"{version}.zip"


@functools.lru_cache(maxsize=None)
def _read(version: str) -> Archive:
    if not path_of(version).exists():
        return Archive({}, "")
    with zipfile.ZipFile(path_of(version)) as archive:
        pycs = {name[: -len(".pyc")]: archive.read(name) for name in archive.namelist()}
        return Archive(pycs, archive.comment.decode())


# --- what writes them ---------------------------------------------------------------------------


def packed(archive: Archive) -> bytes:
    """Return the bytes of an archive: the same ones under every Python and at every time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in sorted(archive.pycs.items()):
            member = zipfile.ZipInfo(f"{name}.pyc")  # of 1980, as far back as a zip can say
            member.create_system = 3
            member.external_attr = 0o100644 << 16
            file.writestr(member, data)
        file.comment = archive.release.encode()
    return out.getvalue()


def option(source: str, name: str, default: str) -> str:
    """Return the value of a line `# name: value` of a case."""
    found = re.search(rf"^# {name}: ([0-9.]+)$", source, re.MULTILINE)
    return found.group(1) if found else default


def minor(version: str) -> int:
    """Return 9 for "3.9"."""
    return int(version.split(".")[1])


def cases_of(version: str) -> "Dict[str, Path]":
    """Return each case whose syntax `version` has, by name."""
    found = {}
    for case in sorted(CASES.glob("*/*.py")):
        since = option(case.read_text(encoding="utf-8"), "since", "3.8")
        if minor(since) <= minor(version):
            found[case.relative_to(CASES).with_suffix("").as_posix()] = case
    return found


def update(version: str, check: bool) -> int:
    """Bring the archive of a version up to date, or say why it is not.

    Under another Python than that version's, members can only be dropped.
    """
    old, cases, place = _read(version), cases_of(version), path_of(version)
    told = {name: "belongs to no case" for name in old.pycs if name not in cases}
    if minor(version) == sys.version_info[1]:
        new = compiled(cases, old)
        told.update(
            (n, "is not what its case compiles to")
            for n in cases
            if n not in old.pycs or new.pycs[n] != old.pycs[n]
        )
    else:
        new = Archive({n: data for n, data in old.pycs.items() if n in cases}, old.release)
        told.update((name, "is missing") for name in cases if name not in old.pycs)
    if not check and new.pycs:
        PYCS.mkdir(exist_ok=True)
        place.write_bytes(packed(new))
    elif not told and place.read_bytes() != packed(new):
        told["the archive"] = "is not packed the way this file packs it"
    for name, what in told.items():
        print(f"{place.relative_to(ROOT)}: {name} {what}", flush=True)
    return 1 if told and check else 0


def compiled(cases: "Dict[str, Path]", old: Archive) -> Archive:
    """Return what the archive must hold; what it holds already is kept."""
    release = "%d.%d.%d" % sys.version_info[:3]
    pycs, is_old = {}, set(cases) == set(old.pycs)
    for name, case in cases.items():
        source = case.read_bytes()
        before = old.pycs.get(name, b"")
        optimize = int(option(source.decode(), "optimize", "0"))
        code = compile(source, case.name, "exec", dont_inherit=True, optimize=optimize)
        # The header of PEP 552 for a file that is never checked: the hash ties it to its text.
        header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")
        header += importlib.util.source_hash(source)
        # What marshal writes depends on what else is alive, so the code objects are compared.
        same_code = before[:4] == header[:4] and marshal.loads(before[16:]) == code
        pycs[name] = header + (before[16:] if same_code else marshal.dumps(code))
        is_old = is_old and before[:16] == header
    # Another release of the same version may compile some of them in another way.
    return old if is_old and release != old.release else Archive(pycs, release)


# --- what asks the interpreters -----------------------------------------------------------------


def statuses(versions: "List[str]", check: bool) -> "Iterator[int]":
    """Ask the interpreter of each version; say which was not found."""
    from pellucid.interpreters import find_interpreter

    for version in versions:
        python = find_interpreter((3, minor(version)))
        if python is None:
            print(f"{version}: skipped, no such interpreter here", flush=True)
            yield update(version, check)
        else:
            command = [str(python), "-I", "-W", "ignore", __file__, "--here"]
            yield subprocess.run(command + ["--check"] * check, check=False).returncode


def main() -> int:
    """Compile with every interpreter found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        return update("%d.%d" % sys.version_info[:2], arguments.check)
    from pythons import VERSIONS

    return max(statuses(arguments.versions or VERSIONS, arguments.check))


if __name__ == "__main__":
    sys.exit(main())
