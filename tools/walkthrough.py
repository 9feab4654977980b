# SPDX-License-Identifier: Apache-2.0
"""Put the dumps of one function into ARCHITECTURE.md, or compare what stands there.

A line `<!-- dump: STAGE -->` is followed by what the native binary prints of that stage for
docs/walkthrough/halve.pyc (`source`: its text), without the module around it; a line
`<!-- file: PATH -->` by a file. `walkthrough.py BINARY` exits with 1 and says what differs; with
`--update` it rewrites the blocks. After an edit of the source, `--compile PYTHON3.12 --update`
makes its `.pyc` first.
"""

import argparse
import difflib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "ARCHITECTURE.md"
EXAMPLE = ROOT / "docs" / "walkthrough" / "halve"
BLOCK = re.compile(
    r"^<!-- (?P<kind>dump|file): (?P<what>\S+) -->\n(?:```\w*\n.*?^```\n)?",
    re.MULTILINE | re.DOTALL,
)
MODULE = re.compile(r"^(raw 1|stream|flow|function|code) '?<module>'?$.*", re.MULTILINE | re.DOTALL)


def dump(binary: Path, stage: str) -> str:
    """Return what the binary prints of the example's function, after one stage."""
    told = ["decompile"] if stage == "source" else ["dump", f"--stage={stage}"]
    command = [str(binary), *told, str(EXAMPLE.with_suffix(".pyc"))]
    return MODULE.sub(
        "", subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    )


def with_blocks(text: str, binary: Path) -> str:
    """Return the document with each block made anew."""

    def block(found: "re.Match[str]") -> str:
        kind, what = found["kind"], found["what"]
        body = (ROOT / what).read_text() if kind == "file" else dump(binary, what)
        language = "python" if kind == "file" or what == "source" else "text"
        return f"<!-- {kind}: {what} -->\n```{language}\n{body.rstrip()}\n```\n"

    return BLOCK.sub(block, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--compile", metavar="PYTHON")
    options = parser.parse_args()
    if options.compile:
        program = (
            "import py_compile as p; p.compile('halve.py', 'halve.pyc', dfile='halve.py',"
            " doraise=True, invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)"
        )
        subprocess.run([options.compile, "-c", program], cwd=EXAMPLE.parent, check=True)
    now = DOCUMENT.read_text(encoding="utf-8")
    wanted = with_blocks(now, options.binary)
    if options.update:
        DOCUMENT.write_text(wanted, encoding="utf-8")
    elif now != wanted:
        before, after = now.splitlines(True), wanted.splitlines(True)
        sys.stdout.writelines(difflib.unified_diff(before, after, DOCUMENT.name, "as it is now"))
        print("walkthrough: `python tools/walkthrough.py build/make/pellucid --update` rewrites it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
