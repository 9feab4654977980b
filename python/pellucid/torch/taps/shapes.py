# SPDX-License-Identifier: Apache-2.0
"""The insides of torch's objects: the table of every local, attribute and key relied on.

The second half of :mod:`compat`, which has the locations.  Each row has a name, a check that needs
no compile, and what is lost without it.  A capture reports a row once, as a problem, when it
notices that it is missing (:meth:`Shapes.missed`), or when it queries it and the check fails
(:meth:`Shapes.has`); ``make canary`` runs every check.

A check returns None if the code has moved: then only a compile can tell.
"""

from __future__ import annotations

import inspect
import threading
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Tuple

from .code_words import (
    both,
    code_objects,
    has,
    has_local_where_named,
    locals_of,
    mentions,
    says,
    tells_default,
)
from .compat import resolve

# The local with the graph in the function that emits an event of a graph's text.
EMITTER_LOCAL: Mapping[str, str] = {
    "dynamo_output_graph": "gm",
    "aot_joint_graph": "fx_g",
    "aot_forward_graph": "fw_module",
    "aot_inference_graph": "fw_module",
    "aot_backward_graph": "bw_module",
}
COMPILER, COMPILED_CODE, MADE_CODE = "_compile", "code", "out_code"
"""Dynamo's function that compiles one frame, and its locals: the original and generated code."""
OUTCOME_LOCALS = ("one_graph", "convert_frame_box", "locals", "closure")
"""The locals of that function that decide what happens to an error, and its arguments."""
HOOK_TABLES = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
"""The attributes of a module that store its hooks."""
OPTIONS_OF_INDUCTOR = ("graph_kwargs", "fx_kwargs", "kwargs")
"""The locals of Inductor's functions that may have the options of a compile."""
LOWERING = ("GraphLowering", "torch._inductor.graph")
"""The class that generates a program, and its module."""
TABLES_OF_SCHEDULER = ("name_to_buf", "name_to_node", "name_to_fused_node")
"""Its scheduler's tables of buffers, newer and older, and of fused operations."""
GUARDS_MADE = ("CheckFunctionManager", "sorted_guards", "guards")
"""The class that builds the guards of a version, and the locals with all of them."""
FILTERS_OF_GUARDS = ("_guard_filter_fn", "guard_filter_fn")
"""The locals of the same function with the guard filter, the program's first."""
TRACE_CALL = ("name", "metadata_fn", "payload_fn")
"""The locals of ``trace_structured`` that describe an event."""
TRACER = ("run", "self", "f_code", "lineno")
"""Dynamo's instruction loop, its local with the tracer, and the tracer's code and line."""
GRAPH_CLASS = "GraphModuleImpl"
"""The name of each graph module's separate class."""
LAZY_METHODS = ("_real_recompile", "_lazy_forward")
VALUE_KEYS = ("val", "example_value")
"""The keys of a node's ``meta`` with the value that torch compiled with."""
MODULE_KEYS = ("nn_module_stack", "fwd_nn_module_stack")
SOURCE_KEY, LINE_KEY = "grapharg", "stack_trace"
"""The keys of a node's ``meta`` with an input's source, and with the user's lines."""
WRAPPED = ("_orig_mod", "_torchdynamo_orig_callable")
"""The attributes of ``torch.compile``'s results with the original function or module."""
_AOT = "torch._functorch._aot_autograd"
_EMITTERS = (
    "torch._dynamo.output_graph",
    f"{_AOT}.graph_compile",
    f"{_AOT}.graph_capture",
    f"{_AOT}.jit_compile_runtime_wrappers",
    f"{_AOT}.dispatch_and_compile_graph",
)
_GUARDS = "torch._C:_dynamo.guards"
_ID_FIELDS = ("frame_id", "frame_compile_id", "compiled_autograd_id")


@dataclass(frozen=True)
class Shape:
    """One detail inside an object of :data:`~pellucid.torch.taps.compat.TABLE`."""

    name: str
    check: Callable[[], Optional[bool]]
    """Return true if this torch has it; None if only a compile can tell."""

    lost: str
    """The feature that is missing without it."""


# -- checks ----------------------------------------------------------------------------------------


def _compiler_has_code() -> bool | None:
    place = resolve(f"torch._dynamo.convert_frame:{COMPILER}")
    known = {COMPILED_CODE, MADE_CODE}
    return None if place is None else any(known <= set(locals_of(c)) for c in code_objects(place))


