# SPDX-License-Identifier: Apache-2.0
"""Two captures compared: runs, releases of torch, or ranks.  PyTorch is not needed."""

from .change import Change as Change
from .change import Comparison as Comparison
from .compare import compare as compare

__all__ = ["Change", "Comparison", "compare"]
