# SPDX-License-Identifier: Apache-2.0
"""From events to the text of files: pure functions, no torch."""
