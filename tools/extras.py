# SPDX-License-Identifier: Apache-2.0
"""Print a list of requirements of pyproject.toml, one a line, for pip.

`extras.py test` prints an extra, `extras.py dependencies` what the package needs, and
`extras.py requires` what building it needs. pip can install these only together with the package;
the Makefile wants them apart, so that a changed source file does not resolve them again. Markers
are applied here.
"""

import ast
import re
import sys
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(name: str) -> "list[str]":
    """Return the requirements of the list `name` that apply to the running interpreter."""
    text = re.sub(r"\s+# .*$", "", PYPROJECT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = re.search(rf"^{re.escape(name)} = (\[.*?\])$", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"extras: pyproject.toml has no list {name}")
    listed = ast.literal_eval(found.group(1))  # a TOML array of strings is a Python list too
    return [kept for kept in map(_applicable, listed) if kept]


def _applicable(requirement: str) -> str:
    name, _, marker = requirement.partition(";")
    bound = re.search(r"python_version (>=|<) '(\d+)\.(\d+)'", marker)
    if bound:
        newer = sys.version_info >= (int(bound.group(2)), int(bound.group(3)))
        if newer != (bound.group(1) == ">="):
            return ""
    return name.strip()


if __name__ == "__main__":
    print("\n".join(requirement for name in sys.argv[1:] for requirement in requirements(name)))
