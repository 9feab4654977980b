// SPDX-License-Identifier: Apache-2.0
// The operations of `except*`, one by one: as in CPython's exceptions.c and ceval.c.
#pragma once

#include "fallback/state_machine.h"

namespace pellucid::fallback {

// Returns true if the block ends by splitting off the part that one clause handles.
bool ends_in_split(const Machine& machine, BlockId id);
// Makes the matched part the exception that is being handled from here on: it is raised again, to
// be caught where the whole group was.
void handle_match(Machine& machine, BlockId id, Nodes& out);
// exception, type -> the unmatched part, the matched part (each maybe None). Only `except*` decides
// which types it accepts; the parts are split again, since raising the exception changes what they
// keep.
void split_group(Machine& machine, BlockId block, ValueId id, Statements& code);
// the exception that was caught, a list of what clauses left -> the exception to raise, maybe None
void join_raised(Machine& machine, BlockId block, ValueId id, Statements& code);

}  // namespace pellucid::fallback
