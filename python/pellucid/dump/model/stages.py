# SPDX-License-Identifier: Apache-2.0
"""The stage of a compile that a structured trace event shows: a graph, or a program's kernels.

Pure text.  Stages that torch sends get names defined here; graphs that others send through the same
channels keep their names.
"""

from __future__ import annotations

import ast
import re
from typing import Mapping, NamedTuple

from .names import identifier, scrub
from .traced import GRAPH, fate_of, stages

STAGE_OF_EVENT: Mapping[str, str] = dict(stages())
_MADE_FOR_ONE_DIRECTION = ("before_post_grad", "after_post_grad")
_IS_GRAPH = re.compile(r"^\s*def forward\(", re.MULTILINE)
# Graphs that torch formats for its log and also sends to the structured trace.
_SENT_TWICE = re.compile(
    r"__compiled_fn|TRACED GRAPH|AFTER POST GRAD|BEFORE PRE GRAD|aot_\w+graph"
    r"|(?:Forward|Backward|Joint|Compiled autograd) graph(?! before)"
)
# Dynamo's name of the compiled function; files are named after the compile anyway.
_COMPILED_FUNCTION = re.compile(r"\s+__compiled_fn_\w+\Z")
_KERNEL = re.compile(r"^(\w+) = async_compile\.(\w+)\(", re.MULTILINE)
# What each method of Inductor's `async_compile` takes: C++, Python, or text that is neither.
SUFFIX_OF_KERNEL: Mapping[str, str] = {
    "cpp": "cpp",
    "cpp_pybinding": "cpp",
    "halide": "cpp",
    "triton": "py",
    "cutedsl": "py",
    "flydsl": "py",
    "pallas": "py",
    "nv_universal_gemm": "py",
    "cuda": "txt",
    "cutlass": "txt",
    "rocm": "txt",
    "xpu": "txt",
    "metal": "txt",
    "mps": "txt",
}
NO_KERNELS = frozenset(["multi_kernel", "nvgemm_precompile", "size_hint_multi_kernel", "wait"])
"""The methods that take other kernels instead of a kernel's text."""
_STRING = re.compile(r"r?('''|\"\"\")(.*?)(?<!\\)\1", re.DOTALL)
_AOT_ID = re.compile(r"AOT ID: \['\d+_(forward|backward|inference)'\]")


class Kernel(NamedTuple):
    """One kernel inside an Inductor program."""

    name: str
    suffix: str
    text: str


def stage_of(kind: str, payload: str | None, direction: str = "") -> str | None:
    """Return the stage of an event; None if it is not a graph.

    ``direction`` is the pass of the graph, for stages that both passes have.

    >>> stage_of("aot_joint_graph", "class G: ..."), stage_of("dynamo_start", None)
    ('joint', None)
    >>> stage_of("artifact:before_post_grad_graph", "class G: ...", "backward")
    'before_post_grad_backward'
    >>> stage_of("artifact:vllm split-graph", "class G:\\n    def forward(self): pass")
    'vllm_split'
    """
    if payload is None:
        return None
    stage = STAGE_OF_EVENT.get(kind)
    if stage is not None:
        directed = direction and stage in _MADE_FOR_ONE_DIRECTION
        return f"{stage}_{direction}" if directed else stage
    fate, name = fate_of(kind), kind.partition(":")[2]
    is_kept = kind.startswith("artifact:") if fate is None else fate.of == GRAPH
    if is_kept and _IS_GRAPH.search(payload):
        return stage_named(re.sub(r"[_\W]graph\Z", "", name)) or "graph"
    return None


def stage_named(name: str) -> str:
    """Derive a stage name from the name that a sender gave a graph.

    >>> stage_named("after ReshapePass"), stage_named("tensorify_python_scalars")
    ('after_ReshapePass', 'tensorify_python_scalars')
    >>> stage_named("pre insert_deferred_runtime_asserts __compiled_fn_1_ab1a8abf")
    'pre_insert_deferred_runtime_asserts'
    """
    return identifier(scrub(_COMPILED_FUNCTION.sub("", name)))[:80]


def sent_twice(name: str) -> bool:
    """Return true if the structured trace also has the graph of that name.

    >>> sent_twice("Forward graph"), sent_twice("tensorify_python_scalars")
    (True, False)
    >>> sent_twice("__compiled_fn_1"), sent_twice("pre insert_asserts __compiled_fn_1")
    (True, False)
    """
    return _SENT_TWICE.match(name) is not None


def program_stage(text: str) -> str:
    """Return the stage of an Inductor program, from a line in it.

    >>> program_stage("# AOT ID: ['3_backward']"), program_stage("x = 1")
    ('inductor_backward', 'inductor')
    """
    direction = program_direction(text)
    return f"inductor_{direction}" if direction else "inductor"


def program_direction(text: str) -> str:
    """Return the pass of an Inductor program; empty if it does not say.

    >>> program_direction("# AOT ID: ['3_backward']"), program_direction("x = 1")
    ('backward', '')
    """
    found = _AOT_ID.search(text)
    return found[1] if found else ""


def kernels(program: str) -> list[Kernel]:
    """Return the kernels that an Inductor program compiles, in order.

    >>> kernels("k_0 = async_compile.cpp('''\\nint x;\\n''')\\n")
    [Kernel(name='k_0', suffix='cpp', text='\\nint x;\\n')]
    """
    found = []
    starts = list(_KERNEL.finditer(program))
    ends = [start.start() for start in starts[1:]] + [len(program)]
    for start, end in zip(starts, ends):
        text = _STRING.search(program, start.end(), end)
        if text is None:
            continue
        suffix = SUFFIX_OF_KERNEL.get(start[2]) or _suffix_of(text[2])
        found.append(Kernel(start[1], suffix, text[2]))
    return found


def _suffix_of(text: str) -> str:
    """Return the suffix for a kernel of an unknown kind: Python's, if it parses as Python."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return "txt"
    return "py"
