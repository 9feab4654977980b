# SPDX-License-Identifier: Apache-2.0
"""Hold every source file to one line that names the project's licence, as SPDX has it.

`licence_lines.py` prints the files that lack it, and exits with 1 if there are any; `--fix` writes
the line at their start (after `#!`, where that is). Files that a tool makes are exempt.
"""

import subprocess
import sys
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parent.parent
LINE = "SPDX-License-Identifier: Apache-2.0"
COMMENTS = {
    **dict.fromkeys((".h", ".cpp", ".def", ".inc"), "//"),
    **dict.fromkeys((".py", ".pyi", ".cmake"), "#"),
}
# Sources of ours; what else is in the repository is read, compared or compiled as it is.
FOLDERS = (
    *("bench", "cmake", "examples", "fuzz", "gallery", "include", "python", "src", "tools"),
    *("tests/unit", "tests/lib", "tests/library"),
)
GENERATED = ("src/bytecode/raw/", "src/object/identifier_ranges.inc")


def sources() -> Iterator[Path]:
    """Yield every file that is to have the line."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS]
    listed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    for name in sorted(set(listed.stdout.splitlines())):
        path = ROOT / name
        if path.suffix in COMMENTS and path.exists() and not name.startswith(GENERATED):
            yield path


def lacks_line(text: str) -> bool:
    """Say whether the first lines of a file do not name the licence."""
    return not any(LINE in line for line in text.splitlines()[:2])


def with_line(text: str, comment: str) -> str:
    """Return the text of a file with the line at its start."""
    at = text.index("\n") + 1 if text.startswith("#!") else 0
    return f"{text[:at]}{comment} {LINE}\n{text[at:]}"


def main() -> int:
    """Check, or with --fix write; return the exit code."""
    wrong = [path for path in sources() if lacks_line(path.read_text(encoding="utf-8"))]
    for path in wrong:
        if "--fix" in sys.argv[1:]:
            text = path.read_text(encoding="utf-8")
            path.write_text(with_line(text, COMMENTS[path.suffix]), encoding="utf-8")
        else:
            print(f"{path.relative_to(ROOT)}: no line with {LINE}")
    return 1 if wrong and "--fix" not in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
