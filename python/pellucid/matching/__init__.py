# SPDX-License-Identifier: Apache-2.0
"""``pellucid match``: check whether a `.pyc` comes from a source.

========== ===========================================================================
module     contents
========== ===========================================================================
prepare    a source's syntax tree as CPython's compiler has it before it generates code
judge      one `.pyc` and one source to a :class:`~pellucid.matching.judge.Match`
header     what Python does with a `.pyc` that it finds beside a source
pairs      the `.pyc` files of inputs, each with its source
sarif      matches as a SARIF 2.1 log
run        the comparison of many files
command    the command line
========== ===========================================================================
"""
