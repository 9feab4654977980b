"""Check that a capture changes nothing: every case with and without `prepare_debug`, compared.

`python check_observer.py CASES.py [--backend eager] [--only TEXT] [--sample N --seed S]`, in an
environment with torch; `--sample` takes so many of the cases. CASES.py defines `CASES`: name ->
(style, make), where make() gives a function and the argument tuples to call it with. Compared are
results bit for bit, exceptions, what the arguments are afterwards, torch's own counts (graph
breaks, frames, graphs, compiles and recompiles), and every graph that the backend is given, with
AOTAutograd's or Inductor's own. Each run has a process of its own; a case that differs from itself
without pellucid is told apart by a third run. The exit code is 1 if a case differs.
"""

import argparse
import importlib.util
import logging
import os
import pickle
import random
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple


def observe(make: Callable[[], Any], captured: bool, backend: str) -> Dict[str, Any]:
    """Run one case; return all that a program and its user could see of it."""
    import torch
    import torch._dynamo.utils
    from pellucid.dump.model.events import Problem
    from pellucid.torch import prepare_debug

    graphs: List[str] = []
    compiler = _recording(backend, graphs)
    torch.manual_seed(0)
    function, inputs = make()
    results: List[Any] = []

    def call() -> None:
        compiled = torch.compile(function, backend=compiler)
        for arguments in inputs:
            try:
                results.append(_plain(compiled(*arguments)))
            except Exception as error:
                results.append(("raises", type(error).__name__, _scrubbed(str(error))))

    problems: List[str] = []
    if captured:
        with tempfile.TemporaryDirectory() as directory:
            with prepare_debug(directory) as session:
                call()
            problems = [f"{p.where}: {p.what}" for p in session.of(Problem)]
            problems += [f"not swapped: {f.file}" for f in _frames(session) if not f.swapped]
    else:
        call()
    counters = torch._dynamo.utils.counters
    metrics = torch._dynamo.utils.get_compilation_metrics()
    return {
        "results": results,
        "arguments": _plain(inputs),
        "graph breaks": {_scrubbed(str(k)): v for k, v in counters["graph_break"].items()},
        "frames": dict(counters["frames"]),
        "stats": dict(counters["stats"]),
        "compiles": [
            # Older releases tell of backward passes in records of another kind.
            (m.co_name, m.cache_size, m.fail_type) if hasattr(m, "co_name") else type(m).__name__
            for m in metrics
        ],
        "graphs": graphs,
        "problems": problems,
    }


def _frames(session: Any) -> List[Any]:
    from pellucid.dump.model.events import Frame

    return list(session.of(Frame))


def _recording(backend: str, graphs: List[str]) -> Callable[..., Any]:
    from torch._dynamo.backends.common import aot_autograd
    from torch._dynamo.backends.debugging import boxed_nop

    def take(graph: Any, inputs: Any) -> Any:
        graphs.append(_scrubbed(graph.print_readable(print_output=False)))
        return graph.forward

    def take_boxed(graph: Any, inputs: Any) -> Any:
        graphs.append(_scrubbed(graph.print_readable(print_output=False)))
        return boxed_nop(graph, inputs)

    if backend == "eager":
        return take
    if backend == "inductor":
        whole = _inductor(graphs)
    else:
        whole = aot_autograd(fw_compiler=take_boxed, bw_compiler=take_boxed)

    def both(graph: Any, inputs: Any) -> Any:
        graphs.append(_scrubbed(graph.print_readable(print_output=False)))
        return whole(graph, inputs)

    return both


def _inductor(graphs: List[str]) -> Callable[..., Any]:
    """Inductor, which tells of each graph that it compiles."""
    import torch._inductor.config
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    # What one run has compiled the next one would find; kernels of the same text may be shared.
    torch._inductor.config.fx_graph_cache = False

    def inner(graph: Any, inputs: Any, **settings: Any) -> Any:
        graphs.append(_scrubbed(graph.print_readable(print_output=False)))
        return compile_fx_inner(graph, inputs, **settings)

    def whole(graph: Any, inputs: Any) -> Any:
        return compile_fx(graph, inputs, inner_compile=inner)

    return whole


def _scrubbed(text: str) -> str:
    from pellucid.dump.model.names import scrub

    return scrub(text)


