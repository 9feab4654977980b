// SPDX-License-Identifier: Apache-2.0
// Functions that a block makes: each is a literal where it is used, or else a definition.
#pragma once

#include "fallback/state_machine.h"

namespace pellucid::fallback {

// Defines a function whose body is no expression, items[index], where it is made. Returns the index
// of the next item.
size_t function(Machine& machine, BlockId block, size_t index, Statements& code);
// Makes the functions of class bodies and comprehensions that other blocks have made: here, where
// they are called.
void remake_functions(Machine& machine, BlockId id, Statements& code, bool preloads);
// Returns the literal of a function that is made for one call.
ast::NodeId made_for_a_call(Machine& machine, ValueId function);
// Returns true for a function whose name is no Python name and whose body is no expression.
bool needs_definition(const Machine& machine, ValueId id);
// Returns true if the iterator is the argument of a comprehension called right away, which makes
// its iterator itself.
bool is_iterated_by_comprehension(const Machine& machine, const std::vector<ValueId>& all,
                                  size_t i);
// Defines a function by a statement. Returns the name that it has.
Symbol define(Machine& machine, ast::NodeId literal, Statements& code);
// Returns true if a function that is made for one call has its call in another block, which makes
// it again.
bool is_passed_on(const Machine& machine, const std::vector<ValueId>& all, size_t i);

}  // namespace pellucid::fallback
