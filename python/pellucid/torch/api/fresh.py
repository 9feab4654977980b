# SPDX-License-Identifier: Apache-2.0
"""A capture that begins with nothing compiled: its result does not depend on what ran before."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Iterator, Mapping

from pellucid.dump.store.session import Session
from pellucid.findings.summary import has_compiled

from .prepare import prepare_debug


@contextlib.contextmanager
def captured_afresh(directory: str | os.PathLike[str]) -> Iterator[Session]:
    """Capture a block after ``torch.compiler.reset()``, without a warning if nothing compiles."""
    import torch

    torch.compiler.reset()
    with prepare_debug(directory) as session:
        session.warns_when_empty = False
        yield session


def call_compiled(
    session: Session,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    named: Mapping[str, Any],
    calls: int,
) -> Any:
    """Call a function several times; compile it first if its first call compiles nothing.

    Returns:
        The result of the last call.
    """
    import torch

    result = function(*args, **named)
    if not has_compiled([session]):
        function = torch.compile(function)
        result = function(*args, **named)
    for _ in range(calls - 1):
        result = function(*args, **named)
    return result
