# SPDX-License-Identifier: Apache-2.0
"""Tests that keep a program compiled: an assertion, and a plugin for pytest.

:func:`assert_compiles` works in any test.  pytest loads :mod:`.plugin` by itself, which adds the
fixture ``pellucid_capture`` and two options.  Importing this package does not import torch.
"""

from __future__ import annotations

from .asserting import assert_compiles

__all__ = ["assert_compiles"]
