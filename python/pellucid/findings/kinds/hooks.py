# SPDX-License-Identifier: Apache-2.0
"""Hooks added to a module after it was compiled: torch does not check for them."""

from __future__ import annotations

from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import LateHook

from ..finding import Finding, identify
from ..kind import Kind
from ..source import Program

_WORDS = {
    "_forward_hooks": "forward hook",
    "_forward_pre_hooks": "forward pre-hook",
    "_backward_hooks": "backward hook",
    "_backward_pre_hooks": "backward pre-hook",
}


def hooks(capture: Capture, program: Program) -> list[Finding]:
    """Find hooks that do not run because the module's code was compiled without them."""
    return [
        Finding(
            id=identify("hook", event.place, f"{event.module} {event.kind}"),
            kind="hook",
            place=event.place,
            code=program.code(event.place),
            cause=f"the {_WORDS.get(event.kind, 'hook')} of {event.module} was added after the "
            f"module was compiled "
            "and does not run: compiled code puts no guard on a module's hooks",
            remedy="add hooks before the first call, or call torch._dynamo.reset() after adding "
            "one, or set "
            "torch._dynamo.config.skip_nnmodule_hook_guards = False before compiling",
            sure="likely",
        )
        for event in capture.of(LateHook)
    ]


KIND = Kind(
    "hook",
    rank=70,
    means="A hook was added after its module was compiled, and does not run.",
    words="late hook",
    many="late hooks",
    tone="warn",
    find=hooks,
)
