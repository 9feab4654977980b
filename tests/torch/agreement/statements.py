"""Count the statements of transformed frames as pellucid writes them, and as depyf does.

    python statements.py [--cases ../shared/torch/cases.py] [--only WORD] [--list]

Run it with a Python that has torch; depyf's column is empty where it is not installed. `--cases`
names a module whose CASES maps a name to (style, function that returns a function and its calls'
arguments). Each case runs in a process of its own, with the eager backend. A statement is one of
Python's grammar, nested ones counted, the `def` around them not. Below the table stand pellucid's
frames that have a statement without effect, or a name with a number that says nothing. `--list`
prints every frame, the longest last.
"""

import argparse
import ast
import contextlib
import importlib.util
import json
import logging
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "gallery"))

from zoo.model_run import idle_lines

ROOT = str(Path(__file__).resolve().parents[3])
SHARED = os.environ.get("PELLUCID_SHARED", os.path.join(os.path.dirname(ROOT), "shared"))


def statements(source):
    """How many statements the body of the one function of a source has; None if it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    defs = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if not defs:
        return None
    return sum(isinstance(node, ast.stmt) for node in ast.walk(defs[-1])) - 1


def reads_badly(source):
    """What nobody would have written so: lines without effect, names that say nothing."""
    return [f"line {line}" for line in idle_lines(source)] + _SAYS_NOTHING.findall(source)


_SAYS_NOTHING = re.compile(r"\b(?:tmp|temp|test|value|result|graph_out)_\d+\b")


def by_pellucid(original, code):
    """Source of a frame, if it is proven to mean the same."""
    from pellucid import decompile_ex

    made = decompile_ex(code)
    return made.source if made.verdict.at_least("equivalent") else None


def by_depyf(original, code):
    """Source of a frame, if depyf makes code of it that Dynamo would take."""
    from depyf.decompiler import Decompiler

    with tempfile.TemporaryDirectory() as folder:
        template = os.path.join(folder, "__transformed_code_%s_for_frame.py")
        Decompiler.decompile_and_compile_like(
            code_to_decompile=code, reference_code=original, filepath_template=template
        )
        files = [os.path.join(folder, name) for name in os.listdir(folder)]
        with open(files[0]) as file:
            return file.read()


def measure(make):
    """(name, pellucid's statements, depyf's, what reads badly) of each frame of one case."""
    import torch
    import torch._dynamo
    from torch._dynamo.convert_frame import register_bytecode_hook

    torch.set_num_threads(1)
    frames = []
    handle = register_bytecode_hook(lambda original, code: frames.append(measured(original, code)))
    function, calls = make()
    compiled = torch.compile(function, backend="eager")
    for arguments in calls:
        with contextlib.suppress(Exception):  # some cases are about exceptions
            compiled(*arguments)
    handle.remove()
    return frames


def measured(original, code):
    counts, bad = [], []
    for decompile in (by_pellucid, by_depyf):
        try:
            source = decompile(original, code)
        except Exception:  # what a decompiler cannot do has no length
            source = None
        counts.append(None if source is None else statements(source))
        if decompile is by_pellucid and source is not None:
            bad = reads_badly(source)
    return (original.co_name, *counts, bad)


def in_child(make):
    """Run `measure` in a process of its own: a case may change or end it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        found = []
        with contextlib.suppress(BaseException):
            found = measure(make)
        with os.fdopen(writer, "w") as out:
            json.dump(found, out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text or "[]")


def summary(name, counts, total):
    counts = sorted(counts)
    if not counts:
        return f"| {name} | 0 of {total} | | | |"

    def at(share):
        return counts[min(len(counts) - 1, int(len(counts) * share))]

    return f"| {name} | {len(counts)} of {total} | {at(0.5)} | {at(0.9)} | {counts[-1]} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default=os.path.join(SHARED, "torch", "cases.py"))
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    import torch._dynamo  # noqa: F401  # once, for all the children

    spec = importlib.util.spec_from_file_location("cases", args.cases)
    cases = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = cases
    spec.loader.exec_module(cases)

    frames = []
    for name, (_, make) in cases.CASES.items():
        if args.only in name:
            frames += [(name, *frame) for frame in in_child(make)]
    if args.list:
        for case, function, ours, theirs, _ in sorted(frames, key=lambda frame: frame[2] or 0):
            print(f"{ours or '-':>4} {theirs or '-':>4}  {case}: {function}")
    print("| decompiler | frames | median | 90th percentile | worst |")
    print("| --- | --- | --- | --- | --- |")
    print(summary("pellucid", [f[2] for f in frames if f[2] is not None], len(frames)))
    print(summary("depyf", [f[3] for f in frames if f[3] is not None], len(frames)))
    both = [f for f in frames if f[2] is not None and f[3] is not None]
    print(summary("pellucid, where depyf has any", [f[2] for f in both], len(both)))
    print(summary("depyf, there", [f[3] for f in both], len(both)))
    for case, function, _, _, bad in frames:
        if bad:
            print(f"reads badly: {case}: {function}: {', '.join(dict.fromkeys(bad))}")


if __name__ == "__main__":
    main()
