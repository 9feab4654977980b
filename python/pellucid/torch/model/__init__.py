# SPDX-License-Identifier: Apache-2.0
"""What a capture consists of: plain, frozen values, and names that are the same from run to run."""
