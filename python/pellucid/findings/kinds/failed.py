# SPDX-License-Identifier: Apache-2.0
"""Compiles that ended in an error raised to the program."""

from __future__ import annotations

import re
from typing import Optional, Tuple

from pellucid.dump.model.breaks import accounts_of
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import (
    BackwardFailure,
    Break,
    CompileKey,
    Frame,
    Graph,
    Place,
    Skipped,
    Specialized,
)
from pellucid.dump.model.names import as_written, label, scrub

from ..finding import Finding, identify
from ..kind import Kind
from ..remedies import advise
from ..remedy import Remedy, by_hand, edit
from ..rewrites import test_of_size, with_call_renamed
from ..source import Program
from ..symbols import as_python, origins
from ..torchs_own import fault_of_torch, traced_line

_GOT = re.compile(r"got (?P<error>\w+)\((?P<quote>[\"'])(?P<text>.*?)(?P=quote)\)", re.DOTALL)
_OPERATOR = re.compile(
    r"(?:call_(?:function|method|module)|FX node call_\w+) "
    r"(?:<[^>]*?(?:built-in )?(?:function|method) )?"
    r"(?P<name>[\w.]+)"
)
_NO_FAKE = re.compile(
    r"no fake impl|register_fake|meta kernel|Meta.* backend|fake kernel", re.IGNORECASE
)
_BACKEND = re.compile(
    r"backend='?(?P<name>[\w.<>]+?)'? raised:\s*(?P<error>\w+): ?(?P<text>.*)", re.DOTALL
)
_DATA_DEPENDENT = re.compile(
    r"[Cc]ould not (?:guard on|extract specialized integer from) data-dependent expression "
    r"(?P<test>.+?)(?: \(unhinted|\. |\.?$)",
    re.MULTILINE,
)
_CONSTANT = re.compile(
    r"(?:because|marked) (?P<source>.+?) (?:was inferred|as dynamic but your code specialized it)"
    r" to be a constant \((?P<value>\d+)\)"
)
_NARROWED = re.compile(
    r"Not all values of (?P<source>\S+?)(?: = \S+)? in the specified range (?P<range>.+?) "
    r"satisfy the generated guard (?P<guard>.+?)\.?$",
    re.MULTILINE,
)
_EQUAL = re.compile(
    r"Not all values of .+? are valid because (?P<source>\S+) was inferred to be equal to "
    r"(?P<other>\S+?)\.?$",
    re.MULTILINE,
)
_NO_CONSTANT = re.compile(r"^(?P<what>\w+)\(.*\) is not a constant$", re.MULTILINE)
_TORCHS_OWN = re.compile(r"\b\w*(?:Variable|VariableTracker)\b|InternalTorchDynamoError")

_Told = Tuple[str, Tuple[Remedy, ...], str, Optional[Place]]
"""The cause, the remedies, the confidence, and the line if it differs from the failure's."""


def failed(capture: Capture, program: Program) -> list[Finding]:
    """Find compiles that failed and stopped the program."""
    groups: dict[tuple[Place | None, str, str], list[Skipped]] = {}
    for event in capture.of(Skipped):
        if event.raised and not event.limit:
            place = program.own(event.frames, event.at or event.place)
            groups.setdefault((place, event.kind, accounts_of(event.reason)[0].kind), []).append(
                event
            )
    calls = [_finding(capture, program, place, events) for (place, *_), events in groups.items()]
    return [*calls, *_backward(capture, program)]


def _finding(
    capture: Capture, program: Program, place: Place | None, events: list[Skipped]
) -> Finding:
    first = events[0]
    found = (
        _fault_of_torch(first)
        or _backend(capture, first)
        or _constraint(capture, program, first)
        or _narrowed(program, place, first)
        or _data_dependent(capture, program, first)
        or _break(program, place, first)
        or _operator(first)
        or _torchs_own(first)
    )
    if found is None:
        head = accounts_of(first.reason)[0]
        words = " ".join((head.explanation or head.kind or first.reason).split())
        found = f"torch: {words.rstrip('.')}", (), "unknown", None
    cause, remedies, sure, other = found
    place = other or place
    if first.place is not None and (place is None or place.file != first.place.file):
        cause += f", while `{label(first.place.function)}` was compiled"
    keys = tuple(dict.fromkeys(str(event.key) for event in events if event.key.id is not None))
    return Finding(
        id=identify("failed", place, first.kind),
        kind="failed",
        place=place,
        code=program.code(place),
        cause=f"the call raised {first.kind}: {scrub(cause)}",
        quoted=scrub(first.reason.strip()),
        remedies=remedies,
        sure=sure,
        count=len(events),
        keys=keys,
        caused=keys,
    )


def _fault_of_torch(event: Skipped) -> _Told | None:
    found = None if _asks_for_something(event) else fault_of_torch(event)
    return None if found is None else (*found, "likely", traced_line(event))


