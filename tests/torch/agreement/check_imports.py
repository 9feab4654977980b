"""Compare captures with what `pellucid import` makes of the log that torch wrote beside them.

`python tests/torch/agreement/check_imports.py [PROGRAM…]` runs each program in a process of its own
with TORCH_TRACE set, once inside a capture and, with --plain, once without pellucid; imports the
logs; and compares findings, frames, breaks, recompiles, frames left alone, guards and graphs by
stage. What no log has is taken out of the capture first (NOT_IN_A_LOG): all else has to be equal.
Prints a line a program; the exit code is how many differ, at most 100.

A PROGRAM is SUITE/NAME: case (of $PELLUCID_SHARED/torch/cases.py), report (a script there), asked
and small (of tests/torch/programs); without one, a selection of all.
"""

import argparse
import contextlib
import importlib
import io
import os
import runpy
import shutil
import sys
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Iterator, List, Tuple

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "gallery"))

from zoo.forked import in_process  # noqa: E402

PROGRAMS = ROOT / "tests/torch/programs"
SHARED = Path(os.environ.get("PELLUCID_SHARED", "/nonexistent")) / "torch"

SELECTION = {
    "case": "b_toy b_many b_item t_break w_suppress_break c_nonlocal_break d_break d_int d_branch "
    "k_nested_break m_mlp_break m_training_step g_inner_break a_func_break",
    "report": "t01_chatty_forward t03_loop_break_skipped t04_counter_on_module "
    "t05_python_arguments t06_lr_schedule t14_try_around_graph t21_growing_cache "
    "t27_bfloat16_differs t30_fullgraph_regions t43_backend_that_fails "
    "t12_stances t10_hooks_after_compile",
    "asked": "a_limit_where_one_graph_is_asked_for parameters_of_many_sizes",
    "small": "Perceptron Convolutions Attention Words",
}


