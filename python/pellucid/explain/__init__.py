# SPDX-License-Identifier: Apache-2.0
"""What programs written for depyf look for below ``depyf.explain``."""

from . import global_variables

__all__ = ["global_variables"]
