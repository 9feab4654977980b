# SPDX-License-Identifier: Apache-2.0
"""Groups of graph break kinds that mean the same to the user: a table."""

from __future__ import annotations

import re

_OUTSIDE = "do it outside the compiled function"
_ROWS: tuple[tuple[str, str, str], ...] = (
    (
        r"^Call to a time function[^\n]*\n(?:[^\n]*?`(?P<name>time\.\w+))?",
        "`{name}` reads the clock, which torch does not trace",
        "measure outside the compiled function",
    ),
    (
        r"^Dynamic slicing with Tensor|^unsupported index\(Tensor\)",
        "a slice or an index by a tensor depends on its values, which are only known at run time",
        "index with tensors (gather, masks), or slice outside the compiled function",
    ),
    (
        r"^Data dependent operator[^\n]*\n(?:Operator `(?:aten\.)?(?P<name>\w+))?",
        "`{name}` returns a Python value that depends on tensors' values",
        "keep it as a tensor, or test it outside the compiled function",
    ),
    (
        r"one_hot` with data-dependent output shape",
        "the number of classes of `one_hot` depends on a tensor's values",
        "pass the number of classes: one_hot(…, num_classes=…)",
    ),
    (
        r"^Failed to (?:mutate tensor data|set tensor) attribute|setattr\(\) on Tensor",
        "an attribute of a tensor (such as `.data`) is set inside compiled code",
        "set it outside the compiled function; to change values, use copy_ under no_grad",
    ),
    (
        r"^Tensor\.retain_grad\(\)|^Tensor with grad_fn|^Unsupported Tensor\.(?:share_memory_|"
        r"register_hook)|^Compilation of intermediate hooks|hook handle in globals",
        "this use of a tensor's gradients or hooks cannot be part of a graph",
        _OUTSIDE,
    ),
    (
        r"autograd\.Function|autograd_function_kwonly",
        "this custom autograd.Function does something that torch does not trace",
        "use only save_for_backward, mark_non_differentiable and tensor arguments, or call it "
        "outside the compiled function",
    ),
    (
        r"[Tt]ensor subclass|__torch_function__|as_subclass",
        "this use of a Tensor subclass is not traced",
        "pass plain tensors (as_subclass(torch.Tensor)) and wrap the result outside",
    ),
    (
        r"strided NestedTensor",
        "nested tensors with the strided layout are not traced",
        "create them with layout=torch.jagged",
    ),
    (
        r"[Ss]ide effect$|mutates |during higher order op|nn\.Module mutation in HigherOrderOp",
        "the function that is passed to torch (a branch, a loop body, a checkpointed or mapped "
        "function) does something that is not allowed there",
        "make it a pure function of its tensors: do not write to anything outside it, mutate its "
        "inputs or return an input unchanged, and return the same sizes and types from all "
        "branches",
    ),
    (
        r"hash of an object|overridden __hash__|is hashable|equality comparison of an object",
        "a dict, a set or a comparison needs an object's hash or equality, which torch cannot "
        "determine",
        "use strings or numbers as keys",
    ),
    (
        r"^repr\(\)|^Attempted to (?:a str|call repr)|__repr__|^repr_impl|^failed to call str",
        "a string is formatted from values that are only known at run time",
        "format it outside the compiled function",
    ),
    (
        r"^(?:Unsupported (?:hasattr|inspect)|hasattr\(\)|unsupported hasattr|getattr\(\) "
        r"|isinstance\(\)|Custom __getattribute__|Custom metaclass)"
        r"|non-function (?:custom )?__getattr__|__dict__ access|type\.__dict__",
        "the code looks into an object in a way that torch cannot follow (hasattr, getattr, "
        "inspect, __getattr__)",
        "read what you need outside the compiled function, and pass it in",
    ),
    (
        r"itertools|Missing tp_iter|missing tp_iter|^sort with non-constant",
        "torch cannot trace this iteration",
        "build a list outside the compiled function, or write a plain loop",
    ),
    (
        r"^(?:Missing (?:bytecode handler|CALL_INTRINSIC|BUILD)|missing BUILD)",
        "torch cannot trace this statement at all",
        _OUTSIDE,
    ),
    (
        r"[Rr]econstruct|escaped|in output$",
        "an object, closure or context created inside compiled code would have to be recreated "
        "at a graph break",
        "remove the graph break, or create the object outside the compiled function",
    ),
    (
        r"^(?:Write to immutable cell|Class attribute mutation|mapping proxy|__class__ assignment)"
        r"|deque with limited|weakref|side-effect|Side effect|without mutation tracking",
        "this change to an object that outlives the call cannot be replayed after the graph",
        "change the object outside the compiled function",
    ),
    (
        r"trace_numpy",
        "a setting turns off tracing of NumPy",
        "set torch._dynamo.config.trace_numpy = True, or use torch operations",
    ),
    (
        r"is_inference",
        "a graph cannot test whether inference mode is on",
        "test it outside the compiled function",
    ),
    (
        r"use_deterministic_algorithms|triton\.set_allocator",
        "this torch setting cannot be changed inside compiled code",
        "change it before the compiled function is called",
    ),
    (
        r"^Attempted to use (?:tensor creation function|`torch\.nn\.Parameter\(\)` constructor)",
        "a parameter, or a tensor that requires a gradient, is created inside compiled code",
        "create it outside (in __init__) and pass it in",
    ),
    (
        r"use_orig_params=False",
        "torch compiles FSDP modules only if FSDP keeps the original parameters",
        "use FSDP(…, use_orig_params=True)",
    ),
    (
        r"async_op=True",
        "asynchronous collectives (async_op=True) are not traced",
        "use torch.distributed's functional collectives, or communicate outside",
    ),
    (
        r"Shape mismatch with out=|non-contiguous `out=`",
        "PyTorch does not trace a call that resizes its `out=` tensor, or whose `out=` tensor is "
        "not contiguous",
        "leave out `out=` and use what the call returns, or pass a contiguous tensor of the size "
        "of the result",
    ),
    (
        r"when making fake tensor call|[Ff]ake tensor propagation|Tensor device mismatch",
        "this operation does not work with these arguments",
        "fix the line: the same call may also raise an error uncompiled",
    ),
    (
        r"fake tensors?\b|UnsupportedFakeTensor|no meta kernel",
        "torch cannot determine the result of this operation without values",
        "register a fake kernel (torch.library.register_fake), or call it outside",
    ),
    (
        r"^Frozen dataclass with __post_init__|dataclass (?:fields failure|constructor)",
        "an object of this dataclass cannot be created inside compiled code",
        "create it outside and pass it in, or leave out __post_init__",
    ),
    (
        r"^Excessive RestartAnalysis",
        "torch restarted tracing this function 100 times and gave up",
        "compile smaller functions",
    ),
    (
        r"^Attempted to inline function marked as skipped \(SkipFunction|^can't handle functions "
        r"not implemented in python|C method descriptor|C extensions|C-level",
        "this calls code that is not Python, which torch cannot trace",
        "call it outside the compiled function; if it computes tensors, make it an operator "
        "with torch.library.custom_op",
    ),
    (
        r"^(?:step_unsupported|Call to `torch\._dynamo\.(?:skip_frame|step_unsupported))"
        r"|ComptimeContext",
        "the code requests a graph break",
        "remove the call",
    ),
    (
        r"functorch",
        "a compiled function is called inside a transform (vmap, grad), where torch compiles "
        "nothing",
        "compile the function that contains the whole transform",
    ),
)
_TABLE = tuple((re.compile(pattern), cause, remedy) for pattern, cause, remedy in _ROWS)


def family_of(subject: str) -> tuple[str, str] | None:
    """Return the cause and remedy of a kind of break from its family; None if it has no family.

    >>> family_of("Dynamo cannot determine the hash of an object")[1]
    'use strings or numbers as keys'
    >>> family_of("Some new thing")
    """
    kind = subject.partition("\n")[0]
    for pattern, cause, remedy in _TABLE:
        found = pattern.search(subject if r"\n" in pattern.pattern else kind)
        if found is not None:
            names = {name: value or "an operation" for name, value in found.groupdict().items()}
            return cause.format(**names), remedy
    return None
