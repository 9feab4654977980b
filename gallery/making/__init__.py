# SPDX-License-Identifier: Apache-2.0
"""What makes the gallery of its sources: `python gallery --help`."""
