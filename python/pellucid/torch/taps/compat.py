# SPDX-License-Identifier: Apache-2.0
"""The locations of torch's internals by release: the table of everything that pellucid uses.

One row per capability: where to look for it (the first path that exists wins), and what is lost
without it.  A missing row costs one feature and one warning; no other module checks torch's
version.  The other half of this table, :mod:`~pellucid.torch.taps.shapes`, describes the insides of
these objects; ``make canary`` checks both.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Callable


@dataclass(frozen=True)
class Capability:
    """One object in torch that is not part of its documented interface."""

    name: str
    paths: tuple[str, ...]
    """Dotted paths, newest torch first; ``module:attribute.attribute``."""

    lost: str
    """The feature that is missing if no path exists."""

    of_captures: bool = True
    """Whether captures lose a feature, rather than a separate function."""

    since: tuple[int, int] = (2, 0)
    """The torch release that introduced it."""


TABLE: tuple[Capability, ...] = (
    Capability(
        "bytecode_hook",
        ("torch._dynamo.convert_frame:register_bytecode_hook",),
        "transformed code is neither shown nor run from files",
    ),
    Capability(
        "aot_compile",
        ("torch._dynamo.aot_compile:aot_compile_fullgraph",),
        "what is compiled ahead of time has graphs without a frame",
    ),
    Capability(
        "aot_load",
        ("torch._dynamo.aot_compile:AOTCompiledFunction.deserialize",),
        "the graphs of a loaded function have no compile id",
    ),
    Capability(
        "aot_function",
        ("torch._dynamo.aot_compile:AOTCompiledFunction.__post_init__",),
        "code compiled ahead of time, or loaded, is neither shown nor run from files",
    ),
    Capability(
        "aot_guards",
        ("torch._dynamo.aot_compile:AOTCompiledFunction.guard_check",),
        "failed guards of code compiled ahead of time before the capture are not reported",
    ),
    Capability(
        "export_capture",
        ("torch._dynamo.functional_export:fullgraph_capture",),
        "the code around an exported graph is neither shown nor run from files",
    ),
    Capability(
        "precompile_capture",
        ("torch._precompile:_MakeFxCapture.__call__",),
        "graphs captured by precompile have no compile id",
        since=(2, 15),
    ),
    Capability(
        "precompile_program",
        ("torch._precompile:_make_inlined_forward",),
        "the programs that precompile executes are neither shown nor run from files",
        since=(2, 15),
    ),
    Capability(
        "package_install",
        ("torch._dynamo.package:CompilePackage.install",),
        "the graphs of all versions of a function in a package have one compile id",
    ),
    Capability(
        "package_entry",
        ("torch._C._dynamo.eval_frame:_load_precompile_entry",),
        "code from a package (caching_precompile) is neither shown nor run from files",
    ),
    Capability(
        "trace_log",
        ("torch._logging._internal:trace_log",),
        "graphs, graph breaks and recompile reasons are not captured",
    ),
    Capability(
        "traced_recompiles",
        ("torch._dynamo.guards:get_and_maybe_log_recompilation_reasons",),
        "why a frame was recompiled is not captured",
    ),
    Capability(
        "skip_reasons",
        ("torch._dynamo.convert_frame:add_skip_reason",),
        "frames that torch does not inspect are not reported",
    ),
    Capability(
        "callback_of_stance",
        ("torch._dynamo.eval_frame:_callback_from_stance",),
        "calls that run uncompiled because of a stance are not reported",
    ),
    Capability(
        "compiled_module",
        ("torch._dynamo.eval_frame:OptimizedModule",),
        "compiled modules that are never called are not reported",
    ),
    Capability(
        "recompiles_under_stance",
        ("torch._dynamo.guards:get_and_maybe_log_recompilation_reasons",),
        "the guards that failed under a stance that raises an error are not reported",
    ),
    Capability(
        "break_reasons",
        ("torch._dynamo.utils:graph_break_reasons",),
        "graph breaks that are not in the trace are not captured",
    ),
    Capability(
        "trace_structured",
        ("torch._logging:trace_structured", "torch._logging._internal:trace_structured"),
        "the source of transformed code is not in TORCH_TRACE, and so not in tlparse",
    ),
    Capability(
        "disable",
        ("torch.compiler:disable", "torch._dynamo:disable"),
        "pellucid's own code may be compiled while it follows the trace and graphs",
    ),
    Capability(
        "compile_context",
        ("torch._guards:CompileContext",),
        "files are not named by compile id",
    ),
    Capability(
        "storage_reference",
        ("torch.multiprocessing.reductions:StorageWeakRef",),
        "find_nan may mistake a value for one whose memory it reuses",
        of_captures=False,
    ),
    Capability(
        "cache_entries",
        ("torch._dynamo.eval_frame:_debug_get_cache_entry_list",),
        "guards are not shown",
    ),
    Capability(
        "reset",
        ("torch._dynamo:reset_code_caches",),
        "the guards of code compiled before a `torch._dynamo.reset()` are not shown",
    ),
    Capability(
        "resume_functions",
        ("torch._dynamo.resume_execution:ContinueExecutionCache.cache",),
        "the arguments of resume functions are named after their origin",
    ),
    Capability(
        "resumed_code",
        ("torch._dynamo.resume_execution:ContinueExecutionCache.generated_code_metadata",),
        "decompile() shows the code that Dynamo inserts before the resumed code",
        of_captures=False,
    ),
    Capability(
        "compiled_before",
        ("torch._dynamo.convert_frame:orig_code_map",),
        "code compiled before the capture is not shown, and not recognised by decompile()",
    ),
    Capability(
        "format_graph",
        ("torch.fx._utils:lazy_format_graph_code", "torch._dynamo.utils:lazy_format_graph_code"),
        "graphs that third parties format for torch's log are not captured",
    ),
    Capability(
        "dynamo_settings",
        ("torch._dynamo.config:codegen_config",),
        "Dynamo's configuration is not recorded",
    ),
    Capability(
        "functorch_settings",
        ("torch._functorch.config:codegen_config",),
        "AOTAutograd's configuration is not recorded",
    ),
    Capability(
        "inductor_settings",
        ("torch._inductor.config:codegen_config",),
        "Inductor's configuration is not recorded",
    ),
    Capability(
        "skip_code",
        ("torch._dynamo.eval_frame:skip_code", "torch._C._dynamo.eval_frame:skip_code"),
        "graphs do not run from their files",
    ),
    Capability(
        "graph_module",
        ("torch.fx:GraphModule",),
        "graphs do not run from their files",
    ),
    Capability(
        "aot_backend",
        ("torch._dynamo.backends.common:aot_autograd",),
        "find_nan cannot run graphs operation by operation",
        of_captures=False,
    ),
    Capability(
        "aot_eager_compiler",
        # With the first, graphs run as generated code; the second interprets them.
        ("torch.fx.graph:_BoxedCodeGen", "torch._dynamo.backends.debugging:boxed_nop"),
        "graphs that aot_eager interprets do not run from their files",
    ),
    Capability(
        "code_generator",
        ("torch.fx.graph:CodeGen",),
        "graphs that aot_eager interprets do not run from their files",
    ),
    Capability(
        "set_stance",
        ("torch.compiler:set_stance",),
        "find_nan only sees compiled functions that are passed to it directly",
        of_captures=False,
    ),
    Capability(
        "dynamo_patch",
        ("torch._dynamo.config:patch",),
        "the recompile limit applies to find_nan",
        of_captures=False,
    ),
    Capability(
        "compile_call",
        ("torch._dynamo.eval_frame:_TorchDynamoContext.__call__",),
        "find_difference recompiles, and does not see what the program compiled",
        of_captures=False,
    ),
    Capability(
        "aot_call",
        ("torch._dynamo.aot_compile:AOTCompiledFunction.__call__",),
        "find_difference does not see calls of functions compiled ahead of time",
        of_captures=False,
    ),
    Capability(
        "aot_function_call",
        ("torch._functorch.aot_autograd:aot_function",),
        "find_difference does not see calls of functions of aot_function",
        of_captures=False,
    ),
    Capability(
        "innermost_backend",
        ("torch._dynamo.eval_frame:innermost_backend",),
        "find_difference does not tell whether a guard or a cache on disk is stale",
        of_captures=False,
    ),
    Capability(
        "version_counters",
        ("torch.autograd.grad_mode:_unsafe_preserve_version_counter",),
        "a backward pass may fail after find_difference has checked its forward pass",
        of_captures=False,
    ),
    Capability(
        "inductor_backend",
        ("torch._inductor.compile_fx:compile_fx",),
        "find_difference has no stages after AOTAutograd's",
        of_captures=False,
    ),
    Capability(
        "inductor_compiler",
        ("torch._inductor.compile_fx:compile_fx_inner",),
        "find_difference has no stages after AOTAutograd's",
        of_captures=False,
    ),
    Capability(
        "inductor_patch",
        ("torch._inductor.config:patch",),
        "find_difference compares random numbers of two generators",
        of_captures=False,
    ),
    Capability(
        "functorch_patch",
        ("torch._functorch.config:patch",),
        "find_difference may receive a graph from a cache",
        of_captures=False,
    ),
    Capability(
        "inductor_lowering",
        ("torch._inductor:lowering",),
        "find_difference(cure=True) tries nothing",
        of_captures=False,
    ),
    Capability(
        "operator_registry",
        ("torch._library.simple_registry:singleton",),
        "the smallest graph that differs is not a program if it has an operator of the program's",
        of_captures=False,
    ),
    Capability(
        "random_decompositions",
        ("torch._inductor.decomposition:fast_random_decomps",),
        "find_difference(cure=True) cannot try a compile without a decomposition",
        of_captures=False,
    ),
    Capability(
        "inductor_settings_copy",
        ("torch._inductor.config:get_config_copy",),
        "find_difference does not use the options that torch.compile was given",
        of_captures=False,
    ),
    Capability(
        "sequence_number",
        ("torch._C:_autograd._get_sequence_nr",),
        "find_difference does not name the line of an operation of the backward pass",
        of_captures=False,
    ),
    Capability(
        "autograd_node",
        ("torch._C:_current_autograd_node",),
        "find_difference does not name the line of an operation of the backward pass",
        of_captures=False,
    ),
    Capability(
        "dispatch_mode",
        ("torch.utils._python_dispatch:TorchDispatchMode",),
        "find_difference names the stage, but not the operation of the eager program",
        of_captures=False,
    ),
    Capability(
        "without_modes",
        ("torch.utils._python_dispatch:_disable_current_modes",),
        "constants in graphs that run by themselves are random",
    ),
    Capability(
        "operation_lists",
        ("torch._functorch.partitioners:get_default_op_list",),
        "why a tensor is saved for backward is reported without torch's list of what it recomputes",
    ),
    Capability(
        "lazy_graph_module",
        ("torch.fx._lazy_graph_module:_LazyGraphModule",),
        "lazily compiled graphs do not run from their files",
    ),
    Capability(
        "inductor_modules",
        (
            "torch._inductor.codecache:PyCodeCache.modules",
            "torch._inductor.codecache:PyCodeCache.cache",
        ),
        "Inductor's programs do not run from their files",
    ),
    Capability(
        "asked_backends",
        ("torch._dynamo.eval_frame:cached_backends",),
        "a program that compiles nothing has no folder that says so",
        of_captures=False,
    ),
    Capability(
        "bytecode_log",
        ("torch._dynamo.convert_frame:bytecode_log",),
        "pellucid.install() shows nothing",
        of_captures=False,
    ),
    Capability(
        "interned_strings",
        ("torch._logging.structured:INTERN_TABLE",),
        "file names in stacks are left out",
    ),
    # Queries by the guards of dumped files.  A guard whose query is missing is assumed to hold.
    Capability(
        "guard_names",
        (
            "torch._dynamo.guards:_get_closure_vars",
            "torch._dynamo.guards:CLOSURE_VARS",
        ),
        "guards that use torch's functions are shown, not checked",
    ),
    Capability(
        "shape_names",
        ("torch._dynamo.guards:SYMPY_INTERP", "torch.fx.experimental.symbolic_shapes:SYMPY_INTERP"),
        "shape guards that use torch's functions are shown, not checked",
    ),
    Capability(
        "disable_torch_function",
        ("torch._C:DisableTorchFunction",),
        "a torch function mode sees the guards of dumped files",
    ),
    Capability(
        "enable_torch_function",
        ("torch._C:_EnableTorchFunction",),
        "the number of a dict's keys may be wrong if torch does not record it",
    ),
    Capability(
        "dispatch_keys",
        ("torch._C:_dispatch_keys",),
        "the guards of dumped files do not compare dispatch keys",
    ),
    Capability(
        "key_set",
        ("torch._C:DispatchKeySet",),
        "the guards of saved functions do not compare dispatch keys",
    ),
    Capability(
        "keys_added",
        ("torch._C:_dispatch_tls_local_include_set",),
        "the guards of dumped files do not compare dispatch keys",
    ),
    Capability(
        "keys_left_out",
        ("torch._C:_dispatch_tls_local_exclude_set",),
        "the guards of dumped files do not compare dispatch keys",
    ),
    Capability(
        "overlapping_tensors",
        ("torch._C:_dynamo.guards.compute_overlapping_tensors",),
        "the guards of dumped files do not compare which tensors share memory",
    ),
    Capability(
        "global_state",
        ("torch._C:_dynamo.guards.GlobalStateGuard",),
        "the guards of dumped files do not compare grad mode, autocast, …",
    ),
    Capability(
        "function_modes",
        ("torch.overrides:_get_current_function_mode_stack",),
        "the guards of dumped files do not compare torch function modes",
    ),
    Capability(
        "utils_device",
        ("torch.utils._device:",),
        "the guards of dumped files do not compare the default device",
    ),
    Capability(
        "forward_ad",
        ("torch.autograd.forward_ad:",),
        "the guards of dumped files do not compare the level of forward-mode differentiation",
    ),
)
_BY_NAME = {row.name: row for row in TABLE}


def resolve(path: str) -> Any | None:
    """Import ``module:attribute.attribute``; None if any part does not exist.

    >>> resolve("math:pi") is not None, resolve("math:no_such"), resolve("no_such_module:x")
    (True, None, None)
    """
    module_name, _, attributes = path.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for attribute in filter(None, attributes.split(".")):
            found = getattr(found, attribute)
    except (ImportError, AttributeError):
        return None
    return found


def _find(row: Capability) -> Any | None:
    return next((found for found in map(resolve, row.paths) if found is not None), None)


class Probe:
    """Looks capabilities up once, and remembers which are missing."""

    def __init__(self, on_missing: Callable[[Capability], None] | None = None) -> None:
        self._found: dict[str, Any] = {}
        self._missing: list[Capability] = []
        self._on_missing = on_missing

    def get(self, name: str) -> Any | None:
        """Return the capability in this torch, or None."""
        if name not in self._found:
            row = _BY_NAME[name]
            found = self._found[name] = _find(row)
            if found is None:
                self._missing.append(row)
                if self._on_missing is not None:
                    self._on_missing(row)
        return self._found[name]

    def has(self, name: str) -> bool:
        """Return true if this torch has it; a missing one is not recorded."""
        return (self._found.get(name) or _find(_BY_NAME[name])) is not None

    def place(self, name: str) -> tuple[Any, str] | None:
        """Return the owner and attribute name of a capability; None if it does not exist."""
        for path in _BY_NAME[name].paths:
            owner, _, attribute = path.rpartition("." if "." in path.partition(":")[2] else ":")
            if resolve(path) is not None:
                return resolve(owner if ":" in owner else f"{owner}:"), attribute
        return None

    def paths(self, name: str) -> tuple[str, ...]:
        """Return the paths of a capability."""
        return _BY_NAME[name].paths

    @property
    def missing(self) -> tuple[Capability, ...]:
        """Return the capabilities that were requested and are missing."""
        return tuple(self._missing)
