// SPDX-License-Identifier: Apache-2.0
// structure: text for constants that compilers test, or evaluate, at run time.
#pragma once

#include "ast/tree.h"

namespace pellucid::structure {

// Returns `if True:` over a statement.
ast::NodeId always_statement(ast::Tree& tree, ast::NodeId statement);

// Returns `value if True else None`, after which compilers emit a jump over nothing, or else `None
// if False else value`: either way the drop of the value starts a new block.
ast::NodeId chosen_always(ast::Tree& tree, ast::NodeId value, bool jumps);

// Returns a condition that its statement tests at run time. A bare constant would not be tested: it
// becomes `True and constant`.
ast::NodeId tested_condition(ast::Tree& tree, ast::NodeId test);

// Returns true if a node is a constant from the start: a number without a sign, a string, a name.
// Displays and results of operations become constants later.
bool is_atom(const ast::Tree& tree, ast::NodeId node);

// Returns an operand of `and` and `or` that is tested at run time. A bare constant would not be;
// the value of `v and v`, or of `v or v` if v is true, is known as well, but is tested.
ast::NodeId tested_operand(ast::Tree& tree, ast::NodeId operand);

// Returns `constant or value`, or else `constant and value`: the one that evaluates to the value.
// Without a constant the value itself.
ast::NodeId after_constant(ast::Tree& tree, ast::NodeId constant, ast::NodeId value);

// Returns an operand of `not` that becomes a constant truth value only when the code is optimised:
// `not True` would be folded before.
ast::NodeId constant_truth(ast::Tree& tree, ast::NodeId operand);

}  // namespace pellucid::structure
