# SPDX-License-Identifier: Apache-2.0
"""Events to the text of files: pure functions, no torch."""
