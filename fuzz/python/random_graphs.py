# SPDX-License-Identifier: Apache-2.0
"""Random flow graphs that no compiler emits: decompile them, run them, compare.

A graph is blocks with random jumps between them (irreducible as a rule), random handler regions,
handlers within handlers, values that stay on the stack across all of it, and swaps of slots that a
handler keeps. Each is assembled into the code object of a function with the PyPI package
`bytecode`, decompiled by the native binary, recompiled, and both functions are run on random
oracles, which decide the branches, raise exceptions, and note what happens: which block runs, what
is being handled, in which context. Both must note the same and end the same way.

It runs under the interpreter whose code it makes (3.11 or later, with `bytecode` installed):

    python3.11 fuzz/python graphs --binary build/pellucid --seed 1 --count 1000
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Tuple

from graph_code import Assembler, assemble_module
from graph_runs import run_isolated
from graph_shapes import Graph


def batch(binary: str, seeds: Sequence[int], options: Sequence[str]) -> Dict[str, Any]:
    """Decompile the functions of some seeds in one module, and run each."""
    codes, problems, verdicts = [], [], {}
    for seed in seeds:
        codes.append(Assembler(Graph(seed), f"f{seed}").assemble())
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "graphs.pyc"
        path.write_bytes(assemble_module(codes))
        made = subprocess.run(
            [binary, "decompile", "--no-verify", *options, str(path)],
            capture_output=True,
            text=True,
        )
    lines = [line for line in made.stderr.splitlines() if line]
    notes = [line for line in lines if "without structure: " in line]
    if made.returncode != 0:
        refused = [line for line in lines if line not in notes]
        problems += refused or [f"exit code {made.returncode}"]
    namespace: Dict[str, Any] = {}
    try:
        exec(compile(made.stdout, "<decompiled>", "exec"), namespace)
    except Exception as error:
        problems.append(f"does not compile: {error}")
    for seed, code in zip(seeds, codes):
        function = namespace.get(f"f{seed}")
        verdicts[seed] = "missing" if function is None else run_isolated(seed, code, function)
    return {"problems": problems, "verdicts": verdicts, "notes": len(notes)}


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the tool; the exit code is 0 if all graphs behave as the originals."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--unstructured", action="store_true", help="switch structuring off")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    options = ["--unstructured"] if given.unstructured else []
    counts: Dict[str, int] = {"same": 0}
    failures: List[Tuple[int, str]] = []
    notes = 0
    seeds = range(given.seed, given.seed + given.count)
    for start in range(0, len(seeds), 50):
        result = batch(given.binary, seeds[start : start + 50], options)
        notes += result["notes"]
        failures += [(-1, problem) for problem in result["problems"]]
        for seed, verdict in result["verdicts"].items():
            kind = verdict.split(" ")[0].rstrip(":")
            counts[kind] = counts.get(kind, 0) + 1
            if kind not in ("same", "endless", "invalid"):
                failures.append((seed, verdict))
    if given.json:
        print(json.dumps({"counts": counts, "notes": notes, "failures": failures}))
    else:
        print(f"{given.count} graphs: {counts}, {notes} without structure")
        for seed, why in failures[:20]:
            print(f"  seed {seed}: {why}")
    return 1 if failures else 0
