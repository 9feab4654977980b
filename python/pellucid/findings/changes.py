# SPDX-License-Identifier: Apache-2.0
"""What to change so that a function is not compiled again, by what was another one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Sequence

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import CompileKey, GuardFailure, Place, Specialized
from pellucid.torch.model.names import as_written

from .dispatch import keys_in_words
from .rewrites import computed_in, grows, loops_over
from .source import Program
from .trials import entry_of

_DIMENSION = re.compile(r"^(?P<tensor>.*)\.size\((?P<index>\d+)\)$")
_PLAIN = re.compile(r"^[A-Za-z_]\w*$")
_CACHE = re.compile(r"cache|past_key|(?:^|\.)(?:keys|values)\b", re.IGNORECASE)
_ON_MODULE = re.compile(r"^self(?:\.\w+)+$")


@dataclass(frozen=True)
class Change:
    """What to change; ``makes_one`` where it takes away the guard that failed."""

    remedy: str
    makes_one: bool = False
    why: str = ""
    """What the cause leaves to say."""
    place: Place | None = None
    """The line that is to blame, where it is another than the guard's."""


def change(
    capture: Capture,
    program: Program,
    kind: str,
    source: str,
    values: Sequence[str],
    failures: Sequence[tuple[CompileKey, GuardFailure]],
    place: Place | None,
) -> Change:
    """Return what to change; nothing where that is not known."""
    if kind == "size":
        return _size(capture, program, source, values, failures)
    if kind == "length":
        return _length(program, source, place)
    if kind == "identity" and _ON_MODULE.match(source):
        return Change(
            f"share one `{source}` between the modules, or compile the function that calls them: "
            "each module has its own"
        )
    if kind == "int":
        return _int(program, source, failures, place)
    if kind == "float":
        if "lr" in source:
            return Change(
                "make the learning rate a tensor (lr=torch.tensor(…)), so that compiled code reads "
                "it",
                True,
            )
        if source.startswith("value of line"):
            return Change("keep it a tensor, or compute it outside the compiled function")
        return Change(
            f"pass `{source}` as a tensor: a Python float is a constant of the compiled code",
            True,
        )
    if kind == "dispatch keys":
        told = [keys_in_words(failure.expected, failure.actual)[1] for _, failure in failures]
        return Change(next(filter(None, told), _BY_KIND[kind]))
    if kind == "gone" and source.startswith("value of line"):
        return Change(
            "remove the break after which the value is used: it is a new object in each call, and "
            "torch drops a version with the object for which it was compiled"
        )
    if source.endswith(".training"):
        return Change("warm up both training and evaluation: they are two versions")
    return Change(_BY_KIND.get(kind, ""), kind in ("stride",))


_BY_KIND = {
    "value": "pass only values that matter, or branch outside the compiled function; for a few "
    "values no change is needed, as each has its own version",
    "none": "always pass a value, or warm up both cases: None and a value are two versions",
    "type": "pass the same type each time, or accept one version per type",
    "identity": "pass the same object each time, or pass what it holds (tensors, numbers) instead",
    "key": "pass the same keys each time: the keys of a dict are constants of the compiled code",
    "requires_grad": "detach the input, or always use torch.no_grad(), if it need not be called "
    "both with and without gradients",
    "dtype": "convert before the call, so that it is the same type each time",
    "device": "move it before the call, so that it is on the same device each time",
    "stride": "make the input contiguous before the call (.contiguous())",
    "rank": "pass the same number of dimensions each time (unsqueeze, reshape)",
    "dispatch keys": "pass the same kind of tensor each time (inference tensors, subclasses and "
    "functorch tensors differ)",
    "global state": "call it under the same state (grad mode, autocast, default dtype, threads) "
    "as when it was compiled",
    "iterator": "move the break out of the loop: a break in a loop compiles one version per step",
    "marked": "mark the tensor before the first call as well, so that all versions are for "
    "marked tensors",
    "alias": "always or never pass the same tensor twice: clone one",
    "gone": "keep the object alive between the calls: make it once, outside the call, and pass the "
    "same one",
    "backend": "compile the function once, and call that",
    "attribute": "set the attribute in __init__, so that it always exists",
    "condition": "warm up both sides of the test, or test outside the compiled function: each "
    "side has its own version",
    "shape": "warm up both sides of the size test, or test outside the compiled function: each "
    "side has its own version",
}


def _length(program: Program, source: str, place: Place | None) -> Change:
    name = source.replace("global ", "").rpartition(".")[2]
    if loops_over(program, place, name):
        return Change(
            "pass the same number of items, or stack them into one tensor: the loop over it is "
            "unrolled"
        )
    if grows(program, place, name):
        return Change(
            "append to it outside the compiled function and pass in only what you need, or write "
            "into a tensor of a fixed size: it grows with every call"
        )
    return Change("pass the same number of items each time: it is a constant of the compiled code")


