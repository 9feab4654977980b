# SPDX-License-Identifier: Apache-2.0
"""``prepare_debug`` and ``debug`` under the names of depyf's modules."""

from pellucid.torch import debug, prepare_debug

__all__ = ["debug", "prepare_debug"]
