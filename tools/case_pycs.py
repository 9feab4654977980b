# SPDX-License-Identifier: Apache-2.0
"""Compile tests/cases with every CPython found into tests/cases/pyc, which is checked in.

So the cases of all versions are tested on a machine that has one Python only. `--check` writes
nothing and fails when a file is missing, left over, made from another text, or (with the very
release that made it) no longer what the compiler makes.
"""

import argparse
import importlib.util
import marshal
import re
import subprocess
import sys
from pathlib import Path
from typing import List, Tuple

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
PYCS = CASES / "pyc"


def option(source: str, name: str, default: str) -> str:
    """Return the value of a line `# name: value` of a case."""
    found = re.search(rf"^# {name}: ([0-9.]+)$", source, re.MULTILINE)
    return found.group(1) if found else default


def minor(version: str) -> int:
    """Return 9 for "3.9"."""
    return int(version.split(".")[1])


def cases_of(version: str) -> "List[Tuple[Path, Path]]":
    """Return each case whose syntax `version` has, with the place of its `.pyc`."""
    found = []
    for case in sorted(CASES.glob("*/*.py")):
        since = option(case.read_text(encoding="utf-8"), "since", "3.8")
        if minor(since) <= minor(version):
            place = PYCS / version / case.relative_to(CASES).with_suffix(".pyc")
            found.append((case, place))
    return found


# --- what runs under the other interpreter ------------------------------------------------------


def compile_all(version: str, check: bool) -> int:
    """Compile the cases of this interpreter's version; say what differs."""
    release = "%d.%d.%d" % sys.version_info[:3]
    note = PYCS / version / "release.txt"
    same_release = note.exists() and note.read_text().strip() == release
    wanted = {note}
    drifted = 0
    for case, place in cases_of(version):
        wanted.add(place)
        drifted += not compile_one(case, place, check, same_release)
    for path in sorted((PYCS / version).rglob("*")):
        if path.is_file() and path not in wanted:
            drifted += 1
            print(f"{path.relative_to(ROOT)}: belongs to no case")
            if not check:
                path.unlink()
    if not check:
        note.write_text(release + "\n")
    return 1 if drifted and check else 0


def compile_one(case: Path, place: Path, check: bool, same_release: bool) -> bool:
    """Bring one `.pyc` up to date, or say why it is not."""
    source = case.read_bytes()
    optimize = int(option(source.decode(), "optimize", "0"))
    code = compile(source, case.name, "exec", dont_inherit=True, optimize=optimize)
    # The header of PEP 552 for a file that is never checked: the hash ties it to its text.
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")
    header += importlib.util.source_hash(source)
    old = place.read_bytes() if place.exists() else b""
    # What marshal writes depends on what else is alive, so the code objects are compared.
    same_code = old[:4] == header[:4] and marshal.loads(old[16:]) == code
    if old[:16] == header and (same_code or not same_release):
        return True
    if check:
        print(f"{place.relative_to(ROOT)}: not what {case.relative_to(ROOT)} compiles to")
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(header + (old[16:] if same_code else marshal.dumps(code)))
    return True


# --- what asks them -----------------------------------------------------------------------------


def main() -> int:
    """Ask every interpreter found; say which were not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        return compile_all("%d.%d" % sys.version_info[:2], arguments.check)
    from pellucid.interpreters import find_interpreter
    from pythons import VERSIONS

    status = 0
    for version in arguments.versions or VERSIONS:
        python = find_interpreter((3, minor(version)))
        if python is None:
            print(f"{version}: skipped, no such interpreter here")
            continue
        command = [str(python), "-I", "-W", "ignore", __file__, "--here"] + [
            "--check"
        ] * arguments.check
        status |= subprocess.run(command, check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