def _fixed(
    capture: Capture, source: str, failures: Sequence[tuple[CompileKey, GuardFailure]]
) -> Specialized | None:
    """Where torch had made a symbol of a size and the code has given that symbol one value."""
    keys = {failure.version for _, failure in failures}
    for event in capture.of(Specialized):
        names = {_IN_BRACKETS.sub(r".size(\1)", as_written(name)) for name in event.sources}
        if event.key in keys and source in names:
            return event
    return None


_IN_BRACKETS = re.compile(r"\.size\(\)\[(\d+)\]$")


def _meets_parameter(capture: Capture, key: CompileKey, tensor: str) -> bool:
    """Whether a version has the guards of a parameter beside those of a tensor."""
    entry = entry_of(capture, key)
    guards = entry.guards if entry is not None else ()
    return any(
        guard.kind == "TENSOR_MATCH" and ", Parameter," in guard.text
        for guard in guards
        if as_written(guard.source) != tensor
    )


def _by_the_code(program: Program, event: Specialized, meets_parameter: bool) -> Change:
    place = program.own(event.frames, event.place)
    own = place is not None and bool(program.code(place))
    why = f"torch made it dynamic, but {'this line' if own else 'the code'} fixes its value"
    if meets_parameter:
        return Change(
            "set torch._dynamo.config.force_parameter_static_shapes = False to make the sizes of "
            "parameters dynamic: they are constants, and so is any size that must equal one",
            why=f"{why}, as it must equal the size of a parameter",
            place=place,
        )
    return Change(
        "make the line work for every size (no int(), no table or index by it); marking it dynamic "
        "would raise an error instead",
        why=why,
        place=place,
    )


def _size(
    capture: Capture,
    program: Program,
    source: str,
    values: Sequence[str],
    failures: Sequence[tuple[CompileKey, GuardFailure]],
) -> Change:
    found = _DIMENSION.match(source)
    if found is None:
        return Change("")
    tensor, index = found["tensor"], found["index"]
    if "1" in values or "0" in values:
        return Change(
            f"warm up both versions, or use torch._dynamo.decorators.mark_unbacked({tensor}, "
            f"{index}): sizes 0 and 1 always have their own version"
        )
    numbers = [int(value) for value in values if value.isdigit()]
    grows_by_one = len(numbers) > 1 and numbers[1] == numbers[0] + 1
    if grows_by_one and _CACHE.search(tensor):
        return Change(
            "give the cache its largest size before the first call, and write into it: with "
            'Transformers, model.generation_config.cache_implementation = "static"',
            why="the cache grows by one with every step",
        )
    event = _fixed(capture, source, failures)
    if event is not None:
        return _by_the_code(program, event, _meets_parameter(capture, event.key, tensor))
    call = f"torch._dynamo.mark_dynamic({tensor}, {index})"
    remedy = f"call `{call}` before the first call, or use torch.compile(dynamic=True)"
    newest = entry_of(capture, failures[-1][0])
    text = (
        next((g.text for g in newest.guards if g.kind == "TENSOR_MATCH" and "None" in g.text), "")
        if newest
        else ""
    )
    if text and len(failures) == len({key.frame for key, _ in failures}):
        remedy = (
            "no change needed: PyTorch has already made this size dynamic. "
            f"To avoid the first recompile, call `{call}` before the first call"
        )
    return Change(remedy, True)


def _int(
    program: Program,
    source: str,
    failures: Sequence[tuple[CompileKey, GuardFailure]],
    place: Place | None,
) -> Change:
    if any(
        "integer attributes of the nn.Module" in failure.text for _, failure in failures
    ) or _ON_MODULE.match(source):
        return Change(
            f"keep `{source}` in a tensor (register_buffer), count outside the compiled "
            "function, or set torch._dynamo.config.allow_unspec_int_on_nn_module = True",
            True,
        )
    if source.startswith("value of line"):
        return Change(
            "keep it a tensor, or remove the break that produces it: it comes from a tensor's "
            "values"
        )
    if source.startswith("global "):
        return Change(
            f"pass `{source[7:]}` as a tensor: a global number is a constant of the compiled code",
            True,
        )
    function = None if place is None else program.function(place)
    if function is not None and computed_in(function, source):
        return Change(
            f"remove the break after which `{source}` is used, or keep it a tensor: it is "
            "computed before the break"
        )
    if _PLAIN.match(source):
        return Change(
            f"pass `{source}` as a tensor, or compile with dynamic=True, which turns an int into "
            "a symbol",
            True,
        )
    return Change(f"pass `{source}` as a tensor, or as a separate argument with dynamic=True", True)
