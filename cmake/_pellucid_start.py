# SPDX-License-Identifier: Apache-2.0
"""What ``pellucid.start`` calls when Python starts (PEP 829): ``pellucid.pth`` of 3.15 and later."""

import os
import sys


def start() -> None:
    """Capture this process, or show what it compiles, if its environment asks for that.

    Where neither ``PELLUCID_DUMP`` nor ``PELLUCID_PROGRESS`` is set no trace of this is left.
    """
    del sys.modules[__name__]
    if os.environ.get("PELLUCID_DUMP") or os.environ.get("PELLUCID_PROGRESS"):
        from pellucid import _autodump

        _autodump.start()
