# SPDX-License-Identifier: Apache-2.0
"""The module name in dumped files of older releases; replaced by :mod:`pellucid.dumped`."""

from pellucid.dumped import *  # noqa: F403
