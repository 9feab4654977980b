// SPDX-License-Identifier: Apache-2.0
// The end of a block: sets the slots that it changes, then the next state.
#pragma once

#include "fallback/state_machine.h"

namespace pellucid::fallback {

// Writes the block and those that only it leads to.
void block(Machine& machine, BlockId id, Nodes& out);
// Returns the variable of the slot in which every way leaves a value of this block, if it may be
// set right away: no pending expression reads it, and no handler keeps the slot.
Symbol home(Machine& machine, BlockId id, ValueId value);
// Writes the exit of a block that raises an exception again.
void reraise(Machine& machine, BlockId id, Statements& code);
// RERAISE: keeps context and traceback.
void raise_as_it_is(Machine& machine, ast::NodeId exception, Statements& code);

}  // namespace pellucid::fallback
