# SPDX-License-Identifier: Apache-2.0
"""A capture on disk: where it goes, how it is written, how it is read again."""
