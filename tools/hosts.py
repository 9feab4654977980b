# SPDX-License-Identifier: Apache-2.0
"""Install pellucid for every other CPython on this machine, each in a virtual environment.

The core is not compiled again: the extension of each host links the layers of the tree that
`--core` names. From 3.12 on all hosts have one extension, with the stable ABI, as the published
wheel has. The tests that depend on the host's Python run in these environments
(tests/python/test_hosts.py).
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterable, List

import build
from pellucid.interpreters import Version, find_interpreter
from pythons import ROOT as ROOT
from pythons import STABLE, VERSIONS, minor

# Of what tests import, the part that those take which run in every one of these environments.
FEW = ("pytest", "pytest-timeout", "pyinstaller")


def listed(python: Path, *names: str) -> List[str]:
    """Return the requirements of lists of pyproject.toml that apply to an interpreter."""
    command = [str(python), "tools/extras.py", *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, check=True)
    return done.stdout.decode().splitlines()


def knows_settings(python: Path) -> bool:
    """Say whether an environment's pip can pass settings to a build: since 22.1."""
    command = [str(python), "-m", "pip", "install", "--help"]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, check=True)
    return b"--config-settings" in done.stdout


def run(log: Path, *command: str) -> None:
    """Run a command quietly; show its output if it fails."""
    with log.open("ab") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT, check=False)
    if done.returncode != 0:
        print(log.read_text(errors="replace")[-6000:], file=sys.stderr)
        raise SystemExit(f"hosts: failed: {' '.join(command)}")


class Environment:
    """A virtual environment below `out` for one version, with what its pip prints beside it."""

    def __init__(self, version: Version, out: Path) -> None:
        self.version = version
        self.folder = out / "{}.{}".format(*version)
        self.python = self.folder / "bin" / "python"
        self.log = out / f"{self.folder.name}.log"
        # Written last: an environment that a failure left half made is gone on with.
        self._made = self.folder / "requirements.txt"

    def is_there(self) -> bool:
        """Say whether it has all that building and testing pellucid needs."""
        return self._made.exists()

    def make(self, interpreter: Path) -> None:
        """Install what it lacks."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_bytes(b"")
        if not self.is_there():
            run(self.log, str(interpreter), "-m", "venv", str(self.folder))
            if not knows_settings(self.python):
                self.pip("--upgrade", "pip")
        wanted = listed(self.python, "requires", "dependencies")
        tested = listed(self.python, "test")
        wanted += [each for each in tested if re.split("[<>=]", each)[0] in FEW]
        if not self.is_there() or self._made.read_text().splitlines() != wanted:
            self.pip(*wanted)
            self._made.write_text("".join(f"{each}\n" for each in wanted))

    def pip(self, *arguments: str) -> None:
        """Let its pip install something."""
        run(self.log, str(self.python), "-m", "pip", "install", "--quiet", *arguments)

    def build(self, folder: Path, core: Path) -> Path:
        """Build the editable wheel of pellucid into an empty folder of a build tree; return it."""
        settings = [f"cmake.define.PELLUCID_PREBUILT={core.resolve()}"]
        if self.version >= STABLE:
            settings.append("wheel.py-api=cp{}{}".format(*STABLE))
        run(self.log, *build.packaging(str(self.python), folder, settings))
        (wheel,) = (folder / "wheel").glob("*.whl")
        return wheel


def environments(versions: Iterable[Version], out: Path) -> List[Environment]:
    """Make the environments of those versions that are on this machine; return them."""
    found = ((version, find_interpreter(version)) for version in versions)
    made = [(Environment(version, out), python) for version, python in found if python]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda each: each[0].make(each[1]), made))
    return [environment for environment, _ in made]


def install(versions: Iterable[Version], core: Path, out: Path) -> List[Environment]:
    """Install pellucid for those versions that are on this machine; return the environments.

    From STABLE on, the oldest environment that there is builds what all of them have.
    """
    made = environments(versions, out)
    known = (Environment((3, minor(version)), out) for version in VERSIONS)
    stable = [each for each in known if each.version >= STABLE and each.is_there()]
    own = [(each, each.folder / "build") for each in made if each.version < STABLE]
    shared = [(stable[0], out / "stable")] if made[len(own) :] else []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wheels = list(pool.map(lambda each: each[0].build(each[1], core), own + shared))
        wheels += wheels[-1:] * (len(made) - len(wheels))
        again = ("--no-deps", "--force-reinstall")
        list(pool.map(lambda each: each[0].pip(*again, str(each[1])), zip(made, wheels)))
    return made


def main() -> int:
    """Install for all versions but this one; say which were found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--core", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    versions = [(3, minor(version)) for version in VERSIONS]
    others = [version for version in versions if version != sys.version_info[:2]]
    found = [each.folder.name for each in install(others, arguments.core, arguments.out)]
    print(f"make: pellucid installed for Python {', '.join(found) or '(no other found)'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
