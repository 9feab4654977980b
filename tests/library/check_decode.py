# SPDX-License-Identifier: Apache-2.0
"""Hold the decoder to `dis`, on every code object of a version's standard library.

    python tests/library/check_decode.py 3.12
    python tests/library/check_decode.py 3.14 --every 20        # a sample
    python tests/library/check_decode.py 3.8 --python PATH --binary build/dev/pellucid

Opcode, argument, jump target and line of every instruction must agree. Prints the figures; exits
with 1 on the first disagreement.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, NamedTuple, Optional

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

from pythons import ROOT, VERSIONS, minor

LISTER = ROOT / "tools" / "dis_listing.py"
CHUNK = 40


class Figures(NamedTuple):
    """What was compared, and the first disagreement."""

    files: int
    codes: int
    instructions: int
    difference: Optional[str]


def interpreter(version: str, python: Optional[str]) -> str:
    """Return `python`, or else the interpreter of `version` that is found."""
    if python is not None:
        return python
    from pellucid.interpreters import find_interpreter

    found = find_interpreter((3, minor(version)))
    if found is None:
        sys.exit(f"check_decode: no CPython {version} found")
    return str(found)


def make_listings(python: str, folder: Path, arguments: List[str]) -> None:
    """Let the interpreter write its pairs of files."""
    subprocess.run([python, str(LISTER), str(folder), *arguments], check=True)


def compare(binary: Path, folder: Path) -> Figures:
    """Compare our listing of every .pyc in `folder` with that of `dis`."""
    pycs = sorted(folder.glob("*.pyc"))
    codes = instructions = 0
    for start in range(0, len(pycs), CHUNK):
        chunk = pycs[start : start + CHUNK]
        done = subprocess.run(
            [str(binary), "dump", "--stage=raw", *map(str, chunk)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
        ours = blocks(done.stdout.decode("ascii"))
        listings = [pyc.with_suffix(".dis").read_text(encoding="ascii") for pyc in chunk]
        theirs = blocks("".join(listings))
        codes += len(theirs)
        instructions += sum(len(block) - 1 for block in theirs)
        if done.returncode != 0 or ours != theirs:
            why = done.stderr.decode(errors="replace") + first_difference(ours, theirs)
            return Figures(start, codes, instructions, why)
    return Figures(len(pycs), codes, instructions, None)


def blocks(text: str) -> List[List[str]]:
    """Split a listing into code objects, in an order that does not depend on who wrote it."""
    found: List[List[str]] = []
    for line in text.splitlines():
        if line.startswith("# "):
            continue  # the name of the file
        if line.startswith("raw "):
            found.append([])
        found[-1].append(line)
    return sorted(found)


def first_difference(ours: List[List[str]], theirs: List[List[str]]) -> str:
    """Say where two listings part."""
    if len(ours) != len(theirs):
        return f"pellucid has {len(ours)} code objects, dis has {len(theirs)}"
    for our, their in zip(ours, theirs):
        for our_line, their_line in zip([*our, "(end)"], [*their, "(end)"]):
            if our_line != their_line:
                return f"in {their[0]}: pellucid {our_line!r}, dis {their_line!r}"
    return "the listings are equal"


def check(version: str, binary: Path, every: int, python: Optional[str] = None) -> Figures:
    """List and compare (a sample of) the standard library of `version`."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--stdlib", "--every", str(every)]
        make_listings(interpreter(version, python), Path(folder), arguments)
        return compare(binary, Path(folder))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("version", choices=VERSIONS)
    parser.add_argument("--every", type=int, default=1, help="take every N-th file only")
    parser.add_argument("--python", help="the interpreter of that version (default: looked for)")
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "make" / "pellucid")
    options = parser.parse_args()
    figures = check(options.version, options.binary, options.every, options.python)
    print(
        f"{options.version}: {figures.files} files, {figures.codes} code objects,"
        f" {figures.instructions} instructions: {figures.difference or 'all agree with dis'}"
    )
    return 0 if figures.difference is None else 1


if __name__ == "__main__":
    sys.exit(main())
