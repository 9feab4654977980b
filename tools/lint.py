# SPDX-License-Identifier: Apache-2.0
"""Run every check of form: licence lines, format, layers, types, English, workflows, headers.

With --fix, rewrite instead.
Each checker prints its own findings; the exit code is 1 if any of them found something.
A checker that this Python cannot install (see the group `dev`) is named and left out.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parent.parent
PYTHON_FOLDERS = [
    *(
        "python",
        "tools",
        "tests/lib",
        "tests/library",
        "tests/python",
        "tests/torch",
        "tests/report",
        "tests/web",
    ),
    *("bench", "fuzz/adversary", "fuzz/python", "gallery"),
]
GENERATED = ("src/bytecode/raw/", "src/object/generated/")


def cpp_files() -> List[str]:
    """Return the C++ files whose format is checked; generated ones and .def tables are exempt."""
    found = [
        path
        for folder in ("src", "include", "examples", "tests/unit", "fuzz")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".h", ".cpp"}
    ]
    names = [str(path.relative_to(ROOT)) for path in found]
    return [name for name in names if not name.startswith(GENERATED)]


def python_paths() -> List[str]:
    """Return the Python folders that exist."""
    return [name for name in PYTHON_FOLDERS if (ROOT / name).exists()]


def run(title: str, command: List[str]) -> bool:
    """Run one checker; return whether it was content (or is not there)."""
    tool = Path(command[0])
    if not tool.exists() and shutil.which(command[0]) is None:
        print(f"lint: {title}: not installed, left out")
        return True
    ok = subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    print(f"lint: {title}: {'ok' if ok else 'FAILED'}", flush=True)
    return ok


def tool(name: str) -> str:
    """Return the path of a tool that lies beside this interpreter, else its bare name."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


def main(fix: bool) -> int:
    """Check, or rewrite with `fix`; return the exit code."""
    licence = [sys.executable, "tools/licence_lines.py", *(["--fix"] if fix else [])]
    results = [run("licence lines", licence)]
    cpp = cpp_files()
    if cpp:
        mode = ["-i"] if fix else ["--dry-run", "--Werror"]
        results.append(run("clang-format", [tool("clang-format"), *mode, *cpp]))
    ruff_format = ["format"] if fix else ["format", "--check", "--quiet"]
    ruff_check = ["check", "--quiet", *(["--fix"] if fix else [])]
    results.append(run("ruff format", [tool("ruff"), *ruff_format, *python_paths()]))
    results.append(run("ruff check", [tool("ruff"), *ruff_check, *python_paths()]))
    if not fix:
        results.append(run("layers", [sys.executable, "tools/check_layers.py"]))
        results.append(run("mypy", [tool("mypy"), "--no-error-summary"]))
        results.append(run("plain English", [sys.executable, "tools/english.py"]))
        workflows = sorted(map(str, (ROOT / ".github" / "workflows").glob("*.yml")))
        schema = ["--builtin-schema", "vendor.github-workflows", *workflows]
        results.append(run("workflows", [tool("check-jsonschema"), *schema]))
        results.append(run("headers", [sys.executable, "tools/check_headers.py"]))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main("--fix" in sys.argv[1:]))
