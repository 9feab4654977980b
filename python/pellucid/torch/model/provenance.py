# SPDX-License-Identifier: Apache-2.0
"""A former path of :mod:`pellucid.dump.model.provenance`."""

from pellucid.dump.model.provenance import resolve as resolve
