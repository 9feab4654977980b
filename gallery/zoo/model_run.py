# SPDX-License-Identifier: Apache-2.0
"""What one real model does with and without pellucid, and with depyf: a part of `python -m zoo`.

`examine` yields a record, fuller each time, so that a process which dies has said how far it came.
"""

import argparse
import ast
import collections
import contextlib
import copy
import os
import random
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Set, Tuple

Record = Dict[str, Any]


class Run(NamedTuple):
    """What one run of a model gave."""

    outputs: List[Any]
    gradients: List[Any]


def examine(name: str, mode: str, arguments: argparse.Namespace) -> Iterator[Record]:
    """Yield what is found out about one model, as it is found out; the last record has it all."""
    import torch
    import torch._dynamo

    seed_all(arguments.seed)
    record: Record = {"model": name, "mode": mode}
    started = time.monotonic()
    try:
        record["built"], run, eager = first_that_runs(name, mode, arguments.seed)
    except Exception as error:
        yield {**record, "status": "not built", "why": _short(error)}
        return
    record["eager_s"] = round(time.monotonic() - started, 1)
    yield {**record, "status": "eager", "why": "it did not end"}
    started = time.monotonic()
    torch._dynamo.utils.counters.clear()
    try:
        alone = run(lambda module: torch.compile(module, backend=arguments.backend))
    except Exception as error:
        yield {**record, "status": "not compiled", "why": _short(error)}
        return
    record["alone_s"] = round(time.monotonic() - started, 1)
    record["near_eager"] = _near(eager, alone)
    counts = _counts()
    yield {**record, "status": "alone", "why": "with pellucid it did not end"}
    torch._dynamo.reset()
    with tempfile.TemporaryDirectory() as directory:
        record.update(_under_pellucid(run, alone, counts, arguments.backend, Path(directory)))
    if arguments.depyf:
        yield {**record, "depyf": "0/0", "depyf_equal": False, "depyf_why": "it did not end"}
        torch._dynamo.reset()
        record.update(_under_depyf(run, alone, arguments.backend))
    yield record


def seed_all(seed: int) -> None:
    """Seed all that a model draws from: some mask inputs by NumPy, or drop whole layers.

    Reformer asks the system for the seed of each layer, and would differ from run to run.
    """
    import torch

    torch.manual_seed(seed)
    torch.seed = lambda: seed
    random.seed(seed)
    with contextlib.suppress(ImportError):
        import numpy

        numpy.random.seed(seed)


def first_that_runs(name: str, mode: str, seed: int) -> Tuple[str, Callable[..., Run], Run]:
    import torch

    from . import catalogue

    errors: List[str] = []
    for built in _ways(catalogue.build(name), errors):
        module = built.module.train(mode == "training")
        state = copy.deepcopy(module.state_dict())  # with its metadata

        def run(compiled: Callable[[Any], Any], built: Any = built, state: Any = state) -> Run:
            module = built.module
            module.load_state_dict(state)  # a batch norm in training changes its statistics
            module.zero_grad(set_to_none=True)
            seed_all(seed)
            inputs = built.inputs()
            call = compiled(module)
            with contextlib.nullcontext() if mode == "training" else torch.no_grad():
                outputs = _tensors(call(*inputs.pop("", ()), **inputs))
            if mode != "training":
                return Run(outputs, [])
            losses = [t.float().square().mean() for t in outputs if t.requires_grad]
            torch.stack(losses).sum().backward()
            found = [p.grad for p in module.parameters() if p.grad is not None]
            return Run([t.detach() for t in outputs], found)

        try:
            eager = run(lambda module: module)
            if eager.outputs:
                return built.what, run, eager
            errors.append("no tensor comes out")
        except Exception as error:
            errors.append(_short(error))
    raise RuntimeError(" | ".join(dict.fromkeys(errors)))


def _ways(built: Iterator[Any], errors: List[str]) -> Iterator[Any]:
    """Yield what can be built; why there is no more joins what went wrong before."""
    try:
        yield from built
    except Exception as error:
        errors.append(_short(error))


def _counts() -> Dict[str, Any]:
    """What torch has counted since its counters were cleared."""
    from pellucid.dump.model.names import scrub
    from torch._dynamo.utils import counters

    return {
        kind: {scrub(str(key)): value for key, value in counters[kind].items()}
        for kind in ("frames", "graph_break", "stats", "recompiles")
    }


