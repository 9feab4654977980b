# SPDX-License-Identifier: Apache-2.0
"""Comparison of two captures: runs, releases of torch, or ranks.  PyTorch is not needed."""
