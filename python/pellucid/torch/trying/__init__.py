# SPDX-License-Identifier: Apache-2.0
"""Trials: a remedy is applied to a copy of the program, and both runs are compared."""
