# SPDX-License-Identifier: Apache-2.0
"""Captures in which nothing was compiled."""

from __future__ import annotations

import os
import re
from typing import Sequence

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Break, Frame, Graph, Passed, Skipped, Stance, Uncalled
from pellucid.dump.model.failures import is_own

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program

_SWITCHES = (
    "torch._dynamo.config.disable",
    "os.environ['TORCHDYNAMO_DISABLE']",
    "os.environ['TORCH_COMPILE_DISABLE']",
)
_LIBRARY = "skipfiles"
"""torch's word for code that it compiles only as part of another function."""
_SHARDING = ("/fsdp/", "/_composable/")


NO_CALL = (
    "no compiled function was called while the capture was open, or every call used code that was "
    "compiled before"
)
"""The cause if the capture does not show a better one."""


def is_known(finding: Finding) -> bool:
    """Return true if a finding of this kind states why nothing was compiled."""
    return finding.cause != NO_CALL


def nothing(capture: Capture, program: Program) -> list[Finding]:
    """Find why a capture has no graph of any user function."""
    frames = capture.of(Frame)
    if capture.of(Graph) or any(is_own(frame.place.file) for frame in frames):
        return []
    passed = capture.of(Passed)
    why = _no_graphs(frames, capture.of(Break)) if frames else _switched_off(capture, passed)
    if why is None and capture.of(Skipped):
        return []  # other findings report what torch skipped and what failed
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
    around = ": FSDP's hooks wrap the compiled modules" if is_sharded else ""
    cause = (
        f"torch compiled only its own code ({names}) and captured no operation in it{around}; "
        "the whole model runs uncompiled"
    )
    remedy = "compile your own function or module that calls these modules"
    return cause, remedy, "likely"


def _switched_off(capture: Capture, passed: Sequence[Passed]) -> tuple[str, str, str] | None:
    for name in _SWITCHES:
        value = capture.configuration.get(name, "0")
        if value.strip("'\"") not in ("0", "False", ""):
            variable = re.fullmatch(r"os\.environ\['(\w+)'\]", name)
            if variable is None:
                return f"{name} = {value} turns torch.compile off", f"set {name} = False", "certain"
            setting = f"{variable[1]}={value.strip(chr(39))}"
            return f"{setting} turns torch.compile off", f"unset {variable[1]}", "certain"
    if any("tracing is disabled" in event.reason for event in passed):
        cause = "torch._dynamo.config.disable was True when the compiled function was called"
        return cause, "set torch._dynamo.config.disable = False before the call", "certain"
    return None


def _only_libraries(passed: Sequence[Passed]) -> tuple[str, str, str] | None:
    """Return the cause if all that ran is code that torch compiles only as part of user code."""
    library = [e for e in passed if _LIBRARY in e.reason and not is_own(e.place.file)]
    forwards = [e for e in library if e.place.function == "forward"]
    names = ", ".join(dict.fromkeys(f"`{_line(e)}`" for e in forwards[:3]))
    sharded = [e for e in passed if any(part in e.place.file for part in _SHARDING)]
    if sharded:
        cause = (
            "compiled modules were called, but torch compiled nothing: FSDP's hooks wrap "
            f"them ({_short(sharded[0])}) and call torch's own code "
            f"({names or 'torch.nn'}), which is compiled only as part of your functions"
        )
        remedy = (
            "compile a module whose forward method is yours; a class that wraps these modules is "
            "enough"
        )
        return cause, remedy, "likely"
    if forwards:
        cause = (
            "compiled functions were called, but every frame that ran was torch's own code "
            f"({names}), which is compiled only as part of your functions"
        )
        remedy = "compile your own function or module that calls them"
        return cause, remedy, "likely"
    return None


def _uncalled(events: Sequence[Uncalled]) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(event.module for event in events))
    cause = (
        f"{names} was passed to torch.compile, but the compiled module itself was never called; "
        "its methods (such as generate) run the original module, uncompiled"
    )
    remedy = (
        "call what torch.compile returns, or compile in place with module.compile() or "
        "module.forward = torch.compile(module.forward), so that its methods run compiled code too"
    )
    return cause, remedy, "likely"


def _passed_by(passed: Sequence[Passed]) -> tuple[str, str, str]:
    if passed:
        cause = "compiled functions were called, but torch skipped every frame: "
        return cause + passed[0].reason, "", "certain"
    remedy = (
        "call the compiled function inside the capture; call torch._dynamo.reset() first if it was "
        "compiled before"
    )
    return NO_CALL, remedy, "likely"


def _short(event: Passed) -> str:
    parts = event.place.file.replace("\\", "/").split("/")
    return f"{'/'.join(parts[-2:])}:{event.place.line} in {event.place.function}"


def _line(event: Passed) -> str:
    return f"{os.path.basename(event.place.file)}:{event.place.line}"


KIND = Kind(
    "nothing",
    rank=40,
    means="Nothing was compiled.",
    words="nothing compiled",
    judged="rules out",
    find=nothing,
)