def _maker_has_guards() -> bool | None:
    place = resolve(f"torch._dynamo.guards:{GUARDS_MADE[0]}.__init__")
    known = set(GUARDS_MADE[1:])
    return None if place is None else any(known & set(locals_of(c)) for c in code_objects(place))


def _compiler_has_outcome() -> bool | None:
    place = resolve(f"torch._dynamo.convert_frame:{COMPILER}")
    known = {OUTCOME_LOCALS[0], *OUTCOME_LOCALS[2:]}  # the box is newer than the oldest torch
    return None if place is None else any(known <= set(locals_of(c)) for c in code_objects(place))


def _modules_have_hooks() -> bool | None:
    import torch

    return set(HOOK_TABLES) <= set(vars(torch.nn.Module()))


def _inductor_has_options() -> bool | None:
    place = resolve("torch._inductor.compile_fx:")
    if place is None:
        return None
    codes = list(code_objects(place))
    return any(set(OPTIONS_OF_INDUCTOR) & set(locals_of(code)) for code in codes) and any(
        mentions(code, "is_backward") for code in codes
    )


def _trace_call_has_locals() -> bool | None:
    place = resolve("torch._logging._internal:trace_structured")
    if place is None:
        return None
    return any(set(TRACE_CALL) <= set(locals_of(code)) for code in code_objects(place))


def _graph_has_class_of_its_own() -> bool | None:
    import torch

    return has_own_class(torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph()))


def has_own_class(graph: Any) -> bool:
    """Return true if a graph module has a separate class, whose methods may be replaced."""
    cls = type(graph)
    named = cls.__qualname__.rpartition(".")[2] == GRAPH_CLASS
    return named and hasattr(cls, "recompile") and hasattr(cls, "__deepcopy__")


def _node_has_stack_trace() -> bool | None:
    import torch

    node = torch.fx.Graph().placeholder("x")
    node.meta[LINE_KEY] = "here"
    return getattr(node, "stack_trace", None) == "here"


def _copied_keys() -> bool | None:
    fields = resolve("torch.fx.proxy:_COPY_META_FIELDS")
    own = None if fields is None else MODULE_KEYS[0] in fields
    forward = None
    if resolve(f"{_AOT}.utils:copy_fwd_metadata_to_bw_nodes") is not None:
        forward = says(f"{_AOT}.utils:", MODULE_KEYS[1])
    return False if False in (own, forward) else own


def _keys_of_values() -> bool | None:
    traced = says("torch.fx.experimental.proxy_tensor:set_meta", VALUE_KEYS[0])
    dynamo = says("torch._dynamo.utils:set_example_value", VALUE_KEYS[1])
    return False if False in (traced, dynamo) else traced


def _stack_entries() -> bool | None:
    summarize = resolve("torch._logging.structured:from_traceback")
    if summarize is None:
        return None
    import traceback

    (entry,) = summarize(traceback.extract_stack(limit=1))
    return {"filename", "line", "name"} <= set(entry)


def _hook_can_be_removed() -> bool | None:
    register = resolve("torch._dynamo.convert_frame:register_bytecode_hook")
    if register is None:
        return None
    handle = register(lambda code, out: None)
    removable = callable(getattr(handle, "remove", None))
    if removable:
        handle.remove()
    return removable


def _defaults_are_told() -> bool | None:
    module = resolve("torch._dynamo.config:")
    name = next(iter(getattr(module, "_config", None) or {}), "")
    return tells_default(module, name)


def _is_plain_function() -> bool | None:
    for path in ("torch.fx._utils", "torch._dynamo.utils"):
        function = resolve(f"{path}:lazy_format_graph_code")
        if function is not None:
            return inspect.isfunction(function) and not function.__closure__
    return None


def _modules_have_files() -> bool | None:
    for name in ("modules", "cache"):
        held = resolve(f"torch._inductor.codecache:PyCodeCache.{name}")
        if held is not None:
            return isinstance(held, (list, dict))
    return None


def _keys_begin_with_offsets() -> bool | None:
    # The key of a resume function consists of its generator's arguments, except for the code, its
    # line and the offset at which a resume function was itself resumed.
    generate = resolve("torch._dynamo.resume_execution:ContinueExecutionCache.generate")
    codes = [] if generate is None else list(code_objects(generate))
    names = codes[0].co_varnames[: codes[0].co_argcount] if codes else ()
    known = ("cls", "code", "lineno", "init_offset")
    after = [name for name in names if name not in known]
    return None if not after else "offset" in after[0]


