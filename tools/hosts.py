# SPDX-License-Identifier: Apache-2.0
"""Install pellucid for every other CPython on this machine, each in a virtual environment.

The core is not compiled again: the extension of each host links the layers of the tree that
`--core` names. The tests that depend on the host's Python run in these environments
(tests/python/test_hosts.py).
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List, Optional

from pellucid.interpreters import Version, find_interpreter
from pythons import ROOT as ROOT
from pythons import VERSIONS, minor

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


def install(version: Version, core: Path, out: Path) -> Optional[Path]:
    """Make the environment of one version; return its interpreter, or None if there is none."""
    interpreter = find_interpreter(version)
    if interpreter is None:
        return None
    folder = out / "{}.{}".format(*version)
    python = folder / "bin" / "python"
    out.mkdir(parents=True, exist_ok=True)
    log = out / f"{folder.name}.log"
    log.write_bytes(b"")
    # Written last: an environment that a failure left half made is gone on with.
    made = folder / "requirements.txt"
    if not made.exists():
        run(log, str(interpreter), "-m", "venv", str(folder))
        if not knows_settings(python):
            run(log, str(python), "-m", "pip", "install", "--quiet", "--upgrade", "pip")
    wanted = listed(python, "requires", "dependencies")
    wanted += [each for each in listed(python, "test") if re.split("[<>=]", each)[0] in FEW]
    if not made.exists() or made.read_text().splitlines() != wanted:
        run(log, str(python), "-m", "pip", "install", "--quiet", *wanted)
        made.write_text("".join(f"{each}\n" for each in wanted))
    settings = [
        f"--config-settings=build-dir={folder}/build",
        f"--config-settings=cmake.define.PELLUCID_PREBUILT={core.resolve()}",
    ]
    command = [str(python), "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]
    run(log, *command, "--editable", ".", *settings)
    return python


def main() -> int:
    """Install for all versions but this one; say which were found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--core", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    versions = [(3, minor(version)) for version in VERSIONS]
    others = [version for version in versions if version != sys.version_info[:2]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda v: install(v, arguments.core, arguments.out), others))
    found = ["{}.{}".format(*v) for v, python in zip(others, made) if python is not None]
    print(f"make: pellucid installed for Python {', '.join(found) or '(no other found)'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
