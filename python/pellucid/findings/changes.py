# SPDX-License-Identifier: Apache-2.0
"""What to change to avoid a recompile, by the kind of guard that failed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Iterable, Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import CompileKey, GuardFailure, Place, Specialized
from pellucid.dump.model.names import as_written

from . import remedy as forms
from .dispatch import keys_in_words
from .remedy import Remedy, by_hand
from .rewrites import (
    computed_in,
    counts_to,
    grows,
    is_argument,
    is_reassigned,
    loops_over,
    sets,
    with_tensor,
)
from .source import Program
from .trials import entry_of, value_in
from .words import in_sentence

_DIMENSION = re.compile(r"^(?P<tensor>.*)\.size\((?P<index>\d+)\)$")
_CACHE = re.compile(r"cache|past_key|(?:^|\.)(?:keys|values)\b", re.IGNORECASE)
_ON_MODULE = re.compile(r"^self(?:\.\w+)+$")


@dataclass(frozen=True)
class Change:
    """What to change; ``makes_one`` if the remedy removes the guard that failed."""

    remedies: tuple[Remedy, ...] = ()
    makes_one: bool = False
    why: str = ""
    """Words to append to the cause."""
    place: Place | None = None
    """The line responsible, if it differs from the guard's line."""


def change(
    capture: Capture,
    program: Program,
    kind: str,
    source: str,
    values: Sequence[str],
    failures: Sequence[tuple[CompileKey, GuardFailure]],
    place: Place | None,
    function: Place | None = None,
    reasons: Sequence[str] = (),
) -> Change:
    """Return what to change, or an empty change if unknown.

    Args:
        capture: the capture.
        program: the source text of the program.
        kind: the kind of guard that failed.
        source: the guarded value.
        values: the values it had, in order.
        failures: each failure and the compile it caused.
        place: the line that the guard was created for.
        function: the function that was recompiled.
        reasons: the reasons as torch words them, with its hints.
    """
    if kind == "size":
        return _size(capture, program, source, values, failures, function)
    if len(failures) == 1 and sets(program, place, source):
        return Change(
            by_hand(
                f"no change needed: the function sets `{source}` itself, and is recompiled once "
                "for the new value. To avoid that, set it before the first call"
            )
        )
    if kind == "length":
        return Change(by_hand(_length(program, source, place)))
    if kind == "identity" and _ON_MODULE.match(source):
        return Change(
            by_hand(
                f"share one `{source}` between the modules, or compile the function that calls "
                "them: each module has its own"
            )
        )
    is_set = is_reassigned(program, place, source)
    if kind == "value" and _ON_MODULE.match(source) and len(values) > 2 and not is_set:
        return Change(
            by_hand(
                f"pass what `{source}` selects as an argument, or compile the function that calls "
                "the modules: each module has its own value"
            )
        )
    if kind in ("int", "float"):
        if kind == "int":
            number = _int(program, source, reasons, place, function)
        else:
            number = _float(program, source, place, function)
        is_dynamic = _is_dynamic(capture, source, failures)
        return _already_dynamic(source, number) if is_dynamic else number
    if kind == "shape" and any(_ZERO_ONE in reason for reason in reasons):
        failure = failures[0][1]
        found = _SHAPE.search(failure.text)
        if found is not None:
            size = (found["tensor"], found["index"])
            remedies = _unbacked(capture, size, failure.version, function)
            return Change(remedies[_is_tested([failure.text], *size) :])
    if kind == "dispatch keys":
        words = [keys_in_words(failure.expected, failure.actual)[1] for _, failure in failures]
        return Change(by_hand(next(filter(None, words), _BY_KIND[kind])))
    if kind == "gone" and source.startswith("value of line"):
        return Change(
            by_hand(
                "remove the graph break that precedes the use of this value: each call creates a "
                "new object, and torch drops a compiled version when the object it was compiled "
                "for is freed"
            )
        )
    if source.endswith(".training"):
        return Change(by_hand("warm up both training and evaluation: each has its own version"))
    told = _BY_KIND.get(kind, "")
    if kind == "stride":
        name = source.partition(".stride(")[0]
        value = f"{name}.contiguous()"
        return Change((_passed(program, name, value, function, told, "copies it"),), True)
    return Change(by_hand(told))


