# SPDX-License-Identifier: Apache-2.0
"""Two captures compared: runs, releases of torch, or ranks.  PyTorch is not needed."""
