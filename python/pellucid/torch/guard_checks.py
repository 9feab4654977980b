# SPDX-License-Identifier: Apache-2.0
"""Where dumped files of older releases look for what is in :mod:`pellucid.dumped`."""

from pellucid.dumped import *  # noqa: F403