def _is_dynamic(
    capture: Capture, source: str, failures: Sequence[tuple[CompileKey, GuardFailure]]
) -> bool:
    """Return true if only the first version treats a number as a constant.

    The next version accepts any value.
    """
    newest = entry_of(capture, failures[-1][0])
    name = source.replace("global ", "")
    if newest is None or not newest.guards or len(failures) > len({k.frame for k, _ in failures}):
        return False
    guards = [guard for guard in newest.guards if as_written(guard.source) == name]
    return bool(guards) and not value_in(newest, name)


def _already_dynamic(source: str, number: Change) -> Change:
    """Return what to change if only the first version treats a number as a constant."""
    done = by_hand(f"no change needed: PyTorch has already made {in_sentence(source)} dynamic")
    sooner = forms.option("dynamic=True", " to avoid the first recompile")
    # Their reason, that a number is a constant, is not true of the newer versions.
    others = (
        replace(remedy, words=re.sub(": .*", " for the same effect", remedy.words))
        for remedy in number.remedies
        if remedy.kind != "option"
    )
    return Change((*done, sooner, *others))


def _passed(
    program: Program,
    name: str,
    value: str,
    function: Place | None,
    words: str,
    caution: str = "",
) -> Remedy:
    """Return a remedy that passes a different value for this argument."""
    given = function if is_argument(program, function, name) else None
    return forms.argument(name, value, given, words, caution)


def _float(program: Program, source: str, place: Place | None, function: Place | None) -> Change:
    if "lr" in source:
        words = (
            "make the learning rate a tensor (lr=torch.tensor(…)), so that compiled code reads it"
        )
        diff, at = with_tensor(program, place, "lr")
        return Change(forms.edit(diff, at, words), True)
    if source.startswith("value of line"):
        return Change(by_hand("keep it as a tensor, or compute it outside the compiled function"))
    written = None if place is None else program.function(place)
    if written is not None and computed_in(written, source):
        return Change(by_hand(_COMPUTED.format(source)))
    words = f"pass `{source}` as a tensor: a Python float is a constant in the compiled code"
    value = f"torch.tensor({source})"
    return Change((_passed(program, source, value, function, words, _ROUNDS),), True)


_COMPUTED = (
    "remove the graph break between the line that computes `{0}` and the lines that use it, or "
    "keep it as a tensor"
)
_ROUNDS = "a float32 tensor has fewer digits than a Python float"


_BY_KIND = {
    "value": "pass only values that matter, or branch outside the compiled function; for a few "
    "values no change is needed, as each has its own version",
    "none": "always pass a value, or warm up both cases: None and a value have separate versions",
    "type": "pass the same type each time, or accept one version per type",
    "identity": "pass the same object each time, or pass what it holds (tensors, numbers) instead; "
    "for a few objects no change is needed, as each has its own version",
    "key": "pass the same keys each time: the keys of a dict are constants of the compiled code",
    "keys": "pass the same keys in the same order each time: they are constants in the compiled "
    "code; for a few sets of keys no change is needed, as each has its own version",
    "requires_grad": "warm up calls with and without gradients: each has its own version; detach "
    "the input only if no gradient has to flow back through it",
    "dtype": "convert it before the call, so that its dtype is the same each time",
    "device": "move it before the call, so that it is on the same device each time",
    "stride": "make the input contiguous before the call (.contiguous())",
    "rank": "pass the same number of dimensions each time (unsqueeze, reshape), or accept one "
    "version per number of dimensions",
    "dispatch keys": "pass the same kind of tensor each time (inference tensors, subclasses and "
    "functorch tensors differ)",
    "global state": "warm up each state in which it is called (grad mode, autocast, default dtype, "
    "threads): each has its own version",
    "iterator": "move the graph break out of the loop: inside it, each step compiles a version",
    "marked": "mark the tensor before the first call, so that the first version is already dynamic",
    "alias": "clone one of them, so that no tensor is passed twice, or pass it twice in every call",
    "gone": "keep the object alive between the calls: create it once, outside the call, and pass "
    "the same object",
    "backend": "call torch.compile once and reuse the compiled function",
    "attribute": "set the attribute in __init__, so that it always exists",
    "condition": "warm up both sides of the test, or test outside the compiled function: each "
    "side has its own version",
    "shape": "warm up both sides of the size test, or test outside the compiled function: each "
    "side has its own version",
}


