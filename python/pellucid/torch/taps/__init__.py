# SPDX-License-Identifier: Apache-2.0
"""All that knows what torch looks like inside: hooks, tables of what is where, readers."""
