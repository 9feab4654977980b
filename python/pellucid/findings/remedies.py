# SPDX-License-Identifier: Apache-2.0
"""The cause and remedy of each kind of graph break that torch reports: a table.

A kind that is not in the table is reported in torch's words, without a remedy of ours.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Match

from pellucid.dump.model.events import Break, Place
from pellucid.dump.model.failures import is_own

from . import rewrites
from .advice import Advice, Make, said, set_to, told
from .families import family_of
from .hints import WRONG, advised
from .kinds.disabled import disabled
from .remedy import by_hand, edit, of_words, setting, with_hints
from .source import Program

_OPTIMIZERS = "/torch/optim/"


def advise(program: Program, place: Place | None, event: Break) -> Advice:
    """Return the advice on a break; torch's own words if it is unknown."""
    advice = _advice(program, place, event)
    hints = event.hints if advice.with_hints else ()
    return replace(advice, remedies=with_hints(advice.remedies, hints))


def _advice(program: Program, place: Place | None, event: Break) -> Advice:
    subject = f"{event.kind}\n{event.reason}\n{event.context}"
    for pattern, make in _TABLE:
        found = pattern.search(subject)
        if found is not None:
            return make(found, event, program, place)
    is_wrong = WRONG in " ".join(event.hints)
    family = None if is_wrong else family_of(subject)
    if family is not None:
        cause, remedy = family
        return Advice(cause, of_words(remedy), sure="likely")
    words = event.reason or event.kind or "torch gives no reason"
    if is_wrong:
        return Advice(
            f"torch considers this line an error: {words}",
            of_words(advised(event.hints)),
            sure="likely",
        )
    cause = f"torch: {event.kind}: {words}" if event.reason else f"torch: {words}"
    return Advice(cause, of_words(advised(event.hints)), sure="unknown")


