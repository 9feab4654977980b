# SPDX-License-Identifier: Apache-2.0
"""Captures as data, in memory and on disk. Nothing here imports torch.

:mod:`~pellucid.dump.model` has the values, their names, and parsers of torch's text;
:mod:`~pellucid.dump.store` writes and loads the directory of a capture.
"""
