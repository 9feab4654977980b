// SPDX-License-Identifier: Apache-2.0
// Items that are no expression or statement of Python: each becomes a few statements that do the
// same.
#pragma once

#include "fallback/state_machine.h"

namespace pellucid::fallback {

// Writes the items of a block, in the form in which a compiler writes them.
void items(Machine& machine, BlockId id, Statements& code);
// Returns true if all[i] is no expression or statement of Python here.
bool is_special(const Machine& machine, const std::vector<ValueId>& all, size_t i);
// Stores a value in a variable.
void keep(Machine& machine, BlockId block, ValueId id, ast::NodeId value, Statements& code);
// Returns a name of the value.
Symbol named(Machine& machine, ValueId id, const char* stem, Statements& code);
// Writes items[index]. Returns the index of the next item.
size_t special(Machine& machine, BlockId block, size_t index, Statements& code);

}  // namespace pellucid::fallback
