# SPDX-License-Identifier: Apache-2.0
"""What torch saved of compiled code, read without loading it: artifacts become captures."""
