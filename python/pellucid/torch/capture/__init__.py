# SPDX-License-Identifier: Apache-2.0
"""From hook calls to events, and from events to files, while the program runs."""
