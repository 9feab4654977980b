// SPDX-License-Identifier: Apache-2.0
// structure: the parts of function literals that several files read.
#pragma once

#include <vector>

#include "ast/tree.h"

namespace pellucid::structure {

// The elements of a tuple, constant or built. False: it is none.
bool tuple_elements(ast::Tree& tree, ast::NodeId node, std::vector<ast::NodeId>& out);

// Give `arguments` their default values, from a tuple and from a dict. A hidden function's
// parameter (`.defaults`) may stand for either until the hidden function is called. False: the
// value has another form.
bool set_defaults(ast::Tree& tree, ast::NodeId arguments, ast::NodeId value);
bool set_keyword_defaults(ast::Tree& tree, ast::NodeId arguments, ast::NodeId value);

// The expression that a function literal without arguments of its own is there to evaluate later:
// a bound, a default, an alias' value. Invalid: it does something else.
ast::NodeId lazy_value(ast::Tree& tree, ast::NodeId literal);

}  // namespace pellucid::structure
