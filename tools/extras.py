# SPDX-License-Identifier: Apache-2.0
"""Print a list of requirements of pyproject.toml, one a line, for pip.

`extras.py test` prints a dependency group or an extra, `extras.py dependencies` what the package
needs, and `extras.py requires` what building it needs. pip installs the last two only together with
the package, and groups only since 25.1; the Makefile needs them apart, so that a changed source
file does not resolve them again. Markers are applied here.
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
    bounds = re.findall(r"python_version (>=|<|==) '(\d+)\.(\d+)'", marker)
    if len(bounds) != marker.count("python_version"):
        raise SystemExit(f"extras: a marker that is not understood: {marker.strip()}")
    here = sys.version_info[:2]
    for relation, major, minor in bounds:
        other = (int(major), int(minor))
        if not {">=": here >= other, "<": here < other, "==": here == other}[relation]:
            return ""
    return name.strip()


if __name__ == "__main__":
    print("\n".join(requirement for name in sys.argv[1:] for requirement in requirements(name)))
