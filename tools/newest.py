# SPDX-License-Identifier: Apache-2.0
"""Bring the newest CPythons onto a Debian system that has none: `make newest`.

    python tools/newest.py [VERSION...]

The packages of Debian's next release are downloaded and unpacked into build/newest/root; nothing is
installed, and no rights are needed. The interpreters use the C library that comes with them, since
the system's own is older, and are programs like any other: with venv, pip, headers, and the whole
library with its tests as source. Signatures are checked with the keys of this system.

A version that is found on this machine is left alone. Where nothing can be brought, the reason is
said and the exit code is 0: what needs such an interpreter says itself that it is missing.
DEBIAN_MIRROR and DEBIAN_SUITE name another mirror or release.
"""

import argparse
import os
import re
import shutil
import sys
from pathlib import Path
from typing import List

import debian
from debian import KEYS as KEYS
from debian import Apt, Unavailable, patchelf
from pellucid.interpreters import find_interpreter
from pythons import FOLDER, NEWEST, minor, path_of

WORK = FOLDER.parent
LOG = WORK / "log.txt"
STAMP = WORK / ".stamp"
PACKAGES = ["python{v}", "python{v}-venv", "python{v}-dev", "libpython{v}-testsuite"]
# What extensions from PyPI take from the system.
SHARED = ["libstdc++6"]


def run(*command: str) -> str:
    """Run a program; return what it prints. Raises Unavailable when it fails."""
    return debian.run(LOG, *command)


def bring(versions: List[str], suite: str) -> List[str]:
    """Make FOLDER with the versions that the release has; return them. Raises Unavailable."""
    debian.check_system()
    patchelf()
    apt = Apt(WORK / "apt", suite, LOG)
    apt.get("update")
    there = [version for version in versions if apt.has(f"python{version}-venv")]
    if not there:
        raise Unavailable(f"Debian's {suite} has no Python {' or '.join(versions)}")
    names = [name.format(v=version) for version in there for name in PACKAGES] + SHARED
    apt.get("install", "--yes", "--download-only", "--no-install-recommends", *names)
    part = WORK / "part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for archive in sorted(apt.archives.glob("*.deb")):
        run("dpkg-deb", "--extract", str(archive), str(part))
    shutil.rmtree(FOLDER, ignore_errors=True)
    # What is made from here on names the folder by its final name; the folder gets that name last.
    settle(part, there)
    part.rename(FOLDER)
    for version in there:
        run(str(path_of(version)), "-c", "import ctypes, ssl, sqlite3, test, venv, zlib")
    shutil.rmtree(WORK / "apt")
    return there


def settle(part: Path, versions: List[str]) -> None:
    """Make the interpreters in `part` run once it is FOLDER, on the libraries that lie there."""
    libraries = next(part.glob("usr/lib/*/libc.so.6")).parent
    loader = next(libraries.glob("ld-linux*.so.*"))
    for version in versions:
        python = part / "usr" / "bin" / f"python{version}"
        places = (FOLDER / loader.relative_to(part), FOLDER / libraries.relative_to(part))
        debian.relocate(patchelf(), LOG, python, *places)
        # Links to where the packages would have been installed.
        library = part / "usr" / "lib" / f"python{version}"
        for link in library.glob("*"):
            target = os.readlink(link) if link.is_symlink() else ""
            if target.startswith("/") and (part / target[1:]).exists():
                link.unlink()
                link.symlink_to(os.path.relpath(part / target[1:], library))
        # Debian's own header leads to the true one by a path of the system's compiler.
        headers = part / "usr" / "include"
        true = headers / libraries.name / f"python{version}" / "pyconfig.h"
        shutil.copyfile(true, headers / f"python{version}" / "pyconfig.h")
        # What sysconfig says: where headers and libraries are.
        for said in [*library.glob("_sysconfigdata_*.py"), *library.glob("_sysconfig_vars_*.json")]:
            text = said.read_text(encoding="utf-8")
            said.write_text(
                re.sub(r"""(?<=['"])/usr(?=/)""", str(FOLDER / "usr"), text), encoding="utf-8"
            )


def main() -> int:
    """Bring what is not found; say what was brought."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("versions", nargs="*", default=NEWEST)
    wanted = parser.parse_args().versions
    lacking = [version for version in wanted if find_interpreter((3, minor(version))) is None]
    WORK.mkdir(parents=True, exist_ok=True)
    # What depends on these interpreters is made again when some were brought.
    if not STAMP.exists():
        STAMP.touch()
    if not lacking:
        return 0
    LOG.write_text("")
    # A folder that lacks one of them is made again, with what it had.
    had = [version for version in wanted if path_of(version).exists()]
    print(f"make: bringing Python {', '.join(lacking)} (some 70 MB)", file=sys.stderr)
    suite = os.environ.get("DEBIAN_SUITE", "testing")
    try:
        brought = bring(sorted({*had, *lacking}, key=minor), suite)
    except Unavailable as reason:
        print(f"make: no Python {', '.join(lacking)}: {reason}", file=sys.stderr)
        return 0
    STAMP.touch()
    print(f"make: Python {', '.join(brought)} in {FOLDER}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
