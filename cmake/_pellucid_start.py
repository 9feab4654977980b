# SPDX-License-Identifier: Apache-2.0
"""What ``pellucid.start`` calls when Python starts (PEP 829): ``pellucid.pth`` of 3.15 and later."""

import os
import sys


def start() -> None:
    """Capture this process if ``PELLUCID_DUMP`` is set; leave no trace where it is not."""
    del sys.modules[__name__]
    if os.environ.get("PELLUCID_DUMP"):
        from pellucid import _autodump

        _autodump.start()
