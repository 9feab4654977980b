# SPDX-License-Identifier: Apache-2.0
"""The kinds of structured trace events: a table of what a capture does with each, and some events.

A row states what is done with a kind, or why it is dropped.  ``taps.trace`` uses it to select
events, ``model.stages`` to name stages, ``capture.records`` to find handlers.  ``make canary``
reports each kind of a new torch that has no row.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Iterator, Mapping, NamedTuple

from .keys import SPARSE, CompileKey, Place


@dataclass(frozen=True)
class Wrappers:
    """The functions that AOTAutograd generates around the graphs of a compile.

    They copy mutated inputs back, rebuild aliases and tensor subclasses, and save for the backward
    pass.
    """

    key: CompileKey
    file: str


@dataclass(frozen=True)
class SideEffect:
    """An object of the program that compiled code changes after its graph has run."""

    key: CompileKey
    type: str
    """The class of the object."""
    source: str = field(default="", metadata=SPARSE)
    """The object, as torch names it: ``G['seen']``; empty if torch does not report it."""
    place: Place | None = field(default=None, metadata=SPARSE)
    """The line that changes it."""


@dataclass(frozen=True)
class AutogradCompile:
    """Why compiled autograd compiled a backward pass instead of reusing one."""

    key: CompileKey
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class MinCut:
    """How a memory budget divides the joint graph: what is saved, and what is recomputed."""

    key: CompileKey
    budget: float
    """``activation_memory_budget``: 1 saves for speed, 0 saves the inputs only."""
    gigabytes: tuple[float, ...]
    """The size of what is saved, then the least and the most that could be saved."""
    saved: tuple[str, ...]
    """The nodes of the joint graph that are saved."""
    recomputed: tuple[str, ...] = field(default=(), metadata=SPARSE)
    """The nodes that the backward pass recomputes because of the budget."""


@dataclass(frozen=True)
class Specialized:
    """A dynamic size that was specialized while the code was traced."""

    key: CompileKey
    sources: tuple[str, ...]
    """What it is the size of, in torch's words."""
    value: str
    place: Place | None
    """The line of the program that specialized it."""
    frames: tuple[Place, ...] = field(default=(), metadata=SPARSE)


@dataclass(frozen=True)
class Unbacked:
    """A number that comes from a tensor's values, and that torch represents by a symbol."""

    key: CompileKey
    symbol: str
    """Its name in sizes and tests: ``u0``."""
    place: Place | None
    """The innermost line that created it."""
    frames: tuple[Place, ...] = field(default=(), metadata=SPARSE)
    """The calls that led there, outermost first."""


GUARDS_OF_VALUES = ("EQUALS_MATCH", "CONSTANT_MATCH", "BOOL_MATCH", "SEQUENCE_LENGTH")
"""torch's names for the guards of numbers, texts and lengths."""


@dataclass(frozen=True)
class FilteredGuards:
    """The guards of a compiled version that a ``guard_filter_fn`` dropped."""

    key: CompileKey
    name: str
    """The name of the filter."""
    dropped: tuple[tuple[str, str], ...]
    """The kind of each guard that was dropped, and the value that it is about."""
    number: int
    """How many guards there were before."""
    place: Place | None
    """The line that caused the first dropped guard on a value."""

    @property
    def values(self) -> tuple[str, ...]:
        """Return the values that the dropped guards checked, or else all their sources."""
        of_values = [name for kind, name in self.dropped if kind in GUARDS_OF_VALUES]
        every = of_values or [name for _, name in self.dropped]
        return tuple(dict.fromkeys(filter(None, every)))


@dataclass(frozen=True)
class Operator:
    """A custom operator in a graph, at the time of the capture."""

    name: str
    """As ``namespace.name``."""
    schemas: tuple[str, ...]
    """The schema of each overload: what it takes, mutates and returns."""


@dataclass(frozen=True)
class RankMismatch:
    """Inductor compared the graphs of all ranks, and they differ."""

    key: CompileKey
    text: str
    """torch's report: the numbers of nodes, and the first nodes that differ."""


@dataclass(frozen=True)
class FailedGuard:
    """A guard that failed in code compiled ahead of time: the call raised an error."""

    key: CompileKey
    text: str
    """The guard in torch's words."""
    place: Place | None = field(default=None, metadata=SPARSE)
    """The line of the call."""


@dataclass(frozen=True)
class BackwardFailure:
    """A backward graph failed to compile early; torch tries again when the backward pass runs."""

    key: CompileKey
    reason: str
    """The exception, in one line."""
    text: str
    """Its traceback."""


