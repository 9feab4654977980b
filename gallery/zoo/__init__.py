# SPDX-License-Identifier: Apache-2.0
"""Real models, built small, with pellucid and without: see README.md."""
