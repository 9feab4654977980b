# SPDX-License-Identifier: Apache-2.0
"""What a run says when it ends: what compiled, what was found and the page, or why nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Sequence

from pellucid.terminal import inform, is_quiet

from . import report_at_end

if TYPE_CHECKING:
    from rich.console import Console

    from pellucid.dump.model.capture import Capture

_RECORD = "session.json"
_WIDTH = 100

NO_TORCH = "the program did not import torch"
NO_CALL_OF_COMPILE = "the program did not call torch.compile"
NO_CALL_SEEN = "no call of a compiled function was seen"
ONLY_WRAPPED = "torch.compile was called, but no call of the function that it returned was seen"

_FIRST_CALL = "PyTorch compiles at the first call."
_TO_DO = {
    NO_TORCH: "Wrap a function or a module in torch.compile and call it.",
    NO_CALL_OF_COMPILE: "Wrap a function or a module in torch.compile and call it.",
    NO_CALL_SEEN: f"Call a function or a module wrapped in torch.compile: {_FIRST_CALL}",
    ONLY_WRAPPED: f"Call it: {_FIRST_CALL}",
}


def nothing_compiled(why: str, error: BaseException | None = None) -> str:
    """Return why nothing was compiled, and what to do.

    Args:
        why: one of the reasons above.
        error: what ended the program, if that is known.

    >>> print(nothing_compiled(NO_TORCH, ValueError("no data")))
    the program did not import torch before it raised ValueError. Fix the error and run it again.
    """
    if error is None:
        return f"{why}. {_TO_DO[why]}"
    subject = "it" if why.startswith("the program") else "the program"
    if isinstance(error, KeyboardInterrupt):
        return f"{why} before {subject} was interrupted. Let it run until the first such call."
    return f"{why} before {subject} raised {type(error).__name__}. Fix the error and run it again."


def tell_end(directory: str | os.PathLike[str], since: int = 0, why: str = "") -> None:
    """Say on standard error how a run went; once for all ranks of a job.

    Args:
        directory: where the captures of the run are.
        since: when the run began, as :func:`time.time_ns`: what is older is of another run.
        why: why this process compiled nothing (:func:`nothing_compiled`); others may have.
    """
    if os.environ.get("RANK", "0") != "0" or sys.stderr is None:
        return
    captures = _captures(Path(directory), since)
    if captures:
        page = report_at_end(directory)
        try:
            if _tell(captures):
                if page is not None:
                    inform(str(page))
                return
        except Exception as error:
            print(f"pellucid: no summary: {type(error).__name__}: {error}", file=sys.stderr)
    why = _because(captures, why or nothing_compiled(NO_CALL_SEEN))
    print(f"pellucid: nothing was compiled: {why}", file=sys.stderr)


def _captures(directory: Path, since: int) -> list[Capture]:
    from pellucid.dump.store.load import load_all
    from pellucid.errors import NotADump

    try:
        found = load_all(directory)
    except (NotADump, OSError):
        return []
    return [c for c in found if (c.directory / _RECORD).stat().st_mtime_ns >= since]


def _tell(captures: Sequence[Capture]) -> bool:
    """Print the summary; return false if nothing was compiled, and nothing went wrong either."""
    from pellucid.dump.model.events import Problem
    from pellucid.findings.summary import has_compiled

    problems = [event for capture in captures for event in capture.of(Problem)]
    if not has_compiled(captures) and not problems:
        return False
    from rich.console import Console

    console = Console(stderr=True, soft_wrap=True, highlight=False)
    if not is_quiet():
        tell_lines(console, captures)
    for problem in problems[:3]:
        console.print(f"pellucid: {problem.where}: {problem.what}", markup=False, style="red")
    return True


def tell_lines(console: Console, captures: Sequence[Capture]) -> None:
    """Print the summary of some captures."""
    from pellucid.findings import find_all
    from pellucid.findings.summary import summary

    width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
    for line in summary(captures, find_all(captures), width):
        console.print(line.text, style=line.style or None, markup=False, soft_wrap=True)


def _because(captures: Sequence[Capture], why: str) -> str:
    """Return why nothing was compiled, and what to do, in a sentence or two."""
    from pellucid.findings import find_all
    from pellucid.findings.kinds.nothing import is_known
    from pellucid.findings.words import sentence

    for finding in find_all(captures):
        if finding.kind != "nothing" or is_known(finding):
            return f"{finding.cause}. {sentence(finding.remedy)}".strip()
    return why
