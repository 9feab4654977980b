"""Compile real models with and without pellucid, and compare: `python tools/models.py --help`.

Each model, and each of inference and training, runs in a process of its own:

1. eager, with seeded weights and inputs;
2. compiled without pellucid: what cannot be compiled here is told apart;
3. compiled under `prepare_debug`: outputs, and in training the gradients, must be bit for bit those
   of step 2; every transformed frame must be proven and run from its file; every dumped file must
   compile;
4. with `--depyf`, where depyf is installed: how many of the frames its decompiler reads.

The results are lines of JSON, appended as they come; a second run goes on where the first stopped.
"""

import argparse
import collections
import contextlib
import copy
import json
import logging
import os
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

Record = Dict[str, Any]


class Run(NamedTuple):
    """What one run of a model gave."""

    outputs: List[Any]
    gradients: List[Any]


# -- one model, in its own process -----------------------------------------------------------------


def examine(name: str, mode: str, arguments: argparse.Namespace) -> Iterator[Record]:
    """Yield what is found out about one model, as it is found out; the last record has it all."""
    import torch
    import torch._dynamo

    torch.manual_seed(arguments.seed)
    record: Record = {"model": name, "mode": mode}
    started = time.monotonic()
    try:
        record["built"], run, eager = _first_that_runs(name, mode, arguments.seed)
    except Exception as error:
        yield {**record, "status": "not built", "why": _short(error)}
        return
    record["eager_s"] = round(time.monotonic() - started, 1)
    yield {**record, "status": "eager", "why": "it did not end"}
    started = time.monotonic()
    try:
        alone = run(lambda module: torch.compile(module, backend=arguments.backend))
    except Exception as error:
        yield {**record, "status": "not compiled", "why": _short(error)}
        return
    record["alone_s"] = round(time.monotonic() - started, 1)
    record["near_eager"] = _near(eager, alone)
    yield {**record, "status": "alone", "why": "with pellucid it did not end"}
    torch._dynamo.reset()
    with tempfile.TemporaryDirectory() as directory:
        record.update(_under_pellucid(run, alone, arguments.backend, Path(directory)))
    if arguments.depyf:
        torch._dynamo.reset()
        record.update(_under_depyf(run, alone, arguments.backend))
    yield record


def _first_that_runs(name: str, mode: str, seed: int) -> Tuple[str, Callable[..., Run], Run]:
    import torch
    import zoo

    errors: List[str] = []
    for built in _ways(zoo.build(name), errors):
        module = built.module.train(mode == "training")
        state = copy.deepcopy(module.state_dict())  # with its metadata

        def run(compiled: Callable[[Any], Any], built: Any = built, state: Any = state) -> Run:
            module = built.module
            module.load_state_dict(state)  # a batch norm in training changes its statistics
            module.zero_grad(set_to_none=True)
            torch.manual_seed(seed)
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
    raise RuntimeError(" | ".join(errors))


def _ways(built: Iterator[Any], errors: List[str]) -> Iterator[Any]:
    """Yield what can be built; why there is no more joins what went wrong before."""
    try:
        yield from built
    except Exception as error:
        errors.append(_short(error))


def _under_pellucid(run: Callable[..., Run], alone: Run, backend: str, directory: Path) -> Record:
    import torch
    from pellucid import prepare_debug
    from pellucid.torch.events import Frame, Problem

    started = time.monotonic()
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
    problems = [f"{p.where}: {p.what}" for p in session.of(Problem)]
    outputs, gradients = _same(ours.outputs, alone.outputs), _same(ours.gradients, alone.gradients)
    record: Record = {
        "ours_s": round(time.monotonic() - started, 1),
        "frames": len(frames),
        "proven": len(frames) - len(bad),
        "files": len(list(directory.glob("*.py"))),
        "invalid": invalid,
        "problems": problems,
        "outputs_equal": outputs,
        "gradients_equal": gradients,
    }
    wrong = [*["the outputs differ"][outputs:], *["the gradients differ"][gradients:]]
    why = [*wrong, *bad, *invalid, *problems]
    status = "wrong" if wrong else "ok" if frames and not why else "short of it"
    return {**record, "status": status, "why": "; ".join(why)[:600]}


def _under_depyf(run: Callable[..., Run], alone: Run, backend: str) -> Record:
    import torch
    from depyf.decompiler import Decompiler

    counts = collections.Counter()  # type: collections.Counter[str]

    with tempfile.TemporaryDirectory() as directory:
        template = os.path.join(directory, "code_%s.py")

        def hook(original: Any, transformed: Any) -> Any:
            counts["frames"] += 1
            try:
                made = Decompiler.decompile_and_compile_like(
                    transformed, original, filepath_template=template
                )
            except Exception:
                return None
            counts["read"] += 1
            return made

        handle = torch._dynamo.convert_frame.register_bytecode_hook(hook)
        try:
            theirs = run(lambda module: torch.compile(module, backend=backend))
            equal = _same(theirs.outputs, alone.outputs)
            equal = equal and _same(theirs.gradients, alone.gradients)
        except Exception:
            equal = False
        finally:
            handle.remove()
    return {"depyf": f"{counts['read']}/{counts['frames']}", "depyf_equal": equal}


def _tensors(value: Any) -> List[Any]:
    import torch

    found, pending = [], [value]
    while pending:
        item = pending.pop()
        if isinstance(item, torch.Tensor):
            found.append(item)
        elif hasattr(item, "to_tuple"):
            pending.extend(reversed(item.to_tuple()))
        elif isinstance(item, dict):
            pending.extend(reversed(list(item.values())))
        elif isinstance(item, (list, tuple)):
            pending.extend(reversed(item))
    return found


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


