# SPDX-License-Identifier: Apache-2.0
"""Build a standard library without structured control flow, and run tests of the library on it.

Every module of an interpreter's library is compiled by that interpreter, decompiled with
structuring switched off, and written to a tree that the interpreter then takes for its own
(PYTHONHOME). The named modules of the library's own test-suite must fare on it as they do on the
original.

    python tests/library/unstructured_library.py --python python3.11 --binary build/pellucid \
        --out build/without-structure test_json test_heapq

Modules that compare the library's own text fail by their nature: test_doctest (a line of a
traceback), test_pyclbr (names that only the text has), test_inspect (the source of classes, where
those of frozen modules have the lines of the original).
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Dict, List, Optional, Sequence

# What belongs to the build or to other platforms, and what is no valid source on purpose.
_LEFT_OUT = ("lib2to3/tests/data", "test/bad", "idlelib", "turtledemo", "site-packages")
# Where a failure of a test has its traceback and source compared with the original text.
_KEPT = ("test/", "/tests/", "idlelib", "lib2to3/tests")
_ASK = "import sys, sysconfig; print(sysconfig.get_path('stdlib')); print(sys.prefix)"
_COMPILE = (
    "import sys, py_compile\n"
    "for line in sys.stdin:\n"
    "    source, target = line.rstrip('\\n').split('\\t')\n"
    "    try: py_compile.compile(source, cfile=target, doraise=True)\n"
    "    except Exception: pass\n"
)


def library_of(python: str) -> pathlib.Path:
    """Return the directory of an interpreter's library."""
    asked = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=True)
    return pathlib.Path(asked.stdout.splitlines()[0])


def copy_tree(library: pathlib.Path, home: pathlib.Path) -> pathlib.Path:
    """Copy a library below `home`, its extensions as links; return the copy."""
    target = home / "lib" / library.name
    ignore = shutil.ignore_patterns("__pycache__", "site-packages", "lib-dynload", "config-*")
    shutil.copytree(library, target, ignore=ignore, dirs_exist_ok=True)
    (target / "site-packages").mkdir(exist_ok=True)
    if not (target / "lib-dynload").exists():
        (target / "lib-dynload").symlink_to(library / "lib-dynload")
    return target


def sources_of(tree: pathlib.Path, with_tests: bool, only: Optional[Sequence[str]]) -> List[str]:
    """List the modules of a tree that are to be decompiled, relative to it."""
    names = [str(path.relative_to(tree)) for path in tree.rglob("*.py") if path.is_file()]
    names = [name for name in sorted(names) if not any(part in name for part in _LEFT_OUT)]
    if not with_tests:
        names = [name for name in names if not any(part in "/" + name for part in _KEPT)]
    if only:
        names = [name for name in names if name in only]
    return names


def decompile_tree(
    python: str,
    binary: str,
    library: pathlib.Path,
    tree: pathlib.Path,
    names: Sequence[str],
    jobs: int,
) -> Dict[str, str]:
    """Replace modules of `tree` by what `library` decompiles to; return the refusals."""
    refused: Dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        codes = {name: os.path.join(scratch, name.replace("/", "__") + "c") for name in names}
        lines = "".join(f"{library / name}\t{code}\n" for name, code in codes.items())
        subprocess.run([python, "-c", _COMPILE], input=lines, text=True, check=True)

        def one(name: str) -> None:
            if not os.path.exists(codes[name]):
                return  # no valid source
            command = [binary, "decompile", "--no-verify", "--unstructured", codes[name]]
            made = subprocess.run(command, capture_output=True, timeout=60)
            if made.returncode != 0:
                refused[name] = made.stderr.decode(errors="replace")
                return
            (tree / name).write_bytes(b"# -*- coding: utf-8 -*-\n" + made.stdout)

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(one, names))
    return refused


def run_test(python: str, home: Optional[pathlib.Path], module: str, timeout: int) -> bool:
    """Run one module of the library's test-suite; say whether it succeeded."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    for name in ("PYTHONPATH", "PYTHONSTARTUP"):
        environment.pop(name, None)
    if home is not None:
        environment["PYTHONHOME"] = str(home)
    command = [python, "-m", "test", module]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            done = subprocess.run(
                command,
                env=environment,
                cwd=scratch,
                capture_output=True,
                timeout=timeout,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return False
    log = (home or pathlib.Path(tempfile.gettempdir())) / f"{module}.log"
    log.write_bytes(done.stdout + done.stderr)
    return done.returncode == 0


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the tool; the exit code is the number of tests that fail on the copy only."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", required=True)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--only", nargs="*", help="decompile these modules only (json/decoder.py)")
    parser.add_argument("--with-tests", action="store_true", help="decompile the tests as well")
    parser.add_argument("--keep", action="store_true", help="take the tree as it is")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("tests", nargs="*")
    given = parser.parse_args(arguments)

    library = library_of(given.python)
    tree = given.out / "lib" / library.name
    if not given.keep:
        tree = copy_tree(library, given.out)
        names = sources_of(tree, given.with_tests, given.only)
        refused = decompile_tree(given.python, given.binary, library, tree, names, given.jobs)
        print(f"{len(names)} modules, {len(refused)} refused")
        for name, why in sorted(refused.items()):
            print(f"  {name}: {why.strip()}")
    worse: List[str] = []
    for module in given.tests:
        ours = run_test(given.python, given.out, module, given.timeout)
        theirs = ours or run_test(given.python, None, module, given.timeout)
        verdict = "ok" if ours else "FAILS" if theirs else "fails on the original, too"
        print(f"{module}: {verdict}", flush=True)
        if theirs and not ours:
            worse.append(module)
    print(f"{len(given.tests)} test modules, {len(worse)} fail without structure only")
    return min(len(worse), 100)


if __name__ == "__main__":
    sys.exit(main())
