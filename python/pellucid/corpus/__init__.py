# SPDX-License-Identifier: Apache-2.0
"""``pellucid corpus``: any number of code files in, a table with a row for each distinct one out.

========== ===========================================================================
module     what is in it
========== ===========================================================================
found      from inputs (files, folders, archives, addresses) to the bytes of code files
rows       one file to one row; the schema of the table
local      processes of this machine, with a limit of time and memory a file
cluster    the same as tasks of Ray
store      the table on disk: parts that appear whole, and what of them is there already
run        the flow from one to the next, and what is shown meanwhile
========== ===========================================================================
"""
