"""Look for differences where there are none: real models, one process for each.

`python tests/torch/agreement/check_differences.py --file models.txt --out found.jsonl`; a second
run continues the first. Without names, the small models of programs/ are examined, with
static and with dynamic shapes; with --faults, faults are put in and to be found. With --own, each
model is compiled by the program and trained for two steps, which `find_difference` looks at as they
are. With --pairs, each model is captured twice and the captures are compared, as `pellucid diff`
does. Prints a line a
model; the exit code is how many were found to differ, or faults missed, at most 100.
"""

import argparse
import contextlib
import copy
import json
import linecache
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "gallery"))

from zoo.forked import in_process  # noqa: E402

Record = Dict[str, Any]


def main() -> int:
    """Run the models of a list, or those named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="SUITE/NAME; see gallery/zoo/catalogue.py")
    parser.add_argument("--file", type=Path, help="a list of lines NAME<tab>SUITE")
    parser.add_argument("--out", type=Path, default=Path("differences.jsonl"))
    parser.add_argument("--mode", choices=["inference", "training"], default="training")
    parser.add_argument("--timeout", type=int, default=300, help="seconds a model")
    parser.add_argument("--budget", type=int, default=10**6, help="seconds in all")
    parser.add_argument("--faults", action="store_true", help="find all that programs/ puts in")
    parser.add_argument("--pairs", action="store_true", help="compare two captures of each")
    parser.add_argument("--own", action="store_true", help="look at steps of compiled models")
    parser.add_argument("--backend", default="inductor", help="of --pairs and of --own")
    arguments = parser.parse_args()
    names = list(arguments.names)
    if arguments.file:
        rows = [row.split("\t") for row in arguments.file.read_text().splitlines()]
        names += [f"{row[1].strip()}/{row[0]}" for row in rows if len(row) == 2]
    if arguments.faults:
        files = sorted((ROOT / "tests/torch/programs/partings").glob("*.py"))
        source = "\n".join(file.read_text() for file in files)
        made = re.findall(r"^@fault\([\s\S]*?^(?:def|class) (\w+)", source, re.MULTILINE)
        names = [f"fault/{name}" for name in made]
    if not names:
        source = (ROOT / "tests/torch/programs/small_models.py").read_text()
        kinds = re.findall(r"^@model\(.*\nclass (\w+)", source, re.MULTILINE)
        names = [f"small/{kind}/{shapes}" for kind in kinds for shapes in ("static", "dynamic")]
    done: List[Record] = []
    if arguments.out.exists():
        done = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    known = {record["model"] for record in done}
    until = time.monotonic() + arguments.budget
    with arguments.out.open("a") as out:
        for name in names:
            if name in known or time.monotonic() > until:
                continue
            record = examined(name, arguments)
            done.append(record)
            out.write(json.dumps(record) + "\n")
            out.flush()
            told = str(record.get("why", "")).splitlines()
            print(f"{name:46} {record['status']:10} {record.get('s', 0):6} {(told or [''])[0]}")
    counts: Dict[str, int] = {}
    for record in done:
        counts[record["status"]] = counts.get(record["status"], 0) + 1
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    return min(100, counts.get("differs", 0) + counts.get("missed", 0))


def examined(name: str, arguments: argparse.Namespace) -> Record:
    """Examine a model in a fork."""
    started = time.monotonic()
    record, error, killed = in_process(lambda: [examine(name, arguments)], arguments.timeout)
    record = record or {"status": "not run", "why": error or killed}
    return {"model": name, **record, "s": round(time.monotonic() - started)}


def examine(name: str, arguments: argparse.Namespace) -> Record:
    """Look at one model in this process."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    if name.startswith("fault/"):
        return _fault(name.partition("/")[2])
    if name.startswith("small/"):
        _, kind, shapes = name.split("/")
        sys.path.insert(0, str(ROOT / "tests" / "torch" / "programs"))
        import small_models

        module, positional = small_models.MODELS[kind]()
        compiled = torch.compile(module, dynamic=True) if shapes == "dynamic" else module
        return _examined(compiled, positional, {}, arguments)
    from zoo import catalogue

    catalogue.make_torchvision_import()
    catalogue.make_torchaudio_import()
    module, positional, inputs = _first_that_runs(catalogue.build(name), arguments.mode)
    with torch.set_grad_enabled(arguments.mode == "training"):
        return _examined(module, positional, inputs, arguments)


def _examined(module: Any, positional: Any, inputs: Any, arguments: argparse.Namespace) -> Record:
    if arguments.pairs:
        return _pair(module, positional, inputs, arguments.backend)
    from pellucid import find_difference

    if arguments.own:
        found = find_difference(_steps(module, positional, inputs, arguments.backend))
    else:
        found = find_difference(module, *positional, **inputs)
    record: Record = {"status": "differs" if found else "same", "graphs": found.graphs}
    record.update(stages=len(found.stages), rounding=len(found.within_rounding))
    if found or not found.graphs or (len(found.stages) < 5 and not arguments.own):
        record["why"] = str(found)
    if arguments.own:
        record["unseen"] = list(found.unseen)
    return record


def _steps(module: Any, positional: Any, inputs: Any, backend: str) -> Any:
    """Two steps of a training loop with a model that the program compiles."""
    import torch
    from torch.utils import _pytree

    compiled = torch.compile(module, backend=backend)
    weights = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=1e-4) if weights else None

    def loop() -> None:
        for _ in range(2):
            result = compiled(*positional, **inputs)
            tensors = [t for t in _pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
            roots = [t for t in tensors if t.requires_grad]
            if roots and optimizer is not None:
                optimizer.zero_grad()
                sum(t.abs().mean() for t in roots).backward()
                torch.nn.utils.clip_grad_norm_(weights, 1.0)
                optimizer.step()

    return loop


def _first_that_runs(ways: Any, mode: str) -> Any:
    for built in ways:
        inputs = built.inputs()
        positional = tuple(inputs.pop("", ()))
        module = built.module.train(mode == "training")
        with contextlib.suppress(Exception):  # what does not run is built in another way
            module(*positional, **inputs)
            return module, positional, inputs
    raise RuntimeError("none of the ways to build it runs")


def _fault(name: str) -> Record:
    """Whether stage, operation and line of a fault that is put in are named."""
    import torch

    sys.path.insert(0, str(ROOT / "tests" / "torch" / "programs"))
    import partings
    from pellucid import find_difference

    fault = partings.FAULTS[name]
    with fault.inside():
        function = fault.make()
        function = torch.compile(function, **fault.compiled) if fault.compiled else function
        found = find_difference(function, *fault.args(), **fault.options)
    wanted = (fault.stage, fault.direction, fault.operation)
    place = found.place
    line = linecache.getline(place.file, place.line) if place is not None else ""
    right = (found.stage, found.direction, found.operation) == wanted and "# FAULT" in line
    return {"status": "named" if right else "missed", "why": "" if right else str(found)}


def _pair(module: Any, positional: Any, inputs: Any, backend: str) -> Record:
    import torch
    from pellucid import prepare_debug
    from pellucid.comparison.compare import compare

    with tempfile.TemporaryDirectory() as folder:
        for run in ("one", "two"):
            torch._dynamo.reset()
            torch.manual_seed(0)
            with prepare_debug(Path(folder) / run):
                # Each run begins with the state that the other began with.
                fresh = copy.deepcopy(module)
                torch.compile(fresh, backend=backend)(*positional, **inputs)
        found = compare(Path(folder) / "one", Path(folder) / "two")
    return {"status": "differs" if found else "same", "why": str(found)}


if __name__ == "__main__":
    sys.exit(main())