def _under_pellucid(
    run: Callable[..., Run], alone: Run, counts: Dict[str, Any], backend: str, directory: Path
) -> Record:
    import torch
    from pellucid import prepare_debug
    from pellucid.dump.model.events import Frame, Problem

    started = time.monotonic()
    torch._dynamo.utils.counters.clear()
    with warnings.catch_warnings(record=True) as warned:
        warnings.filterwarnings("always", message=".*pellucid")
        try:
            with prepare_debug(directory) as session:
                ours = run(lambda module: torch.compile(module, backend=backend))
        except Exception as error:
            return {"status": "wrong", "why": f"with pellucid alone: {_short(error)}"}
    frames = session.of(Frame)
    bad = [
        f"{f.place.function}: {f.verdict.reason or 'not swapped'}" for f in frames if not f.swapped
    ]
    invalid = [
        complaint for complaint in map(_invalid, sorted(directory.glob("*.py"))) if complaint
    ]
    idle = [f"{f.file}:{line}: no effect" for f in frames for line in idle_lines(f.source or "")]
    problems = [f"{p.where}: {p.what}" for p in session.of(Problem)]
    problems += [f"warning: {w.message}" for w in warned if "pellucid" in str(w.message)]
    outputs, gradients = _same(ours.outputs, alone.outputs), _same(ours.gradients, alone.gradients)
    wrong = [*["the outputs differ"][outputs:], *["the gradients differ"][gradients:]]
    wrong += [
        f"torch counts other {kind}: {counts[kind]} without, {now} with"
        for kind, now in _counts().items()
        if now != counts[kind]
    ]
    record: Record = {
        "ours_s": round(time.monotonic() - started, 1),
        "frames": len(frames),
        "proven": len(frames) - len(bad),
        "breaks": sum(counts["graph_break"].values()),
        "files": len(list(directory.glob("*.py"))),
        "invalid": invalid,
        "idle": idle,
        "problems": problems,
        "outputs_equal": outputs,
        "gradients_equal": gradients,
    }
    why = [*wrong, *bad, *invalid, *idle, *problems]
    status = "wrong" if wrong else "ok" if frames and not why else "short of it"
    return {**record, "status": status, "why": "; ".join(why)[:600]}


def idle_lines(source: str) -> List[int]:
    """The lines of a function whose statements do nothing.

    They are a bare value, a call of Dynamo's function that does nothing, a name that is bound to
    what it is, and a local that none reads. A local that is deleted is taken for read: it may be
    there to end a lifetime.
    """
    try:
        functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)]
    except (SyntaxError, ValueError):
        return []
    found: Set[int] = set()
    for function in functions:
        inside = list(ast.walk(function))
        shared = {n for node in inside if isinstance(node, _SHARED) for n in node.names}
        names = [node for node in inside if isinstance(node, ast.Name)]
        read = shared | {node.id for node in names if not isinstance(node.ctx, ast.Store)}
        for node in inside:
            if isinstance(node, ast.Expr) and isinstance(
                node.value, (ast.Name, ast.List, ast.Dict)
            ):
                found.add(node.lineno)
            if isinstance(node, ast.Expr) and _calls_nothing(node.value):
                found.add(node.lineno)
            if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Constant)):
                targets = [t.id if isinstance(t, ast.Name) else "" for t in node.targets]
                if isinstance(node.value, ast.Name) and node.value.id in targets:
                    found.add(node.lineno)
                if read.isdisjoint(targets) and "" not in targets:
                    found.add(node.lineno)
    return sorted(found)


def _calls_nothing(value: ast.expr) -> bool:
    """Whether this is how Dynamo takes a NULL from the stack: `(lambda: None)()`."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id.startswith("_const_lambda")
        and not value.args
        and not value.keywords
    )


_SHARED = (ast.Global, ast.Nonlocal)


def _under_depyf(run: Callable[..., Run], alone: Run, backend: str) -> Record:
    import depyf
    import torch

    counts = collections.Counter()  # type: collections.Counter[str]

    def count(original: Any, transformed: Any) -> None:
        counts["frames"] += 1

    why = ""
    with tempfile.TemporaryDirectory() as directory:
        # Called before depyf's own, so that a frame at which that gives up is counted too.
        handle = torch._dynamo.convert_frame.register_bytecode_hook(count)
        try:
            with contextlib.ExitStack() as stack:
                null = stack.enter_context(open(os.devnull, "w"))
                stack.enter_context(contextlib.redirect_stderr(null))
                stack.enter_context(depyf.prepare_debug(directory))
                theirs = run(lambda module: torch.compile(module, backend=backend))
            equal = _same(theirs.outputs, alone.outputs)
            equal = equal and _same(theirs.gradients, alone.gradients)
            why = "" if equal else "other results"
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            equal, why = False, f"{_short(error)} ({Path(place.filename).name}:{place.lineno})"
        finally:
            handle.remove()
        files = list(Path(directory).glob("*.py"))
        read = sum(path.name.startswith("__transformed_code_") for path in files)
        invalid = sum(bool(_invalid(path)) for path in files)
    return {
        "depyf": f"{min(read, counts['frames'])}/{counts['frames']}",
        "depyf_equal": equal,
        "depyf_why": why,
        "depyf_invalid": f"{invalid}/{len(files)}",
    }


def _tensors(value: Any) -> List[Any]:
    import torch

    from .built import parts_in

    return [part for part in parts_in(value) if isinstance(part, torch.Tensor)]


def _same(ours: List[Any], theirs: List[Any]) -> bool:
    """Whether tensors are bit for bit the same, not-a-numbers included."""
    import torch

    return len(ours) == len(theirs) and all(
        a.dtype == b.dtype
        and a.shape == b.shape
        and bool(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)))
        and bool(torch.equal(a != a, b != b))
        for a, b in zip(ours, theirs)
    )


def _near(ours: Run, theirs: Run) -> bool:
    import torch

    pairs = list(zip([*ours.outputs, *ours.gradients], [*theirs.outputs, *theirs.gradients]))
    return all(torch.allclose(a, b, 2e-3, 2e-3, equal_nan=True) for a, b in pairs)


def _invalid(path: Path) -> str:
    try:
        compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"{path.name}: {error}"
    return ""


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
