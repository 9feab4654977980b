# SPDX-License-Identifier: Apache-2.0
"""Hook calls to events, and events to files, while the program runs."""
