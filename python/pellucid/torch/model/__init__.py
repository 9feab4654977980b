# SPDX-License-Identifier: Apache-2.0
"""A former path of documented functions; see :mod:`pellucid.dump.model`."""
