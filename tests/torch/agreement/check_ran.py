"""Check that all compiled code that ran is in the dump: every program once, under a profiler.

`python check_ran.py [--backend NAME] [--cases FILE] [--scripts FOLDER] [--only TEXT]`, in an
environment with torch. The oracle shares nothing with the capture: Python's profiler reports each
code object that starts, and what Dynamo, AOTAutograd or Inductor made is recognised by its look.
Without a backend each program has its own. The exit code is 1 if something that ran is missing.
test_ran.py runs a part of this.
"""

import argparse
import functools
import logging
import random
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Set

from check_observer import in_a_fork
from ran_programs import Program, cases, every_program, scripts

FRAME, GRAPH, PROGRAM = "frame", "graph", "program"


_OF_EXPORTS = ("_PyTreeCodeGen", "_ExportCodeGen", "_DynamoBytecodeCodeGen")


class Started(NamedTuple):
    """A code object that started while a program ran."""

    kind: str
    code: CodeType
    caller: Optional[CodeType]
    """The frame of Dynamo's inside of which it started."""


class Oracle:
    """The compiled code that starts, as Python's profiler tells of it."""

    def __init__(self) -> None:
        import torch._dynamo

        self.ran: Dict[CodeType, Started] = {}
        self._others: Set[CodeType] = set()
        self._dynamo = vars(torch._dynamo.convert_frame)
        # Dynamo would compile the profiler with the program's frames.
        for part in (Oracle._called, _kind, _compiled):
            torch._dynamo.eval_frame.skip_code(part.__code__)

    def __enter__(self) -> "Oracle":
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in self._others or code in self.ran:
            return
        kind = _kind(frame)
        if not kind:
            self._others.add(code)
            return
        caller = frame.f_back
        while caller is not None and not _compiled(caller.f_code):
            if caller.f_code.co_name == "_compile" and caller.f_globals is self._dynamo:
                return  # torch calls it to trace it
            caller = caller.f_back
        self.ran[code] = Started(kind, code, None if caller is None else caller.f_code)


def _compiled(code: CodeType) -> bool:
    return "\0__compiled_fn_" in "\0".join(("", *code.co_names))


def _kind(frame: FrameType) -> str:
    code = frame.f_code
    if _compiled(code):
        return FRAME
    if code.co_name == "forward" and code.co_varnames[:1] == ("self",):
        module = frame.f_locals["self"]
        owner = type(module)
        if "GraphModule" not in [base.__name__ for base in owner.__mro__]:
            return ""
        # What an export returns is a module to be called, and not compiled code.
        maker = type(getattr(module.graph, "_codegen", None)).__name__
        return "" if maker in _OF_EXPORTS or not owner.__module__.startswith("torch.fx") else GRAPH
    return PROGRAM if code.co_name == "call" and "extern_kernels" in frame.f_globals else ""


class Outcome(NamedTuple):
    """What ran of one program, and what the dump has of it."""

    frames: int
    graphs: int
    shown: int
    """The graphs and programs that ran whose frame is in the dump."""
    missing: List[str]


def observe(run: Callable[[], object]) -> Outcome:
    """Run a program in a capture, and compare what ran with the dump."""
    import pellucid

    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Oracle() as oracle, pellucid.prepare_debug(directory):
            try:
                kept = run()
            except Exception as error:  # many are of programs that fail
                kept = error
        del kept
        return compare(list(oracle.ran.values()), pellucid.load(directory))


