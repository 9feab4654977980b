# SPDX-License-Identifier: Apache-2.0
"""Time what pellucid costs while no capture is open: compiling, and calling what was compiled.

Three ways, each in a process of its own: without pellucid, with `pellucid.torch` imported, and
after a capture that had another function in it has ended.  The figures are ratios to the first way.
A fourth is the call of a function that was compiled within the capture, after its end: it runs
from its file.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

from bench_models import MODELS

WAYS = ("without", "imported", "ended", "captured")
CALLS = 200


def measure(model: str, way: str, backend: str) -> Dict[str, float]:
    """Compile and call one model in this process; return processor seconds of both."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    module, arguments = MODELS[model]()
    module.eval()
    torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))  # what only the first one costs
    context: Any = None
    if way != "without":
        import pellucid

        context = pellucid.prepare_debug
    compiled = torch.compile(module, backend=backend)
    with tempfile.TemporaryDirectory() as directory, torch.no_grad():
        if way == "ended":
            with context(directory):
                torch.compile(lambda x: x * 2, backend=backend)(torch.ones(2))
        begin = time.process_time()
        if way == "captured":
            with context(directory):
                compiled(**arguments)
        else:
            compiled(**arguments)
        compiling = time.process_time() - begin
        calls = []
        for _ in range(CALLS):
            begin = time.perf_counter()
            compiled(**arguments)
            calls.append(time.perf_counter() - begin)
    return {"compiling": compiling, "calling": min(calls)}


def main() -> int:
    """Print the ratios of every model; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "WAY"), help=argparse.SUPPRESS)
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", default="nn.encoder,nn.convolutions,nn.breaking")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one, options.backend)))
        return 0
    for model in options.models.split(","):
        found: Dict[str, List[Dict[str, float]]] = {way: [] for way in WAYS}
        for number in range(options.rounds):
            for way in WAYS[:: 1 if number % 2 else -1]:
                command = [sys.executable, __file__, "--one", model, way]
                with tempfile.TemporaryDirectory() as cache:
                    done = subprocess.run(
                        [*command, "--backend", options.backend],
                        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache},
                        stdout=subprocess.PIPE,
                        text=True,
                        check=True,
                    )
                found[way].append(json.loads(done.stdout.splitlines()[-1]))
        for kind, best in (("compiling", statistics.median), ("calling", min)):
            alone = best(entry[kind] for entry in found["without"])
            ratios = (f"{w} {best(e[kind] for e in found[w]) / alone:.3f}" for w in WAYS[1:])
            print(f"{model:20} {kind:10} {alone * 1e3:9.3f} ms   " + "   ".join(ratios), flush=True)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    sys.exit(main())
