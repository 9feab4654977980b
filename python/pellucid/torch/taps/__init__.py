# SPDX-License-Identifier: Apache-2.0
"""All knowledge of torch's internals: hooks, tables of where things are, and readers."""
