# SPDX-License-Identifier: Apache-2.0
"""The public functions: ``prepare_debug``, ``debug``, ``find_nan``, the command line."""
