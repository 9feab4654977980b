# SPDX-License-Identifier: Apache-2.0
"""Make a test of one step of structure from a Python function.

`step_case.py STEP CASE SOURCE.py --python 3.10` compiles the function `f` of the source, and writes
the graph before the step to tests/unit/structure/steps/STEP/CASE.txt, with the source above it.
Comments at the top of the source say what the test specifies. `make update-golden` adds what the
step makes of it. Make the graph smaller by hand where less of it shows the same.

`step_case.py plan/CONSTRUCT CASE SOURCE.py` does the same with the plan that is made after all
steps: tests/unit/structure/plan/CONSTRUCT/CASE.txt.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List

import pythons
from pellucid.interpreters import find_interpreter

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "unit" / "structure"
BUILD = ROOT / "build" / "make"

COMPILE = """
import py_compile, sys
py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)
"""


def heading(source: str) -> List[str]:
    """Return the source as comments: its own at the top, then what `f` is, indented."""
    lines = source.rstrip().splitlines()
    start = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    return [*lines[:start], "#", *(f"#   {line}".rstrip() for line in lines[start:])]


def main() -> int:
    """Write one case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("step")
    parser.add_argument("case")
    parser.add_argument("source", type=Path)
    parser.add_argument("--python", default="3.12", choices=pythons.VERSIONS)
    arguments = parser.parse_args()
    interpreter = find_interpreter((3, pythons.minor(arguments.python)))
    if interpreter is None:
        print(f"step_case: no Python {arguments.python} here", file=sys.stderr)
        return 2
    subprocess.run(["cmake", "--build", str(BUILD), "--target", "pellucid_step_case"], check=True)
    step = arguments.step.split("/")[0]
    with tempfile.TemporaryDirectory() as scratch:
        compiled = Path(scratch) / "case.pyc"
        command = [str(interpreter), "-c", COMPILE, str(arguments.source), str(compiled)]
        subprocess.run(command, check=True)
        tool = [str(BUILD / "pellucid_step_case"), step, str(compiled)]
        graph = subprocess.run(tool, stdout=subprocess.PIPE, check=True).stdout.decode()
    text = "\n".join([*heading(arguments.source.read_text()), graph.rstrip(), "---", ""])
    folder = TESTS if step == "plan" else TESTS / "steps"
    target = folder / arguments.step / f"{arguments.case}.txt"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    print(target.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