# -- the table -------------------------------------------------------------------------------------


class Fate(NamedTuple):
    """What is done with a kind of event."""

    of: str
    """One of the words below."""
    what: str = ""
    """The stage, or the handler in ``capture``; for dropped kinds, the reason."""


STAGE = "stage"
"""A graph, stored in a file named after the stage."""
GRAPH = "graph"
"""A graph if it looks like one, stored in a file named after the event."""
TAKEN = "taken"
"""Handled by the function of that name in ``capture.records``."""
LOG = "log"
"""Read from logs only: a capture queries the process itself."""
DROPPED = "dropped"
"""Not kept."""

_SYMBOLS = "the sizes and guards of the compile show the result"
_TENSORS = "describes the inputs for a replay; graphs show their types"
_SCHEDULE = "how Inductor orders collectives: a log of its passes, for their developers"
_TIMES = "estimates of run time for Inductor's own passes"
_PGO = "the state of profile-guided sizes: sizes that it made dynamic show in graphs and guards"
_FAILS = "the exception that the program sees says the same"
_DEBUG = "written under a debug setting of torch's, for developers of its partitioner"

KINDS: Mapping[str, Fate] = {
    # The compile of a frame.
    "dynamo_start": Fate(TAKEN, "started"),
    "compilation_metrics": Fate(TAKEN, "metrics"),
    "bwd_compilation_metrics": Fate(TAKEN, "metrics"),
    "chromium_event": Fate(TAKEN, "spans"),
    "dynamo_cpp_guards_str": Fate(TAKEN, "ways"),
    "artifact:dynamo_graph_break_reason": Fate(TAKEN, "breaks"),
    "artifact:recompile_reasons": Fate(TAKEN, "recompile"),
    "symbolic_shape_specialization": Fate(TAKEN, "specialized"),
    "artifact:dynamo_side_effects": Fate(TAKEN, "side_effects"),
    "artifact:compiled_autograd_compile_reasons": Fate(TAKEN, "autograd_compile"),
    # Graphs.
    "dynamo_output_graph": Fate(STAGE, "captured"),
    "artifact:before_pre_grad_graph": Fate(STAGE, "before_pre_grad"),
    "artifact:after_pre_grad_graph": Fate(STAGE, "after_pre_grad"),
    "aot_joint_graph": Fate(STAGE, "joint"),
    "aot_forward_graph": Fate(STAGE, "forward"),
    "aot_backward_graph": Fate(STAGE, "backward"),
    "aot_inference_graph": Fate(STAGE, "inference"),
    "artifact:before_joint_graph": Fate(STAGE, "before_joint_passes"),
    "artifact:after_joint_graph": Fate(STAGE, "after_joint_passes"),
    "artifact:before_post_grad_graph": Fate(STAGE, "before_post_grad"),
    "artifact:after_post_grad_graph": Fate(STAGE, "after_post_grad"),
    "artifact:inductor_post_grad_graph": Fate(STAGE, "after_post_grad"),
    "inductor_post_grad_graph": Fate(STAGE, "after_post_grad"),
    "compiled_autograd_graph": Fate(STAGE, "compiled_autograd"),
    "graph_dump": Fate(GRAPH),
    "artifact:aot_inference_graph_after_hop_passes": Fate(GRAPH),
    "artifact:aot_saved_tensors_hooks_graphs": Fate(GRAPH),
    "artifact:*_activation_quantization_fwd_aten_pass": Fate(GRAPH),
    "artifact:*_activation_quantization_bwd_aten_pass": Fate(GRAPH),
    "artifact:compiled_autograd_graph_pre_reordering": Fate(GRAPH),
    "artifact:inductor_fx_passes_overlap_bucketing": Fate(GRAPH),
    "artifact:make_fx_fail_partial": Fate(TAKEN, "untraced"),
    "artifact:min_cut_failed_fx_graph": Fate(GRAPH),
    "artifact:overlap_scheduling_graph_before": Fate(GRAPH),
    "artifact:overlap_scheduling_graph_after": Fate(GRAPH),
    "artifact:pre_decomp_comms": Fate(GRAPH),
    "artifact:post_decomp_comms": Fate(GRAPH),
    "artifact:*_pre_grad": Fate(GRAPH),
    "artifact:*_post_grad": Fate(GRAPH),
    "artifact:optimus_*": Fate(GRAPH),
    "artifact:cff_*": Fate(GRAPH),
    "artifact:flex_gemm_*": Fate(GRAPH),
    "artifact:*_fused": Fate(GRAPH),  # torch's own is not a graph; a backend's may be
    # Programs, and the functions around them.
    "inductor_output_code": Fate(TAKEN, "program"),
    # all of them in one, from 2.14
    "artifact:aot_autograd_runtime_wrappers": Fate(TAKEN, "wrappers"),
    "artifact:backward_epilogue": Fate(TAKEN, "wrappers"),
    "artifact:backward_prologue": Fate(TAKEN, "wrappers"),
    "artifact:backward_subclass_unwrap": Fate(TAKEN, "wrappers"),
    "artifact:backward_subclass_wrapper": Fate(TAKEN, "wrappers"),
    "artifact:compiled_fn_wrapper": Fate(TAKEN, "wrappers"),
    "artifact:compiled_function_backward": Fate(TAKEN, "wrappers"),
    "artifact:compiled_function_forward": Fate(TAKEN, "wrappers"),
    "artifact:debug_assert_wrapper": Fate(TAKEN, "wrappers"),
    "artifact:dedup_wrapper": Fate(TAKEN, "wrappers"),
    "artifact:effect_tokens_wrapper": Fate(TAKEN, "wrappers"),
    "artifact:functionalized_rng_wrapper": Fate(TAKEN, "wrappers"),
    "artifact:mutation_epilogue": Fate(TAKEN, "wrappers"),
    "artifact:output_alias_wrapper": Fate(TAKEN, "wrappers"),
    "artifact:runtime_wrapper_orchestration": Fate(TAKEN, "wrappers"),
    "artifact:subclass_wrapper": Fate(TAKEN, "wrappers"),
    "artifact:synthetic_base_wrapper": Fate(TAKEN, "wrappers"),
    # Caches.
    "artifact:fx_graph_cache_*": Fate(TAKEN, "cache"),
    "artifact:aotautograd_cache_*": Fate(TAKEN, "cache"),
    "artifact:aotautograd_cache_pickle_failure": Fate(TAKEN, "cache_not_saved"),
    "artifact:dynamo_cache_bypass": Fate(TAKEN, "cache_not_saved"),
    "artifact:dynamo_cache_exception": Fate(TAKEN, "cache_not_saved"),
    "artifact:precompile_cache_bypass": Fate(TAKEN, "cache_not_saved"),
    "artifact:fx_graph_bundled_cache_hit": Fate(DROPPED, "aotautograd_cache_hit says the same"),
    "artifact:dynamo_cache_entries": Fate(DROPPED, "a list of what was saved without trouble"),
    # The backward pass, and several ranks.
    "artifact:min_cut_information": Fate(TAKEN, "min_cut"),
    "artifact:eager_compile_backwards_failure": Fate(TAKEN, "backward_failure"),
    "artifact:inductor_spmd_graph_mismatch": Fate(TAKEN, "mismatch"),
    "artifact:inductor_collective_schedule": Fate(TAKEN, "collectives"),
    "artifact:aot_joint_graph_sync_decision_cross_ranks": Fate(
        DROPPED, "the forward graph shows what is saved"
    ),
    "artifact:compiler_collective": Fate(DROPPED, "the sizes that were agreed on show in graphs"),
    "artifact:min_cut_failed_edge_list": Fate(DROPPED, _DEBUG),
    "artifact:min_cut_failed_svg": Fate(DROPPED, _DEBUG),
    # What a capture queries from the process.
    "str": Fate(LOG),
    "artifact:torch_version": Fate(LOG),
    "artifact:dynamo_error": Fate(LOG),
    "artifact:*_ORIGINAL_BYTECODE": Fate(LOG),
    "artifact:*_MODIFIED_BYTECODE": Fate(LOG),
    # Not kept.
    "create_symbol": Fate(DROPPED, _SYMBOLS),
    "create_unbacked_symbol": Fate(TAKEN, "unbacked"),
    "guard_added_fast": Fate(DROPPED, _SYMBOLS),
    "propagate_real_tensors": Fate(DROPPED, "draft export's own report says the same"),
    "describe_source": Fate(DROPPED, _TENSORS),
    "describe_storage": Fate(DROPPED, _TENSORS),
    "describe_tensor": Fate(DROPPED, _TENSORS),
    "dump_file": Fate(DROPPED, "the text of generated files: a capture keeps the user's itself"),
    "dynamo_guards": Fate(DROPPED, "the guards are read from torch's guard manager"),
    "compilation_metrics_runtime": Fate(DROPPED, "of calls, not of a compile"),
    "bwd_compilation_metrics_runtime": Fate(DROPPED, "of calls, not of a compile"),
    "link": Fate(DROPPED, "an address inside Meta"),
    "optimize_ddp_split_graph": Fate(DROPPED, "only names its parts, each of which is a graph"),
    "optimize_ddp_split_child": Fate(DROPPED, "each part is a graph, under its own name"),
    "artifact:*_metadata": Fate(DROPPED, "the runtime wrappers are generated from it"),
    "artifact:fx_graph_runnable": Fate(DROPPED, "graph files run by themselves"),
    "artifact:inductor_provenance_tracking_*": Fate(DROPPED, "kernels say their nodes"),
    "artifact:inductor_runtime_and_tensor_meta": Fate(DROPPED, _TIMES),
    "artifact:torch._functorch.config": Fate(DROPPED, "settings off their defaults are kept"),
    "artifact:compile_worker_sidecar_death": Fate(DROPPED, "torch continues without the worker"),
    "artifact:compile_worker_status": Fate(DROPPED, "the load of torch's compile workers"),
    "artifact:fx_bucketing_passes_*_buckets": Fate(DROPPED, _SCHEDULE),
    "artifact:fx_collectives_analytical_estimation": Fate(DROPPED, _TIMES),
    "artifact:fx_collectives_node_runtime_estimation": Fate(DROPPED, _TIMES),
    "artifact:fx_compute_nodes_runtime_estimation": Fate(DROPPED, _TIMES),
    "artifact:pge_profile_vs_analytical": Fate(DROPPED, _TIMES),
    "artifact:inductor_overlap_cyclic_extra_deps": Fate(DROPPED, _SCHEDULE),
    "artifact:pre_bucketing_collective_sizes": Fate(DROPPED, _SCHEDULE),
    "artifact:pre_bucketing_collective_sizes_after": Fate(DROPPED, _SCHEDULE),
    "artifact:pre_bucketing_fsdp_collectives": Fate(DROPPED, _SCHEDULE),
    "artifact:reorder_communication_preserving_peak_memory": Fate(DROPPED, _SCHEDULE),
    "artifact:scheduler_nodes_before_comm_overlap": Fate(DROPPED, _SCHEDULE),
    "artifact:sink_waits_iterative_info": Fate(DROPPED, _SCHEDULE),
    "artifact:*_ITERATIVE_RECOMPUTE_ERROR": Fate(DROPPED, _SCHEDULE),
    "artifact:fx_interpreter_error": Fate(DROPPED, _FAILS),
    "artifact:fx_net_acc_splitter_finder_events": Fate(DROPPED, "of a splitter outside Inductor"),
    "artifact:get_*_code_state": Fate(DROPPED, _PGO),
    "artifact:put_*_code_state": Fate(DROPPED, _PGO),
    "artifact:graph_execution": Fate(DROPPED, "an event per call, not per compile"),
    "artifact:native_dsl_compile": Fate(DROPPED, "of operators that run eagerly"),
    "artifact:inductor_autotune_at_compile_time_code": Fate(DROPPED, "not the code that runs"),
    "artifact:triton_kernel_info": Fate(DROPPED, "the kernel is a file of the dump"),
    "artifact:invoke_subgraph_backward_duplicate": Fate(DROPPED, "torch warns in the same words"),
}
_PATTERNS = {kind: fate for kind, fate in KINDS.items() if "*" in kind}


@functools.lru_cache(maxsize=1000)
def fate_of(kind: str) -> Fate | None:
    """Return what is done with a kind of event; None if the table does not have it.

    >>> fate_of("aot_joint_graph"), fate_of("artifact:toy_ORIGINAL_BYTECODE"), fate_of("new")
    (Fate(of='stage', what='joint'), Fate(of='log', what=''), None)
    """
    known = KINDS.get(kind)
    if known is None:
        patterns = _PATTERNS.items()
        known = next((fate for pattern, fate in patterns if fnmatchcase(kind, pattern)), None)
    return known


def stages() -> Iterator[tuple[str, str]]:
    """Yield each kind of event that is a graph, with its stage."""
    yield from ((kind, fate.what) for kind, fate in KINDS.items() if fate.of == STAGE)


def is_wanted(kind: str) -> bool:
    """Return true if a capture uses a kind of event.

    Any code can send a graph as an artifact, so artifacts without a row are checked.

    >>> is_wanted("dynamo_start"), is_wanted("describe_tensor"), is_wanted("artifact:vllm_split")
    (True, False, True)
    """
    fate = fate_of(kind)
    return kind.startswith("artifact:") if fate is None else fate.of not in (LOG, DROPPED)
