# SPDX-License-Identifier: Apache-2.0
"""Run the quick tests of what changed: `make check`, which builds first.

What changed is what differs from HEAD, and new files. Names of areas take their place: `make check
LAYERS="flow findings"`.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

ROOT = Path(__file__).resolve().parent.parent

# The unit tests in C++: all of them take about a second.
UNIT = "build/make/pellucid_tests"
CASES = "tests/python/test_cases.py"
FINDINGS = "tests/python/test_findings.py"
ADVICE = "tests/python/test_advice.py"
KINDS = "tests/python/test_kinds.py"
LAYERS = "tests/python/test_layers.py"
PURE_PARTS = "tests/torch/test_pure_parts.py"

# What is run for a file: the row with the longest path that the file is in. A row takes at most
# about half a minute on two cores. A file of tests is run itself.
AREAS: Dict[str, List[str]] = {
    "src": [UNIT, CASES],
    "src/object": [UNIT, "tests/python/test_decode.py", CASES],
    "src/bytecode": [UNIT, "tests/python/test_decode.py", CASES],
    "src/print": [UNIT, "tests/python/test_print.py", CASES],
    "src/verify": [UNIT, "tests/python/test_verify.py", CASES],
    "src/cli": [UNIT, "tests/python/test_command_line.py"],
    "src/web": [UNIT],
    "src/python": ["tests/python/test_api.py", "tests/python/test_live_objects.py"],
    "include": [UNIT, "tests/python/test_api.py"],
    "cmake": [UNIT],
    "tools/check_certificate": ["tests/python/test_certificate.py"],
    "tests/unit": [UNIT],
    "tests/cases": [CASES],
    "python/pellucid": [
        "tests/python/test_api.py",
        "tests/python/test_live_objects.py",
        "tests/python/test_recompile.py",
        "tests/python/test_public.py",
        LAYERS,
    ],
    "python/pellucid/dump": [PURE_PARTS, "tests/torch/test_load.py", LAYERS],
    "python/pellucid/findings": [FINDINGS, ADVICE, KINDS, PURE_PARTS, LAYERS],
    "python/pellucid/report": [
        "tests/report/test_model.py",
        "tests/report/test_timeline.py",
        LAYERS,
    ],
    "python/pellucid/comparison": ["tests/torch/test_diff.py"],
    "python/pellucid/corpus": ["tests/python/test_corpus_table.py"],
    "python/pellucid/notebook": [
        "tests/report/test_notebook_html.py",
        "tests/torch/test_notebook.py",
    ],
    "python/pellucid/shell": ["tests/python/test_shell.py"],
    "python/pellucid/torch": [PURE_PARTS, "tests/torch/test_reading.py", LAYERS],
    "python/pellucid/torch/guards": [
        "tests/torch/test_guard_text.py",
        "tests/torch/test_guards.py",
    ],
    "python/pellucid/torch/logs": ["tests/torch/test_logs.py"],
    "tools": [LAYERS, "tests/python/test_check.py"],
    "Makefile": ["tests/python/test_make.py"],
}
FOLDERS = ["src/", "python/pellucid/", "python/pellucid/dump/", "python/pellucid/torch/", ""]


def changed_files() -> List[str]:
    """Return the files that differ from HEAD, and the new ones."""
    names: List[str] = []
    for command in (
        ["git", "diff", "--name-only", "HEAD"],
        ["git", "ls-files", "--others", "--exclude-standard"],
    ):
        names += subprocess.check_output(command, cwd=ROOT, encoding="utf-8").splitlines()
    return names


def path_of(area: str) -> str:
    """Return the path that the name of an area stands for."""
    for folder in FOLDERS:
        if (ROOT / folder / area).exists():
            return folder + area
    sys.exit(f"check: {area!r} is not a path, nor one in {', '.join(filter(None, FOLDERS))}")


def tests_of(path: str) -> List[str]:
    """Return what is run for a file or folder."""
    name = path.rsplit("/", 1)[-1]
    if path.startswith("tests/") and name.startswith("test_") and name.endswith(".py"):
        return [path] if (ROOT / path).exists() else []
    rows = [row for row in AREAS if f"{path}/".startswith(f"{row}/")]
    return AREAS[max(rows, key=len)] if rows else []


def choose(paths: List[str]) -> Dict[str, List[str]]:
    """Return what is run, each with the paths that it is run for."""
    chosen: Dict[str, List[str]] = {}
    for path in paths:
        for test in tests_of(path):
            chosen.setdefault(test, []).append(path)
    return chosen


def main(areas: List[str]) -> int:
    """Run what belongs to some areas, or to what changed; return the exit code."""
    paths = [path_of(area) for area in areas] or changed_files()
    chosen = choose(paths)
    for test, reasons in chosen.items():
        more = f" and {len(reasons) - 1} more" if len(reasons) > 1 else ""
        print(f"check: {test} for {reasons[0]}{more}")
    for path in paths:
        if not tests_of(path):
            print(f"check: no quick test for {path}")
    sys.stdout.flush()
    commands = [[str(ROOT / UNIT)]] if UNIT in chosen else []
    files = [test for test in chosen if test != UNIT]
    if files:
        workers = str(min(os.cpu_count() or 1, 4))
        options = ["-q", "-n", workers, "--dist", "worksteal", "-m", "not slow"]
        commands.append([sys.executable, "-m", "pytest", *options, *files])
    failed = [command for command in commands if subprocess.call(command, cwd=ROOT) != 0]
    print("check: everything is `make test`, what is checked of form is `make lint`")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
