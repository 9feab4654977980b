# SPDX-License-Identifier: Apache-2.0
"""Nothing was compiled at all."""

from __future__ import annotations

import os
from typing import Sequence

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import Break, Frame, Graph, Passed, Skipped, Stance, Uncalled
from pellucid.torch.model.failures import is_own

from .finding import Finding, identify
from .source import Program

_SWITCHES = (
    "torch._dynamo.config.disable",
    "os.environ['TORCHDYNAMO_DISABLE']",
    "os.environ['TORCH_COMPILE_DISABLE']",
)
_LIBRARY = "skipfiles"
"""torch's word for code that it compiles only as a part of another function."""
_SHARDING = ("/fsdp/", "/_composable/")


def nothing(capture: Capture, program: Program) -> list[Finding]:
    """Find why a capture has not a single graph of a function of the program's."""
    frames = capture.of(Frame)
    if capture.of(Graph) or any(is_own(frame.place.file) for frame in frames):
        return []
    passed = capture.of(Passed)
    why = _no_graphs(frames, capture.of(Break)) if frames else _switched_off(capture, passed)
    if why is None and capture.of(Skipped):
        return []  # what torch looked at and left, or what failed, says why
    why = why or _only_libraries(passed)
    if why is None and capture.of(Stance):
        return []
    uncalled = () if passed else capture.of(Uncalled)
    cause, remedy, sure = why or (_uncalled(uncalled) if uncalled else _passed_by(passed))
    place = next((e.place for e in passed[:1] if is_own(e.place.file)), None)
    if why is None and uncalled and uncalled[0].place is not None:
        place = program.start(uncalled[0].place)
    return [
        Finding(
            id=identify("nothing", place),
            kind="nothing",
            place=place,
            code=program.code(place),
            cause=cause,
            quoted="\n".join(f"{_short(e)}: {e.reason}" for e in passed[:20]),
            remedy=remedy,
            sure=sure,
        )
    ]


def _no_graphs(frames: Sequence[Frame], breaks: Sequence[Break]) -> tuple[str, str, str]:
    names = ", ".join(dict.fromkeys(f"`{frame.place.function}`" for frame in frames))
    is_sharded = any(part in stop.text for part in _SHARDING for stop in breaks)
    around = ": FSDP's own hooks are around the compiled modules" if is_sharded else ""
    cause = (
        f"torch compiled only code of its own ({names}), and captured no operation there{around}; "
        "all of the model runs uncompiled"
    )
    remedy = "compile a function or a module of the program's own that calls these modules"
    return cause, remedy, "likely"


def _switched_off(capture: Capture, passed: Sequence[Passed]) -> tuple[str, str, str] | None:
    for name in _SWITCHES:
        value = capture.configuration.get(name, "0")
        if value.strip("'\"") not in ("0", "False", ""):
            return (
                f"compiling is switched off: {name} = {value}",
                "take the setting back",
                "certain",
            )
    if any("tracing is disabled" in event.reason for event in passed):
        cause = "compiling is switched off while this was called (torch._dynamo.config.disable)"
        return cause, "take the setting back", "certain"
    return None


def _only_libraries(passed: Sequence[Passed]) -> tuple[str, str, str] | None:
    """Where all that ran is code which torch compiles only as a part of the program's."""
    library = [e for e in passed if _LIBRARY in e.reason and not is_own(e.place.file)]
    forwards = [e for e in library if e.place.function == "forward"]
    names = ", ".join(dict.fromkeys(f"`{_line(e)}`" for e in forwards[:3]))
    sharded = [e for e in passed if any(part in e.place.file for part in _SHARDING)]
    if sharded:
        cause = (
            "compiled modules were called, but torch compiled nothing: FSDP's own hooks are around "
            f"them ({_short(sharded[0])}), and what these call is torch's own code "
            f"({names or 'torch.nn'}), which is compiled only as a part of the program's functions"
        )
        remedy = (
            "compile modules whose forward is the program's own: a class of its own around these "
            "modules is enough"
        )
        return cause, remedy, "likely"
    if forwards:
        cause = (
            "compiled functions were called, but every frame that ran was torch's own code "
            f"({names}), which is compiled only as a part of the program's functions"
        )
        remedy = "compile a function or a module of the program's own that calls them"
        return cause, remedy, "likely"
    return None


def _uncalled(events: Sequence[Uncalled]) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(event.module for event in events))
    cause = (
        f"torch.compile was given {names}, but the compiled module itself was never called: a "
        "method of it (such as generate) runs the module that it was made of, uncompiled"
    )
    remedy = (
        "call what torch.compile returns, or compile in place: with module.compile(), or "
        "module.forward = torch.compile(module.forward), its methods run compiled code, too"
    )
    return cause, remedy, "likely"


def _passed_by(passed: Sequence[Passed]) -> tuple[str, str, str]:
    if passed:
        cause = "compiled functions were called, but torch passed every frame by: "
        return cause + passed[0].reason, "", "certain"
    cause = (
        "no compiled function was called while the capture was open, or every call found what was "
        "compiled before"
    )
    remedy = (
        "call the compiled function inside of the capture; torch._dynamo.reset() in front makes "
        "torch look again"
    )
    return cause, remedy, "likely"


def _short(event: Passed) -> str:
    parts = event.place.file.replace("\\", "/").split("/")
    return f"{'/'.join(parts[-2:])}:{event.place.line} in {event.place.function}"


def _line(event: Passed) -> str:
    return f"{os.path.basename(event.place.file)}:{event.place.line}"
