# SPDX-License-Identifier: Apache-2.0
"""Bytecode of other versions of Python for the running one: ``code`` objects and ``pickles``."""
