# SPDX-License-Identifier: Apache-2.0
"""A capture on disk: its directory, writing, and loading."""
