// SPDX-License-Identifier: Apache-2.0
// structure: text of constants that compilers test, or evaluate, at run time.
#pragma once

#include "ast/tree.h"

namespace pellucid::structure {

// `if True:` over a statement.
ast::NodeId always_statement(ast::Tree& tree, ast::NodeId statement);

// `value if True else None`, after which compilers jump over nothing at all, or else
// `None if False else value`: either way what drops the value starts a block of its own.
ast::NodeId chosen_always(ast::Tree& tree, ast::NodeId value, bool jumps);

// The condition of a statement that tests it at run time. A constant alone would not be tested: it
// becomes `True and constant`.
ast::NodeId tested_condition(ast::Tree& tree, ast::NodeId test);

// Returns true if a node is a constant from the start: a number without a sign, a text, a name.
// Displays and what operations come to are constants later.
bool is_atom(const ast::Tree& tree, ast::NodeId node);

// An operand of `and` and `or` that is tested at run time. A constant alone would not be: what
// `v and v`, or `v or v` if it is true, comes to is known as well, and is tested all the same.
ast::NodeId tested_operand(ast::Tree& tree, ast::NodeId operand);

// `constant or value`, or else `constant and value`: what comes to the value alone. Without a
// constant the value itself.
ast::NodeId behind_constant(ast::Tree& tree, ast::NodeId constant, ast::NodeId value);

// The operand of `not` that became a constant truth value only when the code was optimised: `not
// True` would have been folded before.
ast::NodeId constant_truth(ast::Tree& tree, ast::NodeId operand);

}  // namespace pellucid::structure