def _plain(value: Any) -> Any:
    """Make a value that compares by type, and tensors by their bits."""
    import torch

    if isinstance(value, torch.Tensor):
        bits = value.detach().contiguous().reshape(-1).view(torch.uint8).tolist()
        grad = None if value.grad is None else _plain(value.grad)
        kind = (type(value).__name__, str(value.dtype), tuple(value.shape), value.stride())
        return ("tensor", kind, value.requires_grad, bits, grad)
    if isinstance(value, (list, tuple, set, frozenset)):
        return (type(value).__name__, [_plain(item) for item in value])
    if isinstance(value, dict):
        return (type(value).__name__, [(_plain(k), _plain(v)) for k, v in value.items()])
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return (type(value).__name__, repr(value))
    fields = getattr(value, "__dict__", None)
    return (type(value).__name__, _plain(fields) if type(fields) is dict else "")


def in_a_fork(work: Callable[[], Any], limit: int) -> Any:
    """Return what `work` returns in a process of its own, or a text that says how that ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        import signal

        signal.alarm(limit)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            data = pickle.dumps(work())
        except BaseException as error:
            data = pickle.dumps(f"harness: {type(error).__name__}: {error}")
        with os.fdopen(writer, "wb") as stream:
            stream.write(data)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    status = os.waitpid(child, 0)[1]
    return pickle.loads(data) if data else f"ended with status {status}"


def differences(one: Any, other: Any) -> List[str]:
    """Name the things in which two runs differ."""
    if isinstance(one, str) or isinstance(other, str):
        return [] if one == other else ["end"]
    return [key for key in one if key != "problems" and one[key] != other[key]]


def load(path: Path) -> Dict[str, Tuple[str, Callable[[], Any]]]:
    """Import the cases."""
    spec = importlib.util.spec_from_file_location("cases", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    spec.loader.exec_module(module)
    cases: Dict[str, Tuple[str, Callable[[], Any]]] = module.CASES
    return cases


def main() -> int:
    """Check every case; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cases", type=Path)
    parser.add_argument("--backend", choices=("eager", "aot_eager", "inductor"), default="eager")
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", type=int, default=0, help="how many of the cases; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="which of them")
    parser.add_argument("--limit", type=int, default=120, help="seconds for each run")
    options = parser.parse_args()
    import torch

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    cases = load(options.cases)
    start = time.time()
    tally = Tally()
    chosen = [name for name in cases if options.only in name]
    if 0 < options.sample < len(chosen):
        drawn = set(random.Random(options.seed).sample(chosen, options.sample))
        chosen = [name for name in chosen if name in drawn]
    for name in chosen:
        case = cases[name][1]
        alone = partial(in_a_fork, partial(observe, case, False, options.backend), options.limit)
        ours = partial(in_a_fork, partial(observe, case, True, options.backend), options.limit)
        tally.add(name, alone(), ours(), alone)
    print(
        f"{len(chosen)} cases, backend {options.backend}: {len(tally.same)} the same, "
        f"{len(tally.bad)} differ, {len(tally.unstable)} unlike themselves {tally.unstable}; "
        f"{tally.graphs} graphs and {tally.compiles} compiles compared; "
        f"{len(tally.problems)} with something of ours not done; {time.time() - start:.0f} s"
    )
    return 1 if tally.bad else 0


class Tally:
    """What was found so far."""

    def __init__(self) -> None:
        self.same: List[str] = []
        self.bad: List[str] = []
        self.unstable: List[str] = []
        self.problems: List[str] = []
        self.graphs = self.compiles = 0

    def add(self, name: str, without: Any, ours: Any, again: Callable[[], Any]) -> None:
        """Compare the runs of a case, and print in what they differ."""
        found = differences(without, ours)
        if found and differences(without, again()):
            self.unstable.append(name)
        elif found:
            self.bad.append(name)
            print(f"{name}: {', '.join(found)}", flush=True)
            for key in found:
                for label, run in (("without", without), ("with", ours)):
                    print(f"    {label}: {str(run if isinstance(run, str) else run[key])[:600]}")
        else:
            self.same.append(name)
        if isinstance(ours, str):
            return
        self.graphs += len(ours["graphs"])
        self.compiles += len(ours["compiles"])
        if ours["problems"]:
            self.problems.append(name)
            print(f"{name}: {ours['problems'][:2]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
