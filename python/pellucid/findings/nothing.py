"""Nothing was compiled at all."""

from __future__ import annotations

import os

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import Frame, Graph, Passed, Skipped, Stance
from pellucid.torch.model.failures import is_own

from .finding import Finding, identify
from .source import Program

_INLINED = "skipfiles"


def nothing(capture: Capture, program: Program) -> list[Finding]:
    """Find why a capture has not a single compiled function."""
    if any(isinstance(event, (Frame, Graph)) for event in capture.events):
        return []
    off = [
        name
        for name in (
            "torch._dynamo.config.disable",
            "os.environ['TORCHDYNAMO_DISABLE']",
            "os.environ['TORCH_COMPILE_DISABLE']",
        )
        if capture.configuration.get(name, "0").strip("'\"") not in ("0", "False", "")
    ]
    passed = capture.of(Passed)
    sharded = [e for e in passed if "/fsdp/" in e.place.file or "/_composable/" in e.place.file]
    library = [e for e in passed if _INLINED in e.reason and not is_own(e.place.file)]
    forwards = [e for e in library if e.place.function == "forward"]
    quoted = "\n".join(f"{_short(e)}: {e.reason}" for e in passed[:20])
    remedy, sure, links = "", "certain", passed[:1]
    if off:
        cause = f"compiling is switched off: {off[0]} = {capture.configuration[off[0]]}"
        remedy = "take the setting back"
    elif capture.of(Skipped):
        return []  # what torch looked at and left, or what failed, says why
    elif sharded:
        names = ", ".join(dict.fromkeys(f"`{_class(e)}`" for e in forwards[:3]))
        cause = (
            f"compiled modules were called, but torch compiled nothing: FSDP's own hooks are "
            f"around them "
            f"({_short(sharded[0])}), and what these call is torch's own code "
            f"({names or 'torch.nn'}), which is "
            "compiled only as a part of the program's functions"
        )
        remedy = (
            "compile modules whose forward is the program's own: a class of its own around "
            "these modules is enough"
        )
        sure = "likely"
    elif forwards:
        names = ", ".join(dict.fromkeys(f"`{_class(e)}`" for e in forwards[:3]))
        cause = (
            f"compiled functions were called, but every frame that ran was torch's own code "
            f"({names}), which is "
            "compiled only as a part of the program's functions"
        )
        remedy = "compile a function or a module of the program's own that calls them"
        sure = "likely"
    elif capture.of(Stance):
        return []
    elif passed:
        cause = (
            f"compiled functions were called, but torch passed every frame by: {passed[0].reason}"
        )
    else:
        cause = (
            "no compiled function was called while the capture was open, or every call found "
            "what was "
            "compiled before"
        )
        remedy = (
            "call the compiled function inside of the capture; torch._dynamo.reset() in front "
            "makes torch "
            "look again"
        )
        sure = "likely"
    place = next((e.place for e in links if is_own(e.place.file)), None)
    return [
        Finding(
            id=identify("nothing", place),
            kind="nothing",
            place=place,
            code=program.code(place),
            cause=cause,
            quoted=quoted,
            remedy=remedy,
            sure=sure,
        )
    ]


def _short(event: Passed) -> str:
    parts = event.place.file.replace("\\", "/").split("/")
    return f"{'/'.join(parts[-2:])}:{event.place.line} in {event.place.function}"


def _class(event: Passed) -> str:
    return f"{os.path.basename(event.place.file)}:{event.place.line}"
