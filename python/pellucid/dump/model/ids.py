# SPDX-License-Identifier: Apache-2.0
"""Compile ids: torch's own, and ours for compiled code without one.

torch's ids are ``0/1``, the second version of the first frame, and ``!0/0/1`` in compiled autograd.
Loaded code gets ``L0/0``, code compiled before the capture began ``B0/0``, and a program captured
by ``torch.compiler.precompile`` ``P0/0``.
"""

from __future__ import annotations

import re

LOADED, BEFORE, PRECOMPILED = "L", "B", "P"
_FORM = re.compile(rf"(?:!\d+/)?[{LOADED}{BEFORE}{PRECOMPILED}]?\d+/\d+\Z")


def own_id(kind: str, number: int) -> str:
    """Return an id for code without one of torch's.

    >>> own_id(LOADED, 2)
    'L2/0'
    """
    return f"{kind}{number}/0"


def is_compile_id(text: object) -> bool:
    """Return true if this is the id of a compile.

    >>> list(map(is_compile_id, ("0/1", "!2/0/1", "L0/0", "0", "x/1", None)))
    [True, True, True, False, False, False]
    """
    return isinstance(text, str) and _FORM.match(text) is not None


def version_of(compile_id: str, number: int) -> str:
    """Return the id of a later version of the same frame.

    >>> version_of("!2/0/1", 1), version_of("L0/9", 2)
    ('!2/0/2', 'L0/11')
    """
    frame, _, first = compile_id.rpartition("/")
    return f"{frame}/{int(first) + number}"


def is_recompile(compile_id: str | None) -> bool:
    """Return true if this is not the first version of its frame.

    >>> is_recompile("0/0"), is_recompile("L0/1"), is_recompile(None)
    (False, True, False)
    """
    return is_compile_id(compile_id) and not str(compile_id).endswith("/0")
