# SPDX-License-Identifier: Apache-2.0
"""Time compiling under `prepare_debug` against compiling without, and depyf's beside it.

Every compile has a process and an Inductor cache of its own. The ways of one model follow each
other (without, pellucid, depyf; then the other way round), so that a machine that gets slower
concerns all alike. The figure is the ratio of a pair, and the median of these over the models. The
clock runs from before the capture opens until after it has closed and everything is on disk.
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
from typing import Any, ContextManager, Dict, List

from bench_models import MODELS, available

WAYS = ("without", "pellucid", "depyf")


def capture(way: str, directory: str) -> "ContextManager[Any]":
    """Return the context manager of one way to compile."""
    import contextlib

    if way == "pellucid":
        import pellucid

        return pellucid.prepare_debug(directory)
    if way == "depyf":
        import depyf

        context: ContextManager[Any] = depyf.prepare_debug(directory)
        return context
    return contextlib.nullcontext()


def measure(model: str, way: str, backend: str, training: bool) -> Dict[str, float]:
    """Compile one model in this process; return seconds by the wall and of the processor."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    module, arguments = MODELS[model]()
    module.train(training)
    compiled = torch.compile(module, backend=backend)
    import torch._inductor.compile_fx
    import torch.fx

    with tempfile.TemporaryDirectory() as directory, torch.set_grad_enabled(training):
        context = capture(way, directory)
        wall, processor = time.perf_counter(), _processor()
        with context:
            result = compiled(**arguments)
            if training:
                _first_tensor(result).sum().backward()
        return {"wall": time.perf_counter() - wall, "processor": _processor() - processor}


def _processor() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _first_tensor(result: Any) -> Any:
    if hasattr(result, "last_hidden_state"):
        return result.last_hidden_state
    return result[0] if isinstance(result, (tuple, list)) else result


def in_a_process(model: str, way: str, options: argparse.Namespace) -> "Dict[str, float] | None":
    """Measure in a fresh process with caches of its own; None when it fails."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
        environment["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
        command = [sys.executable, __file__, "--one", model, way, "--backend", options.backend]
        command += ["--training"] if options.training else []
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if done.returncode:
            print(f"  {model} {way}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            return None
        found: Dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found


def main() -> int:
    """Print the ratios of every model and their medians; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "WAY"), help=argparse.SUPPRESS)
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--training", action="store_true", help="forward and backward")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="models whose name has this")
    parser.add_argument("--ways", default=",".join(WAYS))
    options = parser.parse_args()
    if options.one:
        found = measure(options.one[0], options.one[1], options.backend, options.training)
        print(json.dumps(found))
        return 0
    ways = [way for way in options.ways.split(",") if way in WAYS]
    medians: Dict[str, Dict[str, List[float]]] = {w: {"wall": [], "processor": []} for w in ways}
    for model in [name for name in available() if options.only in name]:
        rounds: Dict[str, List[Dict[str, float]]] = {way: [] for way in ways}
        for number in range(options.rounds):
            times = {
                way: in_a_process(model, way, options) for way in ways[:: 1 if number % 2 else -1]
            }
            for way, found in times.items():
                if found is not None and times["without"] is not None:
                    ratio = {kind: found[kind] / times["without"][kind] for kind in found}
                    rounds[way].append(found if way == "without" else ratio)
        _show(model, rounds, medians)
    for way in ways[1:]:
        for kind, ratios in medians[way].items():
            if ratios:
                print(
                    f"{way}: {kind} ratio, {len(ratios)} models, {options.backend}"
                    f"{' training' if options.training else ''}: "
                    f"median {statistics.median(ratios):.3f}, "
                    f"from {min(ratios):.3f} to {max(ratios):.3f}"
                )
    return 0


def _show(
    model: str,
    rounds: Dict[str, List[Dict[str, float]]],
    medians: Dict[str, Dict[str, List[float]]],
) -> None:
    text = f"{model:28}"
    for way, found in rounds.items():
        for kind in ("wall", "processor") if found else ():
            middle = statistics.median(entry[kind] for entry in found)
            medians[way][kind].append(middle)
            unit = "s" if way == "without" else "x"
            text += f"  {way if kind == 'wall' else kind} {middle:.3f}{unit}"
    print(text, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    sys.exit(main())
