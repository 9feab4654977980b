# SPDX-License-Identifier: Apache-2.0
"""What to change so that a function is not compiled again, by what was another one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Sequence

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import CompileKey, GuardFailure, Place, Specialized
from pellucid.torch.model.names import as_written

from .rewrites import computed_in, grows, loops_over
from .source import Program
from .trials import entry_of

_DIMENSION = re.compile(r"^(?P<tensor>.*)\.size\((?P<index>\d+)\)$")
_PLAIN = re.compile(r"^[A-Za-z_]\w*$")
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
            f"each module has a `{source}` of its own: share one between them, or compile what "
            "calls the modules, as one function"
        )
    if kind == "int":
        return _int(program, source, failures, place)
    if kind == "float":
        if "lr" in source:
            return Change(
                "keep the learning rate a tensor (lr=torch.tensor(…)): compiled code reads it then",
                True,
            )
        if source.startswith("value of line"):
            return Change("keep it a tensor, or compute it outside of the compiled function")
        return Change(
            f"hand `{source}` in as a tensor: a Python float is a constant of the compiled code",
            True,
        )
    if source.endswith(".training"):
        return Change("training and evaluation are two versions: expect both, and warm both up")
    return Change(_BY_KIND.get(kind, ""), kind in ("stride",))


_BY_KIND = {
    "value": "each value has a version of its own: that is right for a few; hand in only those "
    "that matter, or branch "
    "outside of the compiled function",
    "none": "None and a value are two versions: always hand in a value, or compile both ways "
    "once (warm up)",
    "type": "hand in the same type each time, or accept one version a type",
    "identity": "hand in the same object each time, or pass what it holds (tensors, numbers) "
    "instead of it",
    "key": "the keys of a dict are constants of the compiled code: hand in the same keys each time",
    "requires_grad": "call it with and without gradients knowingly: detach the input, or use "
    "torch.no_grad() always",
    "dtype": "convert before the call, so that it is the same type each time",
    "device": "move it before the call, so that it is the same device each time",
    "stride": "make the input contiguous before the call (.contiguous())",
    "rank": "hand in the same number of dimensions each time (unsqueeze, reshape)",
    "dispatch keys": "hand in the same kind of tensor each time (inference tensors, subclasses, "
    "functorch differ)",
    "global state": "call it under the same state (grad mode, autocast, default dtype, threads) "
    "as when it was compiled",
    "iterator": "a break in a loop makes a version a step: take the break out of the loop",
    "marked": "mark the tensor before the first call as well, so that all versions are of "
    "marked ones",
    "alias": "hand in the same tensor twice always or never: clone one",
    "gone": "keep the object alive that the compiled code knows",
    "backend": "make the compiled function once, and call that",
    "attribute": "set the attribute in __init__, so that it is there each time",
    "shape": "each side of a test of a size has a version: expect both and warm both up, or test "
    "outside of the compiled function",
}


def _length(program: Program, source: str, place: Place | None) -> Change:
    name = source.replace("global ", "").rpartition(".")[2]
    if loops_over(program, place, name):
        return Change(
            "the loop over it is unrolled: hand in the same number of items, or stack them into "
            "one tensor"
        )
    if grows(program, place, name):
        return Change(
            "it grows from call to call: append to it outside of the compiled function and hand in "
            "only what is needed of it, or write into a tensor of a fixed size"
        )
    return Change(
        "the number of items is a constant of the compiled code: hand in the same number each time"
    )


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
    why = f"torch made a symbol of it, but {'this line' if own else 'the code'} fixes it"
    if meets_parameter:
        return Change(
            "sizes of parameters are constants, and so is what meets one: "
            "torch._dynamo.config.force_parameter_static_shapes = False makes symbols of them",
            why=f"{why}, as it meets the size of a parameter",
            place=place,
        )
    return Change(
        "let the line work for every size (no int(), no table or index by it); marking it dynamic "
        "raises an error instead",
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
            f"sizes 0 and 1 always have a version of their own: expect two, warm both up, or use "
            f"torch._dynamo.decorators.mark_unbacked({tensor}, {index})"
        )
    event = _fixed(capture, source, failures)
    if event is not None:
        return _by_the_code(program, event, _meets_parameter(capture, event.key, tensor))
    call = f"torch._dynamo.mark_dynamic({tensor}, {index})"
    remedy = f"{call} before the first call, or torch.compile(dynamic=True)"
    newest = entry_of(capture, failures[-1][0])
    text = (
        next((g.text for g in newest.guards if g.kind == "TENSOR_MATCH" and "None" in g.text), "")
        if newest
        else ""
    )
    if text and len(failures) == len({key.frame for key, _ in failures}):
        remedy = (
            f"nothing more is compiled for it, as torch took it for dynamic at once; to "
            f"save the first compile: {call}"
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
            f"keep `{source}` in a tensor (register_buffer), count outside of the compiled "
            f"function, or set "
            "torch._dynamo.config.allow_unspec_int_on_nn_module = True",
            True,
        )
    if source.startswith("value of line"):
        return Change(
            "it comes of a tensor's values: keep it a tensor, or take the break away that gives it"
        )
    if source.startswith("global "):
        return Change(
            f"hand `{source[7:]}` in as a tensor: a global number is a constant of the compiled "
            f"code",
            True,
        )
    function = None if place is None else program.function(place)
    if function is not None and computed_in(function, source):
        return Change(
            f"`{source}` is computed before a break, after which the code goes on: take that break "
            "away, or keep it a tensor"
        )
    if _PLAIN.match(source):
        return Change(
            f"hand `{source}` in as a tensor, or compile with dynamic=True, which makes a "
            f"symbol of an int",
            True,
        )
    return Change(
        f"hand `{source}` in as a tensor, or as an argument of its own with dynamic=True", True
    )
