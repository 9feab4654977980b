# SPDX-License-Identifier: Apache-2.0
"""``install`` and ``uninstall`` under the names of depyf's modules."""

from pellucid.torch import install, uninstall

__all__ = ["install", "uninstall"]
