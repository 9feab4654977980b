# SPDX-License-Identifier: Apache-2.0
"""Jupyter: ``%load_ext pellucid``, the ``%%pellucid`` magic, and how results look in a notebook.

`html.py` and what it needs import neither IPython nor torch; `magic.py` is loaded by IPython alone.
"""
