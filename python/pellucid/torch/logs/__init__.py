# SPDX-License-Identifier: Apache-2.0
"""Captures from logs of torch's structured trace (``TORCH_TRACE``), without torch."""
