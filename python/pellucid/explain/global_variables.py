# SPDX-License-Identifier: Apache-2.0
"""Where the last capture is: the table that programs written for depyf read."""

from __future__ import annotations

from typing import Any


class _Table(dict):  # type: ignore[type-arg]  # 3.8 cannot subscript it here
    def __missing__(self, name: str) -> Any:
        """Look up torch's own functions only when one is asked for: that imports torch."""
        if name.startswith("unpatched_"):
            from pellucid.torch.taps.replaceable import replaceable

            for function, value in replaceable().items():
                self.setdefault(function, value)
        if name not in self:
            raise KeyError(name)
        return self[name]


data: dict[str, Any] = _Table(
    {
        # The directory of the innermost capture that is open, or of the one that closed last.
        "dump_src_dir": "",
        # Whether a capture is open in this process.
        "is_inside_prepare_debug": False,
        # Kept for programs that add to it; pellucid finds compiled functions by itself.
        "optimized_functions": set(),
    }
)
