# SPDX-License-Identifier: Apache-2.0
"""Where the last capture is: the table that programs written for depyf read."""

from __future__ import annotations

from typing import Any

data: dict[str, Any] = {
    # The directory of the innermost capture that is open, or of the one that closed last.
    "dump_src_dir": "",
    # Whether a capture is open in this process.
    "is_inside_prepare_debug": False,
    # Kept for programs that add to it; pellucid finds compiled functions by itself.
    "optimized_functions": set(),
}