def _unwraps() -> bool | None:
    module = says("torch._dynamo.eval_frame:OptimizedModule", WRAPPED[0])
    function = says("torch._dynamo.eval_frame:_TorchDynamoContext", WRAPPED[1])
    return False if False in (module, function) else function


def _operators_have_schemas() -> bool | None:
    import torch

    schema = getattr(torch.ops.aten.add_.Tensor, "_schema", None)
    return bool(getattr(schema, "is_mutable", False))


def _generates_globals() -> bool | None:
    import torch

    return isinstance(getattr(torch.fx.Graph().python_code("self"), "globals", None), dict)


TABLE: Tuple[Shape, ...] = (
    Shape(
        "graph of a trace event",
        lambda: has_local_where_named(_EMITTERS, EMITTER_LOCAL),
        "graphs do not run from their files",
    ),
    Shape(
        "code that is being compiled",
        _compiler_has_code,
        "the places of frames that torch skips are not reported",
    ),
    Shape(
        "outcome of a compile",
        _compiler_has_outcome,
        "errors that the program sees are not distinguished from skipped frames",
    ),
    Shape(
        "hooks of a module",
        _modules_have_hooks,
        "hooks that were added to a module after it was compiled are not reported",
    ),
    Shape(
        "line that Dynamo traces",
        lambda: says("torch._dynamo.symbolic_convert:InstructionTranslatorBase", *TRACER[1:]),
        "the line that Dynamo is tracing is not shown",
    ),
    Shape(
        "place where a compile starts",
        _stack_entries,
        "the places of frames that torch skips are not reported",
    ),
    Shape(
        "options of Inductor",
        _inductor_has_options,
        "Inductor's graphs are not marked as forward or backward",
    ),
    Shape(
        "origins of a program's buffers",
        lambda: both(
            says(f"{LOWERING[1]}:{LOWERING[0]}", "scheduler", "inductor_output_code"),
            says("torch._inductor.scheduler:Scheduler", TABLES_OF_SCHEDULER[2]),
        ),
        "kernels without comments are shown without the operations that they compute",
    ),
    Shape(
        "arguments of a trace event",
        _trace_call_has_locals,
        "torch creates every event of its trace, and Dynamo counts the frames that create it",
    ),
    Shape(
        "fields of a compile id",
        lambda: both(
            has("torch._guards:CompileContext", "current_trace_id", "current_compile_id"),
            has("torch._guards:CompileId", *_ID_FIELDS[:2]),
            has("torch._guards:TraceId", "compile_id", "attempt"),
        ),
        "files are not named by compile id",
    ),
    Shape(
        "class of a graph",
        _graph_has_class_of_its_own,
        "graphs do not run from their files",
    ),
    Shape(
        "lazy graph",
        lambda: has("torch.fx._lazy_graph_module:_LazyGraphModule", *LAZY_METHODS),
        "lazily compiled graphs do not run from their files",
    ),
    Shape(
        "values of a graph's inputs",
        _keys_of_values,
        "graphs whose inputs are not recorded do not run by themselves",
    ),
    Shape(
        "hint of a symbolic size",
        lambda: has("torch.fx.experimental.sym_node:SymNode", "hint"),
        "graphs with symbolic sizes do not run by themselves",
    ),
    Shape(
        "modules of a graph's operations",
        _copied_keys,
        "operations of graphs are shown without the module that they belong to",
    ),
    Shape(
        "line of a graph's operation",
        _node_has_stack_trace,
        "find_nan reports operations without their line",
    ),
    Shape(
        "source of a graph's input",
        lambda: both(
            says("torch._dynamo.output_graph:", SOURCE_KEY, "_param_name_to_source"),
            has("torch._dynamo.variables.builder:GraphArg", "source"),
            has("torch._guards:Source", "name"),
        ),
        "inputs of graphs have torch's names, not the program's",
    ),
    Shape(
        "globals of a graph",
        _generates_globals,
        "graphs that call the program's functions do not run by themselves",
    ),
    Shape(
        "schema of an operator",
        _operators_have_schemas,
        "find_nan does not see what operations write into their inputs",
    ),
    Shape(
        "operations that are computed again",
        lambda: has("torch._functorch.partitioners:OpTypes", "recomputable_ops"),
        "why a tensor is saved for backward is reported without torch's list of what it recomputes",
    ),
    Shape(
        "formatted graphs",
        _is_plain_function,
        "graphs that third parties format for torch's log are not captured",
    ),
    Shape(
        "modules of Inductor",
        _modules_have_files,
        "Inductor's programs do not run from their files",
    ),
    Shape(
        "cache entry",
        lambda: has("torch._C:_dynamo.eval_frame._CacheEntry", "code", "guard_manager"),
        "guards are not shown",
    ),
    Shape(
        "guard manager of a cache entry",
        lambda: says(
            "torch._dynamo.guards:GuardManagerWrapper", "root", "cache_entry", "global_scope"
        ),
        "the guards of dumped files are checked without the program's globals and identities",
    ),
    Shape(
        "tree of guards",
        lambda: both(
            has(
                f"{_GUARDS}.RootGuardManager",
                "get_accessors",
                "get_child_managers",
                "get_leaf_guards",
                "get_source",
            ),
            has(f"{_GUARDS}.LeafGuard", "verbose_code_parts"),
            has(f"{_GUARDS}.GuardAccessor", "repr"),
        ),
        "guards are not shown",
    ),
    Shape(
        "guards as they are made",
        _maker_has_guards,
        "guards on a library's lines are shown without the line of the program that calls it",
    ),
    Shape(
        "guards of a dict's keys",
        lambda: has(f"{_GUARDS}.DictGuardManager", "get_key_value_managers"),
        "guards on the values of dicts are not shown",
    ),
    Shape(
        "guards that torch decides last",
        lambda: has(f"{_GUARDS}.RootGuardManager", "get_epilogue_lambda_guards"),
        "shape guards are not shown",
    ),
    Shape(
        "types of guarded values",
        lambda: has(f"{_GUARDS}.RootGuardManager", "get_type_of_guarded_value"),
        "guards do not name the classes of values",
    ),
    Shape(
        "check that says what failed",
        lambda: both(
            has(f"{_GUARDS}.RootGuardManager", "check_verbose", "clone_manager"),
            has(f"{_GUARDS}.GuardDebugInfo", "result", "verbose_code_parts"),
        ),
        "dumped files do not check the guards on a dict's keys",
    ),
    Shape(
        "reason of a graph break",
        lambda: has("torch._dynamo.output_graph:GraphCompileReason", "reason", "user_stack"),
        "graph breaks that are not in the trace are not captured",
    ),
    Shape(
        "offsets of resume functions",
        _keys_begin_with_offsets,
        "the arguments of resume functions are named after their origin",
    ),
    Shape(
        "handle of a hook",
        _hook_can_be_removed,
        "the hook for transformed code stays when the capture ends",
    ),
    Shape(
        "defaults of settings",
        _defaults_are_told,
        "settings that were only set to their defaults are shown as changed",
    ),
    Shape(
        "what torch.compile was called with",
        _unwraps,
        "find_nan recompiles what is already compiled",
    ),
    Shape(
        "calls with one list of inputs",
        lambda: says(f"{_AOT}.utils:make_boxed_func", "_boxed_call"),
        "find_nan holds on to the inputs of graphs while they run",
    ),
)
BY_NAME: Mapping[str, Shape] = {row.name: row for row in TABLE}


class Shapes:
    """The details found to be missing in this torch, since the last :meth:`forget`."""

    def __init__(self) -> None:
        self._answers: dict[str, bool] = {}
        self._missing: dict[str, Shape] = {}
        self._lock = threading.Lock()

    def has(self, name: str) -> bool:
        """Run a row's check, once; an unknown result counts as present."""
        with self._lock:
            answer = self._answers.get(name)
        if answer is None:
            try:
                answer = BY_NAME[name].check() is not False
            except Exception:  # a check that fails has found a different torch
                answer = False
            with self._lock:
                self._answers[name] = answer
        if not answer:
            self.missed(name)
        return answer

    def missed(self, name: str) -> None:
        """Record that a row's detail was needed and is missing."""
        row = BY_NAME[name]
        with self._lock:
            self._missing.setdefault(name, row)

    def forget(self) -> None:
        """Start over: each capture reports what is missing in its own time."""
        with self._lock:
            self._answers.clear()
            self._missing.clear()

    @property
    def missing(self) -> Tuple[Shape, ...]:
        """Return the missing rows, in the order in which they were noticed."""
        with self._lock:
            return tuple(self._missing.values())


SHAPES = Shapes()
"""The findings of this process."""