def compare(ran: List[Started], capture: Any) -> Outcome:
    """Look for everything that ran in a dump."""
    from pellucid.dump.model.events import Frame, Graph

    missing = []
    frames = {frame.key: frame for frame in capture.of(Frame)}
    graphs = {graph.file: graph for graph in capture.of(Graph)}
    guarded = {entry.key for entries in capture.caches.values() for entry in entries}
    found: Dict[CodeType, Any] = {}
    again: Set[CodeType] = set()
    for code in (started.code for started in ran if started.kind == FRAME):
        frame = found[code] = _frame_of(code, capture.directory, frames.values())
        if frame is None:
            missing.append(f"frame {code.co_name} ({Path(code.co_filename).name})")
            continue
        if frame.key not in guarded and frame.way != "export":  # which checks none
            missing.append(f"guards of {frame.file}")
        if Path(frame.place.file).parent == capture.directory:
            again.add(code)  # Dynamo compiled Dynamo's own code, which calls a graph of that
        elif not any(graph.key == frame.key for graph in graphs.values()):
            missing.append(f"graph of {frame.file}")
    parts = [started for started in ran if started.kind != FRAME]
    shown = 0
    for started in parts:
        graph = graphs.get(Path(started.code.co_filename).name)
        caller = found.get(started.caller) if started.caller is not None else None
        key = graph.key if graph is not None else None if caller is None else caller.key
        shown += key in frames
        if graph is None and key not in frames:  # AOTAutograd called by itself has no frame
            missing.append(f"{started.kind} {started.code.co_filename} in {started.caller}")
        other = caller is not None and graph is not None and graph.key != caller.key
        if other and started.caller not in again:
            missing.append(f"{graph.file} ran in {caller.file}")
    said = (capture.directory / "index.md").read_text(encoding="utf-8")
    if "othing was compiled" in said and (ran or frames or graphs):
        missing.append("'nothing was compiled' beside what was")
    return Outcome(len(found), len(parts), shown, missing)


def _frame_of(code: CodeType, directory: Path, frames: Any) -> Any:
    """The frame of a dump for code that ran: by its file, or else by its text."""
    import pellucid

    file = Path(code.co_filename)
    if file.parent == directory:
        return next((f for f in frames if f.swapped and f.file == file.name), None)
    text = _unnamed(pellucid.decompile(code))
    others = [f for f in frames if not f.swapped]
    return next((f for f in others if _unnamed(f.source or "") == text), None)


def _unnamed(text: str) -> str:
    """A text whose graphs have no numbers."""
    import re

    return re.sub(r"__compiled_fn_\w+", "__compiled_fn", text)


def check(programs: Iterable[Program], backend: str, limit: int = 120) -> List[Outcome]:
    """Run each program in a fork of its own; a program that ends oddly has that as its outcome.

    Without a limit they run in this process.
    """
    outcomes = []
    for name, run in programs:
        begun = time.time()
        one = functools.partial(observe, functools.partial(run, backend))
        found = in_a_fork(one, limit) if limit else one()
        sys.modules["torch._dynamo"].reset()
        if isinstance(found, str):
            found = Outcome(0, 0, 0, [found])
        outcomes.append(found._replace(missing=[f"{name}: {what}" for what in found.missing]))
        if time.time() - begun > 5 or found.missing:
            print(f"{name}: {time.time() - begun:.1f} s {found.missing}", flush=True)
    return outcomes


def warm() -> None:
    """Import once what each fork needs."""
    import torch
    import torch._dynamo

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    torch.compile(torch.sin, backend="aot_eager")(torch.ones(2))
    torch._dynamo.reset()


def main() -> int:
    """Check all programs; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--backend", default="", help="for programs that do not insist on theirs")
    parser.add_argument("--cases", type=Path, help="a file of more programs, in a table CASES")
    parser.add_argument("--scripts", type=Path, help="a folder of more programs, aot*.py")
    parser.add_argument("--only", default="", help="programs whose names contain this")
    parser.add_argument("--sample", type=int, default=0, help="how many of them; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="which of them")
    parser.add_argument("--limit", type=int, default=120, help="seconds for each run")
    options = parser.parse_args()
    warm()
    programs = [] if options.cases or options.scripts else list(every_program())
    programs += cases(options.cases) if options.cases else []
    programs += scripts(options.scripts) if options.scripts else []
    chosen = [program for program in programs if options.only in program[0]]
    if 0 < options.sample < len(chosen):
        chosen = random.Random(options.seed).sample(chosen, options.sample)
    begun = time.time()
    found = check(chosen, options.backend, options.limit)
    frames, graphs, shown = (sum(o[k] for o in found) for k in range(3))
    missing = sum(bool(o.missing) for o in found)
    print(
        f"{len(chosen)} programs: {frames} frames ran; {graphs} graphs ran, of {shown} the frame "
        f"is in the dump; {missing} programs with something missing; {time.time() - begun:.0f} s"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
