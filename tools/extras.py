"""Print the requirements of an extra of pyproject.toml, one a line, for pip.

pip can install an extra only together with the package; the Makefile wants them apart, so that
a changed source file does not resolve the test dependencies again. Markers are applied here.
"""

import ast
import re
import sys
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(extra: str) -> "list[str]":
    """Return the requirements of `extra` that apply to the running interpreter."""
    section = PYPROJECT.read_text(encoding="utf-8").split("[project.optional-dependencies]")[1]
    found = re.search(rf"^{re.escape(extra)} = (\[.*?\])$", section, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"extras: no extra named {extra}")
    listed = ast.literal_eval(found.group(1))  # a TOML array of strings is a Python list too
    return [name for name in map(_applicable, listed) if name]


def _applicable(requirement: str) -> str:
    name, _, marker = requirement.partition(";")
    bound = re.search(r"python_version >= '(\d+)\.(\d+)'", marker)
    if bound and sys.version_info < (int(bound.group(1)), int(bound.group(2))):
        return ""
    return name.strip()


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