# -- many models -----------------------------------------------------------------------------------


def in_process(name: str, mode: str, arguments: argparse.Namespace) -> Record:
    """Examine a model in a fork, which may crash or take too long."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        try:
            for record in examine(name, mode, arguments):
                os.write(writer, json.dumps(record).encode() + b"\n")
        except BaseException as error:
            record = {"model": name, "mode": mode, "status": "harness", "why": _short(error)}
            os.write(writer, json.dumps(record).encode() + b"\n")
        os._exit(0)
    os.close(writer)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(arguments.timeout)
    with os.fdopen(reader, "rb") as stream:
        lines = stream.read().splitlines()
    signal.alarm(0)
    state = os.waitpid(child, 0)[1]
    last: Record = (
        json.loads(lines[-1]) if lines else {"model": name, "mode": mode, "status": "not built"}
    )
    if os.WIFSIGNALED(state):
        last["why"] = f"signal {os.WTERMSIG(state)}, or more than {arguments.timeout} s"
    return last


def table(records: List[Record]) -> str:
    """The results as text: counts, then what is not as it should be."""
    order = ["ok", "short of it", "wrong", "alone", "eager", "not compiled", "not built", "harness"]
    say = {
        "alone": "ends without pellucid, not with it",
        "eager": "compiling does not end",
        "short of it": "equal, but a frame unproven or a file invalid",
    }
    lines = []
    for key in sorted({(r["model"].split("/")[0], r["mode"]) for r in records}):
        group = [r for r in records if (r["model"].split("/")[0], r["mode"]) == key]
        count = collections.Counter(r["status"] for r in group)
        frames = [sum(r.get(k, 0) for r in group) for k in ("proven", "frames", "files")]
        lines.append(
            f"{key[0]}, {key[1]}: {len(group)} models: "
            + ", ".join(f"{count[s]} {say.get(s, s)}" for s in order if count[s])
            + f"; frames proven and run from files {frames[0]}/{frames[1]}, files {frames[2]}"
        )
        theirs = [r for r in group if "depyf" in r]
        if theirs:
            full = sum(len({*r["depyf"].split("/")}) == 1 and r["depyf_equal"] for r in theirs)
            wrong = sum(not r["depyf_equal"] for r in theirs)
            lines.append(f"  depyf: every frame read and equal {full}/{len(theirs)}, wrong {wrong}")
    times = sorted(
        r["ours_s"] / r["alone_s"] for r in records if r.get("alone_s", 0) >= 1 and "ours_s" in r
    )
    if times:
        lines.append(f"time with pellucid over time without: median {times[len(times) // 2]:.2f}")
    for record in records:
        if record["status"] != "ok":
            lines.append(
                f"{record['model']} ({record['mode']}): {record['status']}: {record.get('why', '')}"
            )
    return "\n".join(lines)


def main() -> int:
    """Run the models of a list, or those named; return how many are worse than without us."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="SUITE/NAME; see tools/zoo.py")
    parser.add_argument("--list", choices=["families", "architectures"], help="models of a list")
    parser.add_argument("--file", type=Path, help="a list of lines NAME<tab>SUITE")
    parser.add_argument("--mode", default="inference,training")
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--out", type=Path, default=Path("models.jsonl"))
    parser.add_argument("--timeout", type=int, default=90, help="seconds a model and mode")
    parser.add_argument("--budget", type=int, default=10**6, help="seconds in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="take each Nth model")
    parser.add_argument("--depyf", action="store_true", help="depyf beside, where it is installed")
    parser.add_argument(
        "--report", action="store_true", help="print the table of --out, run nothing"
    )
    arguments = parser.parse_args()
    done: List[Record] = []
    if arguments.out.exists():
        done = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    if not arguments.report:
        _run_all(arguments, done)
    print(table(done))
    return min(100, sum(record["status"] in ("wrong", "short of it", "alone") for record in done))


def _run_all(arguments: argparse.Namespace, done: List[Record]) -> None:
    _quiet()
    known = {(record["model"], record["mode"]) for record in done}
    names = list(arguments.names)
    if arguments.file:
        rows = [row.split("\t") for row in arguments.file.read_text().splitlines()]
        names += [
            f"{row[1].strip()}/{row[0]}" for row in rows if len(row) == 2 and row[0][0] != "#"
        ]
    if arguments.list:
        import zoo

        names += zoo.names(arguments.list, arguments.seed)
    until = time.monotonic() + arguments.budget
    with arguments.out.open("a") as out:
        for name in names[:: arguments.every]:
            for mode in arguments.mode.split(","):
                if (name, mode) in known or time.monotonic() > until:
                    continue
                record = in_process(name, mode, arguments)
                done.append(record)
                out.write(json.dumps(record) + "\n")
                out.flush()
                frames = f"{record.get('proven', '-')}/{record.get('frames', '-')}"
                why = str(record.get("why", ""))[:90]
                print(f"{name:48} {mode:9} {record['status']:12} {frames:7} {why}", flush=True)


def _quiet() -> None:
    """Import once what every fork needs, and keep it from talking."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    import torch
    import torch._dynamo

    torch.set_num_threads(1)
    if torch.version.cuda is None:
        # PyPI's torchvision looks for two operators of its CUDA library, which a CPU build of torch
        # cannot load; nothing here calls them.
        global _operators
        _operators = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            _operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    for module in ("timm", "torchvision", "transformers", "transformers.models.auto.modeling_auto"):
        with contextlib.suppress(ImportError):
            __import__(module)
    sys.path.insert(0, str(Path(__file__).resolve().parent))


_operators: Any = None

if __name__ == "__main__":
    sys.exit(main())