def main() -> int:
    """Run the programs that were named, or the selection."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    parser.add_argument("--plain", action="store_true", help="also import logs without a capture")
    parser.add_argument("--timeout", type=int, default=300, help="seconds a program")
    parser.add_argument("--keep", type=Path, help="leave captures and logs here")
    arguments = parser.parse_args()
    wrong = 0
    print(
        f"{'program':44} {'findings':>8} {'only live':>9} {'frames':>6} {'graphs':>6} {'guards':>6}"
    )
    with TemporaryDirectory() as folder:
        base = arguments.keep or Path(folder)
        for name in arguments.names or selected():
            for plain in (False, True)[: 1 + arguments.plain]:
                found = examine(name, base / name.replace("/", "_"), plain, arguments.timeout)
                wrong += bool(found)
                for line in found:
                    print(f"    {line}")
                sys.stdout.flush()
    return min(100, wrong)


def selected() -> List[str]:
    """Return the names of the selection, of those programs that are there."""
    suites = [suite for suite in SELECTION if SHARED.is_dir() or suite not in ("case", "report")]
    return [f"{suite}/{name}" for suite in suites for name in SELECTION[suite].split()]


def examine(name: str, folder: Path, plain: bool, timeout: int) -> List[str]:
    """Run a program, import its log, print a line of figures, and return what differs."""
    capture, log = folder / "capture", folder / ("plain" if plain else "log")
    made = folder / ("of_plain" if plain else "made")
    for path in (log, made, folder / f"cache_{log.name}", *(() if plain else (capture,))):
        shutil.rmtree(path, ignore_errors=True)
    log.mkdir(parents=True)
    problem = in_a_fork(name, None if plain else capture, log, timeout)
    if problem:
        return [problem]
    if not any(log.iterdir()):
        print(f"{name:44} no log: nothing was compiled")
        return []
    import pellucid

    roots = [str(SHARED), str(PROGRAMS)]
    pellucid.import_log(log, made, sources=roots)
    live, read = pellucid.load(capture), pellucid.load(made)
    figures = [len(found_in(live)), len(found_in(live)) - len(found_in(without_live(live)))]
    figures += [len(live.of(events().Frame)), len(graphs_of(live)), len(guards_of(live))]
    widths = (8, 9, 6, 6, 6)
    told = " ".join(f"{figure:{width}}" for figure, width in zip(figures, widths))
    different = list(differences(live, read))
    print(f"{name + (' (plain)' if plain else ''):44} {told} {'DIFFERS' if different else ''}")
    return different


def events() -> Any:
    """The classes of events; imported late, for a fork must not inherit an open capture."""
    return importlib.import_module("pellucid.dump.model.events")


# -- what is compared ------------------------------------------------------------------------------

NOT_IN_A_LOG = ("Passed", "Stance", "LateHook", "Uncalled", "Calls", "NonFinite")
"""Events that only the process itself can tell; docs/torch.md says so."""
NOT_TRACED = ("pre_insert_deferred_runtime_asserts", "tensorify_python_scalars")
"""Stages that torch formats for its log, and does not send to its trace."""


def without_live(capture: Any) -> Any:
    """Return a capture without what no log has."""
    kept = (e for e in capture.events if type(e).__name__ not in NOT_IN_A_LOG)
    return replace(capture, events=tuple(kept))


def found_in(capture: Any) -> Counter:
    """Return the findings of a capture: kind, line, function and count, and what they say."""
    from pellucid.findings import find

    return Counter(
        (f.kind, _short(f.place), f.count, f.cause, f.remedy, f.sure, f.keys)
        for f in find(capture)
        if f.kind != "slow"
    )


def frames_of(capture: Any) -> Counter:
    """Return the frames: compile, function and line.

    What torch wraps in a function called `inner` has no name in a log.
    """
    frames = [f for f in capture.of(events().Frame) if not f.before]
    wrapped = os.path.join("_dynamo", "external_utils.py")
    return Counter(
        (str(f.key), _short(f.place)[: 2 if f.place.file.endswith(wrapped) else 3]) for f in frames
    )


def breaks_of(capture: Any) -> Counter:
    """Return the graph breaks: compile, kind, line, calls, reason and hints."""
    return Counter(
        (str(e.key), e.kind, _short(e.place), len(e.frames), e.reason, e.hints)
        for e in capture.of(events().Break)
    )


def recompiles_of(capture: Any) -> Counter:
    """Return the recompiles with their reasons."""
    return Counter((str(e.key), e.reasons) for e in capture.of(events().Recompile))


def left_of(capture: Any) -> Counter:
    """Return what was not compiled: compile, line, kind, limit, and whether the program saw it."""
    return Counter(
        (str(e.key), _short(e.place), e.kind, e.limit, e.raised, e.reason)
        for e in capture.of(events().Skipped)
    )


def graphs_of(capture: Any) -> Counter:
    """Return the graphs by compile and stage; equal hashes have equal operations and edges."""
    kept = {g.file: g for g in capture.of(events().Graph) if g.stage not in NOT_TRACED}
    return Counter((str(g.key), g.stage, g.hash) for g in kept.values())


def guards_of(capture: Any) -> Counter:
    """Return the guards of all versions that torch held at the end of the capture.

    Which of several tensors a guard on all of them is worded at depends on torch's order of now.
    """
    return Counter(
        (str(entry.key), guard.kind, "" if "ALIASING" in guard.kind else guard.text, guard.source)
        for entries in capture.caches.values()
        for entry in entries
        for guard in entry.guards
    )


def caches_of(capture: Any) -> Counter:
    """Return what the compile caches had."""
    return Counter((str(e.key), e.cache, e.result) for e in capture.of(events().CacheUse))


COMPARED = (found_in, frames_of, breaks_of, recompiles_of, left_of, graphs_of, guards_of, caches_of)


def differences(live: Any, read: Any) -> Iterator[str]:
    """Yield what one of a capture and an import has and the other has not."""
    live = without_live(live)
    held = {str(entry.key) for entries in live.caches.values() for entry in entries}
    for compared in COMPARED:
        one, two = compared(live), compared(read)
        if compared is guards_of:  # what torch has dropped meanwhile has no guards any more
            two = Counter({row: number for row, number in two.items() if row[0] in held})
        for row in one - two:
            yield f"{compared.__name__}: only in the capture: {row}"[:600]
        for row in two - one:
            yield f"{compared.__name__}: only in the import:  {row}"[:600]
    for problem in read.of(events().Problem):
        yield f"problem: {problem.where}: {problem.what}"


def _short(place: Any) -> Tuple[str, int, str]:
    if place is None:
        return ("", 0, "")
    return (os.path.basename(place.file), place.line, place.function)


# -- running ---------------------------------------------------------------------------------------


def in_a_fork(name: str, capture: Any, log: Path, timeout: int) -> str:
    """Run a program in a process of its own; return what went wrong with the running itself."""
    import torch  # noqa: F401  every fork has it

    def work() -> List[Any]:
        run(name, capture, log)
        return []

    _, error, killed = in_process(work, timeout, keep=True)
    return f"{name}: {error or killed}" if error or killed else ""


def run(name: str, capture: Any, log: Path) -> None:
    """Run a program with torch's trace on, inside a capture where there is to be one."""
    import pellucid
    import torch
    import torch._logging._internal as logging_of_torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(log.parent / f"cache_{log.name}")
    logging_of_torch.LOG_TRACE_HANDLER.root_dir = str(log)
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        program = prepared(name)
        if capture is not None:
            stack.enter_context(pellucid.prepare_debug(capture))
        stack.enter_context(contextlib.suppress(Exception, SystemExit))
        program()
    for handler in logging_of_torch.trace_log.handlers:
        handler.flush()


def prepared(name: str) -> Any:
    """Return what runs a program."""
    import torch

    suite, _, which = name.partition("/")
    if suite == "report":
        return lambda: runpy.run_path(str(SHARED / f"reports/{which}.py"), run_name="__main__")
    if suite == "file":
        return lambda: runpy.run_path(str(PROGRAMS / f"{which}.py"), run_name="__main__")
    sys.path[:0] = [str(SHARED), str(PROGRAMS)]
    if suite == "case":
        function, calls = importlib.import_module("cases").CASES[which][1]()

        def call() -> None:
            compiled = torch.compile(function, backend="aot_eager")
            for arguments in calls:
                with contextlib.suppress(Exception):
                    compiled(*arguments)

        return call
    if suite == "asked":
        return importlib.import_module("asked").ASKED[which][0]
    if suite == "small":
        model, arguments = importlib.import_module("small_models").MODELS[which]()

        def train() -> None:
            result = torch.compile(model)(*arguments)
            result = result[0] if isinstance(result, tuple) else result
            result.float().sum().backward()

        return train
    raise SystemExit(f"{name}: no such suite")


if __name__ == "__main__":
    sys.exit(main())
