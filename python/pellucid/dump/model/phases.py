# SPDX-License-Identifier: Apache-2.0
"""The phases of a compile, in words; torch names them after its own functions."""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple


class Phase(NamedTuple):
    """One phase of a compile."""

    owner: str
    """The component: ``Dynamo``, ``AOTAutograd``, ``Inductor``, ``the backend``, ``Python``."""
    does: str
    """The verb phrase that follows the owner."""


_PHASES: Mapping[str, Phase] = {
    "dynamo": Phase("Dynamo", "begins"),
    "entire_frame_compile": Phase("Dynamo", "compiles the frame"),
    "compile_attempt_0": Phase("Dynamo", "traces the frame"),
    "bytecode_tracing": Phase("Dynamo", "traces the Python code"),
    "insert_deferred_runtime_asserts": Phase("Dynamo", "adds checks of sizes to the graph"),
    "build_guards": Phase("Dynamo", "builds the guards"),
    "gc": Phase("Python", "collects garbage"),
    "backend_compile": Phase("the backend", "compiles the graph"),
    "OutputGraph.call_user_compiler": Phase("the backend", "compiles the graph"),
    "entire_backward_compile": Phase("the backend", "compiles the backward graph"),
    "create_aot_dispatcher_function": Phase("AOTAutograd", "builds the graphs"),
    "aot_collect_metadata": Phase("AOTAutograd", "looks for aliases and mutations"),
    "aot_trace_joint_graph": Phase("AOTAutograd", "traces both passes into one graph"),
    "min_cut_rematerialization_partition": Phase("AOTAutograd", "decides what is saved"),
    "inductor_compile": Phase("Inductor", "compiles a graph"),
    "compile_fx_inner": Phase("Inductor", "compiles a graph"),
    "fx_codegen_and_compile": Phase("Inductor", "compiles a graph"),
    "_recursive_pre_grad_passes": Phase("Inductor", "rewrites the captured graph"),
    "_recursive_joint_graph_passes": Phase("Inductor", "runs its joint-graph passes"),
    "_recursive_post_grad_passes": Phase("Inductor", "rewrites the graph"),
    "additional_fake_tensor_prop": Phase("Inductor", "computes the shapes"),
    "GraphLowering.run": Phase("Inductor", "lowers the operations"),
    "GraphLowering.compile_to_fn": Phase("Inductor", "generates the program"),
    "GraphLowering.compile_to_module": Phase("Inductor", "generates the program"),
    "GraphLowering.codegen": Phase("Inductor", "generates code"),
    "code_gen": Phase("Inductor", "generates code"),
    "Scheduler.__init__": Phase("Inductor", "plans the kernels"),
    "Scheduler.fused_nodes": Phase("Inductor", "fuses operations into kernels"),
    "Scheduler.codegen": Phase("Inductor", "generates kernels"),
    "PythonWrapperCodegen.generate": Phase("Inductor", "writes the program"),
    "PyCodeCache.load_by_key_path": Phase("Inductor", "loads the program"),
    "async_compile.wait": Phase("Inductor", "waits for kernels to be compiled"),
    "compile_file": Phase("Inductor", "runs the C++ compiler"),
    "triton_codecache": Phase("Inductor", "compiles Triton kernels"),
    "async_compile.precompile": Phase("Inductor", "compiles Triton kernels"),
    "TritonBundler.collect": Phase("Inductor", "collects compiled kernels"),
    "inductor_codecache_torch_key": Phase("Inductor", "reads torch's own files for cache keys"),
}
_FAMILIES = (
    (re.compile(r"autotun|benchmark", re.IGNORECASE), Phase("Inductor", "measures candidates")),
    (re.compile(r"^compile_attempt_"), Phase("Dynamo", "traces the frame again")),
    (re.compile(r"^pass\."), Phase("Inductor", "runs a pass over the graph")),
    (re.compile(r"triton.*compile|^triton_"), Phase("Inductor", "compiles Triton kernels")),
    (re.compile(r"cudagraph", re.IGNORECASE), Phase("Inductor", "records CUDA graphs")),
    (re.compile(r"cache", re.IGNORECASE), Phase("Inductor", "checks its caches")),
    (re.compile(r"\bfw_compiler"), Phase("Inductor", "compiles the forward pass")),
    (re.compile(r"\bbw_compiler"), Phase("Inductor", "compiles the backward pass")),
)
RESTART = re.compile(r"^compile_attempt_[1-9]\d*$")
"""The name of a repeated tracing attempt."""
AUTOTUNING = _FAMILIES[0][0]
"""Matches the names of phases that measure candidates."""


def phase_of(name: str) -> Phase | None:
    """Return the phase of a name; None if it is unknown.

    >>> phase_of("build_guards"), phase_of("pass.post_grad_passes.stable_sort").does
    (Phase(owner='Dynamo', does='builds the guards'), 'runs a pass over the graph')
    >>> phase_of("f") is None
    True
    """
    found = _PHASES.get(name)
    if found is not None:
        return found
    return next((phase for pattern, phase in _FAMILIES if pattern.search(name)), None)


OWNERS = ("Dynamo", "AOTAutograd", "Inductor", "the backend", "Python")
"""The components that run phases."""


def cause_of(name: str) -> tuple[str, str]:
    """Return the component and action of a phase; phases with the same pair are reported as one.

    >>> cause_of("pass.post_grad_passes.stable_sort"), cause_of("mm_template_autotuning")
    (('Inductor', 'runs a pass over the graph'), ('Inductor', 'measures candidates'))
    >>> cause_of("f")
    ('', 'f')
    """
    phase = phase_of(name)
    return ("", name) if phase is None else (phase.owner, phase.does)


def describe(names: tuple[str, ...]) -> str:
    """Return the current activity in words, from the open phases, the innermost last.

    torch's name of the innermost phase is appended if the words do not identify it.

    >>> describe(("dynamo", "entire_frame_compile", "build_guards"))
    'Dynamo builds the guards'
    >>> describe(("inductor_compile", "_recursive_post_grad_passes", "my_pass"))
    'Inductor rewrites the graph (my_pass)'
    """
    for name in reversed(names):
        phase = phase_of(name)
        if phase is not None:
            exact = name == names[-1] and name in _PHASES
            return f"{phase.owner} {phase.does}" + ("" if exact else f" ({names[-1]})")
    return names[-1] if names else "torch"