def _length(program: Program, source: str, place: Place | None) -> str:
    names = source.replace("global ", "").split(".")
    if loops_over(program, place, names[-1]):
        return (
            "pass the same number of items, or stack them into one tensor: the loop over it is "
            "unrolled"
        )
    if any(grows(program, place, name) for name in names):
        return (
            "append to it outside the compiled function and pass in only what you need, or write "
            "into a tensor of a fixed size: it grows with every call"
        )
    return "pass the same number of items each time: it is a constant in the compiled code"


def _fixed(
    capture: Capture, source: str, failures: Sequence[tuple[CompileKey, GuardFailure]]
) -> Specialized | None:
    """Return the event that specialized a size to a constant after torch had made it dynamic."""
    keys = {failure.version for _, failure in failures}
    for event in capture.of(Specialized):
        names = {_IN_BRACKETS.sub(r".size(\1)", as_written(name)) for name in event.sources}
        if event.key in keys and source in names:
            return event
    return None


_IN_BRACKETS = re.compile(r"\.size\(\)\[(\d+)\]$")


def _meets_parameter(capture: Capture, key: CompileKey, tensor: str) -> bool:
    """Return true if a version also guards a parameter, not just this tensor."""
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
        line = "torch._dynamo.config.force_parameter_static_shapes = False"
        words = (
            "set {} to make the sizes of parameters dynamic: they are constants, and so is any "
            "size that must equal one"
        )
        return Change(
            (forms.setting(line, words),),
            why=f"{why}, as it must equal the size of a parameter",
            place=place,
        )
    return Change(
        by_hand(
            "make the line work for every size (no int(), no table or index by it); marking it "
            "dynamic would raise an error instead"
        ),
        why=why,
        place=place,
    )


_ZERO_ONE = "0/1 specialization"
_SHAPE = re.compile(r"\b(?P<tensor>[A-Za-z_][\w.]*)\.size\(\)\[(?P<index>\d+)\]")


def _is_tested(guards: Iterable[str], tensor: str, index: str) -> bool:
    """Return true if guards bound a size from above: the code tests it, so it needs a value."""
    size = re.compile(rf"\b{re.escape(tensor)}\.size\(\)\[{index}\]")
    texts = (_SCOPE.sub(r"\1", guard) for guard in guards)
    ends = (text[found.end() :] for text in texts for found in size.finditer(text))
    return any("<= " in end or "> " in end for end in ends)


_SCOPE = re.compile(r"\b[LG]\['(\w+)'\]")
_EQUAL_SIZES = re.compile(r"^L\['(\w+)'\]\.size\(\)\[(\d+)\] == L\['(\w+)'\]\.size\(\)\[(\d+)\]$")


def _unbacked(
    capture: Capture, size: tuple[str, str], version: CompileKey | None, function: Place | None
) -> tuple[Remedy, ...]:
    """Return a mark for a size and for every size that the version requires to be equal to it."""
    sizes = [size]
    entry = entry_of(capture, version)
    for guard in entry.guards if entry is not None else ():
        equal = _EQUAL_SIZES.match(guard.text)
        pair = [(equal[1], equal[2]), (equal[3], equal[4])] if equal is not None else []
        if any(one in sizes for one in pair):
            sizes += [other for other in pair if other not in sizes]
    calls = [f"torch._dynamo.decorators.mark_unbacked({name}, {at})" for name, at in sizes]
    words = f"call {' and '.join(f'`{call}`' for call in calls)} before the first call"
    return (
        forms.mark("; ".join(calls), function, words),
        *by_hand("warm up both versions: sizes 0 and 1 always have their own version"),
    )


