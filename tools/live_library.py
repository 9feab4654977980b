# SPDX-License-Identifier: Apache-2.0
"""Decompile the functions of the standard library as live objects, on every host; count verdicts.

    live_library.py                                # every host that is installed in build/hosts
    live_library.py --versions 3.14 --modules tarfile inspect --show

Each module is imported in a process of its own, so that a crash costs one function and is counted
as one: what a process had begun when it died is left out of the next one.
"""

import argparse
import collections
import concurrent.futures
import functools
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import sysconfig
import tempfile
import types
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = [f"3.{minor}" for minor in range(8, 16)]
STATUSES = ["identical", "equivalent", "unproven", "error", "crash"]

# What does something when it is imported, and what is no library.
LEFT_OUT = ("antigravity", "idlelib", "lib2to3", "this", "test", "turtledemo")


class Found(NamedTuple):
    """What became of one function."""

    function: str
    status: str
    reason: str


def library_modules() -> Iterator[str]:
    """Name the modules of the running interpreter's library, those within packages too."""
    home = sysconfig.get_paths()["stdlib"]

    def within(folder: str, prefix: str) -> Iterator[str]:
        for info in pkgutil.iter_modules([folder], prefix):
            last = info.name.rpartition(".")[2]
            if last in LEFT_OUT or last == "tests" or last.startswith("__main__"):
                continue
            yield info.name
            if info.ispkg:
                yield from within(os.path.join(folder, last), info.name + ".")

    yield from within(home, "")


def functions_of(module: types.ModuleType) -> Iterator[Tuple[str, Any]]:
    """Yield the functions that a module defines, methods among them, each once."""
    seen = set()
    todo = [(name, value) for name, value in vars(module).items()]
    while todo:
        path, value = todo.pop(0)
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, property):
            parts = [("fget", value.fget), ("fset", value.fset), ("fdel", value.fdel)]
            todo += [(f"{path}.{name}", part) for name, part in parts if part is not None]
            continue
        function = inspect.unwrap(value) if isinstance(value, types.FunctionType) else value
        if getattr(function, "__module__", None) != module.__name__ or id(function) in seen:
            continue
        if isinstance(function, types.FunctionType):
            seen.add(id(function))
            yield path, function
        elif isinstance(function, type):
            seen.add(id(function))
            todo += [(f"{path}.{name}", item) for name, item in vars(function).items()]


def run_child(name: str, skipped: List[str]) -> None:
    """Write a line before and after each function of one module."""
    from pellucid import decompile_ex

    # What a module prints when it is imported is nobody's answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**what: str) -> None:
        answer.write(json.dumps(what) + "\n")
        answer.flush()

    try:
        module = importlib.import_module(name)
    except BaseException as error:  # what it needs may be missing, or it is a program
        say(unimportable=repr(error))
        return
    for path, function in functions_of(module):
        if path in skipped:
            continue
        say(begun=path)
        try:
            verdict = decompile_ex(function).verdict
            say(function=path, status=verdict.status, reason=verdict.reason)
        except Exception as error:
            say(function=path, status="error", reason=f"{type(error).__name__}: {error}")


def look_at(python: str, module: str, *, limit: float) -> "Optional[List[Found]]":
    """Return what became of each function of a module; None if it cannot be imported."""
    found: List[Found] = []
    while True:
        skipped = [f.function for f in found]
        command = [python, "-W", "ignore", __file__, "--child", module, *skipped]
        with tempfile.TemporaryFile() as out:
            try:
                status: Any = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.DEVNULL,
                    cwd=tempfile.gettempdir(),
                    timeout=limit,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                status = f"after {limit} s"
            out.seek(0)
            lines = [json.loads(line) for line in out.read().decode().splitlines()]
        begun = None
        for line in lines:
            if "unimportable" in line:
                return None
            begun = line.get("begun")
            if begun is None:
                found.append(Found(line["function"], line["status"], line["reason"]))
        if begun is None:
            return found if lines or status == 0 else None
        found.append(Found(begun, "crash", f"the process ended with status {status}"))


def host(version: str) -> Optional[str]:
    """Return the interpreter with pellucid of a version."""
    if version == "{}.{}".format(*sys.version_info[:2]):
        return sys.executable
    python = ROOT / "build" / "hosts" / version / "bin" / "python"
    return str(python) if python.exists() else None


def main() -> int:
    """Print a line for each host, and what is not proven."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--versions", nargs="+", default=VERSIONS)
    parser.add_argument("--modules", nargs="+", help="these only, not the whole library")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=600, help="seconds for a module")
    parser.add_argument("--show", action="store_true", help="print what is not proven")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="name the modules of this Python")
    arguments = parser.parse_args()
    if arguments.child:
        run_child(arguments.child[0], arguments.child[1:])
        return 0
    if arguments.list:
        print(*library_modules(), sep="\n")
        return 0
    print(f"{'host':6}{'modules':>9}{'functions':>11}" + "".join(f"{s:>12}" for s in STATUSES))
    is_clean = True
    for version in arguments.versions:
        python = host(version)
        if python is None:
            print(f"{version:6} pellucid is not installed there (build/hosts)")
            continue
        modules = arguments.modules
        if modules is None:
            listed = [python, __file__, "--list"]
            text = subprocess.run(listed, stdout=subprocess.PIPE, check=True).stdout.decode()
            modules = text.split()
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            look = functools.partial(look_at, python, limit=arguments.limit)
            results = list(pool.map(look, modules))
        per_module: Dict[str, List[Found]] = {
            module: found for module, found in zip(modules, results) if found is not None
        }
        counts = collections.Counter(f.status for found in per_module.values() for f in found)
        line = "".join(f"{counts[status]:12}" for status in STATUSES)
        print(f"{version:6}{len(per_module):9}{sum(counts.values()):11}{line}", flush=True)
        is_clean = is_clean and counts["crash"] == counts["error"] == 0
        if arguments.show:
            for module, found in per_module.items():
                for f in found:
                    if f.status not in ("identical", "equivalent"):
                        print(f"       {f.status} {module}.{f.function}: {f.reason}", flush=True)
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
