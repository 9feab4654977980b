"""Captures made from events, without torch, for tests of what is found in them."""

import dataclasses
from pathlib import Path

from pellucid.dump.model.breaks import break_of
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import (
    CacheEntry,
    CompileKey,
    Frame,
    Graph,
    Guard,
    Place,
    Recompile,
    Source,
    Span,
    Times,
    Verdict,
)
from pellucid.dump.model.failures import failures_of
from pellucid.dump.model.nodes import Node
from pellucid.findings import find

FILE = "/home/me/model.py"
PROGRAM = """\
import torch
import functools

def step(x, scale):
    y = x * scale
    if y.sum() > 0:
        y = y + 1
    else:
        y = y - 1
    print("half way")
    return y

@functools.lru_cache
def mask(n):
    return torch.ones(n)

def signs(x):
    if x.sum() > 0:
        return x
    return -x

def search(x):
    for _ in range(9):
        x = x / 2
        if x.max() < 1:
            break
    assert x.min() > 0, "small"
    return x
"""
KEY = CompileKey("0/0")


def capture(*events, caches=None, nodes=None, configuration=None, rank=None):
    """A capture of the program above."""
    return Capture(
        directory=Path("/nowhere"),
        schema=2,
        versions={},
        configuration=configuration or {},
        events=(Source(FILE, PROGRAM, ""), *events),
        caches=caches or {},
        made_nodes=nodes or {},
        rank=rank,
    )


def frame(id="0/0", line=4, name="step", function=0):
    key = CompileKey(id)
    return Frame(key, function, Place(FILE, line, name), "", Verdict("identical"), f"{id}.py", True)


def broken(line, kind, reason="", context="", id="0/0", more=""):
    """A break as torch words it."""
    text = f"Graph break in user code at {FILE}:{line}\nGraph Break Reason: {kind}\n"
    text += f"  Explanation: {reason}\n\n  Developer debug context: {context}\n{more}\n"
    text += f'User code traceback:\n  File "{FILE}", line {line}, in step\n    …\n'
    return break_of(CompileKey(id), text)


def only(events, **more):
    (found,) = find(capture(*events, **more))
    return found


SIZE = "0/0: tensor 'x' size mismatch at index 0. expected 2, actual 5"


def tensor_guard(size):
    text = f"check_tensor(L['x'], Tensor, CPU, torch.float32, size=[{size}, 6], stride=[6, 1])"
    return Guard("TENSOR_MATCH", text, "", None, "L['x']")


def entries(*guards):
    return {0: tuple(CacheEntry(CompileKey(f"0/{n}"), g) for n, g in enumerate(guards))}


def graphs(*targets):
    """Graphs of one operation each, and their nodes."""
    events = [Graph(CompileKey(f"0/{n}"), "captured", f"g{n}", "") for n in range(len(targets))]
    nodes = {f"g{n}": (Node("a", "call_function", t, 1),) for n, t in enumerate(targets)}
    return events, nodes


def recompiled(reason, id="0/1"):
    key = CompileKey(id)
    return Recompile(key, (reason,), failures_of(key, (reason,)))


def timed(events, spans):
    """A capture of one compile of 29 seconds, with these parts."""
    times = (Times(KEY, False, {"entire_frame_compile_time": 29.0}),)
    made = [Span(KEY, name, at, seconds, 0, about) for name, at, seconds, about in spans]
    return dataclasses.replace(capture(frame(), *events), times=times, spans=tuple(made))