def _size(
    capture: Capture,
    program: Program,
    source: str,
    values: Sequence[str],
    failures: Sequence[tuple[CompileKey, GuardFailure]],
    function: Place | None,
) -> Change:
    found = _DIMENSION.match(source)
    if found is None:
        return Change()
    tensor, index = found["tensor"], found["index"]
    if "1" in values or "0" in values:
        remedies = _unbacked(capture, (tensor, index), failures[0][1].version, function)
        functions = {key.frame for key, _ in failures}
        every = (entry for of in capture.caches.values() for entry in of)
        versions = (entry for entry in every if entry.key and entry.key.frame in functions)
        texts = (guard.text for entry in versions for guard in entry.guards)
        return Change(remedies[_is_tested(texts, tensor, index) :])
    numbers = [int(value) for value in values if value.isdigit()]
    grows_by_one = len(numbers) > 1 and numbers[1] == numbers[0] + 1
    if grows_by_one and _CACHE.search(tensor):
        return Change(
            by_hand(
                "allocate the cache at its maximum size before the first call, and write into it: "
                'with Transformers, model.generation_config.cache_implementation = "static"'
            ),
            why="the cache grows by one with every step",
        )
    event = _fixed(capture, source, failures)
    if event is not None:
        return _by_the_code(program, event, _meets_parameter(capture, event.key, tensor))
    # mark_dynamic raises an error if the code turns out to specialize the size; maybe_mark_dynamic
    # does not.
    call = f"torch._dynamo.maybe_mark_dynamic({tensor}, {index})"
    newest = entry_of(capture, failures[-1][0])
    guards = newest.guards if newest else ()
    is_dynamic = any(g.kind == "TENSOR_MATCH" and "None" in g.text for g in guards)
    if is_dynamic and len(failures) == len({key.frame for key, _ in failures}):
        words = f"to avoid the first recompile, call `{call}` before the first call"
        done = by_hand("no change needed: PyTorch has already made this size dynamic")
        marked = () if " " in tensor else (forms.mark(call, function, words),)
        return Change((*done, *marked), True)
    if " " in tensor:  # computed before a break, so it cannot be marked
        return Change(by_hand("remove the graph break that precedes the use of this value"), True)
    return Change((forms.mark(call, function), forms.option("dynamic=True")), True)


def _int(
    program: Program,
    source: str,
    reasons: Sequence[str],
    place: Place | None,
    function: Place | None,
) -> Change:
    if any("integer attributes of the nn.Module" in reason for reason in reasons):
        line = "torch._dynamo.config.allow_unspec_int_on_nn_module = True"
        other = (
            f"keep `{source}` in a tensor (register_buffer), or count outside the compiled function"
        )
        return Change((forms.setting(line), *by_hand(other)), True)
    if source.endswith(".item()"):
        return Change(
            by_hand(
                f"pass `{source[:-7]}` to an operation that takes a tensor (index_select, gather, "
                "torch.where): indexing with it, or with its .item(), makes the value a constant"
            )
        )
    if source.startswith("value of line"):
        return Change(
            by_hand(
                "keep it as a tensor, or remove the graph break that precedes its use: it comes "
                "from a tensor's values"
            )
        )
    if source.startswith("global "):
        words = (
            f"pass `{source[7:]}` as a tensor: a global number is a constant in the compiled code"
        )
        return Change(by_hand(words), True)
    written = None if place is None else program.function(place)
    if written is not None and computed_in(written, source):
        return Change(by_hand(_COMPUTED.format(source)))
    if written is not None and counts_to(written, source):
        return Change(
            by_hand(
                f"accept one version per value of `{source}`, or always run the same number of "
                "steps: the loop over it is unrolled"
            )
        )
    if "." in source:
        words = (
            f"keep `{source}` in a tensor, or pass it as an argument: an attribute is a constant"
        )
        return Change(by_hand(words), True)
    dynamic = forms.option("dynamic=True", ", which turns an int into a symbol")
    value = f"torch.tensor({source})"
    words = f"pass `{source}` as a tensor"
    return Change((dynamic, _passed(program, source, value, function, words)), True)
