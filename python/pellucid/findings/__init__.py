# SPDX-License-Identifier: Apache-2.0
"""Findings: what went wrong in a capture, at which line, and what to change.

Each kind of finding is a file in ``kinds``.  None of them imports torch or runs the user's code.
"""

from .find import count_line, find, find_all
from .finding import Cost, Finding, Link

__all__ = ["Cost", "Finding", "Link", "count_line", "find", "find_all"]
