# SPDX-License-Identifier: Apache-2.0
"""A cache entry's tree of guards as Python, and the functions that this Python calls."""
