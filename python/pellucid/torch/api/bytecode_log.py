# SPDX-License-Identifier: Apache-2.0
"""``install()`` / ``uninstall()``: decompiled source in torch's bytecode log.

``TORCH_LOGS=+bytecode`` prints Dynamo's bytecode as a disassembly.  After ``install()``, pellucid
adds the decompiled source and its verdict to the same log.  The code that runs is not changed.
"""

from __future__ import annotations

import logging
import threading
from types import CodeType

from pellucid.decompilation import decompile_ex

from ..taps import hooks

_lock = threading.Lock()
_remove: hooks.Remove | None = None


def install() -> None:
    """Add decompiled source to the bytecode log; a second call changes nothing."""
    global _remove
    with _lock:
        if _remove is None:
            _remove = hooks.add_bytecode_hook(log_source)


def uninstall() -> None:
    """Undo :func:`install`."""
    global _remove
    with _lock:
        if _remove is not None:
            _remove()
            _remove = None


def log_source(original: CodeType, transformed: CodeType) -> None:
    """Write the source of one transformed frame to the log; this is the installed hook."""
    try:
        log = hooks.bytecode_log()
        if log is None or not log.isEnabledFor(logging.DEBUG):
            return
        found = decompile_ex(transformed)
        verdict = found.verdict
        why = f": {verdict.reason}" if verdict.reason else ""
        log.debug(
            "DECOMPILED BYTECODE %s %s line %s (%s%s)\n%s",
            original.co_name,
            original.co_filename,
            original.co_firstlineno,
            verdict.status,
            why,
            found.source,
        )
    except Exception:  # a log line is not worth an exception in the program
        logging.getLogger("pellucid").exception("no decompiled source of %s", original.co_name)