def _asks_for_something(event: Skipped) -> bool:
    """Return true if torch's error asks the program for something specific."""
    patterns = (_GOT, _NO_FAKE, _DATA_DEPENDENT, _CONSTANT, _NARROWED, _EQUAL, _NO_CONSTANT)
    return any(pattern.search(event.reason) for pattern in patterns)


def _backend(capture: Capture, event: Skipped) -> _Told | None:
    found = _BACKEND.search(event.reason)
    if event.kind.rpartition(".")[2] != "BackendCompilerFailed" or found is None:
        return None
    words = " ".join(found["text"].partition("\nWhile executing")[0].split())
    place = traced_line(event) or _mentioned(capture, event.key, words)
    text = words if len(words) < 200 else words[:200] + "…"
    cause = f"the backend `{found['name']}` raised {found['error']}: {text}"
    remedy = (
        "run the graph's file in the dump to reproduce the error, and report it to the backend's "
        'authors; to continue, use backend="eager"'
    )
    return cause, by_hand(remedy), "certain", place


def _mentioned(capture: Capture, key: CompileKey, words: str) -> Place | None:
    """Return the line of the operation that an error names, if it is in the graph."""
    for graph in capture.of(Graph):
        if graph.key != key or graph.stage != "captured":
            continue
        for node in capture.nodes(graph.file):
            name = node.target.rpartition(".")[2].strip("'\"")
            if (
                node.op.startswith("call")
                and len(name) > 2
                and re.search(rf"\b{re.escape(name)}\b", words)
            ):
                return node.place
    return None


def _constraint(capture: Capture, program: Program, event: Skipped) -> _Told | None:
    found = _CONSTANT.search(event.reason)
    if "ConstraintViolation" not in event.kind and found is None:
        return None
    if found is None:
        return None
    size = as_written(found["source"])
    if event.key.id is None:  # torch.export, which takes the mark as an argument
        words = "make the code work for every size"
        if found["value"] in ("0", "1"):
            words = "export with an example in which this size is at least 2"
        automatic = "pass torch.export.Dim.AUTO for this size, so that torch may fix it"
        cause = f"{size} was given as dynamic, but is fixed to {found['value']}"
        return cause, (*by_hand(words), *by_hand(automatic)), "certain", None
    fixed = [
        s for s in capture.of(Specialized) if s.key == event.key and found["source"] in s.sources
    ]
    place = next((s.place for s in fixed if s.place is not None), None)
    place = place or program.own(event.frames)
    at = " by this line" if place is not None else ""
    cause = f"{size} was marked dynamic, but is fixed to {found['value']}{at}"
    return cause, _hint_only(program, event, "make the line work for every size"), "certain", place


def _hint_only(program: Program, event: Skipped, words: str) -> tuple[Remedy, ...]:
    """Return remedies for a marked size: a mark that torch may ignore, or the words."""
    file = event.place.file if event.place is not None else ""
    diff, at = with_call_renamed(program, file, "mark_dynamic", "maybe_mark_dynamic")
    hint = "call maybe_mark_dynamic instead of mark_dynamic: torch may ignore that hint"
    return (*edit(diff, at, hint), *by_hand(words))


def _narrowed(program: Program, place: Place | None, event: Skipped) -> _Told | None:
    """Explain a size marked dynamic for which the code allows only some values."""
    equal = _EQUAL.search(event.reason)
    if equal is not None:
        size, other = as_written(equal["source"]), as_written(equal["other"])
        return (
            f"{size} was marked dynamic, but the code works only if it equals {other}",
            _hint_only(program, event, "mark both sizes with the same torch.export.Dim"),
            "certain",
            None,
        )
    found = _NARROWED.search(event.reason)
    if found is None:
        return None
    size = as_written(found["source"])
    bounds = [int(number) for number in re.findall(r"(?<![\w\[(])\d+(?![\w\])])", found["guard"])]
    at = test_of_size(program, place, bounds)
    told = found["guard"].replace(found["source"], size)
    asked = found["range"].replace(found["source"], size)
    cause = (
        f"{size} was marked dynamic ({asked}), but the compiled code is valid only for {told}"
        + (", as this line tests it" if at is not None else "")
    )
    words = (
        "mark it with a range in which the code takes one branch (mark_dynamic(…, min=…, max=…)), "
        "or test the size outside the compiled function"
    )
    return cause, _hint_only(program, event, words), "certain", at


def _data_dependent(capture: Capture, program: Program, event: Skipped) -> _Told | None:
    found = _DATA_DEPENDENT.search(event.reason)
    if found is None:
        return None
    made = origins(capture, program, event.key, found["test"])
    cause = (
        f"the code tests `{as_python(found['test'])}`, but the number comes from a tensor's "
        f"values, which are only known at run time{f': {made}' if made else ''}"
    )
    remedy = (
        "state the condition with torch._check(…) after the line that produces the number, or do "
        "not use the number in tests and sizes"
    )
    return cause, by_hand(remedy), "certain", None