def _branch(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    inputs = re.findall(r"(\w+): graph input", event.reason)
    if inputs and all(name.startswith("random_value_") for name in inputs):
        drawn = re.search(r"\brandom\.\w+(?=\()", program.code(place))
        name = f"`{drawn[0]}`" if drawn else "Python's random numbers"
        return told(f"the branch depends on {name}, which differs at every call", _PASSED_IN)
    shape = rewrites.branch_shape(program, place)
    what = {
        "while": "the condition of the loop depends on a tensor's values",
        "assert": "the assert tests a tensor's values",
    }.get(shape, "the branch depends on a tensor's values")
    cause = f"{what}, which are only known at run time"
    if shape == "assert" or event.kind.startswith("Data-dependent assertion"):
        words = "use torch._assert(condition, message), which is part of the graph"
        return Advice(cause, edit(rewrites.as_assert(program, place), place, words))
    diff = rewrites.as_where(program, place)
    if diff:
        words = "compute both sides and choose with torch.where, if it is safe to compute both"
        return Advice(cause, edit(diff, place, words, _BOTH_SIDES), sure="likely")
    if shape in ("while", "leaves loop"):
        remedy = (
            "run a fixed number of steps and freeze finished values with torch.where, or make the "
            "test outside the compiled function (for inference, use torch.while_loop)"
        )
        return Advice(cause, by_hand(remedy), sure="likely")
    return Advice(
        cause,
        by_hand("choose with torch.where, use torch.cond, or decide outside the compiled function"),
        sure="likely",
    )


_PASSED_IN = "call it outside the compiled function and pass its result in"
_BOTH_SIDES = "changes gradients if the side that is not chosen gives NaN or Inf"


def _scalar(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    call = rewrites.scalar_call(program, place)
    cause = f"`{call}` turns a tensor's value into a Python number, which is only known at run time"
    if rewrites.is_tested(program, place, call):
        # As a symbol, the number would break the graph at the same line.
        branch = _branch(found, event, program, place)
        cause += ", and the code tests it"
        return Advice(cause, branch.remedies, branch.sure, with_hints=False)
    if any(rewrites.in_autograd_function(program, at) for at in event.frames):
        # There, torch raises an error if a number becomes a symbol.
        words = "keep it as a tensor, or compute it before the autograd.Function and pass it in"
        return Advice(cause, by_hand(words), with_hints=False)
    line = "torch._dynamo.config.capture_scalar_outputs = True"
    words = "set {}, so that the number is a symbol in the graph"
    return Advice(cause, (set_to(program, place, line, words), *by_hand("keep it as a tensor")))


def _output_shape(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    cause = f"the size of the result of `{found['name']}` depends on a tensor's values"
    line = "torch._dynamo.config.capture_dynamic_output_shape_ops = True"
    other = "use an operation whose result has a fixed size (a mask, torch.where)"
    return Advice(cause, (set_to(program, place, line), *by_hand(other)))


def _print(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    line = "torch._dynamo.config.reorderable_logging_functions.add(print)"
    removed = rewrites.without_line(program, place, "print")
    return Advice(
        "`print` cannot be part of a graph",
        (
            set_to(program, place, line, "let it run after the graph: {}", "prints later"),
            *edit(removed, place, "remove it"),
            *by_hand("print outside the compiled function"),
        ),
    )


def _logger(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    name = found["name"]
    method = rewrites.called_name(program, place, f".{name}") or f"log.{name}"
    line = f"torch._dynamo.config.ignore_logging_functions.add(logging.Logger.{name})"
    return Advice(
        f"logging (`{method}`) cannot be part of a graph",
        (
            setting(line, "leave the call out while compiled: {}", caution="logs less"),
            *by_hand("log outside the compiled function"),
        ),
    )


def _warning(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    line = "torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)"
    return Advice(
        "`warnings.warn` cannot be part of a graph",
        (
            setting(line, "let it run after the graph: {}", caution="warns later"),
            *by_hand("warn outside the compiled function"),
        ),
    )


def _skipped_call(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    module, name = found["module"], found["name"]
    full = name if module in ("", "builtins", "<unknown module>", "None") else f"{module}.{name}"
    if module.startswith("torch.optim"):
        if program.compiles(_OPTIMIZERS, name.rpartition(".")[2]):
            return told(f"torch compiles `{name}` separately", "no change needed")
        return told(
            f"torch does not trace `{name}` here",
            "compile the step itself: "
            "torch.compile(optimizer.step), or a function that does nothing else",
            sure="likely",
        )
    if full.startswith("Random."):
        module, full = "random", full.lower()
    if module in ("torch.random", "torch.cuda.random"):
        call = rewrites.called_name(program, place, name) or full
        return told(
            f"`{call}` sets or reads the state of the random number generator, which cannot be "
            "part of a graph",
            "call it outside the compiled function",
        )
    if module in ("time", "_time"):
        return told(
            f"`{full}` reads the clock, which torch does not trace",
            "measure outside the compiled function",
        )
    if module in (
        "random",
        "_random",
        "os",
        "posix",
        "io",
        "_io",
        "builtins",
        "subprocess",
        "socket",
    ):
        return told(
            f"torch does not trace `{full}`",
            _PASSED_IN,
        )
    if module.startswith("torch."):
        return told(f"torch does not trace `{full}`", "call it outside the compiled function")
    return told(
        f"torch does not trace `{full}`: Dynamo does not look into this code",
        "call it outside the compiled function; if it computes tensors, make it an operator "
        "with "
        "torch.library.custom_op and a fake kernel",
        sure="likely",
    )


def _asked(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    if event.place is not None and _OPTIMIZERS in event.place.file.replace("\\", "/"):
        return told(
            "torch separates an optimizer's step from the code before it on purpose; the update "
            "is a separate graph",
            "no change needed",
        )
    if event.place is not None and not is_own(event.place.file):
        return told("the library's code requests a graph break with `torch._dynamo.graph_break()`")
    removed = rewrites.without_line(program, place, "graph_break")
    cause = "the code requests a graph break: `torch._dynamo.graph_break()`"
    return Advice(cause, edit(removed, place, "remove the call"))


def _raised(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    what = re.search(r"raised exception (?P<error>[\w.]+)\((?P<words>.*)\)", event.context)
    words = "" if what is None else " ".join(what["words"].strip("'\"").split())[:160]
    because = "" if what is None else f" ({what['error']}: {words})".replace(": )", ")")
    if words and event.place is not None and not is_own(event.place.file):
        return told(
            f"a library raises {because.strip(' ()')}",
            "do what its message says: the call also raises uncompiled",
            sure="likely",
        )
    return told(
        f"the code raises an exception{because} while torch traces it, and torch gives up there",
        "test for this case beforehand, instead of raising and catching an exception; it may also "
        "raise uncompiled",
        sure="likely",
    )


def _builtin(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    return told(
        f"torch cannot trace the builtin `{found['name']}` with these arguments",
        "compute it outside the compiled function, or with torch operations",
        sure="likely",
    )


def _method(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    owner, name = found["owner"], found["name"]
    of_class = _OF_CLASS.search(event.context)
    if owner == "type" and of_class is not None:
        owner = of_class[1].rpartition(".")[2]
    call = rewrites.called_name(program, place, f".{name}")
    if owner in ("datetime", "date") and name in ("now", "today", "utcnow"):
        return told(
            f"`{call or name}` reads the clock, which torch does not trace",
            "take the time outside the compiled function",
        )
    what = f"`{call}`, a method of `{owner}`" if call else f"`{name}` of `{owner}`"
    return told(
        f"torch cannot trace a call on this line ({what})",
        "call it outside the compiled function",
        sure="likely",
    )


_OF_CLASS = re.compile(r"UserDefinedClassVariable\(<class '([\w.<>]+)'>\)")


def _given(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    kinds = dict.fromkeys(re.findall(r"UserDefinedObjectVariable\((\w+)\)", event.context))
    what = f"a `{next(iter(kinds))}`" if len(kinds) == 1 else "a value"
    if "Generator" in kinds:
        return told(
            "an operation draws with a `torch.Generator`, which cannot be part of a graph",
            "draw outside the compiled function and pass the numbers in, or draw without a "
            "separate generator",
        )
    return told(
        f"an operation is given {what}, which cannot be part of a graph",
        "pass tensors, numbers and containers of them, or make it an operator with "
        "torch.library.custom_op",
        sure="likely",
    )


def _gradient(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
    line = "torch._dynamo.config.trace_autograd_ops = True"
    outside = "compile only the function that computes the loss, and compute its gradient outside"
    is_backward = "backward" in found[0]
    return Advice(
        f"{'backward()' if is_backward else 'torch.autograd.grad'} inside compiled code is not "
        "traced by default",
        (set_to(program, place, line), *by_hand(outside)),
    )


_ROWS: tuple[tuple[str, Make], ...] = (
    (
        r"DistributedDataParallel\._inside_ddp_forward"
        r"|`set_runtime_stats_and_log` of class `Logger`",
        said(
            "torch does not trace DistributedDataParallel's own forward; it compiles the wrapped "
            "module separately",
            "no change needed: compiling the module before it is wrapped has the same effect",
        ),
    ),
    (r"^Data[- ]dependent (?:branching|assertion)|generic_jump", _branch),
    (
        r"^Tensor\.tolist\(\) with non-integer tensor",
        said(
            "torch traces `tolist()` only for tensors of integers",
            "keep it as a tensor, or call tolist() outside the compiled function",
        ),
    ),
    (r"capture_scalar_outputs|_local_scalar_dense|Tensor\.item\(\)|tolist\(\)", _scalar),
    (r"^Dynamic shape operator\n(?:Operator `(?:aten\.)?(?P<name>\w+))?", _output_shape),
    (r"builtin operator `print`|^builtin: print|builtin print ", _print),
    (r"Logger method not supported[\s\S]*?>\.(?P<name>\w+)", _logger),
    (r"module: (?:_warnings|warnings), qualname: warn", _warning),
    (r"^Skip \w+ `torch\.compiler\.disable|marked as.*disable", disabled),
    (r"^Call to `torch\._dynamo\.graph_break\(\)`|torch\._dynamo\.graph_break\(\)", _asked),
    (
        r"function marked as skipped[\s\S]*module: (?P<module>[\w.]*|<unknown module>), qualname: "
        r"(?P<name>[\w.<>]+)",
        _skipped_call,
    ),
    (
        r"^graph break in loop",
        said(
            "a graph break inside a loop",
            "remove the graph breaks in the loop, the first one first",
        ),
    ),
    (
        r"^Unsupported context manager\n[^\n]*?`(?P<name>[^`]+)`"
        r"|function marked as skipped[\s\S]*?function `(?P<manager>[^`]+)\.__a?enter__`",
        said(
            "torch cannot enter the context manager `{name}{manager}`",
            "enter it outside the compiled function",
        ),
    ),
    (
        r"^Unsupported context manager",
        said("torch cannot enter this context manager", "enter it outside the compiled function"),
    ),
    (
        r"^DDPOptimizer intentional graph-break",
        said(
            "DDP splits the graph at the ends of its gradient buckets, so that communication "
            "overlaps with the backward pass",
            "no change needed; a larger bucket_cap_mb gives fewer graphs, and "
            "torch._dynamo.config.optimize_ddp = False gives one graph without that overlap",
        ),
    ),
    (
        r"^An opaque object was created[\s\S]*<class '(?P<name>[\w.]+)'>",
        said(
            "a `{name}` is created inside compiled code, which cannot be part of a graph",
            "create and use it outside the compiled function",
        ),
    ),
    (r"^Failed to convert args/kwargs to proxy", _given),
    (
        r"^requires_grad_\(\) intermediate leaked",
        said(
            "`requires_grad_` is called on a tensor that the function creates and returns",
            "return it detached (.detach()), or call requires_grad_ outside the compiled function",
        ),
    ),
    (
        r"^Attempt to trace generator",
        said(
            "a generator function cannot be compiled itself",
            "call the generator inside an ordinary function, and compile that",
        ),
    ),
    (
        r"^Unsupported Tensor\.backward|^using `torch\.autograd\.grad` with|"
        r"^Unsupported function call[\s\S]*autograd\.grad",
        _gradient,
    ),
    (
        r"^Unsupported Tensor\.(?P<name>requires_grad_|resize_|set_)",
        said(
            "`{name}` of a tensor cannot be part of a graph",
            "call it outside the compiled function",
        ),
    ),
    (
        r"^Tensor\.random_ op|^Tensor\.uniform_|Generator method",
        said(
            "this way of drawing random numbers cannot be part of a graph",
            "use torch.rand, torch.randint or torch.randn_like inside, or draw outside",
        ),
    ),
    (r"^(?:Observed exception|TypeError from user code)", _raised),
    (
        r"^Unsupported function call[\s\S]*?(?:call_function|call) (?P<name>[\w.]+)",
        said(
            "torch cannot trace this call ({name})",
            "call it outside the compiled function",
            "likely",
        ),
    ),
    (
        r"^(?:nn\.Module|Unsupported nn\.Module) .*hook|Module-level backwards hooks",
        said(
            "hooks for the backward pass of a module are not traced",
            "set torch._dynamo.config.compiled_autograd = True, or put the hook on a tensor",
            "likely",
        ),
    ),
    (
        r"^(?:repr\(\) on tensor|str_impl not)",
        said(
            "formatting a tensor needs its values, which are only known at run time",
            "format it outside the compiled function",
        ),
    ),
    (
        r"^numpy function|^attempted to trace numpy\.\* function|^Unsupported ndarray",
        said(
            "torch does not trace this NumPy function",
            "use the torch operation instead",
            "likely",
        ),
    ),
    (
        r"^Attempted to wrap RNN",
        said(
            "torch does not trace nn.RNN, nn.LSTM and nn.GRU",
            "set torch._dynamo.config.allow_rnn = True, or call it outside compiled code",
        ),
    ),
    (
        r"^torch\.jit\.script",
        said(
            "torch.jit.script'ed modules run in a separate runtime, which is not traced",
            "use the original, unscripted module",
        ),
    ),
    (
        r"numpy function unsupported by PyTorch",
        said(
            "torch has no counterpart for this NumPy function",
            "use a torch operation, or call it outside the compiled function",
        ),
    ),
    (
        r"^Unsupported method call\n.*?method `(?P<name>[^`]+)` of class `(?P<owner>[^`]+)`",
        _method,
    ),
    (
        r"__build_class__",
        said(
            "a class is defined inside compiled code, which is not traced",
            "define it outside the compiled function",
        ),
    ),
    (
        r"function marked as skipped[\s\S]*?function `(?P<name>[^`]+)` should not be traced",
        said("torch does not trace `{name}`, on purpose", "call it outside the compiled function"),
    ),
    (
        r"use_numpy_random_stream=True",
        said(
            "a setting turns off tracing of NumPy's random numbers",
            "set torch._dynamo.config.use_numpy_random_stream = False, or draw outside the "
            "compiled function",
        ),
    ),
    (r"copy\.deepcopy", said("copy.deepcopy is not traced", "copy outside, or use .clone()")),
    (
        r"^(?:id\(\) with unsupported|call_id)",
        said(
            "`id` of this object is only known at run time",
            "compare with `is`, or call it outside the compiled function",
        ),
    ),
    (
        r"^Data pointer comparison",
        said(
            "the address of a tensor is only known at run time",
            "compare addresses outside the compiled function",
        ),
    ),
    (
        r"sparse",
        said(
            "sparse tensors are not traced here",
            "use them outside the compiled function",
            "likely",
        ),
    ),
    (r"builtin operator `(?P<name>\w+)`", _builtin),
)
_TABLE: tuple[tuple[re.Pattern[str], Make], ...] = tuple((re.compile(p), m) for p, m in _ROWS)
