# SPDX-License-Identifier: Apache-2.0
"""Random programs and graphs, decompiled and held to what they mean: `python fuzz/python KIND`.

    programs  whole modules of every version, by pysource-codegen or, with --plain, as people write
    flow      functions of nested control flow on every version
    graphs    flow graphs that no compiler emits, run both ways (3.11 or later, with `bytecode`)

Each takes `--seed`, the first, and `--count`, how many; `--help` behind the kind tells the others.
"""

import importlib
import sys
from pathlib import Path

KINDS = {"programs": "random_programs", "flow": "random_flow", "graphs": "random_graphs"}


def main() -> int:
    """Run the fuzzer that the first argument names, with the others; return its exit code."""
    if len(sys.argv) < 2 or sys.argv[1] not in KINDS:
        print(__doc__, file=sys.stderr)
        return 2
    sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
    status: int = importlib.import_module(KINDS[sys.argv[1]]).main(sys.argv[2:])
    return status


if __name__ == "__main__":
    sys.exit(main())
