# SPDX-License-Identifier: Apache-2.0
"""Answers: what went wrong in a capture, at which line, and what to change.

Each kind is a file of ``kinds``.  None of them imports torch or runs anything of the program's.
"""

from .find import count_line, find, find_all
from .finding import Cost, Finding, Link

__all__ = ["Cost", "Finding", "Link", "count_line", "find", "find_all"]
