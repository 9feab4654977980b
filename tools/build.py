# SPDX-License-Identifier: Apache-2.0
"""Compile pellucid with a line of progress.

    python tools/build.py package BUILD [-D NAME=VALUE]...   the extension, as an editable wheel
    python tools/build.py cmake BUILD [-D NAME=VALUE]... [--target TARGET...]

`package` leaves a wheel in BUILD/wheel and installs nothing, so that it can run while pip does
something else. `cmake` builds targets in a tree that has been configured, or configures it after a
preset. The output of the compiler goes to BUILD.log, and is shown if the build fails.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import List

# What an editable wheel is built with: PEP 660's hook, in a process of its own.
PACKAGE = """
import sys
import scikit_build_core.build as backend
out, folder, *settings = sys.argv[1:]
config = dict(setting.split("=", 1) for setting in settings)
backend.build_editable(out, {"build-dir": folder, **config})
"""
# How often a log, which is no terminal, gets a line.
PATIENCE = 20.0


class Progress:
    """One line that says how many files are compiled, and how long the rest will take."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.start = self.said = time.monotonic()
        self.on_terminal = sys.stdout.isatty()

    def step(self, done: int, total: int) -> None:
        """Say that `done` of `total` steps of the build are done."""
        now = time.monotonic()
        passed = now - self.start
        rest = ""
        if done >= 5:
            rest = f", about {duration(passed / done * (total - done))} left"
        if self.on_terminal:
            self._write(f"\r\x1b[Kmake: building {self.what}: {done} of {total}{rest}")
        elif now - self.said >= PATIENCE:
            self.said = now
            self._write(f"make: building {self.what}: {done} of {total}{rest}\n")

    def end(self, ok: bool) -> None:
        """Say how long it took."""
        passed = duration(time.monotonic() - self.start)
        word = "built" if ok else "could not build"
        self._write(f"{self._erase()}make: {word} {self.what} in {passed}\n")

    def _erase(self) -> str:
        return "\r\x1b[K" if self.on_terminal else ""

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def duration(seconds: float) -> str:
    """Return a time as a person would say it: `45 s`, `2 min`."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def run(what: str, commands: "List[List[str]]", log: Path) -> int:
    """Run commands that call Ninja; show their progress, and what they say if one fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(what)
    said: List[str] = []
    status = 0
    for command in commands:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **NINJA}
        ) as process:
            assert process.stdout is not None
            for raw in process.stdout:
                line = raw.decode(errors="replace")
                said.append(line)
                step = re.match(r"\[(\d+)/(\d+)\] ", line)
                if step:
                    progress.step(int(step.group(1)), int(step.group(2)))
        status = process.returncode
        if status != 0:
            break
    log.write_text("".join(said), encoding="utf-8")
    progress.end(status == 0)
    if status != 0:
        print("".join(said[-200:]), file=sys.stderr)
        print(f"make: the whole output is in {log}", file=sys.stderr)
    return status


def packaging(python: str, folder: Path, settings: List[str]) -> List[str]:
    """Return the command that leaves one editable wheel in `folder`/wheel, which is emptied."""
    wheels = folder / "wheel"
    for old in wheels.glob("*.whl"):
        old.unlink()
    wheels.mkdir(parents=True, exist_ok=True)
    return [python, "-c", PACKAGE, str(wheels), str(folder), *settings]


NINJA = {"NINJA_STATUS": "[%f/%t] "}


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=["package", "cmake"])
    parser.add_argument("build", type=Path)
    parser.add_argument("-D", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--preset", help="configure the tree with this preset of CMake")
    parser.add_argument("--target", nargs="+", default=[])
    parser.add_argument("--name", default="pellucid", help="what is said to be built")
    options = parser.parse_args()
    log = options.build.with_name(f"{options.build.name}.log")
    if options.kind == "package":
        settings = [f"cmake.define.{setting}" for setting in options.settings]
        return run(options.name, [packaging(sys.executable, options.build, settings)], log)
    settings = [f"-D{setting}" for setting in options.settings]
    where = ["--preset", options.preset] if options.preset else [str(options.build)]
    configure = ["cmake", *where, *settings]
    build = ["cmake", "--build", str(options.build)]
    if options.target:
        build += ["--target", *options.target]
    return run(options.name, [configure, build], log)


if __name__ == "__main__":
    sys.exit(main())
