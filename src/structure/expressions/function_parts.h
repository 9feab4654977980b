// SPDX-License-Identifier: Apache-2.0
// structure: the parts of function literals that several files read.
#pragma once

#include <vector>

#include "ast/tree.h"

namespace pellucid::structure {

// Appends the elements of a tuple, constant or built. Returns false if it is none.
bool tuple_elements(ast::Tree& tree, ast::NodeId node, std::vector<ast::NodeId>& out);

// Sets the default values of `arguments`, from a tuple and from a dict. A parameter of a hidden
// function (`.defaults`) may stand for either until the hidden function is called. Returns false if
// the value has another form.
bool set_defaults(ast::Tree& tree, ast::NodeId arguments, ast::NodeId value);
bool set_keyword_defaults(ast::Tree& tree, ast::NodeId arguments, ast::NodeId value);

// Returns the expression that a function literal without parameters exists to evaluate later: a
// bound, a default, the value of an alias. Invalid if it does anything else.
ast::NodeId lazy_value(ast::Tree& tree, ast::NodeId literal);

}  // namespace pellucid::structure
