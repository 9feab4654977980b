# SPDX-License-Identifier: Apache-2.0
"""Hold what the WebAssembly module says in Node against the native binary, byte for byte.

    python tools/same_web.py [VERSION...] [--sample 200] [--package build/web/npm]

Takes so many files of each version's standard library (the same ones every time), compiled by the
interpreter it belongs to. Texts, verdicts, reasons and diagnostics must be the same; the times of
both are told. Exits with 1 if anything differs.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple

from pellucid.interpreters import find_interpreter
from pythons import ROOT, VERSIONS, minor

NATIVE = ROOT / "build" / "make" / "pellucid"
PACKAGE = ROOT / "build" / "web" / "npm"
SCRIPT = ROOT / "tests" / "web" / "decompile.mjs"
_COMPILE = """
import os, py_compile, sys, warnings
warnings.simplefilter("ignore")
for number, path in enumerate(sys.stdin.read().splitlines()):
    try:
        name = "%04d-%s" % (number, os.path.basename(path))
        py_compile.compile(path, os.path.join(sys.argv[1], name + "c"), doraise=True, optimize=0)
    except Exception:
        pass
"""


class Compared(NamedTuple):
    """What was found of one version."""

    files: int
    different: List[str]
    start: float
    """Seconds until the module could be called."""
    web: float
    """Seconds for all files."""
    native: float


def compile_sample(python: Path, count: int, folder: Path) -> List[Path]:
    """Compile some files of an interpreter's library; return the `.pyc`s."""
    asked = [str(python), "-I", "-c", "import os; print(os.path.dirname(os.__file__))"]
    library = Path(subprocess.check_output(asked).decode().strip())
    found = sorted(path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    chosen = random.Random(0).sample(found, min(count + count // 10 + 5, len(found)))
    subprocess.run(
        [str(python), "-I", "-c", _COMPILE, str(folder)],
        input="\n".join(map(str, chosen)).encode(),
        check=True,
    )
    return sorted(folder.glob("*.pyc"))[:count]


def compare(files: List[Path], package: Path) -> Compared:
    """Decompile files with both; return how they differ."""
    begin = time.perf_counter()
    command = [str(NATIVE), "decompile", "--json", "--jobs", "1", *map(str, files)]
    native = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    native_time = time.perf_counter() - begin
    expected = {row["file"]: row for row in map(json.loads, native.splitlines())}
    asked = "\n".join(map(str, files)).encode()
    done = subprocess.run(
        ["node", str(SCRIPT), str(package)], input=asked, stdout=subprocess.PIPE, check=True
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    said = {row["file"]: row for row in rows[1:]}
    different = [
        f"{Path(file).name}: {why}"
        for file in map(str, files)
        for why in differences(expected[file], said[file])
    ]
    web_time = sum(row["took"] for row in rows[1:]) / 1000
    return Compared(len(files), different, rows[0]["start"] / 1000, web_time, native_time)


def differences(native: Dict[str, Any], web: Dict[str, Any]) -> List[str]:
    """Return what is not the same of one file."""
    if native["outcome"] == "error" or "error" in web:
        is_same = native["outcome"] == "error" and web.get("error", "-") in native["error"]
        return [] if is_same else [f"error: {native['error']} / {web.get('error')}"]
    verdict = "equivalent" if web["verdict"] == "identical" else web["verdict"]
    pairs = {
        "text": (native["source"], web["source"]),
        "python": (native["python"], web["python"]),
        "verdict": (native["verdict"], verdict),
        "reason": (native["reason"], web["reason"]),
        "diagnostics": (native["diagnostics"], web["diagnostics"]),
    }
    return [name for name, (one, other) in pairs.items() if one != other]


def main() -> int:
    """Compare and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--package", type=Path, default=PACKAGE)
    options = parser.parse_args()
    status = 0
    for version in options.versions:
        python = find_interpreter((3, minor(version)))
        if python is None:
            print(f"{version}: no interpreter")
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = compare(compile_sample(python, options.sample, Path(folder)), options.package)
        print(
            f"{version}: {found.files} files, {len(found.different)} different; start "
            f"{1000 * found.start:.0f} ms, {found.web:.1f} s, native {found.native:.1f} s "
            f"({found.web / found.native:.2f})",
            flush=True,
        )
        for difference in found.different:
            print(f"  {difference}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