def _operator(event: Skipped) -> _Told | None:
    got = _GOT.search(event.reason)
    operator = _OPERATOR.search(event.reason)
    # Unsupported code need not be wrong; only an error of the operation shows that it is.
    if got is None and (operator is None or _is_break(event)):
        head = accounts_of(event.reason)[0]
        if "making fake tensor call" not in head.kind or not head.explanation:
            return None
        cause = f"an operation on this line raises an error: {_short(head.explanation)}"
        return cause, by_hand(_WORDS_OF_LIBRARY), "likely", None
    name = operator["name"] if operator is not None else "an operation"
    if _NO_FAKE.search(event.reason):
        base = name.rpartition(".")[0] if name.endswith(".default") else name
        cause = (
            f"the operator `{base}` has no fake kernel, so torch does not know the size "
            f"and type of its result"
        )
        remedy = (
            f'register one: @torch.library.register_fake("{base.replace(".", "::", 1)}"), a '
            "function that returns an empty tensor of the result's size and type"
        )
        return cause, by_hand(remedy), "certain", None
    told = accounts_of(event.reason)[0].explanation if got is None else got["text"]
    words = _short(told.replace("\\n", " "))
    cause = f"`{name}` does not work with these arguments" + (f": {words}" if words else "")
    remedy = (
        "fix the line: the same call also fails uncompiled, which "
        'torch.compiler.set_stance("force_eager") shows'
    )
    if got is not None and not _OF_TORCH.match(name):
        remedy = f"{_WORDS_OF_LIBRARY}. If it works, the operator's fake kernel is wrong"
    return cause, by_hand(remedy), "likely", None


_OF_TORCH = re.compile(r"(?:torch|aten|prims)\.|\w+$")
_WORDS_OF_LIBRARY = (
    'do what the message says; torch.compiler.set_stance("force_eager") shows whether the call '
    "works uncompiled"
)


def _short(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) < 160 else words[:160] + "…"


def _torchs_own(event: Skipped) -> _Told | None:
    """Explain an error of torch's own code on this line."""
    if _NO_CONSTANT.search(event.reason):
        return (
            "the line needs the value of a number that is only known at run time, such as one "
            "drawn at random",
            by_hand("do this outside the compiled function, and pass in the result"),
            "likely",
            None,
        )
    if _is_break(event) or not _TORCHS_OWN.search(f"{event.kind} {event.reason}"):
        return None
    words = " ".join(accounts_of(event.reason)[0].kind.split())
    return (
        f"torch's own code fails at this line: {words[:160]}",
        by_hand(
            "keep the line out of the compiled function (torch.compiler.disable on the function it "
            "calls): this is a bug in torch, not in the program"
        ),
        "likely",
        None,
    )


def _is_break(event: Skipped) -> bool:
    """Return true if this is a graph break where none is allowed."""
    return event.kind.rpartition(".")[2] in (
        "Unsupported",
        "UserError",
        "UncapturedHigherOrderOpError",
    )


def _break(program: Program, place: Place | None, event: Skipped) -> _Told | None:
    if not _is_break(event):
        return None
    account = accounts_of(event.reason)[0]
    as_break = Break(
        event.key,
        event.reason,
        account.kind,
        account.gb_id,
        account.hints,
        event.frames,
        event.at or place,
        account.explanation,
        account.context,
    )
    advice = advise(program, place, as_break)
    if advice.sure == "unknown":
        return None
    cause = f"a graph break, which fullgraph or error_on_graph_break does not allow: {advice.cause}"
    return cause, advice.remedies, advice.sure, None


def _backward(capture: Capture, program: Program) -> list[Finding]:
    """Find backward graphs that failed to compile along with the forward pass."""
    groups: dict[str, list[BackwardFailure]] = {}
    for event in capture.of(BackwardFailure):
        groups.setdefault(event.reason, []).append(event)
    found = []
    for reason, events in groups.items():
        place = next((frame.place for frame in capture.of(Frame, events[0].key)), None)
        found.append(
            Finding(
                id=identify("failed", place, f"backward {reason[:40]}"),
                kind="failed",
                place=place,
                code=program.code(place),
                cause=f"the backward graph failed to compile: {reason}",
                quoted=events[0].text,
                remedy="no change needed if backward() is never called; otherwise backward() "
                "compiles the graph again, and raises the error if that fails again",
                count=len(events),
                keys=tuple(dict.fromkeys(str(event.key) for event in events)),
            )
        )
    return found


KIND = Kind(
    "failed",
    rank=20,
    means="A compile raised an error.",
    words="failed compile",
    many="failed compiles",
    judged="rules out",
    claim=10,
    find=failed,
)
