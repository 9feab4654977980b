# SPDX-License-Identifier: Apache-2.0
"""What a user calls: ``prepare_debug``, ``debug``, ``find_nan``, the command line."""
